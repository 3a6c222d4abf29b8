"""Provider trees as graphs that Graphviz draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placementclient.client.printable import printable, unbroken
from placementclient.model.snapshots import ProviderState
from placementclient.model.trees import Tree
from placementclient.render.units import sized

#: The title of a picture.
TITLE = 'Resource providers'
_DOT_HEADER = """\
digraph placement {
  graph [rankdir=LR, nodesep=0.2, ranksep=0.6];
  node [shape=box, style="rounded,filled", fillcolor="#f8fafc", color="#94a3b8",
        fontname="Helvetica", fontsize=11];
  edge [arrowhead=none, color="#94a3b8", fontname="Helvetica", fontsize=9];
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A provider in a picture.

    :param notes: its traits and what is allocated of it, as far as they are shown
    :param parent_uuid: what it is drawn below
    :param serves: the roots that it shares with, of the trees in the picture
    """

    state: ProviderState
    notes: tuple[str, ...] = ()
    parent_uuid: str | None = None
    serves: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        yield unbroken(self.state.name)
        for name, inventory in sorted(self.state.inventories.items()):
            used, capacity = self.state.used(name), inventory.capacity
            yield f'{name} {sized(name, used)}/{sized(name, capacity)}'
        yield from self.notes


def nodes(trees: Sequence[Tree], *, traits: bool, allocations: bool) -> list[Node]:
    """Every provider once: trees by their order, parents first, then who shares from outside."""
    drawn: dict[str, Node] = {}
    sharing: dict[str, tuple[ProviderState, list[str]]] = {}
    for tree in trees:
        for state in tree.providers():
            notes = (
                *(sorted(state.traits) if traits else ()),
                *(_holdings(tree, state) if allocations else ()),
            )
            drawn[state.uuid] = Node(state, notes, state.provider.parent_provider_uuid)
        for state in tree.sharing:
            sharing.setdefault(state.uuid, (state, []))[1].append(tree.root.uuid)
    for uuid, (state, roots) in sharing.items():
        node = drawn.get(uuid, Node(state))
        drawn[uuid] = Node(node.state, node.notes, node.parent_uuid, tuple(roots))
    return list(drawn.values())


def titled(title: str, assuming: Sequence[str]) -> str:
    return f'{title}, assuming: {", ".join(assuming)}' if assuming else title


def dot(
    trees: Sequence[Tree],
    *,
    traits: bool = False,
    allocations: bool = False,
    assuming: Sequence[str] = (),
) -> str:
    def quoted(text: str) -> str:
        return '"' + printable(text).replace('\\', '\\\\').replace('"', '\\"') + '"'

    lines = [f'  label={quoted(titled(TITLE, assuming))};'] if assuming else []
    for node in nodes(trees, traits=traits, allocations=allocations):
        uuid = quoted(node.state.uuid)
        label = quoted('\n'.join(node.lines())).replace('\n', '\\n')
        lines.append(f'  {uuid} [label={label}];')
        if node.parent_uuid:
            lines.append(f'  {quoted(node.parent_uuid)} -> {uuid};')
        for root in node.serves:
            lines.append(f'  {uuid} -> {quoted(root)} [style=dashed, label="shares"];')
    return _DOT_HEADER + '\n'.join([*lines, '}']) + '\n'


def _holdings(tree: Tree, state: ProviderState) -> Iterator[str]:
    for consumer in tree.snapshot.consumers_on(state.uuid):
        allocated = sorted(consumer.allocations[state.uuid].items())
        yield f'{consumer.uuid} {" ".join(f"{name} {n}" for name, n in allocated)}'
