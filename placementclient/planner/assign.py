# SPDX-License-Identifier: Apache-2.0
"""The assignment of trees that change together: the problem, the solution, and labelled rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from placementclient.model.inventories import InventoryKey
from placementclient.model.plans import Label, PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.diagnose import diagnose
from placementclient.planner.infeasibility import Cause, Refused, UndecidedRow
from placementclient.planner.layout.assignment import AssignmentProblem
from placementclient.planner.layout.options import ConsumerItem
from placementclient.planner.layout.target_state import AllocationKey, TargetState
from placementclient.planner.solve.search import (
    TIMEOUT,
    Impossible,
    ItemDecision,
    search_placements,
)


@dataclass(slots=True)
class AssignmentResult:
    """The targets of all amounts that move.

    :param rows: the rows of the plan, each with its label, ordered by source, consumer and class
    :param undecided: the rows that have several possible targets
    :param unproved: how many more rows may have several: the search for other targets was cut short
    """

    rows: list[PlannedRow]
    undecided: list[UndecidedRow]
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
    :raises Refused: if there is no such assignment, or none is found in time
    """
    problem = AssignmentProblem(snapshot, target_state, spec, assigned)
    for refusals in (
        _find_hidden_usage(snapshot, target_state),
        chain(
            _find_overfull_inventories(problem, target_state, spec),
            _find_refused_additions(target_state),
        ),
    ):
        if causes := [*refusals]:
            raise Refused(causes)
    problem.add_consumers()
    result = search_placements(problem.bins, problem.items, timeout)
    if isinstance(result, Impossible):
        raise Refused(*diagnose(target_state, problem, result))
    if result is None:
        raise Refused([Cause('undetermined', target_state.name, unproved=0, seconds=timeout)])
    return label_rows(target_state, problem.consumer_items, result)


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


def _find_overfull_inventories(
    problem: AssignmentProblem, target_state: TargetState, spec: Spec
) -> Iterator[Cause]:
    """Yield a cause for each changed inventory that is too small for the usage that stays on it."""
    for provider in target_state.providers.values():
        before, after = provider.inventories_before, provider.inventories
        for name, inventory in after.items():
            if inventory == before.get(name):
                continue
            used, room = (
                problem.sum_fixed_usage(InventoryKey(provider.uuid, name)),
                inventory.capacity,
            )
            was = before[name].capacity if name in before else 0
            if used > room + max(0, used - was) or room < 0:
                yield Cause(
                    'overfull',
                    target_state.name,
                    provider=provider.name,
                    room=room,
                    resource_class=name,
                    used=used,
                )


def _find_refused_additions(target_state: TargetState) -> Iterator[Cause]:
    """Yield a cause for each addition that the service would refuse for its amount."""
    needs: dict[InventoryKey, int] = {}
    for consumer_uuid, amounts in target_state.additions.items():
        for key, amount in amounts.items():
            needs[key] = needs.get(key, 0) + amount
            provider = target_state.providers[key.provider_uuid]
            inventory = provider.inventories[key.resource_class]
            if not inventory.admits(amount):
                yield Cause(
                    'bad-amount',
                    target_state.name,
                    consumer_uuid=consumer_uuid,
                    resource_class=key.resource_class,
                    amount=amount,
                    units=((provider.name, *inventory.units),),
                )
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


def label_rows(
    target_state: TargetState,
    consumer_items: Sequence[ConsumerItem],
    decisions: Sequence[ItemDecision],
) -> AssignmentResult:
    """Return the decisions as rows of a plan, each labelled mapped, forced or inferred.

    :param decisions: one for each item
    """
    ordered: list[tuple[tuple[int, str], PlannedRow]] = []
    assignment = AssignmentResult([], [])
    for item, decision in zip(consumer_items, decisions, strict=True):
        for position, allocation in enumerate(item.allocations):
            if allocation.row is not None:
                ordered.append((allocation.order, allocation.row))
                continue
            label = Label.FORCED
            if _has_choice(target_state, item, decision, position):
                label = Label.INFERRED
                open_row, is_certain = _make_undecided_row(target_state, item, decision, position)
                if is_certain:
                    assignment.undecided.append(open_row)
                else:
                    assignment.unproved += 1
            for option, amount in decision.placement:
                for target, part in item.options[option][position]:
                    row = PlannedRow(
                        item.consumer.uuid,
                        allocation.resource_class,
                        amount if item.divisible else part,
                        allocation.source.name,
                        target.provider,
                        target.key.resource_class,
                        label,
                    )
                    ordered.append((allocation.order, row))
    ordered.sort(key=itemgetter(0))
    assignment.rows += [row for _, row in ordered]
    assignment.rows += _make_addition_rows(target_state)
    return assignment


def _has_choice(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> bool:
    """Return whether one allocation of an item may go to several targets.

    :param position: the index of the allocation in the item
    """
    if decision.forced or len(item.allocations) == 1:
        return not decision.forced
    if not decision.proved:
        return len(target_state.targets[item.allocations[position].key]) > 1
    return len({item.options[option][position] for option in decision.possible}) > 1


def _make_undecided_row(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> tuple[UndecidedRow, bool]:
    """Return the row of an allocation with its possible targets, and whether several are certain.

    :param position: the index of the allocation in the item
    """
    parts = dict.fromkeys(item.options[option][position] for option in decision.possible)
    targets = dict.fromkeys(target for target, _ in chain(*parts))
    choices = tuple(dict.fromkeys(target.provider for target in targets))
    allocation = item.allocations[position]
    names = [target.provider for target in target_state.targets[allocation.key]]
    has_names = any(names.count(name) > 1 for name in choices)
    classes = dict.fromkeys(target.key.resource_class for target in targets) if has_names else ()
    row = UndecidedRow(
        target_state.find_tree_name(allocation.source),
        item.consumer.uuid,
        allocation.resource_class,
        allocation.amount,
        allocation.source.name,
        choices,
        tuple(classes),
    )
    return row, decision.proved or len(parts) > len(decision.placement)


def _make_addition_rows(target_state: TargetState) -> Iterator[PlannedRow]:
    """Yield a row for each amount that the additions of the specification give a consumer."""
    for consumer_uuid, amounts in target_state.additions.items():
        for (provider_uuid, name), amount in amounts.items():
            provider = target_state.providers[provider_uuid].name
            yield PlannedRow(consumer_uuid, name, amount, None, provider, name, Label.MAPPED)
