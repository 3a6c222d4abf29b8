# SPDX-License-Identifier: Apache-2.0
"""Plans from a specification, a snapshot and assignment rows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from placementclient.basis import errors
from placementclient.basis.wording import grouped, listed, suggestion
from placementclient.files import cursors
from placementclient.model.assignments import AssignmentRow
from placementclient.model.connected import group_connected
from placementclient.model.patterns import is_pattern
from placementclient.model.plans import (
    Change,
    Notice,
    Plan,
    PlannedRow,
    PlanOptions,
    Recipe,
    UnplannedTree,
)
from placementclient.model.providers import Provider
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Keys, Spec
from placementclient.planner.assign import AssignmentResult, assign_targets
from placementclient.planner.composition import compose_change
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.planner.infeasibility import (
    OPEN,
    Cause,
    Refused,
    UndecidedRow,
)
from placementclient.planner.joined_trees import find_shared_parts
from placementclient.planner.layout.assigned import AssignmentMatcher
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.target_state import AllocationKey, TargetState
from placementclient.planner.solve.search import TIMEOUT
from placementclient.planner.specification.check import SpecCheck

#: Consumers of one change of several trees: one request takes about 8 ms for each.
MOST_CONSUMERS = 20_000


def plan_reshape(
    snapshot: Snapshot,
    spec: Spec,
    assignments: Sequence[AssignmentRow] = (),
    *,
    trees: Collection[str] = (),
    listed: Collection[Provider] | None = None,
    allow_inferred: bool = False,
    skip_infeasible: bool = False,
    solver_timeout: float = TIMEOUT,
    migrations: Sequence[ServerMigration] | None = None,
    progress: Callable[[str], None] = lambda name: None,
    expect: Callable[[int], None] = lambda total: None,
) -> Plan:
    """Plan a reshape; an equal input gives an equal plan, which has passed the independent check.

    :param trees: names or UUIDs of the only roots to plan; none: all that the specification selects
    :param listed: all providers of the service, if the snapshot has only some of its trees
    :param solver_timeout: how long to search for each tree, in seconds; a plan is the same on every
        machine, unless this ends the search
    :param migrations: of servers, as Nova lists them, to warn of; ``None`` if they are not known
    :param progress: called with the name of the root of each tree that is planned next
    :param expect: called once with the number of trees
    :raises errors.BadFile: if a row, or the specification, does not suit the snapshot
    :raises errors.NoSuchProvider: if one of ``trees`` is none
    :raises Infeasible: if a tree cannot be planned
    :raises Undecided: if a row has several possible targets
    :raises Undetermined: if the search took too long to know either
    """
    maker = _Planner(snapshot, spec, assignments, solver_timeout, migrations)
    check = SpecCheck(spec, snapshot, listed, trees)
    maker.faults.errors += check.check_names()
    if unselective := [*check.check_selections()]:
        # The trees that are missing would be faults of much else.
        maker.faults.errors += unselective
        maker.faults.raise_any()
    roots = _choose_roots(maker, trees)
    expect(len(roots))
    maker.plan(roots, progress)
    maker.raise_faults(partial=bool(trees))
    if not skip_infeasible:
        maker.raise_for_unplanned_trees()
    undecided = maker.list_undecided(allow_inferred)
    if undecided:
        warnings = (
            (change.root_provider_name, notice)
            for change in maker.changes
            for notice in change.warnings
        )
        raise Undecided(undecided, [*grouped((name, notice.message) for name, notice in warnings)])
    if maker.unproved and not allow_inferred:
        raise Undetermined(maker.unproved)
    return Plan(
        tuple(maker.changes),
        'resource provider reshape plan',
        Recipe(spec, tuple(assignments), PlanOptions(allow_inferred, skip_infeasible)),
        tuple(maker.left),
        snapshot.origin,
    )


#: The target state of trees, and the rows of their assignments.
_Layout = tuple[TargetState, Mapping[AllocationKey, Sequence[PlannedRow]]]


class _Planner:
    """Plans the trees of a specification, and collects their faults."""

    def __init__(
        self,
        snapshot: Snapshot,
        spec: Spec,
        rows: Sequence[AssignmentRow],
        solver_timeout: float,
        migrations: Sequence[ServerMigration] | None,
    ) -> None:
        self.snapshot, self.spec = snapshot, spec
        #: the names of the trees in which plans make providers, by the names of these
        self._created: dict[str, str] = {}
        self._assignments = AssignmentMatcher(spec, rows)
        self._solver_timeout, self._migrations = solver_timeout, migrations
        self.changes: list[Change] = []
        self.left: list[UnplannedTree] = []
        self._causes: list[Cause] = []
        self._slack: list[Cause] = []
        self.undecided: list[UndecidedRow] = []
        self.unproved: list[Cause] = []
        self.faults, self._row_faults = cursors.Faults(), cursors.Faults()
        self._entries: set[str] = set()

    def plan(self, roots: Sequence[ProviderState], progress: Callable[[str], None]) -> None:
        """Plan trees; those that share a target or a consumer come last, as one change."""
        uuids = {root.uuid for root in roots}
        sharing: dict[str, frozenset[str]] = {}
        for root in roots:
            progress(root.name)
            layout = None
            try:
                with self._row_faults.collect():
                    layout = self._lay_out([root])
            except Refused as refusal:
                self._leave_out([root], refusal)
            if layout is None or self.faults.errors or self._row_faults.errors:
                continue  # the other trees are laid out for their faults alone
            target_state, _ = layout
            if parts := find_shared_parts(self.snapshot, self.spec, uuids, target_state):
                sharing[root.uuid] = parts
            else:
                self._plan_together([root], layout)
        for joined in group_connected(sharing):
            self._plan_together([self.snapshot.providers[uuid] for uuid in joined])

    def _lay_out(self, roots: Sequence[ProviderState]) -> _Layout:
        """Return the target state of trees that change together, with their assigned rows."""
        target_state = build_target_state(self.snapshot, self.spec, roots, created=self._created)
        self._entries |= target_state.entries
        return target_state, self._assignments.match_tree(self.snapshot, target_state)

    def _plan_together(self, roots: Sequence[ProviderState], layout: _Layout | None = None) -> None:
        """Plan trees that change together, without those that cannot be planned alone."""
        try:
            tree, assignment = self._make_change(layout or self._lay_out(roots))
        except Refused as refusal:
            refusals = {root.uuid: self._find_refusal(root) for root in roots if len(roots) > 1}
            fitting = [root for root in roots if refusals.get(root.uuid) is None]
            if not refusals or not fitting or len(fitting) == len(roots):
                self._leave_out(roots, refusal)
                return
            for root in roots:
                if (alone := refusals[root.uuid]) is not None:
                    self._leave_out([root], alone)
            self._plan_together(fitting)
            return
        if not tree.is_empty:
            self.changes.append(tree)
            self.undecided += assignment.undecided
            if unproved := assignment.unproved:
                name, seconds = listed(list(tree.roots.values()), 8), self._solver_timeout
                cause = Cause('undetermined', name, unproved=unproved, seconds=seconds)
                self.unproved.append(cause)

    def list_undecided(self, allow_inferred: bool) -> list[UndecidedRow]:
        """Return the rows for which the operator has to choose a target.

        :param allow_inferred: whether the planner may choose targets
        """
        planned = {name for change in self.changes for name in change.roots.values()}
        unexplained = self._assignments.unexplained.values()
        rows = [row for row in unexplained if row.tree in planned]
        if not allow_inferred:
            known = {(row.consumer_uuid, row.resource_class, row.from_provider) for row in rows}
            rows += (
                row
                for row in self.undecided
                if (row.consumer_uuid, row.resource_class, row.from_provider) not in known
            )
        return rows

    def _find_refusal(self, root: ProviderState) -> Refused | None:
        """Return the reasons why a tree cannot be planned even alone; ``None`` if it can."""
        try:
            self._make_change(self._lay_out([root]))
        except Refused as refusal:
            return refusal
        return None

    def _make_change(self, layout: _Layout) -> tuple[Change, AssignmentResult]:
        """Return the change of trees with the assignment of their allocations."""
        snapshot, spec, (target_state, assigned) = self.snapshot, self.spec, layout
        assignment = assign_targets(snapshot, target_state, spec, assigned, self._solver_timeout)
        tree = compose_change(snapshot, target_state, assignment, spec, migrations=self._migrations)
        number = len(tree.consumers) if len(tree.roots) > 1 else 0
        if number > MOST_CONSUMERS:
            cause = Cause('too-many', target_state.name, consumers=number, most=MOST_CONSUMERS)
            raise Refused([cause])
        return tree, assignment

    def _leave_out(self, roots: Iterable[ProviderState], refusal: Refused) -> None:
        """Record the trees that the plan leaves out, and the reasons."""
        self._causes += refusal.causes
        self._slack += refusal.slack
        reasons = tuple(Notice(cause.kind, str(cause), cause.facts()) for cause in refusal.causes)
        self.left += (UnplannedTree(root.uuid, root.name, reasons) for root in roots)

    def raise_for_unplanned_trees(self) -> None:
        """Raise an error if the plan leaves out a tree.

        :raises Infeasible: if there is no plan for a tree
        :raises Undetermined: if it is not known whether there is one
        """
        # Several moves may meet the same obstacle.
        causes = [*{str(cause): cause for cause in self._causes}.values()]
        certain = [cause for cause in causes if cause.kind not in OPEN]
        if certain:
            raise Infeasible(certain, self._slack)
        if causes:
            raise Undetermined(causes)

    def raise_faults(self, *, partial: bool) -> None:
        """Raise an error if the specification or the rows have faults that the trees have shown.

        :param partial: whether only some of the trees that the specification selects are planned
        """
        by_place: dict[Keys, list[Cause]] = {}
        for cause in self._causes:
            if cause.keys is not None:
                by_place.setdefault(cause.keys, []).append(cause)
        self.faults.errors += [
            self.spec.error(sentence, *keys)
            for keys, causes in by_place.items()
            for sentence in grouped((cause.tree, cause.sentence) for cause in causes)
        ]
        if not partial and not self.left:
            self.faults.errors += [
                self.spec.error(f'nothing uses {entry.name}', section, index)
                for section, entries in self.spec.sections.items()
                for index, entry in enumerate(entries)
                if entry.name not in self._entries
            ]
        self.faults.raise_any()
        # Correct rows may be unused if the specification has faults.
        left_out = [tree.root_provider_uuid for tree in self.left]
        self._row_faults.errors += self._assignments.find_unused_rows(
            self.snapshot, partial=partial, left_out=left_out
        )
        self._row_faults.raise_any()


def select_roots(snapshot: Snapshot, spec: Spec) -> list[ProviderState]:
    """Return the roots of the trees that a specification selects, sorted by name."""
    if (conditions := spec.trees) is not None:
        return [root for root in snapshot.roots() if conditions.selects(root.uuid, root.name, root)]
    sources = [move.source for move in spec.moves]
    if any(is_pattern(source) and snapshot.find(source) is None for source in sources):
        return list(snapshot.roots())
    named = [*sources]
    named += [name for entry in spec.additions for name in (entry.name, entry.parent) if name]
    root_uuids = {
        state.provider.root_uuid for state in map(snapshot.find, named) if state is not None
    }
    return [root for root in snapshot.roots() if root.uuid in root_uuids]


def _choose_roots(maker: _Planner, trees: Collection[str]) -> list[ProviderState]:
    """Return the roots of the trees to plan.

    :param trees: names or UUIDs of the only ones; none: all that the specification selects
    """
    snapshot, spec = maker.snapshot, maker.spec
    roots = select_roots(snapshot, spec)
    if not roots and not trees and (spec.moves or spec.additions):
        maker.faults.raise_any()
        if spec.trees is None:
            raise spec.error('selects no tree', 'moves', 0, 'from_resource_provider')
        raise spec.error('selects no tree: no root meets all conditions', 'trees')
    uuids = {root.uuid for root in roots}
    root_uuids = set()
    for name in trees:
        state = snapshot.find(name)
        if state is None:
            hint = suggestion(name, [root.name for root in snapshot.roots()])
            raise errors.NoSuchProvider(f'No resource provider is called {name}{hint}')
        if state.uuid not in uuids:
            maker.faults.raise_any()
            raise spec.error(f'does not select the tree {state.name}', 'trees')
        root_uuids.add(state.uuid)
    return [root for root in roots if not trees or root.uuid in root_uuids]
