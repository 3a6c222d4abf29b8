"""The assignment of trees that change together: the problem, the solution, and labelled rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from placementclient.model.plans import Label, PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.diagnose import diagnose
from placementclient.planner.infeasibility import Cause, OpenRow, Refused
from placementclient.planner.layout.assignment import AssignmentProblem
from placementclient.planner.layout.target_state import HoldingKey, TargetState, Where
from placementclient.planner.layout.ways import ConsumerItem
from placementclient.planner.solve.search import (
    TIMEOUT,
    Impossible,
    ItemDecision,
    search,
)


@dataclass(slots=True)
class Assignment:
    """The places of all amounts that move.

    :param rows: labelled, by source, consumer and class
    :param undecided: the rows that have a choice
    :param unproved: the rows that may have one: the search for it was cut short
    """

    rows: list[PlannedRow]
    undecided: list[OpenRow]
    unproved: list[OpenRow]


def assign(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[PlannedRow]],
    timeout: float = TIMEOUT,
) -> Assignment:
    """Find a place for all allocations of a tree that must move.

    :param timeout: how long to search, in seconds
    :raises Refused: if there is no such assignment, or none is found in time
    """
    problem = prepared(snapshot, target_state, spec, known)
    found = search(problem.bins, problem.items, timeout)
    if isinstance(found, Impossible):
        raise Refused(*diagnose(target_state, problem, found))
    if found is None:
        raise Refused([Cause('undetermined', target_state.name, unproved=0, seconds=timeout)])
    return assignment_of(target_state, problem.consumer_items, found)


def prepared(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[PlannedRow]],
) -> AssignmentProblem:
    """Return the assignment problem of a tree.

    :raises Refused: if it has no solution, as can be seen without a search
    """
    if hidden := [*_hidden(snapshot, target_state)]:
        raise Refused(hidden)
    problem = AssignmentProblem(snapshot, target_state)
    if refused := [*_overfull(problem, target_state, spec), *_addition_refusals(target_state)]:
        raise Refused(refused)
    problem.add_consumers(spec, known)
    return problem


def _hidden(snapshot: Snapshot, target_state: TargetState) -> Iterator[Cause]:
    """Return the usage of sources that no consumer accounts for."""
    for where in target_state.places:
        source, name = where
        hidden = snapshot.unlisted(source).get(name)
        if hidden and where not in target_state.limited:
            state = snapshot.providers[source]
            usage = state.used(name)
            yield Cause(
                'hidden-allocations',
                target_state.name,
                provider=state.name,
                usage=usage,
                resource_class=name,
                listed=usage - hidden,
            )


def _overfull(problem: AssignmentProblem, target_state: TargetState, spec: Spec) -> Iterator[Cause]:
    """Return changed inventories that are too small for the remaining usage."""
    for provider in target_state.providers.values():
        before = provider.before.inventories if provider.before else {}
        for name, inventory in provider.inventories.items():
            if inventory == before.get(name):
                continue
            where = Where(provider.uuid, name)
            used, room = problem.static(where), inventory.capacity
            was = before[name].capacity if name in before else 0
            excess = max(0, used - was, target_state.overcommitted.get(where, 0))
            if (name in spec.names.moved and used > room + excess) or room < 0:
                yield Cause(
                    'overfull',
                    target_state.name,
                    provider=provider.name,
                    room=room,
                    resource_class=name,
                    used=used,
                )


def assignment_of(
    target_state: TargetState,
    consumer_items: Sequence[ConsumerItem],
    found: Sequence[ItemDecision],
) -> Assignment:
    """Return the result of the search as labelled rows."""
    ordered: list[tuple[tuple[int, str], PlannedRow]] = []
    assignment = Assignment([], [], [])
    for item, decision in zip(consumer_items, found, strict=True):
        for position, holding in enumerate(item.holdings):
            if holding.row is not None:
                ordered.append((holding.order, holding.row))
                continue
            label = Label.FORCED
            if _has_choice(target_state, item, decision, position):
                label = Label.INFERRED
                open_row, is_known = _open_row(target_state, item, decision, position)
                (assignment.undecided if is_known else assignment.unproved).append(open_row)
            for option, amount in decision.placement:
                for place, part in item.ways[option][position]:
                    row = PlannedRow(
                        item.consumer.uuid,
                        holding.resource_class,
                        amount if item.divisible else part,
                        holding.source.name,
                        place.provider,
                        place.resource_class,
                        label,
                    )
                    ordered.append((holding.order, row))
    ordered.sort(key=itemgetter(0))
    assignment.rows += [row for _, row in ordered]
    assignment.rows += _addition_rows(target_state)
    return assignment


def _has_choice(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> bool:
    """Return whether a holding of an item may itself go to several places."""
    if decision.forced or len(item.holdings) == 1:
        return not decision.forced
    if not decision.proved:
        return len(target_state.places[item.holdings[position].where]) > 1
    return len({item.ways[option][position] for option in decision.possible}) > 1


def _open_row(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision, position: int
) -> tuple[OpenRow, bool]:
    """Return the row of a holding that has a choice, and whether that is known."""
    parts = dict.fromkeys(item.ways[option][position] for option in decision.possible)
    places = dict.fromkeys(placed.place for placed in chain(*parts))
    choices = tuple(dict.fromkeys(place.provider for place in places))
    holding = item.holdings[position]
    is_ambiguous = target_state.is_ambiguous(holding.where, choices)
    row = OpenRow(
        target_state.root_of(holding.source).name,
        item.consumer.uuid,
        holding.resource_class,
        holding.amount,
        holding.source.name,
        choices,
        tuple(dict.fromkeys(place.resource_class for place in places)) if is_ambiguous else (),
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
                yield Cause(
                    'bad-amount',
                    tree,
                    consumer_uuid=consumer_uuid,
                    resource_class=where.resource_class,
                    amount=amount,
                    units=((target.name, *inventory.units),),
                )
    for where, need in needs.items():
        target = target_state.providers[where.provider_uuid]
        room = target.inventories[where.resource_class].capacity
        if need > room:
            yield Cause(
                'shortfall',
                tree,
                mapped=True,
                providers=(target.name,),
                resource_class=where.resource_class,
                need=need,
                room=room,
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
