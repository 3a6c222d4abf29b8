"""The assignment of trees that change together: the problem, the solution, and labelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from placementclient.model.plans import Label, PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import infeasibility
from placementclient.planner.diagnose import diagnose
from placementclient.planner.infeasibility import Cause, OpenRow, Refused
from placementclient.planner.layout.assignment import Assignment, AssignmentProblem
from placementclient.planner.layout.known import HoldingKey, PlacedAmount
from placementclient.planner.layout.target_state import Place, TargetState, Where
from placementclient.planner.layout.ways import ConsumerItem, Way
from placementclient.planner.solve.problem import Item
from placementclient.planner.solve.search import (
    TIMEOUT,
    Impossible,
    ItemDecision,
    search,
)


def assign(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[PlacedAmount]],
    timeout: float = TIMEOUT,
) -> Assignment:
    """Find a place for all allocations of a tree that must move.

    :param known: what is known to go where
    :param timeout: how long to search, in seconds
    :raises Refused: if there is no such assignment, or none is found in time
    """
    problem, items = prepared(snapshot, target_state, spec, known)
    found = search(problem.bins, items, timeout)
    if isinstance(found, Impossible):
        raise Refused(*diagnose(target_state, problem, items, found))
    if found is None:
        raise Refused([infeasibility.UNDETERMINED(target_state.name, timeout)])
    return assignment_of(target_state, problem.consumer_items, found)


def prepared(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[PlacedAmount]],
) -> tuple[AssignmentProblem, list[Item]]:
    """Return the assignment problem of a tree, and its items.

    :param known: what is known to go where
    :raises Refused: if it has no solution, as can be seen without a search
    """
    _refuse_hidden(snapshot, target_state)
    problem = AssignmentProblem(snapshot, target_state, spec)
    refused = [*problem.overfull(), *_addition_refusals(target_state)]
    if refused:
        raise Refused(refused)
    for source, names in _groups(target_state, spec):
        for consumer in snapshot.consumers_on(source):
            problem.add_consumer(consumer, target_state.providers[source], names, known)
    items = [] if problem.causes else problem.items()
    if problem.causes:
        raise Refused(problem.causes)
    return problem, items


def _groups(target_state: TargetState, spec: Spec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sources with the classes that go together."""
    group_of = {name: group for group in spec.together for name in group}
    done: set[Where] = set()
    for source, name in target_state.places:
        if (source, name) not in done:
            names = tuple(
                other
                for other in group_of.get(name, (name,))
                if Where(source, other) in target_state.places
            )
            done.update(Where(source, other) for other in names)
            yield source, names


def _refuse_hidden(snapshot: Snapshot, target_state: TargetState) -> None:
    hidden: list[Cause] = []
    for source, name in target_state.places:
        if (source, name) in target_state.limited:
            continue
        state = snapshot.providers.get(source)
        assert state is not None
        listed = sum(consumer.amount(source, name) for consumer in snapshot.consumers_on(source))
        usage = state.usages.get(name, 0)
        if usage > listed:
            hidden.append(
                infeasibility.HIDDEN_ALLOCATIONS(target_state.name, state.name, name, usage, listed)
            )
    if hidden:
        raise Refused(hidden)


def assignment_of(
    target_state: TargetState,
    consumer_items: Sequence[ConsumerItem],
    found: Sequence[ItemDecision],
) -> Assignment:
    """Return the result of the search as labelled rows."""
    numbered: list[tuple[int, PlannedRow]] = []
    assignment = Assignment([], [], [])
    for item, decision in zip(consumer_items, found, strict=True):
        for position, holding in enumerate(item.holdings):
            known = holding.known
            is_open = known is None and _has_choice(target_state, item, decision, position)
            if is_open:
                open_row, is_known = _open_row(target_state, item, decision, position)
                (assignment.undecided if is_known else assignment.unproved).append(open_row)
            for place, amount in _placed(item, decision, position):
                row = PlannedRow(
                    item.consumer.uuid,
                    holding.resource_class,
                    amount,
                    holding.source.name,
                    place.provider,
                    place.resource_class,
                    known.label if known else Label.INFERRED if is_open else Label.FORCED,
                    known.evidence if known else None,
                )
                numbered.append((holding.number, row))
    numbered.sort(key=itemgetter(0))
    assignment.rows += [row for _, row in numbered]
    assignment.rows += _addition_rows(target_state)
    return assignment


def _placed(
    item: ConsumerItem, decision: ItemDecision, position: int
) -> Iterator[tuple[Place, int]]:
    """Return the places of a holding, each with the amount that goes there."""
    for option, amount in decision.placement:
        for each in item.ways[option]:
            if each.holding == position:
                yield each.place, amount if item.divisible else each.amount


def _has_choice(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> bool:
    """Return whether a holding of an item may itself go to several places."""
    if decision.forced or len(item.holdings) == 1:
        return not decision.forced
    if not decision.proved:
        return len(target_state.places[item.holdings[position].where]) > 1
    return len({_part(item.ways[option], position) for option in decision.possible}) > 1


def _part(way: Way, position: int) -> tuple[tuple[Where, int], ...]:
    return tuple(
        (placed.place.where, placed.amount) for placed in way if placed.holding == position
    )


def _open_row(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> tuple[OpenRow, bool]:
    """Return the row of a holding that has a choice, and whether that is known."""
    parts = {_part(item.ways[option], position) for option in decision.possible}
    places = {
        placed.place.where: placed.place
        for option in decision.possible
        for placed in item.ways[option]
        if placed.holding == position
    }
    choices = tuple(dict.fromkeys(place.provider for place in places.values()))
    holding = item.holdings[position]
    is_ambiguous = target_state.is_ambiguous(holding.where, choices)
    row = OpenRow(
        target_state.root_of(holding.source).name,
        item.consumer.uuid,
        holding.resource_class,
        holding.amount,
        holding.source.name,
        choices,
        tuple(dict.fromkeys(name for _, name in places)) if is_ambiguous else (),
    )
    return row, decision.proved or len(parts) > len(decision.placement)


def _addition_refusals(target_state: TargetState) -> Iterator[Cause]:
    """Return the reasons why the service would refuse the additions: units and capacity."""
    tree = target_state.name
    needs: dict[Where, int] = {}
    for consumer_uuid, amounts in target_state.added.items():
        for where, amount in amounts.items():
            needs[where] = needs.get(where, 0) + amount
            target = target_state.providers[where.provider_uuid]
            inventory = target.inventories[where.resource_class]
            if not inventory.admits(amount):
                yield infeasibility.BAD_AMOUNT(
                    tree,
                    consumer_uuid,
                    where.resource_class,
                    amount,
                    ((target.name, *inventory.units),),
                )
    for where, need in needs.items():
        target = target_state.providers[where.provider_uuid]
        room = target.inventories[where.resource_class].capacity
        if need > room:
            yield infeasibility.SHORTFALL(
                tree, (target.name,), where.resource_class, need, room, mapped=True
            )


def _addition_rows(target_state: TargetState) -> Iterator[PlannedRow]:
    """Return the rows of what consumers get, and of what they lose; the operator said so."""
    names = {uuid: target.name for uuid, target in target_state.providers.items()}
    for changes, is_added in ((target_state.added, True), (target_state.removed, False)):
        for consumer_uuid, amounts in changes.items():
            for (provider_uuid, name), amount in amounts.items():
                at = names[provider_uuid]
                origin, target = (None, at) if is_added else (at, None)
                yield PlannedRow(consumer_uuid, name, amount, origin, target, name, Label.MAPPED)
