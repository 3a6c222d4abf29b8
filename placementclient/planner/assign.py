"""The assignment of one tree: states the problem, has it solved, labels the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from placementclient.planner import infeasibility
from placementclient.planner.diagnose import diagnose
from placementclient.planner.infeasibility import OpenRow, Refused
from placementclient.planner.plan.plan import Label, PlannedRow
from placementclient.planner.solve.problem import Item
from placementclient.planner.solve.search import (
    TIMEOUT,
    Impossible,
    ItemDecision,
    search,
)
from placementclient.planner.spec.values import Spec
from placementclient.planner.target import additions
from placementclient.planner.target.assignment import AssignmentProblem, ConsumerItem
from placementclient.planner.target.known import HoldingKey, KnownAmount
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState, Where
from placementclient.planner.target.transfers import Assignment, Transfer


def assign(
    overlay: SnapshotOverlay,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[KnownAmount]],
    timeout: float = TIMEOUT,
) -> Assignment:
    """Find a place for all that the consumers of a tree hold on its sources.

    :param known: what is known to go where
    :param timeout: how long to search, in the solver's deterministic unit (about a second)
    :raises Refused: if there is no such assignment, or none is found in time
    """
    problem, items = prepared(overlay, target_state, spec, known)
    found = search(problem.bins, items, timeout)
    if isinstance(found, Impossible):
        raise Refused(*diagnose(target_state, problem, items, found))
    if found is None:
        raise Refused([infeasibility.UNDETERMINED(target_state.root.name, timeout)])
    return assignment_of(target_state, problem.consumer_items, found)


def prepared(
    overlay: SnapshotOverlay,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[HoldingKey, Sequence[KnownAmount]],
) -> tuple[AssignmentProblem, list[Item]]:
    """The assignment problem of a tree, and its items.

    :param known: what is known to go where
    :raises Refused: if it has no solution, as can be seen without a search
    """
    _refuse_hidden(overlay, target_state)
    problem = AssignmentProblem(overlay, target_state, spec)
    refused = [*problem.overfull(), *additions.refusals(overlay, target_state)]
    if refused:
        raise Refused(refused)
    for source, names in _groups(target_state, spec):
        for consumer in overlay.consumers_on(source):
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


def _refuse_hidden(overlay: SnapshotOverlay, target_state: TargetState) -> None:
    hidden: list[infeasibility.Cause] = []
    for source, name in target_state.places:
        if (source, name) in target_state.limited:
            continue
        state = overlay.state(source)
        assert state is not None
        listed = sum(consumer.amount(source, name) for consumer in overlay.consumers_on(source))
        usage = state.usages.get(name, 0)
        if usage > listed:
            hidden.append(
                infeasibility.HIDDEN_ALLOCATIONS(
                    target_state.root.name, state.name, name, usage, listed
                )
            )
    if hidden:
        raise Refused(hidden)


def assignment_of(
    target_state: TargetState, consumer_items: Sequence[ConsumerItem], found: Sequence[ItemDecision]
) -> Assignment:
    """Return the result of the search in the words of a plan, labelled."""
    assignment = Assignment([], [], [], [])
    for item, decision in zip(consumer_items, found, strict=True):
        is_open = item.known is None and not decision.forced
        if is_open:
            has_choice = decision.proved or len(decision.possible) > 1
            rows = assignment.undecided if has_choice else assignment.unproved
            rows += _open_rows(target_state, item, decision)
        for option, placed in decision.placement:
            for position, (name, amount) in enumerate(item.amounts.items()):
                place = item.options[option][position]
                if item.known:
                    label = item.known.label
                elif is_open and _has_choice(item, decision, position):
                    label = Label.INFERRED
                else:
                    label = Label.FORCED
                amount = placed if item.divisible else amount
                assignment.rows.append(
                    PlannedRow(
                        item.consumer.uuid,
                        name,
                        amount,
                        item.source.name,
                        place.provider,
                        place.resource_class,
                        label,
                        item.known.evidence if item.known else None,
                    )
                )
                assignment.transfers.append(
                    Transfer(item.consumer.uuid, Where(item.source.uuid, name), place.where, amount)
                )
    additions.assign(target_state, assignment)
    return assignment


def _has_choice(item: ConsumerItem, decision: ItemDecision, position: int) -> bool:
    """Return whether one class of an item that is not forced may itself go to several places.

    :param position: of the class
    """
    if len(item.amounts) == 1:
        return True
    options = decision.possible if decision.proved else range(len(item.options))
    return len({item.options[option][position] for option in options}) > 1


def _open_rows(
    target_state: TargetState, item: ConsumerItem, decision: ItemDecision
) -> Iterator[OpenRow]:
    for position, (name, amount) in enumerate(item.amounts.items()):
        if not _has_choice(item, decision, position):
            continue
        places = [item.options[option][position] for option in decision.possible]
        choices = tuple(dict.fromkeys(place.provider for place in places))
        is_named = len(choices) < len({place.where for place in places})
        yield OpenRow(
            target_state.root.name,
            item.consumer.uuid,
            name,
            amount,
            item.source.name,
            choices,
            tuple(dict.fromkeys(place.resource_class for place in places)) if is_named else (),
        )
