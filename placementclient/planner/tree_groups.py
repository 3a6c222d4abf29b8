"""Plans single trees, and those together that share a target or a consumer."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from placementclient.model.connected import connected
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState
from placementclient.planner import shared_targets
from placementclient.planner.assign import assign
from placementclient.planner.infeasibility import (
    OPEN,
    UNDECIDABLE,
    Cause,
    OpenRow,
    Refused,
)
from placementclient.planner.layout.assignment import Assignment
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.known import HoldingKey, KnownAmount, KnownAssignments
from placementclient.planner.layout.overlay import SnapshotOverlay
from placementclient.planner.layout.target_state import TargetState
from placementclient.planner.plan.plan import Label, TreePlan
from placementclient.planner.shared_consumers import SharedConsumers
from placementclient.planner.shared_targets import MAX_PERMUTED, TreeAssignment
from placementclient.planner.specification.values import Spec
from placementclient.planner.tree_plan import compose

#: Of more trees that do not fit together, it is not tried which of them do.
MOST_TOGETHER = 64

_ORDER_MATTERS = 'which of the trees that share targets goes first decides what these become'
_CHAINED = (
    '{0} gets inventory of other trees and gives its own away: '
    'plan and apply its tree first, with --tree {0}'
)
_NO_ORDER = 'the trees that share targets fit together, but no order of them was found'


@dataclass(slots=True)
class TreeOutcome:
    """The result for a tree: its plan and assignment, or the reasons against one.

    :param tree: ``None`` too where there is nothing to change
    :param doubt: why it is not proved that unproved rows have nowhere else to go, if time is not
        the reason
    """

    root: ProviderState
    tree: TreePlan | None = None
    assignment: Assignment | None = None
    refusal: Refused | None = None
    doubt: str = ''


@dataclass(slots=True)
class TreePlanner:
    """Plans a tree on top of those before it.

    :param overlay: what there is, with what the trees that are planned make of it
    :param solver_timeout: how long to search, in seconds
    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    """

    overlay: SnapshotOverlay
    spec: Spec
    known_assignments: KnownAssignments
    solver_timeout: float
    migrations: Sequence[ServerMigration] | None

    def plan(
        self,
        root: ProviderState,
        target_state: TargetState | None = None,
        known: Mapping[HoldingKey, Sequence[KnownAmount]] | None = None,
    ) -> TreeOutcome:
        """Plan a tree on top of those before it.

        :param target_state: if that is known
        :param known: the rows that concern it, if they are known
        """
        try:
            target_state = target_state or build_target_state(self.overlay, self.spec, root)
            if known is None:
                known = self.known_assignments.match(self.overlay, target_state)
            assignment = assign(self.overlay, target_state, self.spec, known, self.solver_timeout)
            tree = compose(
                self.overlay, target_state, assignment, self.spec, migrations=self.migrations
            )
        except Refused as refusal:
            return TreeOutcome(root, refusal=refusal)
        if not tree.operations:
            return TreeOutcome(root, assignment=assignment)
        self.overlay.commit(tree)
        return TreeOutcome(root, tree, assignment)


class TreeGroups:
    """Plans trees together that share a target, or a consumer that has to move in one first.

    :param roots: of all trees that are planned, by UUID
    """

    def __init__(self, planner: TreePlanner, roots: Set[str]) -> None:
        self._planner = planner
        self._consumers = SharedConsumers(planner.spec, roots)
        #: of each tree, by the UUID of its root, what it has in common with others
        self._sharing: dict[str, frozenset[str]] = {}
        #: those of them in which some amount has several places to go to
        self._choosing: set[str] = set()

    def takes(self, target_state: TargetState) -> bool:
        """Return whether a tree is planned by :meth:`plan`; it is kept until then."""
        root = target_state.root.uuid
        stuck = self._consumers.add(self._planner.overlay, target_state)
        shared = shared_targets.shared_by(target_state) | stuck
        if not shared and not self._consumers.of(root):
            return False
        self._sharing[root] = shared
        if shared_targets.has_choice(target_state):
            self._choosing.add(root)
        return True

    def plan(self) -> Iterator[TreeOutcome]:
        """Plan the trees that have something in common, group by group."""
        targets = frozenset[str]().union(*self._sharing.values())
        owners = self._owners(targets)
        for root in self._sharing.keys() - owners:  # those go first, each by itself
            self._sharing[root] |= self._consumers.of(root)
        groups = connected(self._sharing)
        # What a tree moves off a shared target goes before what others move to it.
        for uuids in sorted(groups, key=owners.isdisjoint):
            roots = [self._planner.overlay.snapshot.providers[uuid] for uuid in uuids]
            yield from self._chained(roots) or self._in_order(roots) or self._together(roots)

    def _owners(self, targets: Collection[str]) -> set[str]:
        """The roots of the trees that targets belong to, by UUID."""
        states = [state for target in targets if (state := self._planner.overlay.state(target))]
        return {self._planner.overlay.root_of(state) for state in states}

    def _in_order(self, roots: Sequence[ProviderState]) -> list[TreeOutcome] | None:
        """Plan trees one after the other; ``None``: the order may decide what becomes of them."""
        before = self._planner.overlay.fork()
        if len(roots) > 1 and not self._choosing.isdisjoint(root.uuid for root in roots):
            return None
        outcomes = [self._planner.plan(root) for root in roots]
        if len(roots) > 1 and any(outcome.refusal for outcome in outcomes):
            self._planner.overlay = before
            return None
        return outcomes

    def _chained(self, roots: Sequence[ProviderState]) -> list[TreeOutcome] | None:
        """Refuse trees that move to another one of them; ``None``: they do not."""
        owners = self._owners({each for root in roots for each in self._sharing[root.uuid]})
        chained = [root.name for root in roots if root.uuid in owners]
        if len(roots) == 1 or not chained:
            return None
        name = chained[0]
        reason = _CHAINED.format(name)
        return [
            TreeOutcome(root, refusal=Refused([UNDECIDABLE(root.name, reason)])) for root in roots
        ]

    def _together(self, roots: Sequence[ProviderState]) -> list[TreeOutcome]:
        """Plan trees together, as many as go, in an order in which each can be carried out."""
        before = self._planner.overlay.fork()
        try:
            outcomes = shared_targets.outcomes(before, self._planner.spec, roots)
        except Refused:
            return self._as_many_as_go(roots)
        matters, is_few = len(outcomes) > 1, len(roots) <= MAX_PERMUTED
        doubt = _ORDER_MATTERS if matters and not is_few else ''
        refusals, fitting = list[Refused](), list[list[TreeAssignment]]()
        for orders in outcomes:
            decided = self._decided(orders[0], doubt)
            if isinstance(decided, Refused):
                refusals.append(decided)
                continue
            for order in orders:
                ordered = [decided[orders[0].index(root)] for root in order]
                planned = self._in_some_order(ordered, doubt)
                if planned is not None and (doubt or not matters):
                    return planned
                self._planner.overlay = before.fork()
                if planned and tuple(outcome.root for outcome in planned) in orders:
                    fitting.append(ordered)
                    break
        if fitting:
            labelled = shared_targets.in_any_order(fitting[0], fitting[1:])
            planned = self._in_some_order(labelled)
            assert planned is not None  # as it was before it was labelled
            return planned
        if len(refusals) < len(outcomes):
            return self._one_by_one(roots, before)
        if len(roots) > MOST_TOGETHER:
            return self._doubted(roots, _open_cause(refusals[0]))
        return self._as_many_as_go(roots)

    def _as_many_as_go(self, roots: Sequence[ProviderState]) -> list[TreeOutcome]:
        """Plan those trees together that fit together."""
        chosen = list[ProviderState]()
        refused = dict[str, Refused]()
        for root in [*roots, *roots]:  # what comes later may bring the room for one before it
            if root not in chosen:
                decided = self._decided([*chosen, root])
                if isinstance(decided, Refused):
                    refused.setdefault(root.uuid, decided)
                else:
                    refused.pop(root.uuid, None)
                    chosen.append(root)
        outcomes = self._together(chosen) if chosen else []
        return outcomes + [
            TreeOutcome(root, refusal=refused[root.uuid]) for root in roots if root.uuid in refused
        ]

    def _decided(
        self, roots: Sequence[ProviderState], doubt: str = ''
    ) -> list[TreeAssignment] | Refused:
        try:
            return shared_targets.decide_together(
                self._planner.overlay,
                self._planner.spec,
                self._planner.known_assignments,
                roots,
                self._planner.solver_timeout,
                order_matters=bool(doubt),
            )
        except Refused as refusal:
            return refusal if len(roots) > 1 else self._alone(roots[0]) or refusal

    def _alone(self, root: ProviderState) -> Refused | None:
        before = self._planner.overlay.fork()
        refusal = self._planner.plan(root).refusal
        self._planner.overlay = before
        return refusal

    def _one_by_one(
        self, roots: Sequence[ProviderState], before: SnapshotOverlay
    ) -> list[TreeOutcome]:
        """Plan trees that do not fit as one: in the first order in which each of them fits.

        That no order fits is certain only if no tree had a choice that the next ones depend on.
        """
        is_certain = len(roots) <= MAX_PERMUTED
        for order in itertools.permutations(roots) if is_certain else ():
            self._planner.overlay = before.fork()
            outcomes = [self._planner.plan(root) for root in order]
            refused = [outcome for outcome in outcomes if outcome.refusal]
            if not refused:
                return [self._without_proof(outcome) for outcome in outcomes]
            earlier = outcomes[: outcomes.index(refused[0])]
            is_certain = is_certain and not any(map(self._concerns_others, earlier))
        self._planner.overlay = before
        if is_certain:
            return [self._planner.plan(root) for root in roots]
        return self._doubted(roots, UNDECIDABLE(roots[-1].name, _NO_ORDER))

    def _concerns_others(self, outcome: TreeOutcome) -> bool:
        """Return whether a tree has a choice that other trees may depend on."""
        assignment, overlay = outcome.assignment, self._planner.overlay
        if assignment is None:
            return False
        shares = any(overlay.state(each) for each in self._sharing[outcome.root.uuid])
        return any(
            shares or len(overlay.roots_of(overlay.consumer(row.consumer_uuid))) > 1
            for row in (*assignment.undecided, *assignment.unproved)
        )

    def _in_some_order(
        self, decided: Sequence[TreeAssignment], doubt: str = ''
    ) -> list[TreeOutcome] | None:
        """Plan trees of which it is known where everything goes; ``None``: no order was found.

        :param doubt: why it may not be proved that there is nowhere else to go
        """
        outcomes = list[TreeOutcome]()
        waiting = [*decided]
        while waiting:
            late = []
            for own in waiting:
                outcome = self._planner.plan(own.root, known=own.known())
                if outcome.refusal:
                    late.append(own)
                else:
                    outcomes.append(replace(outcome, assignment=own.assignment, doubt=doubt))
            if len(late) == len(waiting):
                return None
            waiting = late
        return outcomes

    def _doubted(self, roots: Sequence[ProviderState], doubt: Cause | None) -> list[TreeOutcome]:
        """Plan trees one after the other. What rests on the choices of others is not certain.

        :param doubt: why it is not known whether they fit; ``None``: they do not
        """
        outcomes = [self._planner.plan(root) for root in roots]
        for outcome in outcomes:
            if outcome.refusal and doubt:
                outcome.refusal = Refused([replace(doubt, tree=outcome.root.name)])
            else:
                self._without_proof(outcome)
        return outcomes

    def _without_proof(self, outcome: TreeOutcome) -> TreeOutcome:
        """The same, of which nothing is forced if some of it has a choice."""
        if outcome.tree and outcome.assignment and outcome.root.uuid in self._choosing:
            outcome.tree, forced = _without_proof(outcome.tree)
            outcome.assignment.unproved.extend(forced)
            outcome.doubt = _NO_ORDER
        return outcome


def _open_cause(refusal: Refused) -> Cause | None:
    """Return the reason why it is open whether there is a plan; ``None``: there is none."""
    causes = refusal.causes
    if all(cause.kind in OPEN for cause in causes):
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
