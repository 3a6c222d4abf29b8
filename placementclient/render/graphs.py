# SPDX-License-Identifier: Apache-2.0
"""Provider trees as graphs that Graphviz draws."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple
from xml.sax.saxutils import escape

from placementclient.basis.printable import escape_line, escape_text
from placementclient.model.plans import Change
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import Tree
from placementclient.render.units import format_usage

_TITLE = 'Resource providers'
#: The titles of the sides of a plan.
SIDES = ('before', 'after')
#: The color of changed parts of a plan.
CHANGED = '#7e22ce'
_DOT_HEADER = """\
digraph placement {
  graph [rankdir=LR, nodesep=0.2, ranksep=0.6];
  node [shape=box, style="rounded,filled", fillcolor="#f8fafc", color="#94a3b8",
        fontname="Helvetica", fontsize=11];
  edge [arrowhead=none, color="#94a3b8", fontname="Helvetica", fontsize=9];
"""


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A provider in a picture.

    :param notes: the lines on its traits and its allocations, as far as they are shown
    :param serves: UUIDs of the roots in the picture with which it shares its inventory
    :param changed: the classes and notes that a plan changes
    :param is_on_one_side: whether the provider exists only before, or only after, the plan
    """

    state: ProviderState
    notes: tuple[str, ...] = ()
    parent_uuid: str | None = None
    serves: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    is_on_one_side: bool = False

    def format_usage(self, resource_class: str) -> str:
        capacity = self.state.inventories[resource_class].capacity
        return format_usage(resource_class, self.state.used(resource_class), capacity)


class PictureRow(NamedTuple):
    """The providers of a tree before and after a plan, or all in a picture without a plan."""

    sides: Sequence[Sequence[PictureNode]]
    name: str = ''
    uuid: str = ''


class Picture(NamedTuple):
    """Providers to draw, parents before their children.

    :param is_titled: whether the title is drawn
    """

    title: str
    rows: Sequence[PictureRow]
    is_titled: bool = False


def make_tree_picture(
    trees: Sequence[Tree], assuming: Sequence[str], *, traits: bool, allocations: bool
) -> Picture:
    """Return a picture of trees: every provider once, sharing providers of other trees last.

    :param assuming: the paths of the files of assumptions
    :param traits: whether to show the traits
    :param allocations: whether to show the allocations
    """
    drawn: dict[str, PictureNode] = {}
    sharing: dict[str, tuple[ProviderState, list[str]]] = {}
    for tree in trees:
        for state in tree.providers():
            shown = state.traits if traits else ()
            drawn[state.uuid] = _make_node(tree.snapshot, state, shown, allocations)
        for state in tree.sharing:
            sharing.setdefault(state.uuid, (state, []))[1].append(tree.root.uuid)
    for uuid, (state, roots) in sharing.items():
        drawn[uuid] = replace(drawn.get(uuid, PictureNode(state)), serves=tuple(roots))
    title = f'{_TITLE}, assuming: {", ".join(assuming)}' if assuming else _TITLE
    return Picture(title, [PictureRow([list(drawn.values())])], is_titled=bool(assuming))


def make_plan_picture(changes: Iterable[Change], *, traits: bool, allocations: bool) -> Picture:
    """Return a picture of trees before and after their plan.

    :param traits: show all traits; otherwise only those that the plan changes
    :param allocations: show the allocations
    """
    rows = [
        PictureRow(
            [
                list(_make_nodes(change.before, change.after, traits, allocations)),
                list(_make_nodes(change.after, change.before, traits, allocations)),
            ],
            change.root_provider_name,
            change.root_provider_uuid,
        )
        for change in changes
    ]
    return Picture(f'{_TITLE} before and after', rows)


def _make_nodes(
    snapshot: Snapshot, other: Snapshot, traits: bool, allocations: bool
) -> Iterator[PictureNode]:
    """Yield the providers of a snapshot, each marked with its differences from another snapshot.

    :param traits: whether to show all traits, not only those that differ
    :param allocations: whether to show the allocations
    """
    for state in snapshot.walk():
        counterpart = other.providers.get(state.uuid, ProviderState(state.provider))
        changed_traits = state.traits - counterpart.traits
        node = _make_node(snapshot, state, state.traits if traits else changed_traits, allocations)
        classes = {
            name
            for name, inventory in state.inventories.items()
            if inventory != counterpart.inventories.get(name)
            or state.used(name) != counterpart.used(name)
        }
        moved = {*_describe_allocations(snapshot, state)} - {*_describe_allocations(other, state)}
        yield replace(
            node,
            changed=frozenset(classes | changed_traits | moved),
            is_on_one_side=state.uuid not in other.providers,
        )


def _make_node(
    snapshot: Snapshot, state: ProviderState, traits: Iterable[str], allocations: bool
) -> PictureNode:
    """Return a provider for a picture, with some traits, and with all allocations if asked for."""
    holdings = _describe_allocations(snapshot, state) if allocations else ()
    return PictureNode(state, (*sorted(traits), *holdings), state.provider.parent_provider_uuid)


def draw_dot(picture: Picture) -> str:
    """Return a picture in the language of Graphviz, with before and after a plan side by side."""
    lines = [f'  label={_quote_dot_string(picture.title)};'] if picture.is_titled else []
    for row in picture.rows:
        lines += _draw_sides(row) if row.name else _draw_nodes(row.sides[0])
    return _DOT_HEADER + '\n'.join([*lines, '}']) + '\n'


def _draw_sides(row: PictureRow) -> Iterator[str]:
    """Yield two groups of nodes in the language of Graphviz: a tree before and after a plan."""
    for title, side in zip(SIDES, row.sides, strict=True):
        prefix = f'{row.uuid} {title} '
        label = _quote_dot_string(f'{row.name} {title}')
        yield f'  subgraph {_quote_dot_string(f"cluster {prefix}")} {{ label={label};'
        yield from (f'  {line}' for line in _draw_nodes(side, prefix))
        yield '  }'
    before, after = row.sides
    # These edges put the second side to the right of the first one.
    for ends in product(before, after[:1]):
        ids = (
            _quote_dot_string(f'{row.uuid} {title} {node.state.uuid}')
            for title, node in zip(SIDES, ends, strict=True)
        )
        yield f'  {" -> ".join(ids)} [style=invis];'


def _draw_nodes(nodes: Iterable[PictureNode], prefix: str = '') -> Iterator[str]:
    """Yield nodes and their edges in the language of Graphviz.

    :param prefix: the beginning of the identifiers of nodes
    """
    for node in nodes:
        uuid = _quote_dot_string(prefix + node.state.uuid)
        mark = f', color="{CHANGED}", penwidth=2' if node.is_on_one_side else ''
        yield f'  {uuid} [label={_make_dot_label(node)}{mark}];'
        if node.parent_uuid:
            yield f'  {_quote_dot_string(prefix + node.parent_uuid)} -> {uuid};'
        for root in node.serves:
            yield f'  {uuid} -> {_quote_dot_string(prefix + root)} [style=dashed, label="shares"];'


def _make_dot_label(node: PictureNode) -> str:
    """Return the label of a node in the language of Graphviz, with the changed lines in color."""
    # Each line with True if the plan changes it.
    lines = [
        (escape_line(node.state.name), node.is_on_one_side),
        *(
            (f'{c} {node.format_usage(c)}', c in node.changed)
            for c in sorted(node.state.inventories)
        ),
        *((note, note in node.changed) for note in node.notes),
    ]
    if not any(is_changed for _, is_changed in lines):
        return _quote_dot_string('\n'.join(text for text, _ in lines)).replace('\n', '\\n')
    texts = (
        f'<font color="{CHANGED}">{escape_xml(text)}</font>' if is_changed else escape_xml(text)
        for text, is_changed in lines
    )
    return f'<{"<br/>".join(texts)}>'


def _quote_dot_string(text: str) -> str:
    """Return a text as a string of the language of Graphviz."""
    return '"' + escape_text(text).replace('\\', '\\\\').replace('"', '\\"') + '"'


def escape_xml(text: str) -> str:
    """Return a text for XML, without control characters."""
    # XML has no place for control characters, not even escaped.
    return escape(escape_text(text))


def _describe_allocations(snapshot: Snapshot, state: ProviderState) -> Iterator[str]:
    """Yield the allocations on a provider, one text for each consumer."""
    for consumer in snapshot.consumers_on(state.uuid):
        allocated = sorted(consumer.allocations[state.uuid].items())
        yield f'{consumer.uuid} {" ".join(f"{name} {n}" for name, n in allocated)}'
