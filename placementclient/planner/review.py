"""A new plan of a tree, compared with the reviewed one."""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.plans import Label, Notice, PlannedRow, TreeChange


def differences(reviewed: TreeChange, again: TreeChange) -> Iterator[str]:
    """Return the effects of a new plan that the operator has not reviewed, as sentences.

    It may differ by allocations that came or went, and by who made a child that is still empty.
    """
    if again.roots != reviewed.roots:
        yield f'it is the plan of the tree of {again.root_provider_uuid}'
        return
    yield from _providers(reviewed, again)
    if Counter(again.moves) != Counter(reviewed.moves):
        yield 'other inventory would move'
    inventories = _inventories(reviewed), _inventories(again)
    for provider, name in sorted(inventories[0].keys() | inventories[1].keys()):
        was, now = (of_plan.get((provider, name)) for of_plan in inventories)
        if was != now:
            yield f'{name} on {provider} would be {_shown(now, was)}, and not {_shown(was, now)}'
    yield from _rows(reviewed, again)
    for warning in again.warnings:
        if not any(_covers(notice, warning) for notice in reviewed.warnings):
            yield warning.message


def _providers(reviewed: TreeChange, again: TreeChange) -> Iterator[str]:
    before = {change.name: change for change in reviewed.providers}
    after = {change.name: change for change in again.providers}
    for name in sorted(before.keys() ^ after.keys()):
        verb = 'would be changed too' if name in after else 'would not be changed'
        yield f'{name} {verb}'
    for name in sorted(before.keys() & after.keys()):
        # Of a child that the plan makes, another may have made one of another UUID.
        if after[name].uuid != before[name].uuid and not before[name].is_created:
            yield f'{name} would be {after[name].uuid}'


def _rows(reviewed: TreeChange, again: TreeChange) -> Iterator[str]:
    places = _places(reviewed), _places(again)
    for holding in sorted(places[0].keys() & places[1].keys()):
        for provider, name in sorted(places[1][holding] - places[0][holding]):
            yield f'consumer {holding[0]} would get {name} of {provider}'
    guessed = {_holding(row) for row in reviewed.rows if row.label is Label.INFERRED}
    for row in again.rows:
        if row.label is Label.INFERRED and _holding(row) not in guessed:
            yield f'the place of consumer {row.consumer_uuid} would be a guess'


def _inventories(tree: TreeChange) -> dict[tuple[str, str], Inventory | None]:
    """Return the classes that a plan changes, by provider and class; ``None``: it goes."""
    result: dict[tuple[str, str], Inventory | None] = {}
    for change in tree.providers:
        before, after = change.content_before.inventories, change.content_after.inventories
        for name in change.changed_classes:
            inventory = after.get(name)
            if change.root_provider_uuid not in tree.roots and inventory and name in before:
                inventory = replace(inventory, total=inventory.total - before[name].total)
            result[change.name, name] = inventory
    return result


def _shown(inventory: Inventory | None, other: Inventory | None) -> str:
    """An inventory by what is different in another one."""
    if inventory is None:
        return 'gone'
    if other is None:
        return f'total {inventory.total}'
    fields = other.as_fields()
    return ', '.join(
        f'{name} {value}' for name, value in inventory.as_fields().items() if value != fields[name]
    )


def _holding(row: PlannedRow) -> tuple[str, str, str]:
    return row.consumer_uuid, row.resource_class, row.from_provider or ''


def _places(tree: TreeChange) -> dict[tuple[str, str, str], set[tuple[str, str]]]:
    """Return the targets of each consumer's holdings: providers and classes."""
    result: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    for row in tree.rows:
        place = (row.to_provider or '', row.to_resource_class)
        result.setdefault(_holding(row), set()).add(place)
    return result


def _covers(reviewed: Notice, warning: Notice) -> bool:
    """Return whether a warning says no more than one that is known; lists of consumers may be
    shorter.
    """
    return reviewed.kind == warning.kind and all(
        set(fact) <= set(reviewed.facts.get(name, ()))
        if isinstance(fact, list | tuple)
        else fact == reviewed.facts.get(name)
        for name, fact in warning.facts.items()
    )
