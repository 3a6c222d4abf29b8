"""Provider trees as a picture in SVG that needs nothing beside it.

Each provider is a card; children stand to the right of their parent, sharing providers to the left
of all trees. Many trees stand in several columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from placementclient.client.printable import printable, unbroken
from placementclient.model.snapshots import ProviderState
from placementclient.model.trees import Tree
from placementclient.render import style
from placementclient.render.graphs import TITLE, Node, nodes, titled
from placementclient.render.trees import remarks

#: All in pixels. The widths of characters are those of common fonts, a little too wide.
_MARGIN, _GAP, _BETWEEN_TREES, _BETWEEN_COLUMNS = 24, 14, 30, 64
_PADDING, _HEADER, _ROW, _NOTE = 12, 32, 20, 15
_BOLD_CHARACTER, _ROW_CHARACTER, _NOTE_CHARACTER = 8.0, 7.0, 6.2
_BAR, _BAR_HEIGHT = 84, 6

_STYLE = """\
  .background { fill: #f8fafc; }
  svg { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; }
  .card { fill: #ffffff; stroke: #cbd5e1; }
  .root { stroke: #64748b; stroke-width: 1.5; }
  .sharing { stroke: #0891b2; stroke-dasharray: 5 3; }
  .name { font-size: 13px; font-weight: 600; fill: #0f172a; }
  .row, .note { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
  .row { font-size: 11px; fill: #475569; }
  .amount { text-anchor: end; }
  .note { font-size: 10px; fill: #94a3b8; }
  .track { fill: #e2e8f0; }
  .green { fill: #22c55e; } .yellow { fill: #f59e0b; } .red { fill: #ef4444; }
  .edge { fill: none; stroke: #94a3b8; stroke-width: 1.5; }
  .share { fill: none; stroke: #0891b2; stroke-dasharray: 5 3; }
  @media (prefers-color-scheme: dark) {
    .background { fill: #0f172a; }
    .card { fill: #1e293b; stroke: #475569; }
    .name { fill: #f1f5f9; } .row { fill: #cbd5e1; } .note { fill: #64748b; }
    .track { fill: #334155; }
  }
"""


@dataclass(slots=True)
class _Card:
    """The position of a provider in the picture; ``y`` is the top."""

    node: Node
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def svg(
    trees: Sequence[Tree],
    *,
    traits: bool = False,
    allocations: bool = False,
    assuming: Sequence[str] = (),
) -> str:
    """The trees as an SVG document."""
    shown = nodes(trees, traits=traits, allocations=allocations)
    cards = {node.state.uuid: _card(node) for node in shown}
    height = _place(cards)
    width = max((card.x + card.width for card in cards.values()), default=0.0) + _MARGIN
    title, below = _escaped(titled(TITLE, assuming)), []
    if assuming:
        height += 2 * _NOTE
        below.append(f'<text class="note" x="{_MARGIN}" y="{height - _NOTE:.0f}">{title}</text>')
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<title>{title}</title>',
        f'<style>\n{_STYLE}</style>',
        '<rect class="background" width="100%" height="100%"/>',
        *_edges(cards),
        *(line for card in cards.values() for line in _drawn(card)),
        *below,
        '</svg>',
    ]
    return '\n'.join(parts) + '\n'


def _card(node: Node) -> _Card:
    rows = [_amount(node.state, name) for name in node.state.inventories]
    names = [len(name) for name in node.state.inventories]
    width = max(
        len(node.state.name) * _BOLD_CHARACTER,
        (max(names, default=0) + max(map(len, rows), default=0)) * _ROW_CHARACTER + _BAR + 20,
        max(map(len, node.notes), default=0) * _NOTE_CHARACTER,
    )
    height = _HEADER + _ROW * len(rows) + _NOTE * len(node.notes) + (8 if rows or node.notes else 0)
    return _Card(node, width + 2 * _PADDING, height)


def _place(cards: Mapping[str, _Card]) -> float:
    """Give each card its place; returns the height of the whole."""
    below: dict[str, list[_Card]] = {}
    for card in cards.values():
        if card.node.parent_uuid in cards:
            below.setdefault(str(card.node.parent_uuid), []).append(card)
    # Who only shares stands apart; who has children too is drawn as the tree that it is.
    apart = [card for uuid, card in cards.items() if card.node.serves and uuid not in below]
    apart = [card for card in apart if card.node.parent_uuid not in cards]
    roots = [
        card for card in cards.values() if card.node.parent_uuid not in cards and card not in apart
    ]
    columns: dict[tuple[int, int], list[_Card]] = {}
    bottom = 0.0
    for band, members in enumerate(_bands(roots, below)):
        top = float(_MARGIN)
        for card in members:
            extent = _extent(card, below)
            _stack(card, top, extent, (band, 1), below, columns)
            top += extent + _BETWEEN_TREES
        bottom = max(bottom, top - _BETWEEN_TREES)
    if apart:
        columns[0, 0] = apart
        bottom = max(bottom, _beside(apart, cards))
    left = float(_MARGIN)
    for _, column in sorted(columns.items()):
        width = max(card.width for card in column)
        for card in column:
            card.x, card.width = left, width
        left += width + _BETWEEN_COLUMNS
    return bottom + _MARGIN


def _bands(roots: Sequence[_Card], below: Mapping[str, list[_Card]]) -> list[Sequence[_Card]]:
    """The trees in columns beside each other, so many that the picture is about square."""
    height = sum(_extent(card, below) + _BETWEEN_TREES for card in roots)
    width = max((_breadth(card, below) + _BETWEEN_COLUMNS for card in roots), default=1.0)
    each = math.ceil(len(roots) / max(1, round(math.sqrt(height / width)))) or 1
    return [roots[first : first + each] for first in range(0, len(roots), each)]


def _breadth(card: _Card, below: Mapping[str, list[_Card]]) -> float:
    """Return the width of a provider with all below it."""
    children = below.get(card.node.state.uuid, [])
    beside = max((_breadth(child, below) for child in children), default=-_BETWEEN_COLUMNS)
    return card.width + _BETWEEN_COLUMNS + beside


def _extent(card: _Card, below: Mapping[str, list[_Card]]) -> float:
    """Return the height of a provider with all below it."""
    children = below.get(card.node.state.uuid, [])
    stacked = sum(_extent(child, below) + _GAP for child in children) - _GAP
    return max(card.height, stacked)


def _stack(
    card: _Card,
    top: float,
    extent: float,
    place: tuple[int, int],
    below: Mapping[str, list[_Card]],
    columns: dict[tuple[int, int], list[_Card]],
) -> None:
    """Put a card in the middle of its extent, and its children beside it.

    :param place: the column of trees, and the depth in the tree
    """
    band, depth = place
    columns.setdefault(place, []).append(card)
    card.y = top + (extent - card.height) / 2
    children = below.get(card.node.state.uuid, [])
    extents = [_extent(child, below) for child in children]
    top += (extent - sum(extents) - _GAP * (len(extents) - 1)) / 2
    for child, of_child in zip(children, extents, strict=True):
        _stack(child, top, of_child, (band, depth + 1), below, columns)
        top += of_child + _GAP


def _beside(apart: Sequence[_Card], cards: Mapping[str, _Card]) -> float:
    """Put those that share beside the middle of those that they serve; returns where they end."""
    free = float(_MARGIN)
    for card in apart:
        served = [cards[root].middle for root in card.node.serves]
        card.y = max(free, (min(served) + max(served) - card.height) / 2)
        free = card.y + card.height + _GAP
    return free - _GAP


def _edges(cards: Mapping[str, _Card]) -> Iterator[str]:
    for card in cards.values():
        parent = cards.get(card.node.parent_uuid or '')
        if parent is not None:
            yield _curve(parent, card, 'edge')
        for root in card.node.serves:
            yield _curve(card, cards[root], 'share')


def _curve(left: _Card, right: _Card, kind: str) -> str:
    start, end = left.x + left.width, right.x
    bend = (start + end) / 2
    return (
        f'<path class="{kind}" d="M{start:.1f},{left.middle:.1f} C{bend:.1f},{left.middle:.1f} '
        f'{bend:.1f},{right.middle:.1f} {end:.1f},{right.middle:.1f}"/>'
    )


def _drawn(card: _Card) -> Iterator[str]:
    state = card.node.state
    kind = 'sharing' if card.node.serves else '' if card.node.parent_uuid else 'root'
    yield f'<g transform="translate({card.x:.1f},{card.y:.1f})">'
    yield f'<title>{_escaped(_tooltip(state))}</title>'
    yield (
        f'<rect class="{f"card {kind}".strip()}" width="{card.width:.1f}" '
        f'height="{card.height:.1f}" rx="8"/>'
    )
    yield f'<text class="name" x="{_PADDING}" y="21">{_escaped(unbroken(state.name))}</text>'
    baseline = float(_HEADER) + 12
    for name in sorted(state.inventories):
        yield from _row(card, name, baseline)
        baseline += _ROW
    for note in card.node.notes:
        yield f'<text class="note" x="{_PADDING}" y="{baseline - 2:.1f}">{_escaped(note)}</text>'
        baseline += _NOTE
    yield '</g>'


def _row(card: _Card, name: str, baseline: float) -> Iterator[str]:
    state = card.node.state
    used, capacity = state.used(name), state.inventories[name].capacity
    filled = style.part(used, capacity) * _BAR
    right = card.width - _PADDING
    widest = max(len(_amount(state, each)) for each in state.inventories)
    left = right - widest * _ROW_CHARACTER - 8 - _BAR
    bar = f'x="{left:.1f}" y="{baseline - 7:.1f}" height="{_BAR_HEIGHT}" rx="3"'
    yield f'<text class="row" x="{_PADDING}" y="{baseline:.1f}">{_escaped(name)}</text>'
    yield f'<rect class="track" {bar} width="{_BAR}"/>'
    if filled:
        colour = style.level(used, capacity)
        yield f'<rect class="{colour}" {bar} width="{max(filled, 3.0):.1f}"/>'
    yield (
        f'<text class="row amount" x="{right:.1f}" y="{baseline:.1f}">{_amount(state, name)}</text>'
    )


def _amount(state: ProviderState, name: str) -> str:
    return f'{state.used(name)}/{state.inventories[name].capacity}'


def _tooltip(state: ProviderState) -> str:
    lines = [f'{unbroken(state.name)} ({state.uuid})']
    for name, inventory in sorted(state.inventories.items()):
        notes = ', '.join([f'total {inventory.total}', *remarks(inventory)])
        lines.append(f'{name} {_amount(state, name)}: {notes}')
    return '\n'.join([*lines, *sorted(state.traits)])


def _escaped(text: str) -> str:
    # XML has no place for control characters, not even escaped.
    return escape(printable(text))
