# SPDX-License-Identifier: Apache-2.0
"""Plans from a specification, a snapshot and assignment rows."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from placementclient.basis import errors
from placementclient.basis.wording import join_names, merge_alike_sentences, suggest_similar
from placementclient.files import cursors
from placementclient.model.assignments import AssignmentRow
from placementclient.model.connected import group_connected_keys
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
    PlanRefusal,
    UndecidedRow,
)
from placementclient.planner.joined_trees import find_shared_uuids
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
    :param allow_inferred: whether the planner may choose one of several possible targets
    :param skip_infeasible: whether to leave out trees that cannot be planned
    :raises errors.BadFile: if a row, or the specification, does not suit the snapshot
    :raises errors.NoSuchProvider: if an entry of ``trees`` names no provider
    :raises Infeasible: if a tree cannot be planned
    :raises Undecided: if a row has several possible targets
    :raises Undetermined: if the search took too long to know whether there is a plan, or several
    """
    faults = cursors.Faults()
    check = SpecCheck(spec, snapshot, listed, trees)
    faults.errors += check.check_names()
    if unselective := [*check.check_selections()]:
        # The trees that are missing would be faults of much else.
        faults.errors += unselective
        faults.raise_collected()
    roots = _choose_roots(snapshot, spec, trees, faults)
    expect(len(roots))
    planner = _Planner(snapshot, spec, assignments, solver_timeout, migrations)
    planner.plan_trees(roots, progress, is_check=bool(faults.errors))
    faults.errors += planner.find_spec_faults(partial=bool(trees))
    faults.raise_collected()
    # Correct rows may be unused, or unsuitable, if the specification has faults.
    planner.raise_row_faults(partial=bool(trees))
    if not skip_infeasible:
        planner.raise_for_unplanned_trees()
    if undecided := planner.list_undecided_rows(allow_inferred):
        warnings = (
            (change.root_provider_name, notice.message)
            for change in planner.changes
            for notice in change.warnings
        )
        raise Undecided(undecided, [*merge_alike_sentences(warnings)])
    if planner.unproved and not allow_inferred:
        raise Undetermined(planner.unproved)
    return Plan(
        tuple(planner.changes),
        'resource provider reshape plan',
        Recipe(spec, tuple(assignments), PlanOptions(allow_inferred, skip_infeasible)),
        tuple(planner.unplanned),
        snapshot.origin,
    )


#: The target state of trees, and the rows of their assignments.
_Layout = tuple[TargetState, Mapping[AllocationKey, Sequence[PlannedRow]]]


class _Planner:
    """Plans the trees of a specification; :meth:`plan_trees` comes before everything else.

    :ivar changes: the changes of the trees that can be planned
    :ivar unplanned: the trees that cannot be planned, with the reasons
    :ivar unproved: a cause for each change with rows that may have several targets, as the search
        for them was cut short
    """

    def __init__(
        self,
        snapshot: Snapshot,
        spec: Spec,
        rows: Sequence[AssignmentRow],
        solver_timeout: float,
        migrations: Sequence[ServerMigration] | None,
    ) -> None:
        self._snapshot, self._spec = snapshot, spec
        self._solver_timeout, self._migrations = solver_timeout, migrations
        self._matcher = AssignmentMatcher(spec, rows)
        self.changes: list[Change] = []
        self.unplanned: list[UnplannedTree] = []
        self.unproved: list[Cause] = []
        #: the rows of the changes that have several possible targets
        self._undecided: list[UndecidedRow] = []
        #: the reasons of the unplanned trees, and the room of their targets
        self._causes: list[Cause] = []
        self._slack: list[Cause] = []
        #: the faults of rows that do not suit the allocations of their consumers
        self._row_faults = cursors.Faults()
        #: the names of the trees in which plans make providers, by the names of these
        self._created: dict[str, str] = {}
        #: the names of the specification's entries that some tree uses
        self._used_entries: set[str] = set()

    def plan_trees(
        self, roots: Sequence[ProviderState], progress: Callable[[str], None], *, is_check: bool
    ) -> None:
        """Plan trees; those that share a target or a consumer come last, as one change.

        :param progress: called with the name of the root of each tree that is next
        :param is_check: whether to find only faults of the specification and the rows, and no plan
        """
        uuids = {root.uuid for root in roots}
        sharing: dict[str, frozenset[str]] = {}
        for root in roots:
            progress(root.name)
            layout = None
            try:
                with self._row_faults.collect():
                    layout = self._build_layout([root])
            except PlanRefusal as refusal:
                self._record_unplanned([root], refusal)
            if layout is None or is_check or self._row_faults.errors:
                continue  # there will be an error: the other trees are laid out for their faults
            target_state, _ = layout
            if parts := find_shared_uuids(self._snapshot, self._spec, uuids, target_state):
                sharing[root.uuid] = parts
            else:
                self._plan_change([root], layout)
        for joined in group_connected_keys(sharing):
            self._plan_change([self._snapshot.providers[uuid] for uuid in joined])

    def _build_layout(self, roots: Sequence[ProviderState]) -> _Layout:
        """Return the target state of trees that change together, and the rows by allocation."""
        target_state = build_target_state(self._snapshot, self._spec, roots, created=self._created)
        self._used_entries |= target_state.entries
        return target_state, self._matcher.match_tree(self._snapshot, target_state)

    def _plan_change(self, roots: Sequence[ProviderState], layout: _Layout | None = None) -> None:
        """Plan trees as one change; record the trees that cannot be planned.

        :param layout: the target state of the trees with the assigned rows, if it is known already
        """
        try:
            change, assignment = self._make_change(layout or self._build_layout(roots))
        except PlanRefusal as refusal:
            self._plan_possible_trees(roots, refusal)
            return
        if change.is_empty:
            return
        self.changes.append(change)
        self._undecided += assignment.undecided
        if unproved := assignment.unproved:
            name, seconds = join_names(list(change.roots.values()), 8), self._solver_timeout
            cause = Cause('undetermined', name, unproved=unproved, seconds=seconds)
            self.unproved.append(cause)

    def _plan_possible_trees(self, roots: Sequence[ProviderState], refusal: PlanRefusal) -> None:
        """Plan those trees as one change that can be planned alone; record the others.

        If those are all of the trees, or none, all are recorded as unplanned.

        :param refusal: the reasons why they cannot be planned together
        """
        alone = {root.uuid: self._find_refusal(root) for root in roots} if len(roots) > 1 else {}
        possible = [root for root in roots if alone.get(root.uuid) is None]
        if len(possible) in (0, len(roots)):
            self._record_unplanned(roots, refusal)
            return
        for root in roots:
            if (own_refusal := alone[root.uuid]) is not None:
                self._record_unplanned([root], own_refusal)
        self._plan_change(possible)

    def _find_refusal(self, root: ProviderState) -> PlanRefusal | None:
        """Return the reasons why a tree cannot be planned even alone; ``None`` if it can."""
        try:
            self._make_change(self._build_layout([root]))
        except PlanRefusal as refusal:
            return refusal
        return None

    def _make_change(self, layout: _Layout) -> tuple[Change, AssignmentResult]:
        """Return the change of trees with the assignment of their allocations.

        :param layout: their target state, with the assigned rows by allocation
        :raises PlanRefusal: if no assignment is found, or the change is too large for one request
        """
        snapshot, spec, (target_state, assigned) = self._snapshot, self._spec, layout
        assignment = assign_targets(snapshot, target_state, spec, assigned, self._solver_timeout)
        change = compose_change(
            snapshot, target_state, assignment, spec, migrations=self._migrations
        )
        if len(change.roots) > 1 and len(change.consumers) > MOST_CONSUMERS:
            number, most = len(change.consumers), MOST_CONSUMERS
            raise PlanRefusal([Cause('too-many', target_state.name, consumers=number, most=most)])
        return change, assignment

    def _record_unplanned(self, roots: Iterable[ProviderState], refusal: PlanRefusal) -> None:
        """Record trees as unplanned, each for the same causes."""
        self._causes += refusal.causes
        self._slack += refusal.slack
        reasons = tuple(Notice(cause.kind, str(cause), cause.facts()) for cause in refusal.causes)
        self.unplanned += (UnplannedTree(root.uuid, root.name, reasons) for root in roots)

    def find_spec_faults(self, *, partial: bool) -> Iterator[errors.BadFile]:
        """Yield the faults of the specification that planning the trees has shown.

        :param partial: whether only some of the selected trees are planned: others may use entries
        """
        by_place: dict[Keys, list[Cause]] = {}
        for cause in self._causes:
            if cause.keys is not None:
                by_place.setdefault(cause.keys, []).append(cause)
        for keys, causes in by_place.items():
            for sentence in merge_alike_sentences((cause.tree, cause.sentence) for cause in causes):
                yield self._spec.make_error(sentence, *keys)
        if partial or self.unplanned:
            return
        for section, entries in self._spec.sections.items():
            for index, entry in enumerate(entries):
                if entry.name not in self._used_entries:
                    yield self._spec.make_error(f'nothing uses {entry.name}', section, index)

    def raise_row_faults(self, *, partial: bool) -> None:
        """Raise an error if assignment rows do not suit their consumers, or no tree uses them.

        :param partial: whether only some of the selected trees are planned
        """
        self._row_faults.errors += self._matcher.report_unused_rows(
            self._snapshot,
            partial=partial,
            left_out=[tree.root_provider_uuid for tree in self.unplanned],
        )
        self._row_faults.raise_collected()

    def raise_for_unplanned_trees(self) -> None:
        """Raise an error if some tree cannot be planned.

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

    def list_undecided_rows(self, allow_inferred: bool) -> list[UndecidedRow]:
        """Return the rows of the changes for which the operator has to choose a target.

        :param allow_inferred: whether the planner may choose; it never may for unexplained rows
        """
        planned = {name for change in self.changes for name in change.roots.values()}
        unexplained = self._matcher.unexplained.values()
        rows = [row for row in unexplained if row.tree in planned]
        if not allow_inferred:
            known = {_identify_row(row) for row in rows}
            rows += (row for row in self._undecided if _identify_row(row) not in known)
        return rows


def _identify_row(row: UndecidedRow) -> tuple[str, str, str]:
    """Return the consumer UUID, the class and the name of the source."""
    return row.consumer_uuid, row.resource_class, row.from_provider


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


def _choose_roots(
    snapshot: Snapshot, spec: Spec, trees: Collection[str], faults: cursors.Faults
) -> list[ProviderState]:
    """Return the roots of the trees to plan.

    :param trees: names or UUIDs of the only ones; empty: all that the specification selects
    :param faults: of the specification; raised before the error that it does not select a tree
    """
    roots = select_roots(snapshot, spec)
    if not roots and not trees and (spec.moves or spec.additions):
        faults.raise_collected()
        if spec.trees is None:
            raise spec.make_error('selects no tree', 'moves', 0, 'from_resource_provider')
        raise spec.make_error('selects no tree: no root meets all conditions', 'trees')
    uuids = {root.uuid for root in roots}
    root_uuids = set()
    for name in trees:
        state = snapshot.find(name)
        if state is None:
            hint = suggest_similar(name, [root.name for root in snapshot.roots()])
            raise errors.NoSuchProvider(f'No resource provider is called {name}{hint}')
        if state.uuid not in uuids:
            faults.raise_collected()
            raise spec.make_error(f'does not select the tree {state.name}', 'trees')
        root_uuids.add(state.uuid)
    return [root for root in roots if not trees or root.uuid in root_uuids]
