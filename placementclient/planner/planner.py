"""Make a plan: the specification, a snapshot and assignment rows go in."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient import errors
from placementclient.model.providers import Provider
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import shared_targets
from placementclient.planner.assign import assign
from placementclient.planner.infeasibility import (
    Cause,
    OpenRow,
    Refused,
    Slack,
    SpecFault,
    Undetermined,
)
from placementclient.planner.plan.plan import Label, LeftOut, Notice, Plan, TreePlan
from placementclient.planner.solve.search import TIMEOUT
from placementclient.planner.spec import check, documents, selection
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.values import Selection, Spec, is_pattern
from placementclient.planner.target.assignment import Assignment
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import HoldingKey, Known, KnownAssignments
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState
from placementclient.planner.tree_plan import compose
from placementclient.wording import grouped, suggestion

#: Of more trees that do not fit together, it is not tried which of them do.
MOST_TOGETHER = 64


def make(
    snapshot: Snapshot,
    spec: Spec,
    assignments: Sequence[Row] = (),
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
    :param solver_timeout: how long to search for each tree, in seconds as the solver counts them:
        by what it does, not by the clock
    :param migrations: of servers, as Nova lists them, to warn of; ``None`` if nobody has said
    :param progress: told the name of the root of each tree that is planned next
    :param expect: told how many trees there are
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
    expect(len(roots))
    for root in roots:
        progress(root.name)
        maker.plan(root)
    maker.plan_sharing()
    maker.raise_faults(partial=bool(trees))
    if not skip_infeasible:
        maker.raise_left_out()
    if maker.undecided and not allow_inferred:
        raise errors.Undecided(maker.undecided)
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


@dataclass(slots=True)
class _Outcome:
    """What came of a tree: its plan, with the assignment behind it, or why there is none."""

    root: ProviderState
    tree: TreePlan | None = None
    assignment: Assignment | None = None
    refusal: Refused | None = None


class _Maker:
    def __init__(
        self,
        snapshot: Snapshot,
        spec: Spec,
        rows: Sequence[Row],
        solver_timeout: float,
        migrations: Sequence[ServerMigration] | None,
    ) -> None:
        self.overlay = SnapshotOverlay(snapshot)
        self.known_assignments = KnownAssignments(spec, rows)
        self._solver_timeout = solver_timeout
        self.trees: list[TreePlan] = []
        self.left: list[LeftOut] = []
        self.causes: list[Cause] = []
        self.slack: list[Slack] = []
        self.undecided: list[OpenRow] = []
        self.unproved: list[Undetermined] = []
        self.faults, self.row_faults = documents.Faults(), documents.Faults()
        self.entries: set[str] = set()
        #: of the trees that are not planned yet, the targets that belong to others
        self._sharing: dict[str, frozenset[str]] = {}
        self.spec, self._migrations = spec, migrations

    def plan(self, root: ProviderState) -> None:
        """Plan a tree, or keep it for :meth:`plan_sharing`."""
        try:
            target_state = build_target_state(self.overlay, self.spec, root)
        except Refused as refusal:
            self._record(_Outcome(root, refusal=refusal))
            return
        self.entries |= target_state.entries
        shared, known = shared_targets.shared_by(target_state), None
        with self.row_faults.collected():
            known = self.known_assignments.match(self.overlay, target_state)
        if self.faults.found or self.row_faults.found:
            return  # the other trees are laid out for their faults alone
        if shared:
            self._sharing[root.uuid] = shared
        else:
            self._record(self._outcome(root, target_state, known))

    def plan_sharing(self) -> None:
        """Plan the trees that have targets in common, those that have any together."""
        for uuids in shared_targets.groups(self._sharing):
            roots = [self.overlay.snapshot.providers[uuid] for uuid in uuids]
            before = self.overlay.fork()
            outcomes = [self._outcome(root) for root in roots]
            guesses = [index for index, each in enumerate(outcomes[:-1]) if self._is_guess(each)]
            if guesses:
                self.overlay = before
                outcomes = self._together(roots) or self._doubted(roots, guesses[0])
            for outcome in outcomes:
                self._record(outcome)

    def _outcome(
        self,
        root: ProviderState,
        target_state: TargetState | None = None,
        known: Mapping[HoldingKey, Sequence[Known]] | None = None,
        assignment: Assignment | None = None,
    ) -> _Outcome:
        """Plan a tree on top of those before it.

        :param target_state: if that is known
        :param known: the rows that concern it, if they are known
        :param assignment: if that is known
        """
        try:
            target_state = target_state or build_target_state(self.overlay, self.spec, root)
            if assignment is None:
                if known is None:
                    known = self.known_assignments.match(self.overlay, target_state)
                assignment = assign(
                    self.overlay, target_state, self.spec, known, self._solver_timeout
                )
            tree = compose(
                self.overlay, target_state, assignment, self.spec, migrations=self._migrations
            )
        except Refused as refusal:
            return _Outcome(root, refusal=refusal)
        if tree.operations():
            self.overlay.commit(tree)
        return _Outcome(root, tree, assignment)

    def _is_guess(self, outcome: _Outcome) -> bool:
        """Whether it is open how much of a tree goes to targets that others use too."""
        if outcome.assignment is None:
            return False
        states = map(self.overlay.state, self._sharing[outcome.root.uuid])
        shared = {state.name for state in states if state}
        rows = (*outcome.assignment.undecided, *outcome.assignment.unproved)
        return any(not shared.isdisjoint(row.choices) for row in rows)

    def _together(self, roots: Sequence[ProviderState]) -> list[_Outcome] | None:
        """Plan trees together, as many as go; ``None``: the search did not end."""
        chosen, refused, assignments = list(roots), dict[str, Refused](), list[Assignment]()
        try:
            assignments = self._decide(chosen)
        except Refused as refusal:
            if len(roots) > MOST_TOGETHER or _is_undetermined(refusal):
                return None
            chosen = []
            for root in roots:
                try:
                    assignments = self._decide([*chosen, root])
                    chosen.append(root)
                except Refused as reason:
                    refused[root.uuid] = reason
        by_root = {root.uuid: own for root, own in zip(chosen, assignments, strict=True)}
        return [
            _Outcome(root, refusal=refused[root.uuid])
            if root.uuid in refused
            else self._outcome(root, assignment=by_root[root.uuid])
            for root in roots
        ]

    def _decide(self, roots: Sequence[ProviderState]) -> list[Assignment]:
        return shared_targets.decide_together(
            self.overlay, self.spec, self.known_assignments, roots, self._solver_timeout
        )

    def _doubted(self, roots: Sequence[ProviderState], guess: int) -> list[_Outcome]:
        """Plan trees one after the other. What rests on the guess of one is not certain."""
        outcomes = [self._outcome(root) for root in roots]
        for outcome in outcomes[guess + 1 :]:
            if outcome.refusal:
                undetermined = Undetermined(outcome.root.name, self._solver_timeout)
                outcome.refusal = Refused([undetermined])
            elif outcome.tree:
                rows = tuple(
                    replace(row, label=Label.INFERRED) if row.label == Label.FORCED else row
                    for row in outcome.tree.rows
                )
                outcome.tree = replace(outcome.tree, rows=rows)
        return outcomes

    def _record(self, outcome: _Outcome) -> None:
        root, refusal, assignment = outcome.root, outcome.refusal, outcome.assignment
        if refusal is not None:
            self.causes += refusal.causes
            self.slack += refusal.slack
            reasons = tuple(
                Notice(cause.kind, str(cause), cause.facts()) for cause in refusal.causes
            )
            self.left.append(LeftOut(root.uuid, root.name, reasons))
        elif outcome.tree and assignment and outcome.tree.operations():
            self.undecided += assignment.undecided
            if assignment.unproved:
                unproved = len(assignment.unproved)
                self.unproved.append(Undetermined(root.name, self._solver_timeout, unproved))
            self.trees.append(outcome.tree)

    def raise_left_out(self) -> None:
        """Refuse a plan that lacks trees.

        :raises errors.Infeasible: for all that is certain
        :raises errors.Undetermined: if nothing of it is
        """
        # Several moves may meet the same obstacle.
        causes = [*{str(cause): cause for cause in self.causes}.values()]
        certain = [cause for cause in causes if not isinstance(cause, Undetermined)]
        if certain:
            raise errors.Infeasible(certain, self.slack)
        if causes:
            raise errors.Undetermined(causes)

    def raise_faults(self, *, partial: bool) -> None:
        """Refuse a specification, or rows, for what the trees have shown.

        :param partial: whether only some of its trees were asked for
        :raises errors.BadFile: with all faults, equal ones of several trees as one
        """
        by_place: dict[tuple[str | int, ...], list[SpecFault]] = {}
        for cause in self.causes:
            if isinstance(cause, SpecFault):
                by_place.setdefault(cause.keys, []).append(cause)
        self.faults.found += [
            self.spec.error(sentence, *keys)
            for keys, causes in by_place.items()
            for sentence in grouped((cause.tree, cause.sentence) for cause in causes)
        ]
        if not partial and not self.left:
            self.faults.found += [
                self.spec.error(f'nothing uses {entry.name}', 'providers', index)
                for index, entry in enumerate(self.spec.providers)
                if entry.name not in self.entries
            ]
        self.faults.raise_any()
        # Of a specification that has faults, rows that are right may be of no use.
        left_out = [tree.root_provider_uuid for tree in self.left]
        self.row_faults.found += self.known_assignments.faults(
            self.overlay, partial=partial, left_out=left_out
        )
        self.row_faults.raise_any()


def _is_undetermined(refusal: Refused) -> bool:
    return all(isinstance(cause, Undetermined) for cause in refusal.causes)


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
            raise spec.error(f'does not select the tree {name}', 'trees')
        wanted.add(state.uuid)
    return [root for root in roots if not trees or root.uuid in wanted]


def _nothing_selected(spec: Spec) -> errors.BadFile:
    if spec.selection is None:
        return spec.error('selects no tree', 'moves', 0, 'from_resource_provider')
    return spec.error('selects no tree: no root meets all conditions', 'trees')


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
    return snapshot.find(source) is None and is_pattern(source)
