"""Provider trees as a picture in SVG that needs nothing beside it.

Each provider is a card; children stand to the right of their parent, sharing providers to the left
of all trees. Their lines run between the columns and above the cards. Many trees stand in several
columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from placementclient.client.printable import printable, unbroken
from placementclient.model.snapshots import ProviderState
from placementclient.model.trees import Tree
from placementclient.render import style
from placementclient.render.graphs import TITLE, Node, nodes, titled
from placementclient.render.picture_layout import BETWEEN_COLUMNS, MARGIN, Card, gap, lane, place
from placementclient.render.trees import remarks
from placementclient.render.units import sized

#: All in pixels. The widths of characters are those of common fonts, a little too wide.
_PADDING, _HEADER, _ROW, _NOTE = 12, 32, 20, 15
_BOLD_CHARACTER, _ROW_CHARACTER, _NOTE_CHARACTER = 8.0, 7.0, 6.2
_BAR, _BAR_HEIGHT = 84, 6
_LEGEND, _LEGEND_WIDTH = 7 * _NOTE + MARGIN, 300

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
  .legend { fill: #475569; }
  .track { fill: #e2e8f0; }
  .cyan { fill: #3a78b5; } .yellow { fill: #b27300; } .red { fill: #8f1a10; }
  .edge { fill: none; stroke: #94a3b8; stroke-width: 1.5; }
  .share { fill: none; stroke: #0891b2; stroke-dasharray: 5 3; }
  @media (prefers-color-scheme: dark) {
    .background { fill: #0f172a; }
    .card { fill: #1e293b; stroke: #475569; }
    .name { fill: #f1f5f9; } .row { fill: #cbd5e1; } .note { fill: #64748b; }
    .legend { fill: #cbd5e1; }
    .track { fill: #334155; }
    .cyan { fill: #64a3dd; } .yellow { fill: #e2a73c; } .red { fill: #e0533a; }
  }
"""


def svg(
    trees: Sequence[Tree],
    *,
    traits: bool = False,
    allocations: bool = False,
    assuming: Sequence[str] = (),
) -> str:
    shown = nodes(trees, traits=traits, allocations=allocations)
    cards = {node.state.uuid: _card(node) for node in shown}
    height = place(cards)
    width = max((card.x + card.width for card in cards.values()), default=0.0) + MARGIN
    legend = list(_legend(cards.values(), height)) if cards else []
    if legend:
        height, width = height + _LEGEND, max(width, _LEGEND_WIDTH)
    title, below = _escaped(titled(TITLE, assuming)), []
    if assuming:
        height += 2 * _NOTE
        below.append(f'<text class="note" x="{MARGIN}" y="{height - _NOTE:.0f}">{title}</text>')
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<title>{title}</title>',
        f'<style>\n{_STYLE}</style>',
        '<rect class="background" width="100%" height="100%"/>',
        *_edges(cards),
        *(line for card in cards.values() for line in _drawn(card)),
        *legend,
        *below,
        '</svg>',
    ]
    return '\n'.join(parts) + '\n'


def _card(node: Node) -> Card:
    rows = [_amount(node.state, name) for name in node.state.inventories]
    names = [len(name) for name in node.state.inventories]
    width = max(
        len(node.state.name) * _BOLD_CHARACTER,
        (max(names, default=0) + max(map(len, rows), default=0)) * _ROW_CHARACTER + _BAR + 20,
        max(map(len, node.notes), default=0) * _NOTE_CHARACTER,
    )
    height = _HEADER + _ROW * len(rows) + _NOTE * len(node.notes) + (8 if rows or node.notes else 0)
    return Card(node, width + 2 * _PADDING, height)


def _edges(cards: Mapping[str, Card]) -> Iterator[str]:
    for card in cards.values():
        parent = cards.get(card.node.parent_uuid or '')
        if parent is not None:
            yield _curve(parent, card)
    sharing = [card for card in cards.values() if card.node.serves]
    for number, card in enumerate(sharing):
        part = (number + 1) / (len(sharing) + 1)
        for root in card.node.serves:
            yield _share(card, cards[root], part, lane(number))


def _curve(left: Card, right: Card) -> str:
    start, end = left.x + left.width, right.x
    bend = (start + end) / 2
    return (
        f'<path class="edge" d="M{start:.1f},{left.middle:.1f} C{bend:.1f},{left.middle:.1f} '
        f'{bend:.1f},{right.middle:.1f} {end:.1f},{right.middle:.1f}"/>'
    )


def _share(card: Card, root: Card, part: float, height: float) -> str:
    """Draw the line to a root through the gaps between the columns, and above all cards.

    :param part: the place of the line in a gap and beside a card, from 0 to 1
    :param height: the height of the line above the cards
    """
    down = gap(root, part)
    start, up = card.x, gap(card, part)
    if card.is_apart:
        start = card.x + card.width
        up = start + BETWEEN_COLUMNS * part
    across = '' if abs(up - down) < 1 else f'V{height:.1f} H{down:.1f} '
    end = root.y + root.height * part
    return (
        f'<path class="share" d="M{start:.1f},{card.middle:.1f} H{up:.1f} {across}'
        f'V{end:.1f} H{root.x:.1f}"/>'
    )


def _legend(cards: Iterable[Card], top: float) -> Iterator[str]:
    high, low = (f'{share:.0%}' for share, _ in style.LEVELS[:2])
    marks = [
        ('<rect class="card root" x="24" y="{y}" width="26" height="10" rx="3"/>', 'host'),
        ('<path class="edge" d="M24,{middle} H50"/>', 'parent and child'),
        ('<path class="share" d="M24,{middle} H50"/>', 'shares its inventory with the host'),
        *(
            (f'<rect class="{colour}" x="24" y="{{y}}" width="26" height="6" rx="3"/>', text)
            for colour, text in (
                ('cyan', f'below {low} used'),
                ('yellow', f'{low} used or more'),
                ('red', f'{high} used or more'),
            )
        ),
    ]
    if not any(card.node.serves for card in cards):
        del marks[2]
    for number, (mark, text) in enumerate(marks):
        y = top + _NOTE * number
        yield mark.format(y=f'{y:.1f}', middle=f'{y + 5:.1f}')
        yield f'<text class="note legend" x="60" y="{y + 9:.1f}">{text}</text>'
    y = top + _NOTE * len(marks)
    yield f'<text class="note legend" x="24" y="{y + 9:.1f}">Numbers: used/capacity</text>'


def _drawn(card: Card) -> Iterator[str]:
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


def _row(card: Card, name: str, baseline: float) -> Iterator[str]:
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
    return f'{sized(name, state.used(name))}/{sized(name, state.inventories[name].capacity)}'


def _tooltip(state: ProviderState) -> str:
    lines = [f'{unbroken(state.name)} ({state.uuid})']
    for name, inventory in sorted(state.inventories.items()):
        notes = ', '.join([f'total {inventory.total}', *remarks(inventory)])
        lines.append(f'{name} {_amount(state, name)}: {notes}')
    return '\n'.join([*lines, *sorted(state.traits)])


def _escaped(text: str) -> str:
    # XML has no place for control characters, not even escaped.
    return escape(printable(text))
