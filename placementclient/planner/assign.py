# SPDX-License-Identifier: Apache-2.0
"""The assignment of trees that change together: the problem, the solution, and labelled rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from placementclient.model.inventories import InventoryKey
from placementclient.model.plans import PlannedRow, RowLabel
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.diagnose import explain_impossible
from placementclient.planner.infeasibility import Cause, PlanRefusal, UndecidedRow
from placementclient.planner.layout.assignment import AssignmentProblem, find_fixed_usage
from placementclient.planner.layout.options import AllocatedAmount, ConsumerItem, TargetPart
from placementclient.planner.layout.target_state import AllocationKey, TargetState
from placementclient.planner.solve.search import (
    TIMEOUT,
    Impossible,
    ItemDecision,
    search_placements,
)


@dataclass(frozen=True, slots=True)
class AssignmentResult:
    """The targets of all amounts that move.

    :param rows: of the plan, labelled mapped, forced or inferred, by source, consumer and class
    :param undecided: the rows that have several possible targets
    :param unproved: how many more rows may have several: the search for other targets was cut short
    """

    rows: Sequence[PlannedRow]
    undecided: Sequence[UndecidedRow]
    unproved: int = 0


def assign_targets(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    assigned: Mapping[AllocationKey, Sequence[PlannedRow]],
    timeout: float = TIMEOUT,
) -> AssignmentResult:
    """Return a target for each allocation that must move in trees that change together.

    :param assigned: by allocation, the rows that the operator assigns
    :param timeout: how long to search, in seconds
    :param target_state: of the trees
    :raises PlanRefusal: if there is no such assignment, or none is found in time
    """
    _require_no_cause(_find_hidden_usage(snapshot, target_state))
    _require_no_cause(
        chain(
            _find_overfull_inventories(snapshot, target_state),
            _find_refused_additions(target_state),
            _find_inventories_too_small_for_additions(target_state),
        )
    )
    problem = AssignmentProblem(snapshot, target_state, spec, assigned)
    result = search_placements(problem.bins, problem.items, timeout)
    if isinstance(result, Impossible):
        raise explain_impossible(target_state, problem, result)
    if result is None:
        raise PlanRefusal([Cause('undetermined', target_state.name, unproved=0, seconds=timeout)])
    return make_labelled_rows(target_state, problem.consumer_items, result)


def _require_no_cause(causes: Iterator[Cause]) -> None:
    """Raise :class:`PlanRefusal` if there are causes."""
    if found := [*causes]:
        raise PlanRefusal(found)


def _find_hidden_usage(snapshot: Snapshot, target_state: TargetState) -> Iterator[Cause]:
    """Yield a cause for each source with usage that no consumer in the snapshot accounts for."""
    for key in target_state.targets:
        source, name = key
        hidden = snapshot.unlisted_usages(source).get(name)
        if hidden:
            state = snapshot.providers[source]
            yield Cause(
                'hidden-allocations',
                target_state.name,
                provider=state.name,
                usage=state.used(name),
                resource_class=name,
                listed=state.used(name) - hidden,
            )


def _find_overfull_inventories(snapshot: Snapshot, target_state: TargetState) -> Iterator[Cause]:
    """Yield a cause for each changed inventory that is too small for the usage that cannot move."""
    for provider in target_state.providers.values():
        for name, inventory in provider.inventories.items():
            before = provider.inventories_before.get(name)
            if inventory == before:
                continue
            used = find_fixed_usage(snapshot, target_state, InventoryKey(provider.uuid, name))
            # An inventory that is over its capacity may stay so far over it.
            excess = max(0, used - (before.capacity if before else 0))
            if used > inventory.capacity + excess or inventory.capacity < 0:
                yield Cause(
                    'overfull',
                    target_state.name,
                    provider=provider.name,
                    room=inventory.capacity,
                    resource_class=name,
                    used=used,
                )


def _find_refused_additions(target_state: TargetState) -> Iterator[Cause]:
    """Yield a cause for each addition whose amount the units of its inventory do not allow."""
    for consumer_uuid, amounts in target_state.additions.items():
        for (provider_uuid, name), amount in amounts.items():
            provider = target_state.providers[provider_uuid]
            inventory = provider.inventories[name]
            if not inventory.admits(amount):
                yield Cause(
                    'bad-amount',
                    target_state.name,
                    consumer_uuid=consumer_uuid,
                    resource_class=name,
                    amount=amount,
                    units=((provider.name, *inventory.units),),
                )


def _find_inventories_too_small_for_additions(target_state: TargetState) -> Iterator[Cause]:
    """Yield a cause for each inventory that is too small for its additions alone."""
    needs = Counter[InventoryKey]()
    for amounts in target_state.additions.values():
        needs.update(amounts)
    for (provider_uuid, name), need in needs.items():
        provider = target_state.providers[provider_uuid]
        room = provider.inventories[name].capacity
        if need > room:
            yield Cause(
                'shortfall',
                target_state.name,
                mapped=True,
                providers=(provider.name,),
                resource_class=name,
                need=need,
                room=room,
            )


class _DecidedAllocation(NamedTuple):
    """An allocation that moves, with its item and the decision about the item.

    :param position: the index of the allocation in the item
    """

    item: ConsumerItem
    decision: ItemDecision
    position: int

    @property
    def allocation(self) -> AllocatedAmount:
        return self.item.allocations[self.position]

    @property
    def possible_targets(self) -> dict[tuple[TargetPart, ...], None]:
        """Each possible choice of targets, with their amounts, as keys; the preferred one first."""
        item, decision, position = self
        return dict.fromkeys([item.options[option][position] for option in decision.possible])

    def choose_label(self, target_state: TargetState) -> RowLabel:
        """Return the label of the allocation's rows: mapped, inferred or forced."""
        if self.allocation.row is not None:
            return RowLabel.MAPPED
        return RowLabel.INFERRED if self._has_choice(target_state) else RowLabel.FORCED

    def _has_choice(self, target_state: TargetState) -> bool:
        """Return whether the allocation may get other targets; True if that is not known."""
        if self.decision.forced:
            return False
        if len(self.item.allocations) == 1:
            return True
        # The options of an item may differ in its other allocations alone.
        if self.decision.proved:
            return len(self.possible_targets) > 1
        # The search was cut short: every target may be possible.
        return len(target_state.targets[self.allocation.key]) > 1

    @property
    def is_choice_proved(self) -> bool:
        """Return whether it is proved that the allocation may go to several targets."""
        return self.decision.proved or len(self.possible_targets) > len(self.decision.placement)


def make_labelled_rows(
    target_state: TargetState,
    consumer_items: Sequence[ConsumerItem],
    decisions: Sequence[ItemDecision],
) -> AssignmentResult:
    """Return the decisions as rows of a plan, each labelled mapped, forced or inferred.

    :param decisions: one for each item
    """
    decided = [
        _DecidedAllocation(item, decision, position)
        for item, decision in zip(consumer_items, decisions, strict=True)
        for position in range(len(item.allocations))
    ]
    labels = [allocation.choose_label(target_state) for allocation in decided]
    choices = [
        one for one, label in zip(decided, labels, strict=True) if label is RowLabel.INFERRED
    ]
    proved = [choice for choice in choices if choice.is_choice_proved]
    in_order = sorted(zip(decided, labels, strict=True), key=lambda pair: pair[0].allocation.order)
    rows = [row for one, label in in_order for row in _make_planned_rows(one, label)]
    return AssignmentResult(
        [*rows, *_make_addition_rows(target_state)],
        [_make_undecided_row(target_state, choice) for choice in proved],
        len(choices) - len(proved),
    )


def _make_planned_rows(decided: _DecidedAllocation, label: RowLabel) -> Iterator[PlannedRow]:
    """Yield an allocation's rows of the plan: the operator's row, or one for each target."""
    item, decision, position = decided
    allocation = decided.allocation
    if allocation.row is not None:
        yield allocation.row
        return
    for option, amount in decision.placement:
        for target, part in item.options[option][position]:
            yield PlannedRow(
                item.consumer.uuid,
                allocation.resource_class,
                amount if item.divisible else part,
                allocation.source.name,
                target.provider,
                target.key.resource_class,
                label,
            )


def _make_undecided_row(target_state: TargetState, decided: _DecidedAllocation) -> UndecidedRow:
    allocation = decided.allocation
    targets = dict.fromkeys([target for target, _ in chain(*decided.possible_targets)])
    choices = tuple(dict.fromkeys([target.provider for target in targets]))
    names = [target.provider for target in target_state.targets[allocation.key]]
    has_classes = any(names.count(name) > 1 for name in choices)
    classes = dict.fromkeys(target.key.resource_class for target in targets) if has_classes else ()
    return UndecidedRow(
        target_state.find_tree_name(allocation.source),
        decided.item.consumer.uuid,
        allocation.resource_class,
        allocation.amount,
        allocation.source.name,
        choices,
        tuple(classes),
    )


def _make_addition_rows(target_state: TargetState) -> Iterator[PlannedRow]:
    """Yield a row for each amount that an addition of the specification gives a consumer."""
    for consumer_uuid, amounts in target_state.additions.items():
        for (provider_uuid, name), amount in amounts.items():
            provider = target_state.providers[provider_uuid].name
            yield PlannedRow(consumer_uuid, name, amount, None, provider, name, RowLabel.MAPPED)
