"""A plan as a person reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from placementclient.changes.summary import rows
from placementclient.changes.summary import summary as changes_summary
from placementclient.client.wording import counted, grouped
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.model.plans import Label, Plan, ProviderChange, TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.render import trees

if TYPE_CHECKING:
    from placementclient.model.plans import Plan, TreeChange


def extent(trees: Iterable[TreeChange]) -> str:
    """Say in a sentence, without its full stop, how much some trees of a plan change."""
    trees = list(trees)
    counts = changes_summary(trees)
    number = len(list(warnings(trees)))
    return f'{counts}; {counted(number, "warning")}' if number else counts


def changes_lines(plan: Plan, *, is_summary: bool = False) -> Iterator[str]:
    """Return a plan of changes: its extent, then each tree before and after, and its changes.

    :param is_summary: of each tree the number of changes only
    """
    from placementclient.render import changes

    yield extent(plan.trees)
    for tree in plan.trees:
        if is_summary:
            changed = counted(len(list(rows(tree.before, tree.after))), 'change')
            yield f'  {tree.root_provider_name}: {changed}'
            continue
        yield ''
        yield f'{tree.root_provider_name} ({tree.root_provider_uuid})'
        for title, side in (('before', tree.before), ('after', tree.after)):
            yield ''
            yield f'  {title}'
            yield from (f'    {line}' for line in _side(side))
        yield ''
        yield '  changes'
        yield from (f'    {line}' for line in changes.lines(rows(tree.before, tree.after)))
    if warned := list(warnings(plan.trees)):
        yield from ('', 'Warnings:', *(f'  {line}' for line in warned))


def _side(snapshot: Snapshot) -> Iterator[str]:
    def text(state: ProviderState) -> Iterator[str]:
        yield '  '.join([state.name, *_inventories(state)])
        if state.traits:
            yield ' '.join(sorted(state.traits))

    for state in snapshot.walked():
        if state.provider.parent_provider_uuid not in snapshot.providers:
            yield from trees.draw(state, lambda each: snapshot.children(each.uuid), text)


def summary(plan: Plan) -> dict[str, int]:
    """Return how much a plan moves, and how sure its rows are."""
    labels = Counter(row.label for tree in plan.trees for row in tree.rows)
    return {
        'trees': len(plan.trees),
        'left_out': len(plan.left_out),
        'providers_to_create': sum(1 for tree in plan.trees for _ in tree.created()),
        'consumers': len({change.uuid for tree in plan.trees for change in tree.consumers}),
        **{label.value: labels[label] for label in Label},
        'warnings': len(list(warnings(plan.trees))),
    }


def lines(plan: Plan, *, is_summary: bool = False) -> Iterator[str]:
    """The whole plan: each tree before and after, who goes where, warnings; totals at the end.

    :param is_summary: without the trees
    """
    yield extent(plan.trees)
    yield ''
    for tree in () if is_summary else plan.trees:
        yield from tree_lines(tree)
        yield ''
    for left_out in plan.left_out:
        yield f'Left out: {left_out.root_provider_name} ({left_out.root_provider_uuid})'
        for reason in left_out.reasons:
            yield f'  {reason.message}'
        yield ''
    warned = list(warnings(plan.trees))
    if warned:
        yield 'Warnings:'
        yield from (f'  {line}' for line in warned)
        yield ''
    yield '  '.join(f'{name}: {count}' for name, count in summary(plan).items())


def warnings(trees: Iterable[TreeChange]) -> Iterator[str]:
    """Return the warnings about some trees of a plan; equal ones of several trees once."""
    return grouped(
        (tree.root_provider_name, warning.message) for tree in trees for warning in tree.warnings
    )


def tree_lines(tree: TreeChange) -> Iterator[str]:
    yield ', '.join(f'{name} ({uuid})' for uuid, name in tree.roots.items())
    for title, after in (('before', False), ('after', True)):
        yield ''
        yield f'  {title}'
        yield from (f'    {line}' for line in _drawn(tree, after))
    if tree.rows:
        yield ''
        yield '  who goes where'
        for row in tree.rows:
            name = row.resource_class
            if row.to_resource_class != name:
                name = f'{name} as {row.to_resource_class}'
            evidence = f': {row.evidence}' if row.evidence else ''
            way = f'{row.from_provider} → {row.to_provider}'
            if row.from_provider is None:
                way = f'new on {row.to_provider}'
            yield (
                f'    {row.consumer_uuid}  {row.amount} {name}  {way}  '
                f'({row.label.value}{evidence})'
            )


def _drawn(tree: TreeChange, after: bool) -> Iterator[str]:
    """Draw the providers of a plan on one side, below the roots of their trees."""
    shown = [change for change in tree.providers if after or not change.is_created]
    shown_uuids = {change.uuid for change in shown}

    def children(node: ProviderChange | str) -> list[ProviderChange]:
        if isinstance(node, str):
            # A root that the plan does not change, above all whose parents it does not change.
            tops = (change for change in shown if change.parent_provider_uuid not in shown_uuids)
            return [change for change in tops if change.root_provider_uuid == node]
        return [child for child in shown if child.parent_provider_uuid == node.uuid]

    def text(node: ProviderChange | str) -> Iterator[str]:
        if isinstance(node, str):
            yield tree.roots.get(node, node)
            return
        content = node.content_after if after else node.content_before
        yield '  '.join([node.name, *_inventories(content)])
        if content.traits:
            yield ' '.join(sorted(content.traits))
        if node.content_before.aggregates != node.content_after.aggregates and content.aggregates:
            yield f'aggregates: {" ".join(sorted(content.aggregates))}'

    by_uuid = {change.uuid: change for change in shown}
    others = {change.root_provider_uuid for change in shown} - tree.roots.keys()
    for root in (*tree.roots, *sorted(others)):
        node: ProviderChange | str = by_uuid.get(root, root)
        yield from trees.draw(node, children, text)


def _inventories(content: ProviderState) -> Iterator[str]:
    inventories: Mapping[str, Inventory] = content.inventories
    for name, inventory in sorted(inventories.items()):
        total = str(inventory.total)
        if inventory.reserved:
            total = f'({total} - {inventory.reserved} reserved)'
        if inventory.allocation_ratio != 1:
            total = f'{total} × {inventory.allocation_ratio:g}'
        if inventory.max_unit < min(inventory.total, UNLIMITED):
            total = f'{total}, at most {inventory.max_unit} at once'
        yield f'{name} {total}'
