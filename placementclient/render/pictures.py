# SPDX-License-Identifier: Apache-2.0
"""Provider trees as a self-contained SVG picture.

Each provider is a card; children stand to the right of their parent, sharing providers to the left
of all trees. Lines run behind the cards. Many trees stand in several bands, side by side.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from placementclient.basis.printable import escape_line
from placementclient.render import style
from placementclient.render.graphs import CHANGED, SIDES, Picture, PictureNode, escape_xml
from placementclient.render.trees import describe_reserved_and_ratio

#: All in pixels. The widths of characters are those of common fonts, a little too wide.
_PADDING, _HEADER, _ROW, _NOTE = 12, 32, 20, 15
_BOLD_CHARACTER, _ROW_CHARACTER, _NOTE_CHARACTER = 8.0, 7.0, 6.2
_MARGIN, _GAP, _BETWEEN_TREES, _BETWEEN_COLUMNS = 24, 14, 30, 64
_BAR, _BAR_HEIGHT = 84, 6
#: From the top of a card to the baseline of its name.
_NAME_BASELINE = 21
#: The entries of the legend: CSS class, height of the rectangle (0: a line), text.
_LEGEND_ENTRIES = (
    ('card root', 10, 'host'),
    ('edge', 0, 'parent and child'),
    ('share', 0, 'shares its inventory with the host'),
    ('cyan', 6, f'below {style.LEVELS[1][0]:.0%} used'),
    ('yellow', 6, f'{style.LEVELS[1][0]:.0%} used or more'),
    ('red', 6, f'{style.LEVELS[0][0]:.0%} used or more'),
    ('card changed', 10, 'changed by the plan'),
)
#: With a last line about the numbers.
_LEGEND_HEIGHT = (len(_LEGEND_ENTRIES) + 1) * _NOTE + _MARGIN
_LEGEND_WIDTH, _LEGEND_SYMBOL, _LEGEND_INDENT = 300, 26, 36

_STYLE = f"""\
  .background {{ fill: #f8fafc; }}
  svg {{ font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; }}
  .card {{ fill: #ffffff; stroke: #cbd5e1; }}
  .root {{ stroke: #64748b; stroke-width: 1.5; }}
  .sharing {{ stroke: #0891b2; stroke-dasharray: 5 3; }}
  .name {{ font-size: 13px; font-weight: 600; fill: #0f172a; }}
  .row, .note {{ font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }}
  .row {{ font-size: 11px; fill: #475569; }}
  .amount {{ text-anchor: end; }}
  .note {{ font-size: 10px; fill: #94a3b8; }}
  .legend {{ fill: #475569; }}
  text.changed {{ fill: {CHANGED}; font-weight: 700; }}
  rect.changed {{ stroke: {CHANGED}; stroke-width: 2; }}
  .track {{ fill: #e2e8f0; }}
  .cyan {{ fill: #3a78b5; }} .yellow {{ fill: #b27300; }} .red {{ fill: #8f1a10; }}
  .edge {{ fill: none; stroke: #94a3b8; stroke-width: 1.5; }}
  .share {{ fill: none; stroke: #0891b2; stroke-dasharray: 5 3; }}
  @media (prefers-color-scheme: dark) {{
    .background {{ fill: #0f172a; }}
    .card {{ fill: #1e293b; stroke: #475569; }}
    .name {{ fill: #f1f5f9; }} .row {{ fill: #cbd5e1; }} .note {{ fill: #64748b; }}
    .legend {{ fill: #cbd5e1; }}
    text.changed {{ fill: #c084fc; }}
    rect.changed {{ stroke: #c084fc; }}
    .track {{ fill: #334155; }}
    .cyan {{ fill: #64a3dd; }} .yellow {{ fill: #e2a73c; }} .red {{ fill: #e0533a; }}
  }}
"""


class _Column(NamedTuple):
    """A column of cards: those of one depth in one band, a pile of whole trees.

    :param depth: 1 for roots, one more for each level below
    """

    band: int
    depth: int


#: The column on the left, of providers that only share.
_SHARING = _Column(0, 0)


@dataclass(slots=True)
class _Card:
    """The rectangle of a provider in a picture, in pixels.

    A new card has a width and a height. The passes of :func:`_place_cards` set the others:

    :ivar stack: the height of all its descendants (``_set_card_sizes``)
    :ivar breadth: the width of the card and of its descendants, with the gaps (``_set_card_sizes``)
    :ivar top: of the card or of its children, whatever is higher, and ``column`` (``_stack_trees``
        for a root, ``_stack_children`` for others)
    :ivar y: the top edge (``_center_sharing_cards`` for a provider that only shares)
    :ivar x: the left edge (``_align_columns``, which also widens the card to its column)
    """

    node: PictureNode
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    top: float = 0.0
    column: _Column = _SHARING
    stack: float = 0.0
    breadth: float = 0.0

    @property
    def extent(self) -> float:
        """The height of the card or of its children, whichever is larger."""
        return max(self.height, self.stack)

    @property
    def middle(self) -> float:
        """The vertical middle of the card."""
        return self.y + self.height / 2


def draw_svg(picture: Picture) -> str:
    """Return the text of an SVG file: rows of trees, below them the legend and the title."""
    is_plan = any(row.name for row in picture.rows)
    rows, legend_top = _lay_out_rows(picture, float(_HEADER - _MARGIN) if is_plan else 0.0)
    headings: Iterable[tuple[str, float]] = ()
    if is_plan:
        left = _find_right_edge(before for before, _ in rows) + _BETWEEN_COLUMNS - _MARGIN
        for card in _list_cards(after for _, after in rows):
            card.x += left
        headings = zip(SIDES, (_MARGIN, left + _MARGIN), strict=True)
    groups = list(chain.from_iterable(rows))
    has_cards = any(groups)
    width = max(_find_right_edge(groups) + _MARGIN, _LEGEND_WIDTH if has_cards else 0)
    title_top = legend_top + (_LEGEND_HEIGHT if has_cards else 0)
    height = title_top + (2 * _NOTE if picture.is_titled else 0)
    title = escape_xml(picture.title)
    title_line = f'<text class="note" x="{_MARGIN}" y="{title_top + _NOTE:.0f}">{title}</text>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<title>{title}</title>',
        f'<style>\n{_STYLE}</style>',
        '<rect class="background" width="100%" height="100%"/>',
        *(
            f'<text class="name" x="{x:.1f}" y="{_NAME_BASELINE}">{text}</text>'
            for text, x in headings
        ),
        *chain.from_iterable(map(_draw_edges, groups)),
        *chain.from_iterable(map(_draw_card, _list_cards(groups))),
        *(_draw_legend(_list_cards(groups), legend_top) if has_cards else ()),
        *([title_line] if picture.is_titled else ()),
        '</svg>',
    ]
    return '\n'.join(parts) + '\n'


def _lay_out_rows(picture: Picture, top: float) -> tuple[list[list[dict[str, _Card]]], float]:
    """Return the cards of each row by side and provider UUID, and the bottom of the last row.

    :param top: of the first row, in pixels
    """
    rows = [
        [{n.state.uuid: _make_card(n) for n in side} for side in row.sides] for row in picture.rows
    ]
    height = top
    for sides in rows:
        extent = max(map(_place_cards, sides))
        for card in _list_cards(sides):
            card.y += height
        height += extent
    return rows, height


def _list_cards(groups: Iterable[Mapping[str, _Card]]) -> list[_Card]:
    return [card for cards in groups for card in cards.values()]


def _find_right_edge(groups: Iterable[Mapping[str, _Card]]) -> float:
    return max((card.x + card.width for card in _list_cards(groups)), default=0.0)


def _make_card(node: PictureNode) -> _Card:
    """Return the card of a provider, wide enough for its texts; it has no position yet."""
    rows = [node.format_usage(name) for name in node.state.inventories]
    names = [len(name) for name in node.state.inventories]
    width = max(
        len(node.state.name) * _BOLD_CHARACTER,
        (max(names, default=0) + max(map(len, rows), default=0)) * _ROW_CHARACTER + _BAR + 20,
        max(map(len, node.notes), default=0) * _NOTE_CHARACTER,
    )
    height = _HEADER + _ROW * len(rows) + _NOTE * len(node.notes) + (8 if rows or node.notes else 0)
    return _Card(node, width + 2 * _PADDING, height)


def _draw_edges(cards: Mapping[str, _Card]) -> Iterator[str]:
    """Yield the lines from parents to children, and from sharing providers to roots."""
    for card in cards.values():
        if parent := cards.get(card.node.parent_uuid or ''):
            yield _draw_curve('edge', parent, card)
        for root in card.node.serves:
            yield _draw_curve('share', card, cards[root])


def _draw_curve(style: str, left: _Card, right: _Card) -> str:
    """Return the SVG path, of a class of the style sheet, from one card to another right of it."""
    start, end = left.x + left.width, right.x
    bend = (start + end) / 2
    return (
        f'<path class="{style}" d="M{start:.1f},{left.middle:.1f} C{bend:.1f},{left.middle:.1f} '
        f'{bend:.1f},{right.middle:.1f} {end:.1f},{right.middle:.1f}"/>'
    )


def _draw_legend(cards: Collection[_Card], top: float) -> Iterator[str]:
    size = f'width="{_LEGEND_SYMBOL}" height="{{}}" rx="3"'
    rectangle = f'<rect class="{{}}" x="{_MARGIN}" y="{{:.1f}}" {size}/>'
    line = f'<path class="{{}}" d="M{_MARGIN},{{:.1f}} H{_MARGIN + _LEGEND_SYMBOL}"/>'
    is_shown = {
        'share': any(card.node.serves for card in cards),
        'card changed': any(card.node.changed or card.node.is_on_one_side for card in cards),
    }
    text_left, y = _MARGIN + _LEGEND_INDENT, top
    for kind, height, text in _LEGEND_ENTRIES:
        if is_shown.get(kind, True):
            yield rectangle.format(kind, y, height) if height else line.format(kind, y + 5)
            yield f'<text class="note legend" x="{text_left}" y="{y + 9:.1f}">{text}</text>'
            y += _NOTE
    yield f'<text class="note legend" x="{_MARGIN}" y="{y + 9:.1f}">Numbers: used/capacity</text>'


def _draw_card(card: _Card) -> Iterator[str]:
    node = card.node
    kind = 'sharing' if node.serves else '' if node.parent_uuid else 'root'
    of_card = _make_css_class_attribute('card', kind, is_changed=node.is_on_one_side)
    of_name = _make_css_class_attribute('name', is_changed=node.is_on_one_side)
    yield f'<g transform="translate({card.x:.1f},{card.y:.1f})">'
    yield f'<title>{escape_xml(_make_tooltip(node))}</title>'
    yield f'<rect {of_card} width="{card.width:.1f}" height="{card.height:.1f}" rx="8"/>'
    name = escape_xml(escape_line(node.state.name))
    yield f'<text {of_name} x="{_PADDING}" y="{_NAME_BASELINE}">{name}</text>'
    widest = max((len(node.format_usage(name)) for name in node.state.inventories), default=0)
    amounts_left = card.width - _PADDING - widest * _ROW_CHARACTER
    baseline = float(_HEADER) + 12
    for name in sorted(node.state.inventories):
        yield from _draw_inventory(card, name, baseline, amounts_left)
        baseline += _ROW
    for note in node.notes:
        of_note = _make_css_class_attribute('note', is_changed=note in node.changed)
        yield f'<text {of_note} x="{_PADDING}" y="{baseline - 2:.1f}">{escape_xml(note)}</text>'
        baseline += _NOTE
    yield '</g>'


def _draw_inventory(card: _Card, name: str, baseline: float, amounts_left: float) -> Iterator[str]:
    """Yield the elements of an inventory on a card: name, bar and amounts.

    :param amounts_left: the left edge of the widest amounts of the card
    """
    node, state = card.node, card.node.state
    used, capacity = state.used(name), state.inventories[name].capacity
    filled = style.compute_used_share(used, capacity) * _BAR
    right = card.width - _PADDING
    bar = f'x="{amounts_left - 8 - _BAR:.1f}" y="{baseline - 7:.1f}" height="{_BAR_HEIGHT}" rx="3"'
    of_name, of_amount = (
        _make_css_class_attribute('row', kind, is_changed=name in node.changed)
        for kind in ('', 'amount')
    )
    yield f'<text {of_name} x="{_PADDING}" y="{baseline:.1f}">{escape_xml(name)}</text>'
    yield f'<rect class="track" {bar} width="{_BAR}"/>'
    if filled:
        colour = style.choose_colour(used, capacity)
        yield f'<rect class="{colour}" {bar} width="{max(filled, 3.0):.1f}"/>'
    yield f'<text {of_amount} x="{right:.1f}" y="{baseline:.1f}">{node.format_usage(name)}</text>'


def _make_css_class_attribute(*names: str, is_changed: bool) -> str:
    return f'class="{" ".join(filter(None, (*names, "changed" if is_changed else "")))}"'


def _make_tooltip(node: PictureNode) -> str:
    state = node.state
    lines = [f'{escape_line(state.name)} ({state.uuid})']
    for name, inventory in sorted(state.inventories.items()):
        notes = ', '.join([f'total {inventory.total}', *describe_reserved_and_ratio(inventory)])
        lines.append(f'{name} {node.format_usage(name)}: {notes}')
    return '\n'.join([*lines, *sorted(state.traits)])


def _place_cards(cards: dict[str, _Card]) -> float:
    """Give each card its position, and return the height of the picture.

    Sizes are known from the children up to the roots; then places are given from the roots down to
    the children.

    :param cards: by provider UUID, parents before their children
    """
    children: dict[str | None, list[_Card]] = {}
    for card in cards.values():
        children.setdefault(card.node.parent_uuid, []).append(card)
    _set_card_sizes(cards, children)
    tops = {uuid: card for uuid, card in cards.items() if card.node.parent_uuid not in cards}
    # A provider that only shares stands apart; one with children is drawn as the tree that it is.
    apart = [card for uuid, card in tops.items() if card.node.serves and uuid not in children]
    bottom = _stack_trees([card for card in tops.values() if card not in apart])
    for uuid, card in cards.items():
        card.y = card.top + (card.extent - card.height) / 2
        _stack_children(card, children.get(uuid, ()))
    bottom = max(bottom, _center_sharing_cards(apart, cards))
    _align_columns(cards.values())
    return bottom + _MARGIN


def _set_card_sizes(
    cards: Mapping[str, _Card], children: Mapping[str | None, Sequence[_Card]]
) -> None:
    """Set the height of the children, and the width of the subtree, of each provider's card.

    :param children: by the UUID of their parent
    """
    for uuid, card in reversed([*cards.items()]):
        below = children.get(uuid, ())
        card.stack = sum(child.extent + _GAP for child in below) - _GAP
        beside = max((child.breadth for child in below), default=0.0)
        card.breadth = card.width + _BETWEEN_COLUMNS + beside


def _stack_children(card: _Card, children: Sequence[_Card]) -> None:
    """Place the children of a card in the next column, one below the other, beside its middle."""
    top = card.top + (card.extent - card.stack) / 2
    for child in children:
        child.top = top
        child.column = _Column(card.column.band, card.column.depth + 1)
        top += child.extent + _GAP


def _center_sharing_cards(sharing: Sequence[_Card], cards: Mapping[str, _Card]) -> float:
    """Place sharing providers beside the hosts that use them, and return the lowest bottom."""
    free = float(_MARGIN)
    for card in sharing:
        served = [cards[root].middle for root in card.node.serves]
        card.y = max(free, (min(served) + max(served) - card.height) / 2)
        free = card.y + card.height + _GAP
    return free - _GAP if sharing else 0.0


def _align_columns(cards: Iterable[_Card]) -> None:
    """Give the cards of each column the same left edge and the same width."""
    columns: dict[_Column, list[_Card]] = {}
    for card in cards:
        columns.setdefault(card.column, []).append(card)
    left = float(_MARGIN)
    for _, column in sorted(columns.items()):
        width = max(card.width for card in column)
        for card in column:
            card.x, card.width = left, width
        left += width + _BETWEEN_COLUMNS


def _stack_trees(roots: Sequence[_Card]) -> float:
    """Pile up trees in bands side by side, for a square picture; return the lowest bottom."""
    height = sum(card.extent + _BETWEEN_TREES for card in roots)
    width = max((card.breadth for card in roots), default=1.0)
    per_band = math.ceil(len(roots) / max(1, round(math.sqrt(height / width)))) or 1
    end = bottom = 0.0
    for index, card in enumerate(roots):
        band, row = divmod(index, per_band)
        card.top, card.column = end + _BETWEEN_TREES if row else float(_MARGIN), _Column(band, 1)
        end = card.top + card.extent
        bottom = max(bottom, end)
    return bottom
