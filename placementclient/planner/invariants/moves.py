# SPDX-License-Identifier: Apache-2.0
"""The moves of a plan are those of its specification; its rows keep the assignments."""

from collections import Counter
from collections.abc import Iterable, Iterator

from placementclient.model.assignments import AssignmentRow
from placementclient.model.plans import (
    InventoryMove,
    PlannedRow,
    ProviderChange,
    Recipe,
    RowLabel,
)
from placementclient.model.specifications import ALL, Move, Spec
from placementclient.planner.invariants.checked_change import Amounts, CheckedChange

#: An assignment, and the name of the source that it is about; ``None``: any.
_Assigned = tuple[AssignmentRow, str | None]


def check_moves(checked: CheckedChange) -> Iterator[str]:
    """Yield a fault for each move that only the plan has, or only the specification."""
    planned, specified = Counter(checked.change.moves), Counter(_derive_moves(checked))
    for reason, moves in (
        ('the specification does not move', planned - specified),
        ('the plan does not move, as the specification says,', specified - planned),
    ):
        for move in moves:
            yield (
                f'{reason} {move.amount} {move.resource_class} from {move.from_provider} to '
                f'{move.to_provider} as {move.to_resource_class}'
            )


def _derive_moves(checked: CheckedChange) -> Iterator[InventoryMove]:
    """Yield the moves of inventory that the specification asks for."""
    taken = Amounts(int)
    for move, source, _ in checked.moves:
        for name, amount in move.resources.items():
            taken[source.uuid, name] += 0 if amount == ALL else amount
    for move, source, target in checked.moves:
        provider = checked.find_provider(target)
        for name, amount in move.resources.items():
            inventory = source.content_before.inventories.get(name)
            if inventory is None or _was_move_made(checked, move, name, source, provider):
                continue
            if amount == ALL:  # the first such move takes all that the others leave
                amount = inventory.total - taken[source.uuid, name]
                taken[source.uuid, name] += amount
            target_name = provider.name if provider else target
            yield InventoryMove(source.name, name, target_name, move.name_at_target(name), amount)


def _was_move_made(
    checked: CheckedChange,
    move: Move,
    name: str,
    source: ProviderChange,
    target: ProviderChange | None,
) -> bool:
    """Return whether a move was made already: source and target are as the specification says.

    :param name: the class at the source
    :param target: ``None`` if the change has no such provider
    """
    sides = ((source, name), (target, move.name_at_target(name)))
    return all(
        provider is not None
        and any(
            entry.states_present_inventory(
                side_name, provider.content_before.inventories.get(side_name)
            )
            for entry in checked.find_entries(provider)
        )
        for provider, side_name in sides
    )


def check_assignments(
    recipe: Recipe[Spec], checked_changes: Iterable[CheckedChange]
) -> Iterator[str]:
    """Yield a fault for each assignment that rows do not keep, and each inferred row.

    With ``allow_inferred``, inferred rows are no fault.

    :param recipe: the specification with the operator's assignments
    """
    assigned: dict[str, list[_Assigned]] = {}
    for row in recipe.assignments:
        assigned.setdefault(row.consumer_uuid, []).append((row, None))
    in_moves = {uuid for move in recipe.spec.moves for uuid in move.consumers}
    for checked in checked_changes:
        rows_of: dict[str, list[PlannedRow]] = {}
        root_name = checked.change.root_provider_name
        for planned in checked.change.reasons:
            rows_of.setdefault(planned.consumer_uuid, []).append(planned)
            if planned.label is RowLabel.INFERRED and not recipe.options.allow_inferred:
                yield f'{root_name}: the place of {planned.consumer_uuid} is a guess'
        for uuid, rows in rows_of.items():
            inline = _list_inline_assignments(checked, uuid) if uuid in in_moves else ()
            for row, source in (*assigned.get(uuid, ()), *inline):
                if not _keeps_assignment(checked, row, source, rows):
                    yield (
                        f'{root_name}: {uuid} is known to have {row.resource_class} of '
                        f'{row.to_provider}, and its rows do not say so'
                    )


def _list_inline_assignments(checked: CheckedChange, consumer_uuid: str) -> Iterator[_Assigned]:
    """Yield the assignments of a consumer that stand in the moves of the specification."""
    for move, source, target in checked.moves:
        for name, amount in move.consumers.get(consumer_uuid, {}).items():
            yield AssignmentRow(consumer_uuid, name, amount, target), source.name


def _keeps_assignment(
    checked: CheckedChange, assigned: AssignmentRow, source: str | None, rows: Iterable[PlannedRow]
) -> bool:
    """Return whether rows give the assigned provider at least the assigned amount.

    An assignment about another tree is always kept.

    :param source: the name of the provider that the amount leaves; ``None``: any
    """
    provider = checked.find_provider(assigned.to_provider)
    of_class = [
        row
        for row in rows
        if row.resource_class == assigned.resource_class and source in (None, row.from_provider)
    ]
    if provider is None or not of_class:
        return True  # it is about another tree
    placed = sum(row.amount for row in of_class if row.to_provider == provider.name)
    return placed >= (assigned.amount or 1)
