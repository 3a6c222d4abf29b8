"""Inventories, traits and aggregates of a plan are those of the specification."""

from collections.abc import Iterator, Mapping, Sequence, Set

from placementclient.model.inventories import Inventory
from placementclient.model.plans import InventoryMove, ProviderChange
from placementclient.planner.invariants.subject import Amounts, Subject, add

#: Names of traits by the UUIDs of providers.
_Traits = dict[str, set[str]]


def faults(subject: Subject) -> Iterator[str]:
    """Check that everything in the specification changes, and nothing else."""
    if subject.backwards:
        yield from _way_back(subject)
        return
    net: Amounts = {}
    incoming: dict[tuple[str, str], list[InventoryMove]] = {}
    for move in subject.tree.moves:
        source, target = (subject.by_name.get(n) for n in (move.from_provider, move.to_provider))
        if source is None or target is None:
            continue  # the check of the moves says so
        add(net, (source.uuid, move.resource_class), -move.amount)
        add(net, (target.uuid, move.to_resource_class), move.amount)
        incoming.setdefault((target.uuid, move.to_resource_class), []).append(move)
    gained, lost = _moved_traits(subject)
    for change in subject.tree.providers:
        for name in sorted(
            change.content_before.inventories.keys() | change.content_after.inventories
        ):
            where = change.uuid, name
            yield from _inventory(subject, change, name, net.get(where), incoming.get(where, []))
        yield from _traits(
            subject, change, gained.get(change.uuid, set()), lost.get(change.uuid, set())
        )
        yield from _aggregates(subject, change)


def _inventory(
    subject: Subject,
    change: ProviderChange,
    name: str,
    net: int | None,
    incoming: list[InventoryMove],
) -> Iterator[str]:
    """An inventory has what it had and what moves, unless the specification says otherwise."""
    before, after = (
        content.inventories.get(name) for content in (change.content_before, change.content_after)
    )
    stated = [
        entry.inventories[name] for entry in subject.entries_of(change) if name in entry.inventories
    ]
    if net is None and not stated:
        if before != after:
            yield f'{name} of {change.name} changes, the specification does not name it'
        return
    totals = {fields['total'] for fields in stated if 'total' in fields}
    wanted = totals or {(before.total if before else 0) + (net or 0)}
    total = after.total if after else 0
    if total not in wanted:
        yield (
            f'{change.name} is to have {total} {name}, not the {min(wanted):g} that it has and '
            'that move, or that the specification says'
        )
    if after is not None:
        origins = [_origin(subject, move) for move in incoming]
        yield from _units(change, name, before, after, stated, [each for each in origins if each])


def _origin(subject: Subject, move: InventoryMove) -> Inventory | None:
    source = subject.by_name[move.from_provider]
    return source.content_before.inventories.get(move.resource_class)


def _units(
    change: ProviderChange,
    name: str,
    before: Inventory | None,
    after: Inventory,
    stated: Sequence[Mapping[str, object]],
    origins: list[Inventory],
) -> Iterator[str]:
    """The other fields of an inventory are stated, as before, or those of where it comes from."""
    inventories = [*origins, *([before] if before else [])] or [Inventory(after.total)]
    models = [inventory.as_fields() for inventory in inventories]
    for field, value in after.as_fields().items():
        said = {fields[field] for fields in stated if field in fields}
        if field == 'total' or value in said:
            continue
        allowed = {model[field] for model in models}
        if field == 'max_unit' and origins:
            allowed.add(min(max(origin.max_unit for origin in origins), after.total))
        # What a target is stated to reserve, its source does not reserve any more.
        is_less = field == 'reserved' and before is not None and value < before.reserved
        is_new = field == 'reserved' and before is None and value == 0
        if said or not (value in allowed or is_less or is_new):
            yield f'the {field} of {name} on {change.name} is {value}, and nothing says so'


def _traits(
    subject: Subject, change: ProviderChange, gained: set[str], lost: set[str]
) -> Iterator[str]:
    """A provider gets the traits that are stated for it or moved to it, and no other changes."""
    stated = {trait for entry in subject.entries_of(change) for trait in entry.traits}
    after = change.content_after.traits
    yield from _names(change, 'traits', gained | stated, lost)
    if not (stated | gained) - lost <= after:
        yield f'{change.name} does not get the traits that the specification names'
    if (lost - gained - stated) & after:
        yield f'{change.name} keeps traits that the specification takes off it'


def _names(
    change: ProviderChange, facet: str, gets: Set[str], loses: Set[str] = frozenset()
) -> Iterator[str]:
    """A provider gets and loses no other traits or aggregates."""
    before, after = (
        getattr(content, facet) for content in (change.content_before, change.content_after)
    )
    if not before - after <= loses:
        yield f'{change.name} loses {facet} that the specification does not name'
    if not after - before <= gets:
        yield f'{change.name} gets {facet} that the specification does not name'


def _moved_traits(subject: Subject) -> tuple[_Traits, _Traits]:
    """The traits that moves put on providers, and those that they take off, by UUID."""
    gained: _Traits = {}
    lost: _Traits = {}
    for move, source, name in subject.moves:
        target = subject.find(name) if move.traits else None
        if target is not None and target is not source:
            moved = source.content_before.traits.intersection(move.traits)
            gained.setdefault(target.uuid, set()).update(moved)
            lost.setdefault(source.uuid, set()).update(moved)
    return gained, lost


def _aggregates(subject: Subject, change: ProviderChange) -> Iterator[str]:
    stated = {uuid for entry in subject.entries_of(change) for uuid in entry.aggregates}
    yield from _names(change, 'aggregates', stated)
    if not stated <= change.content_after.aggregates:
        yield f'{change.name} does not get the aggregates that the specification names'


def _way_back(subject: Subject) -> Iterator[str]:
    """On the way back nothing changes whose name the specification does not have."""
    names = subject.names
    for change in subject.tree.providers:
        before, after = change.content_before, change.content_after
        for name in before.inventories.keys() | after.inventories.keys():
            is_named = name in names.moved or name in names.stated
            if not is_named and before.inventories.get(name) != after.inventories.get(name):
                yield f'{name} of {change.name} changes, the specification does not name it'
        stated_traits = names.stated_traits | names.moved_traits
        yield from _names(change, 'traits', names.moved_traits, stated_traits)
        yield from _names(change, 'aggregates', set(), names.aggregates)
