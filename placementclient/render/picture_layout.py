"""The positions of the cards and lines in a picture of provider trees. All in pixels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placementclient.render.graphs import Node

MARGIN, _GAP, _BETWEEN_TREES, BETWEEN_COLUMNS = 24, 14, 30, 64


@dataclass(slots=True)
class Card:
    """The position of a provider in the picture; ``y`` is the top."""

    node: Node
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def place(cards: Mapping[str, Card]) -> float:
    """Give each card its position; return the height of the picture."""
    below: dict[str, list[Card]] = {}
    for card in cards.values():
        if card.node.parent_uuid in cards:
            below.setdefault(str(card.node.parent_uuid), []).append(card)
    # Who only shares stands apart; who has children too is drawn as the tree that it is.
    apart = [card for uuid, card in cards.items() if card.node.serves and uuid not in below]
    apart = [card for card in apart if card.node.parent_uuid not in cards]
    roots = [
        card for card in cards.values() if card.node.parent_uuid not in cards and card not in apart
    ]
    columns: dict[tuple[int, int], list[Card]] = {}
    bottom = 0.0
    for band, members in enumerate(_bands(roots, below)):
        top = float(MARGIN)
        for card in members:
            extent = _extent(card, below)
            _stack(card, top, extent, (band, 1), below, columns)
            top += extent + _BETWEEN_TREES
        bottom = max(bottom, top - _BETWEEN_TREES)
    if apart:
        columns[0, 0] = apart
        bottom = max(bottom, _beside(apart, cards))
    left = float(MARGIN)
    for _, column in sorted(columns.items()):
        width = max(card.width for card in column)
        for card in column:
            card.x, card.width = left, width
        left += width + BETWEEN_COLUMNS
    return bottom + MARGIN


def _bands(roots: Sequence[Card], below: Mapping[str, list[Card]]) -> list[Sequence[Card]]:
    """The trees in columns beside each other, so many that the picture is about square."""
    height = sum(_extent(card, below) + _BETWEEN_TREES for card in roots)
    width = max((_breadth(card, below) + BETWEEN_COLUMNS for card in roots), default=1.0)
    number = math.ceil(len(roots) / max(1, round(math.sqrt(height / width)))) or 1
    return [roots[first : first + number] for first in range(0, len(roots), number)]


def _breadth(card: Card, below: Mapping[str, list[Card]]) -> float:
    children = below.get(card.node.state.uuid, [])
    beside = max((_breadth(child, below) for child in children), default=-BETWEEN_COLUMNS)
    return card.width + BETWEEN_COLUMNS + beside


def _extent(card: Card, below: Mapping[str, list[Card]]) -> float:
    children = below.get(card.node.state.uuid, [])
    stacked = sum(_extent(child, below) + _GAP for child in children) - _GAP
    return max(card.height, stacked)


def _stack(
    card: Card,
    top: float,
    extent: float,
    place: tuple[int, int],
    below: Mapping[str, list[Card]],
    columns: dict[tuple[int, int], list[Card]],
) -> None:
    """Put a card in the middle of its extent, and its children beside it."""
    band, depth = place
    columns.setdefault(place, []).append(card)
    card.y = top + (extent - card.height) / 2
    children = below.get(card.node.state.uuid, [])
    extents = [_extent(child, below) for child in children]
    top += (extent - sum(extents) - _GAP * (len(extents) - 1)) / 2
    for child, of_child in zip(children, extents, strict=True):
        _stack(child, top, of_child, (band, depth + 1), below, columns)
        top += of_child + _GAP


def _beside(apart: Sequence[Card], cards: Mapping[str, Card]) -> float:
    """Put those that share beside the middle of those that they serve; returns where they end."""
    free = float(MARGIN)
    for card in apart:
        served = [cards[root].middle for root in card.node.serves]
        card.y = max(free, (min(served) + max(served) - card.height) / 2)
        free = card.y + card.height + _GAP
    return free - _GAP
