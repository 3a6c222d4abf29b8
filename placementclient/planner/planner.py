"""Make a plan: the specification, a snapshot and assignment rows go in."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterator, Sequence

from os_resource_classes import STANDARDS

from placementclient import errors
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.assign import assign
from placementclient.planner.infeasibility import Cause, OpenRow, Refused, Slack
from placementclient.planner.plan.plan import LeftOut, Notice, Plan, TreePlan
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.specification import Selection, Spec, has_placeholder
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import KnownAssignments
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.tree_plan import compose


def make(
    snapshot: Snapshot,
    spec: Spec,
    assignments: Sequence[Row] = (),
    *,
    trees: Collection[str] = (),
    allow_inferred: bool = False,
    skip_infeasible: bool = False,
) -> Plan:
    """Plan a reshape. The same input gives the same plan.

    :param assignments: the rows of all assignment files
    :param trees: names or UUIDs of the only roots to plan; none: all that the specification
        selects
    :param allow_inferred: whether rows with a choice get one of their places
    :param skip_infeasible: whether trees that cannot be planned are left out
    :raises errors.BadFile: if a row, or the specification, does not suit the snapshot
    :raises errors.NoSuchProvider: if one of ``trees`` is none
    :raises errors.Infeasible: if a tree cannot be planned
    :raises errors.Undecided: if a row has a choice
    """
    _check_classes(snapshot, spec)
    maker = _Maker(snapshot, spec, assignments, allow_inferred)
    roots = _chosen(maker.overlay, spec, trees)
    for root in roots:
        maker.plan(root)
    maker.known_assignments.check(
        maker.overlay,
        partial=bool(trees),
        left_out=[tree.root_provider_uuid for tree in maker.left],
    )
    if maker.left and not skip_infeasible:
        # Several moves may meet the same obstacle.
        raise errors.Infeasible([*{str(each): each for each in maker.causes}.values()], maker.slack)
    if maker.undecided and not allow_inferred:
        raise errors.Undecided(maker.undecided)
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
        self, snapshot: Snapshot, spec: Spec, rows: Sequence[Row], allow_inferred: bool
    ) -> None:
        self.overlay, self.known_assignments = (
            SnapshotOverlay(snapshot),
            KnownAssignments(spec, rows),
        )
        self.trees: list[TreePlan] = []
        self.left: list[LeftOut] = []
        self.causes: list[Cause] = []
        self.slack: list[Slack] = []
        self.undecided: list[OpenRow] = []
        self._spec = spec

    def plan(self, root: ProviderState) -> None:
        try:
            target_state = build_target_state(self.overlay, self._spec, root)
            known = self.known_assignments.match(self.overlay, target_state)
            assignment = assign(self.overlay, target_state, self._spec, known)
            tree = compose(self.overlay, target_state, assignment)
        except Refused as refusal:
            self.causes += refusal.causes
            self.slack += refusal.slack
            reasons = tuple(
                Notice(cause.kind, str(cause), cause.facts()) for cause in refusal.causes
            )
            self.left.append(LeftOut(root.uuid, root.name, reasons))
            return
        if tree.operations():
            self.undecided += assignment.undecided
            self.trees.append(tree)
            self.overlay.commit(tree)


def selected(snapshot: Snapshot, spec: Spec) -> list[ProviderState]:
    """The roots of the trees that a specification is about, by name.

    :raises errors.BadFile: if a source has a name that no provider has
    """
    if spec.selection is not None:
        selection = spec.selection
        return [root for root in snapshot.roots() if _meets(root, selection)]
    if any(_is_pattern(snapshot, move.source) for move in spec.moves):
        return snapshot.roots()
    wanted = set(_roots_of_sources(SnapshotOverlay(snapshot), spec))
    return [root for root in snapshot.roots() if root.uuid in wanted]


def _check_classes(snapshot: Snapshot, spec: Spec) -> None:
    """Refuse classes that no service can have; a newer one may know more than this program."""
    there = {name for state in snapshot.providers.values() for name in state.inventories}
    wanted = {name for move in spec.moves for name in move.renamed.values()}
    wanted.update(name for provider in spec.providers for name in provider.inventories)
    for name in sorted(wanted - there - set(STANDARDS)):
        if not name.startswith('CUSTOM_'):
            raise errors.BadFile(
                spec.path,
                f'{name} is no standard resource class, no provider has it, and it does not begin '
                'with CUSTOM_',
            )


def _chosen(overlay: SnapshotOverlay, spec: Spec, trees: Collection[str]) -> list[ProviderState]:
    roots = selected(overlay.snapshot, spec)
    if trees:
        names = {root.name for root in roots} | {root.uuid for root in roots}
        for name in trees:
            if overlay.snapshot.find(name) is None:
                raise errors.NoSuchProvider(f'No resource provider is called {name}')
            if name not in names:
                raise errors.BadFile(spec.path, f'does not select the tree {name}')
        roots = [root for root in roots if root.name in trees or root.uuid in trees]
    if not roots:
        raise errors.BadFile(spec.path, 'selects no tree')
    return roots


def _meets(root: ProviderState, selection: Selection) -> bool:
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
    return snapshot.find(source) is None and any(character in source for character in '*?[')


def _roots_of_sources(overlay: SnapshotOverlay, spec: Spec) -> Iterator[str]:
    for move in spec.moves:
        state = overlay.find(move.source)
        if state is not None:
            yield overlay.root_of(state)
        elif not has_placeholder(move.source):
            raise errors.BadFile(
                spec.path, f'there is no provider {move.source} to move anything from'
            )
