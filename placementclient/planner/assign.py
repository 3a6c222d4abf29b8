"""Who goes where in one tree: states the assignment problem, has it solved, labels the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from placementclient.planner import infeasibility
from placementclient.planner.diagnose import diagnose
from placementclient.planner.infeasibility import OpenRow, Refused
from placementclient.planner.plan.plan import Label, PlannedRow
from placementclient.planner.solve.search import Impossible, ItemDecision, search
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.assignment import (
    Assignment,
    AssignmentProblem,
    ConsumerItem,
    Where,
)
from placementclient.planner.target.known import Holding, Known
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState


def assign(
    overlay: SnapshotOverlay,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[Holding, Sequence[Known]],
) -> Assignment:
    """Find a place for all that the consumers of a tree hold on its sources.

    :param known: what is known to go where
    :raises Refused: if there is no such assignment
    """
    _refuse_hidden(overlay, target_state)
    problem = AssignmentProblem(overlay, target_state, spec)
    for source, names in _groups(target_state, spec):
        for consumer in overlay.consumers_on(source):
            problem.add_consumer(consumer, target_state.providers[source], names, known)
    if problem.causes:
        raise Refused(problem.causes)
    items = problem.items()
    found = search(problem.bins, items)
    if isinstance(found, Impossible):
        raise Refused(*diagnose(target_state, problem, items, found))
    return _assignment(target_state, problem.consumer_items, found)


def _groups(target_state: TargetState, spec: Spec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sources with the classes that go together."""
    group_of = {name: group for group in spec.together for name in group}
    done: set[Where] = set()
    for source, name in target_state.places:
        if (source, name) not in done:
            names = tuple(
                other
                for other in group_of.get(name, (name,))
                if (source, other) in target_state.places
            )
            done.update((source, other) for other in names)
            yield source, names


def _refuse_hidden(overlay: SnapshotOverlay, target_state: TargetState) -> None:
    hidden: list[infeasibility.Cause] = []
    for source, name in target_state.places:
        if (source, name) in target_state.limited:
            continue
        state = overlay.state(source)
        assert state is not None
        listed = sum(
            consumer.allocations.get(source, {}).get(name, 0)
            for consumer in overlay.consumers_on(source)
        )
        usage = state.usages.get(name, 0)
        if usage > listed:
            hidden.append(
                infeasibility.HiddenAllocations(
                    target_state.root.name, state.name, name, usage, listed
                )
            )
    if hidden:
        raise Refused(hidden)


def _assignment(
    target_state: TargetState, consumer_items: Sequence[ConsumerItem], found: Sequence[ItemDecision]
) -> Assignment:
    assignment = Assignment([], [], [])
    for consumer_item, result in zip(consumer_items, found, strict=True):
        label = consumer_item.known.label if consumer_item.known else Label.FORCED
        if consumer_item.known is None and not result.forced:
            label = Label.INFERRED
            choices = tuple(consumer_item.options[option][0].provider for option in result.possible)
            assignment.undecided += [
                OpenRow(
                    target_state.root.name,
                    consumer_item.consumer.uuid,
                    name,
                    amount,
                    consumer_item.source.name,
                    choices,
                )
                for name, amount in consumer_item.amounts.items()
            ]
        for option, placed in result.placement:
            for place, (name, amount) in zip(
                consumer_item.options[option], consumer_item.amounts.items(), strict=True
            ):
                assignment.rows.append(
                    PlannedRow(
                        consumer_item.consumer.uuid,
                        name,
                        placed if consumer_item.divisible else amount,
                        consumer_item.source.name,
                        place.provider,
                        place.resource_class,
                        label,
                        consumer_item.known.evidence if consumer_item.known else None,
                    )
                )
                assignment.moves.append(
                    (
                        consumer_item.consumer.uuid,
                        (consumer_item.source.uuid, name),
                        (place.provider_uuid, place.resource_class),
                        placed if consumer_item.divisible else amount,
                    )
                )
    return assignment
