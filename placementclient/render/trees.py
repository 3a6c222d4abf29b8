# SPDX-License-Identifier: Apache-2.0
"""Provider trees as lines of text, and as data."""

from collections.abc import Callable, Iterable, Iterator

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import Tree
from placementclient.render.style import PLAIN, Style
from placementclient.render.units import format_amount, format_usage


def draw_tree(
    snapshot: Snapshot,
    root: ProviderState,
    format_provider: Callable[[ProviderState], Iterable[str]],
    indent: str = '',
) -> Iterator[str]:
    """Yield the lines of a tree with branches.

    :param format_provider: returns the lines of a provider; the branch leads to the first one
    :param indent: the beginning of all lines but the first one
    """
    below = snapshot.children(root.uuid)
    first, *others = format_provider(root)
    yield first
    for line in others:
        yield f'{indent}{"│  " if below else "   "}{line}'
    for child in below:
        branch, rest = ('└─ ', '   ') if child is below[-1] else ('├─ ', '│  ')
        drawn = draw_tree(snapshot, child, format_provider, indent + rest)
        yield f'{indent}{branch}{next(drawn)}'
        yield from drawn


def format_tree(
    tree: Tree, style: Style = PLAIN, *, traits: bool = False, allocations: bool = False
) -> Iterator[str]:
    """Yield the lines of a tree with the usage of its inventories, and its sharing providers.

    :param traits: whether the traits have a line
    :param allocations: whether each allocation has a line
    """
    snapshot = tree.snapshot

    def format_provider(state: ProviderState) -> Iterator[str]:
        yield from _format_provider(state, style)
        if traits and state.traits:
            yield style.paint(' '.join(sorted(state.traits)), 'dim')
        for consumer in snapshot.consumers_on(state.uuid) if allocations else ():
            allocated = sorted(consumer.allocations[state.uuid].items())
            yield f'· {consumer.uuid}  {"  ".join(f"{name} {n}" for name, n in allocated)}'

    yield from draw_tree(snapshot, tree.root, format_provider)
    for state in tree.sharing:
        first, *others = _format_provider(state, style)
        yield f'{style.paint("⇠", "cyan")} {first}  {style.paint("(shared)", "cyan")}'
        yield from (f'   {line}' for line in others)


def make_tree_record(tree: Tree, *, allocations: bool = False) -> dict[str, object]:
    """Return a tree as data: the record of each provider has those of its children.

    :param allocations: whether the data have the allocations
    """
    return {
        **_make_subtree_record(tree.snapshot, tree.root, allocations),
        'sharing': [_make_provider_record(state) for state in tree.sharing],
    }


def describe_reserved_and_ratio(inventory: Inventory, resource_class: str = '') -> Iterator[str]:
    """Yield the reserved amount and the ratio of an inventory as text, if it has any.

    :param resource_class: its class, if amounts are to have units
    """
    if reserved := inventory.reserved:
        yield f'{format_amount(resource_class, reserved) if resource_class else reserved} reserved'
    if inventory.allocation_ratio != 1:
        yield f'ratio {inventory.allocation_ratio:g}'


def _format_provider(state: ProviderState, style: Style) -> Iterator[str]:
    """Yield the lines of a provider with the usage of its inventories."""
    name = style.paint(state.name, 'bold')
    if not style.bars:
        yield '  '.join([name, *_format_usages(state)])
        return
    yield name
    rows = [
        (resource_class, state.used(resource_class), inventory)
        for resource_class, inventory in sorted(state.inventories.items())
    ]
    amounts = [format_usage(name, used, inventory.capacity) for name, used, inventory in rows]
    widest = max((len(row[0]) for row in rows), default=0), max(map(len, amounts), default=0)
    for (resource_class, used, inventory), amount in zip(rows, amounts, strict=True):
        bar = style.draw_bar(used, inventory.capacity)
        notes = style.paint(
            ', '.join(describe_reserved_and_ratio(inventory, resource_class)), 'dim'
        )
        line = f'{resource_class:<{widest[0]}} {bar} {amount:>{widest[1]}}  {notes}'
        yield line.rstrip()


def _format_usages(state: ProviderState) -> Iterator[str]:
    """Yield a text for each class of a provider: ``VCPU 4/64 (ratio 4)``."""
    for name, inventory in sorted(state.inventories.items()):
        notes = ', '.join(describe_reserved_and_ratio(inventory))
        amount = f'{name} {state.used(name)}/{inventory.capacity}'
        yield f'{amount} ({notes})' if notes else amount


def _make_subtree_record(
    snapshot: Snapshot, state: ProviderState, allocations: bool
) -> dict[str, object]:
    """Return a provider and all below it as data for programs.

    :param allocations: whether the data have the allocations
    """
    record = _make_provider_record(state)
    if allocations:
        record['allocations'] = {
            consumer.uuid: dict(sorted(consumer.allocations[state.uuid].items()))
            for consumer in snapshot.consumers_on(state.uuid)
        }
    record['children'] = [
        _make_subtree_record(snapshot, child, allocations)
        for child in snapshot.children(state.uuid)
    ]
    return record


def _make_provider_record(state: ProviderState) -> dict[str, object]:
    return {
        'name': state.name,
        'uuid': state.uuid,
        'generation': state.provider.generation,
        'inventories': {
            name: {
                **inventory.as_fields(),
                'capacity': inventory.capacity,
                'used': state.used(name),
            }
            for name, inventory in sorted(state.inventories.items())
        },
        'traits': sorted(state.traits),
    }
