"""Make a plan: the specification, a snapshot and assignment rows go in."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Sequence

from placementclient.client import errors
from placementclient.client.wording import grouped, suggestion
from placementclient.files import cursors
from placementclient.model.assignments import AssignmentRow
from placementclient.model.patterns import is_pattern
from placementclient.model.providers import Provider
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.infeasibility import (
    OPEN,
    UNDECIDABLE,
    UNDETERMINED,
    Cause,
    OpenRow,
    Refused,
    Slack,
)
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.known import KnownAssignments
from placementclient.planner.layout.overlay import SnapshotOverlay
from placementclient.planner.plan.plan import LeftOut, Notice, Plan, TreePlan
from placementclient.planner.solve.search import TIMEOUT
from placementclient.planner.specification import check, selection
from placementclient.planner.specification.values import Spec, TreeSelection
from placementclient.planner.tree_groups import TreeGroups, TreeOutcome, TreePlanner


def make(
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
    """Plan a reshape. The same input gives the same plan, which has passed the independent check.

    :param assignments: the rows of all assignment files
    :param trees: names or UUIDs of the only roots to plan; none: all that the specification
        selects
    :param listed: all providers of the service, if the snapshot has only some of its trees
    :param allow_inferred: whether rows with a choice get one of their places
    :param skip_infeasible: whether trees that cannot be planned are left out
    :param solver_timeout: how long to search for each tree, in seconds; a plan is the same on
        every machine, unless this ends the search
    :param migrations: of servers, as Nova lists them, to warn of; ``None`` if they are not known
    :param progress: called with the name of the root of each tree that is planned next
    :param expect: called with the number of trees
    :raises errors.BadFile: if a row, or the specification, does not suit the snapshot
    :raises errors.NoSuchProvider: if one of ``trees`` is none
    :raises errors.Infeasible: if a tree cannot be planned
    :raises errors.Undecided: if a row has a choice
    :raises errors.Undetermined: if the search took too long to know either
    """
    maker = _Maker(snapshot, spec, assignments, solver_timeout, migrations)
    maker.faults.found += check.faults(spec, snapshot, partial=bool(trees))
    if unselective := [*selection.faults(spec, snapshot, listed, trees)]:
        # The trees that are missing would be faults of much else.
        maker.faults.found += unselective
        maker.faults.raise_any()
    roots = _chosen(maker, trees)
    maker.select(roots)
    expect(len(roots))
    for root in roots:
        progress(root.name)
        maker.plan(root)
    maker.plan_groups()
    maker.raise_faults(partial=bool(trees))
    if not skip_infeasible:
        maker.raise_left_out()
    if maker.undecided and not allow_inferred:
        said = ((tree.root_provider_name, each) for tree in maker.trees for each in tree.warnings)
        raise errors.Undecided(
            maker.undecided, [*grouped((name, warning.message) for name, warning in said)]
        )
    if maker.unproved and not allow_inferred:
        raise errors.Undetermined(maker.unproved)
    return Plan(
        spec,
        tuple(maker.trees),
        tuple(assignments),
        allow_inferred,
        skip_infeasible,
        tuple(maker.left),
        snapshot.origin,
    )


class _Maker:
    def __init__(
        self,
        snapshot: Snapshot,
        spec: Spec,
        rows: Sequence[AssignmentRow],
        solver_timeout: float,
        migrations: Sequence[ServerMigration] | None,
    ) -> None:
        self.known_assignments = KnownAssignments(spec, rows)
        self._planner = TreePlanner(
            SnapshotOverlay(snapshot), spec, self.known_assignments, solver_timeout, migrations
        )
        self._solver_timeout = solver_timeout
        self.trees: list[TreePlan] = []
        self.left: list[LeftOut] = []
        self.causes: list[Cause] = []
        self.slack: list[Slack] = []
        self.undecided: list[OpenRow] = []
        self.unproved: list[Cause] = []
        self.faults, self.row_faults = cursors.Faults(), cursors.Faults()
        self.entries: set[str] = set()
        self.spec = spec

    @property
    def overlay(self) -> SnapshotOverlay:
        return self._planner.overlay

    def select(self, roots: Sequence[ProviderState]) -> None:
        self._groups = TreeGroups(self._planner, {root.uuid for root in roots})

    def plan(self, root: ProviderState) -> None:
        """Plan a tree, or keep it for :meth:`plan_groups`."""
        try:
            target_state = build_target_state(self.overlay, self.spec, root)
        except Refused as refusal:
            self._record(TreeOutcome(root, refusal=refusal))
            return
        self.entries |= target_state.entries
        known = None
        with self.row_faults.collected():
            known = self.known_assignments.match(self.overlay, target_state)
        if self.faults.found or self.row_faults.found:
            return  # the other trees are laid out for their faults alone
        if not self._groups.takes(target_state):
            self._record(self._planner.plan(root, target_state, known))

    def plan_groups(self) -> None:
        for outcome in self._groups.plan():
            self._record(outcome)

    def _record(self, outcome: TreeOutcome) -> None:
        root, refusal, assignment = outcome.root, outcome.refusal, outcome.assignment
        if refusal is not None:
            self.causes += refusal.causes
            self.slack += refusal.slack
            reasons = tuple(
                Notice(cause.kind, str(cause), cause.facts()) for cause in refusal.causes
            )
            self.left.append(LeftOut(root.uuid, root.name, reasons))
        elif outcome.tree and assignment:
            self.undecided += assignment.undecided
            if unproved := len(assignment.unproved):
                self.unproved.append(
                    UNDECIDABLE(root.name, outcome.doubt, unproved)
                    if outcome.doubt
                    else UNDETERMINED(root.name, self._solver_timeout, unproved)
                )
            self.trees.append(outcome.tree)

    def raise_left_out(self) -> None:
        """Refuse a plan that lacks trees.

        :raises errors.Infeasible: for all that is certain
        :raises errors.Undetermined: if nothing of it is
        """
        # Several moves may meet the same obstacle.
        causes = [*{str(cause): cause for cause in self.causes}.values()]
        certain = [cause for cause in causes if cause.kind not in OPEN]
        if certain:
            raise errors.Infeasible(certain, self.slack)
        if causes:
            raise errors.Undetermined(causes)

    def raise_faults(self, *, partial: bool) -> None:
        """Refuse a specification, or rows, for what the trees have shown.

        :param partial: whether only some of its trees were asked for
        :raises errors.BadFile: with all faults, equal ones of several trees as one
        """
        by_place: dict[tuple[str | int, ...], list[Cause]] = {}
        for cause in self.causes:
            if cause.keys is not None:
                by_place.setdefault(cause.keys, []).append(cause)
        self.faults.found += [
            self.spec.error(sentence, *keys)
            for keys, causes in by_place.items()
            for sentence in grouped((cause.tree, cause.sentence) for cause in causes)
        ]
        if not partial and not self.left:
            self.faults.found += [
                self.spec.error(f'nothing uses {entry.name}', section, index)
                for section, entries in self.spec.sections.items()
                for index, entry in enumerate(entries)
                if entry.name not in self.entries
            ]
        self.faults.raise_any()
        # Of a specification that has faults, rows that are right may be of no use.
        left_out = [tree.root_provider_uuid for tree in self.left]
        self.row_faults.found += self.known_assignments.faults(
            self.overlay, partial=partial, left_out=left_out
        )
        self.row_faults.raise_any()


def selected(snapshot: Snapshot, spec: Spec) -> list[ProviderState]:
    """The roots of the trees that a specification is about, by name."""
    if (conditions := spec.selection) is not None:
        return [root for root in snapshot.roots() if _meets(root, conditions)]
    if any(_is_pattern(snapshot, move.source) for move in spec.moves):
        return snapshot.roots()
    overlay = SnapshotOverlay(snapshot)
    named = [move.source for move in spec.moves]
    named += [name for each in spec.additions for name in (each.name, each.parent) if name]
    wanted = {overlay.root_of(state) for state in map(overlay.find, named) if state is not None}
    return [root for root in snapshot.roots() if root.uuid in wanted]


def _chosen(maker: _Maker, trees: Collection[str]) -> list[ProviderState]:
    snapshot, spec = maker.overlay.snapshot, maker.spec
    roots = selected(snapshot, spec)
    if not roots and not trees:
        maker.faults.raise_any()
        raise _nothing_selected(spec)
    uuids = {root.uuid for root in roots}
    wanted = set()
    for name in trees:
        state = snapshot.find(name)
        if state is None:
            hint = suggestion(name, [root.name for root in snapshot.roots()])
            raise errors.NoSuchProvider(f'No resource provider is called {name}{hint}')
        if state.uuid not in uuids:
            maker.faults.raise_any()
            raise spec.error(f'does not select the tree {state.name}', 'trees')
        wanted.add(state.uuid)
    return [root for root in roots if not trees or root.uuid in wanted]


def _nothing_selected(spec: Spec) -> errors.BadFile:
    if spec.selection is None:
        return spec.error('selects no tree', 'moves', 0, 'from_resource_provider')
    return spec.error('selects no tree: no root meets all conditions', 'trees')


def _meets(root: ProviderState, selection: TreeSelection) -> bool:
    return (
        (
            not selection.names
            or any(fnmatch.fnmatchcase(root.name, pattern) for pattern in selection.names)
        )
        and (not selection.uuids or root.uuid in selection.uuids)
        and root.traits.issuperset(selection.traits)
        and all(name in root.inventories for name in selection.classes)
    )


def _is_pattern(snapshot: Snapshot, source: str) -> bool:
    return snapshot.find(source) is None and is_pattern(source)
