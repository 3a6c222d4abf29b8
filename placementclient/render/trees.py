"""Provider trees as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from placementclient.model.snapshots import ProviderState, Snapshot

T = TypeVar('T')


def draw(
    root: T,
    children: Callable[[T], Sequence[T]],
    text: Callable[[T], Iterable[str]],
    indent: str = '',
) -> Iterator[str]:
    """A tree, drawn with lines.

    :param children: those of a node, in order
    :param text: what is written at a node; its first line is the one that the branch leads to
    :param indent: what every line begins with
    """
    below = children(root)
    first, *others = text(root)
    yield first
    for line in others:
        yield f'{indent}{"│  " if below else "   "}{line}'
    for child in below:
        branch, rest = ('└─ ', '   ') if child is below[-1] else ('├─ ', '│  ')
        drawn = draw(child, children, text, indent + rest)
        yield f'{indent}{branch}{next(drawn)}'
        yield from drawn


def lines(
    snapshot: Snapshot, root_uuid: str, *, traits: bool = False, allocations: bool = False
) -> Iterator[str]:
    """One tree, a line for each provider: of each class what is used and the capacity.

    :param traits: with the traits of each provider
    :param allocations: with who holds what of each
    """

    def text(state: ProviderState) -> Iterator[str]:
        used = (
            f'{name} {state.usages.get(name, 0)}/{inventory.capacity}'
            for name, inventory in sorted(state.inventories.items())
        )
        yield '  '.join([state.name, *used])
        if traits and state.traits:
            yield ' '.join(sorted(state.traits))
        if allocations:
            for consumer in snapshot.consumers_on(state.uuid):
                held = sorted(consumer.allocations[state.uuid].items())
                yield f'· {consumer.uuid}  {"  ".join(f"{name} {n}" for name, n in held)}'

    root = snapshot.providers[root_uuid]
    yield from draw(root, lambda state: snapshot.children(state.uuid), text)
