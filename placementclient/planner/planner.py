"""Make a plan: the specification, a snapshot and assignment rows go in."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient import errors
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
    Undecidable,
    Undetermined,
)
from placementclient.planner.plan.plan import Label, LeftOut, Notice, Plan, TreePlan
from placementclient.planner.shared_targets import MAX_PERMUTED, TreeAssignment
from placementclient.planner.solve.search import TIMEOUT
from placementclient.planner.spec import check, documents
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.values import Selection, Spec, is_pattern
from placementclient.planner.target.assignment import Assignment
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import HoldingKey, Known, KnownAssignments
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState
from placementclient.planner.tree_plan import compose
from placementclient.wording import grouped, meant

#: Of more trees that do not fit together, it is not tried which of them do.
MOST_TOGETHER = 64

_ORDER_MATTERS = 'which of the trees that share targets goes first decides what these become'
_CHAINED = (
    '{0} gets inventory of other trees and gives its own away: '
    'plan and apply its tree first, with --tree {0}'
)
_NO_ORDER = 'the trees that share targets fit together, but no order of them was found'


def make(
    snapshot: Snapshot,
    spec: Spec,
    assignments: Sequence[Row] = (),
    *,
    trees: Collection[str] = (),
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
    roots = _chosen(maker, trees)
    maker.roots = frozenset(root.uuid for root in roots)
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
    """What came of a tree: its plan, with the assignment behind it, or why there is none.

    :param doubt: why it is not proved that unproved rows have nowhere else to go, if time is not
        the reason
    """

    root: ProviderState
    tree: TreePlan | None = None
    assignment: Assignment | None = None
    refusal: Refused | None = None
    doubt: str = ''


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
        self.unproved: list[Undetermined | Undecidable] = []
        self.faults, self.row_faults = documents.Faults(), documents.Faults()
        self.entries: set[str] = set()
        #: all that are planned, by UUID
        self.roots: frozenset[str] = frozenset()
        #: of the trees that are not planned yet, the targets that belong to others
        self._sharing: dict[str, frozenset[str]] = {}
        #: those of them in which some amount has several places to go to
        self._choosing: set[str] = set()
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
        shared |= set(shared_targets.stuck_consumers(self.overlay, target_state, self.roots))
        with self.row_faults.collected():
            known = self.known_assignments.match(self.overlay, target_state)
        if self.faults.found or self.row_faults.found:
            return  # the other trees are laid out for their faults alone
        if shared:
            self._sharing[root.uuid] = shared
            if shared_targets.has_choice(target_state):
                self._choosing.add(root.uuid)
        else:
            self._record(self._outcome(root, target_state, known))

    def plan_sharing(self) -> None:
        """Plan the trees that have targets in common, those that have any together."""
        targets = frozenset[str]().union(*self._sharing.values())
        owners = self._owners(targets)
        groups = shared_targets.groups(self._sharing)
        # What a tree moves off a shared target goes before what others move to it.
        for uuids in sorted(groups, key=owners.isdisjoint):
            roots = [self.overlay.snapshot.providers[uuid] for uuid in uuids]
            for outcome in self._chained(roots) or self._in_order(roots) or self._together(roots):
                self._record(outcome)

    def _owners(self, targets: Collection[str]) -> set[str]:
        """The roots of the trees that targets belong to, by UUID."""
        states = [state for target in targets if (state := self.overlay.state(target))]
        return {self.overlay.root_of(state) for state in states}

    def _in_order(self, roots: Sequence[ProviderState]) -> list[_Outcome] | None:
        """Plan trees one after the other; ``None``: the order may decide what becomes of them."""
        before = self.overlay.fork()
        if len(roots) > 1 and not self._choosing.isdisjoint(root.uuid for root in roots):
            return None
        outcomes = [self._outcome(root) for root in roots]
        if len(roots) > 1 and any(outcome.refusal for outcome in outcomes):
            self.overlay = before
            return None
        return outcomes

    def _chained(self, roots: Sequence[ProviderState]) -> list[_Outcome] | None:
        """Refuse trees that move to another one of them; ``None``: they do not."""
        owners = self._owners({each for root in roots for each in self._sharing[root.uuid]})
        chained = [root.name for root in roots if root.uuid in owners]
        if len(roots) == 1 or not chained:
            return None
        name = chained[0]
        reason = _CHAINED.format(name)
        return [_Outcome(root, refusal=Refused([Undecidable(root.name, reason)])) for root in roots]

    def _outcome(
        self,
        root: ProviderState,
        target_state: TargetState | None = None,
        known: Mapping[HoldingKey, Sequence[Known]] | None = None,
    ) -> _Outcome:
        """Plan a tree on top of those before it.

        :param target_state: if that is known
        :param known: the rows that concern it, if they are known
        """
        try:
            target_state = target_state or build_target_state(self.overlay, self.spec, root)
            if known is None:
                known = self.known_assignments.match(self.overlay, target_state)
            assignment = assign(self.overlay, target_state, self.spec, known, self._solver_timeout)
            tree = compose(
                self.overlay, target_state, assignment, self.spec, migrations=self._migrations
            )
        except Refused as refusal:
            return _Outcome(root, refusal=refusal)
        if tree.operations():
            self.overlay.commit(tree)
        return _Outcome(root, tree, assignment)

    def _together(self, roots: Sequence[ProviderState]) -> list[_Outcome]:
        """Plan trees together, as many as go, in an order in which each can be carried out."""
        before = self.overlay.fork()
        orders = shared_targets.orders(self.overlay, self.spec, roots)
        doubt = _ORDER_MATTERS if len(orders) > 1 and len(roots) > MAX_PERMUTED else ''
        decided = [self._decided(order, doubt) for order in orders]
        found = [each for each in decided if isinstance(each, list)]
        shared_targets.agree(found)
        for order, each in zip(orders, decided, strict=True):
            if isinstance(each, list):
                outcomes = self._in_some_order(order, each, doubt)
                if outcomes is not None:
                    return outcomes
                self.overlay = before.fork()
        if found:
            return self._doubted(roots, Undecidable(roots[-1].name, _NO_ORDER))
        if len(roots) > MOST_TOGETHER:
            refusals = [each for each in decided if isinstance(each, Refused)]
            return self._doubted(roots, next(map(_open_cause, refusals)))
        return self._as_many_as_go(roots, before, doubt)

    def _as_many_as_go(
        self, roots: Sequence[ProviderState], before: SnapshotOverlay, doubt: str
    ) -> list[_Outcome]:
        """Plan those trees together that fit together."""
        chosen, decided = list[ProviderState](), list[TreeAssignment]()
        refused = dict[str, Refused]()
        for root in [*roots, *roots]:  # what comes later may bring the room for one before it
            if root not in chosen:
                found = self._decided([*chosen, root], doubt)
                if isinstance(found, Refused):
                    refused.setdefault(root.uuid, found)
                else:
                    refused.pop(root.uuid, None)
                    chosen, decided = [*chosen, root], found
        outcomes = self._in_some_order(chosen, decided, doubt)
        if outcomes is None:
            self.overlay = before
            return self._doubted(roots, Undecidable(roots[-1].name, _NO_ORDER))
        left = [root for root in roots if root.uuid in refused]
        return outcomes + [_Outcome(root, refusal=refused[root.uuid]) for root in left]

    def _decided(
        self, roots: Sequence[ProviderState], doubt: str
    ) -> list[TreeAssignment] | Refused:
        try:
            return shared_targets.decide_together(
                self.overlay,
                self.spec,
                self.known_assignments,
                roots,
                self._solver_timeout,
                order_matters=bool(doubt),
            )
        except Refused as refusal:
            return refusal

    def _in_some_order(
        self, roots: Sequence[ProviderState], decided: Sequence[TreeAssignment], doubt: str
    ) -> list[_Outcome] | None:
        """Plan trees of which it is known where everything goes; ``None``: no order was found.

        :param doubt: why it may not be proved that there is nowhere else to go
        """
        outcomes = list[_Outcome]()
        waiting = list(zip(roots, decided, strict=True))
        while waiting:
            late = []
            for root, own in waiting:
                outcome = self._outcome(root, known=own.known())
                if outcome.refusal:
                    late.append((root, own))
                else:
                    outcomes.append(replace(outcome, assignment=own.assignment, doubt=doubt))
            if len(late) == len(waiting):
                return None
            waiting = late
        return outcomes

    def _doubted(self, roots: Sequence[ProviderState], doubt: Cause | None) -> list[_Outcome]:
        """Plan trees one after the other. What rests on the choices of others is not certain.

        :param doubt: why it is not known whether they fit; ``None``: they do not
        """
        outcomes = [self._outcome(root) for root in roots]
        for outcome in outcomes:
            if outcome.refusal and doubt:
                outcome.refusal = Refused([replace(doubt, tree=outcome.root.name)])
            elif outcome.tree and outcome.assignment and outcome.root.uuid in self._choosing:
                outcome.tree, forced = _without_proof(outcome.tree)
                outcome.assignment.unproved.extend(forced)
                outcome.doubt = _NO_ORDER
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
            if unproved := len(assignment.unproved):
                self.unproved.append(
                    Undecidable(root.name, outcome.doubt, unproved)
                    if outcome.doubt
                    else Undetermined(root.name, self._solver_timeout, unproved)
                )
            self.trees.append(outcome.tree)

    def raise_left_out(self) -> None:
        """Refuse a plan that lacks trees.

        :raises errors.Infeasible: for all that is certain
        :raises errors.Undetermined: if nothing of it is
        """
        # Several moves may meet the same obstacle.
        causes = [*{str(cause): cause for cause in self.causes}.values()]
        certain = [cause for cause in causes if not isinstance(cause, Undetermined | Undecidable)]
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


def _open_cause(refusal: Refused) -> Cause | None:
    """Why it is not known whether there is a plan; ``None``: there is none."""
    causes = refusal.causes
    if all(isinstance(cause, Undetermined | Undecidable) for cause in causes):
        return causes[0]
    return None


def _without_proof(tree: TreePlan) -> tuple[TreePlan, list[OpenRow]]:
    """A tree of which nothing is forced, and the rows that were."""
    rows = [row for row in tree.rows if row.label == Label.FORCED]
    labelled = tuple(
        replace(row, label=Label.INFERRED) if row.label == Label.FORCED else row
        for row in tree.rows
    )
    return replace(tree, rows=labelled), [
        OpenRow(
            tree.root_provider_name,
            row.consumer_uuid,
            row.resource_class,
            row.amount,
            row.from_provider or '',
            (row.to_provider or '',),
        )
        for row in rows
    ]


def selected(snapshot: Snapshot, spec: Spec) -> list[ProviderState]:
    """The roots of the trees that a specification is about, by name."""
    if spec.selection is not None:
        selection = spec.selection
        return [root for root in snapshot.roots() if _meets(root, selection)]
    if any(_is_pattern(snapshot, move.source) for move in spec.moves):
        return snapshot.roots()
    overlay = SnapshotOverlay(snapshot)
    named = [move.source for move in spec.moves]
    named += [name for each in spec.additions for name in (each.name, each.parent) if name]
    wanted = {overlay.root_of(state) for state in map(overlay.find, named) if state is not None}
    return [root for root in snapshot.roots() if root.uuid in wanted]


def _chosen(maker: _Maker, trees: Collection[str]) -> list[ProviderState]:
    snapshot, path = maker.overlay.snapshot, maker.spec.path
    roots = selected(snapshot, maker.spec)
    if not roots:
        maker.faults.raise_any()
        raise _nothing_selected(snapshot, maker.spec)
    uuids = {root.uuid for root in roots}
    wanted = set()
    for name in trees:
        state = snapshot.find(name)
        if state is None:
            raise errors.NoSuchProvider(f'No resource provider is called {name}')
        if state.uuid not in uuids:
            raise errors.BadFile(path, f'does not select the tree {name}')
        wanted.add(state.uuid)
    return [root for root in roots if not trees or root.uuid in wanted]


def _nothing_selected(snapshot: Snapshot, spec: Spec) -> errors.BadFile:
    """The condition that no root meets, or that none meets all of them."""
    if spec.selection is None:
        return spec.error('selects no tree', 'moves', 0, 'from_resource_provider')
    names, uuids = spec.selection.names, spec.selection.uuids
    traits, classes = spec.selection.traits, spec.selection.classes
    roots = snapshot.roots()
    hint = ''.join(meant(name, [root.name for root in roots]) for name in names[:1])
    for key, selection, reason in (
        ('name', Selection(names=names), f'is called {" or ".join(names)}{hint}'),
        ('uuid', Selection(uuids=uuids), f'has the UUID {" or ".join(uuids)}'),
        ('trait', Selection(traits=traits), f'has the trait {" and ".join(traits)}'),
        ('class', Selection(classes=classes), f'has inventory of {" and ".join(classes)}'),
    ):
        if not any(_meets(root, selection) for root in roots):
            return spec.error(f'selects no tree: no root {reason}', 'trees', key)
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
