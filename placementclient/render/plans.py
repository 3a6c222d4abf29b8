"""A plan as a person reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.planner.plan.plan import Label, Plan, TreePlan
from placementclient.planner.plan.state_changes import Content, ProviderChange
from placementclient.render import trees
from placementclient.wording import grouped


def summary(plan: Plan) -> dict[str, int]:
    """How much a plan moves, and how sure its rows are."""
    labels = Counter(row.label for tree in plan.trees for row in tree.rows)
    return {
        'trees': len(plan.trees),
        'left_out': len(plan.left_out),
        'providers_to_create': sum(1 for tree in plan.trees for _ in tree.created()),
        'consumers': len({change.uuid for tree in plan.trees for change in tree.consumers}),
        **{label.value: labels[label] for label in Label},
        'warnings': sum(len(tree.warnings) for tree in plan.trees),
    }


def lines(plan: Plan) -> Iterator[str]:
    """The whole plan: each tree before and after, who goes where, warnings; totals at the end."""
    for tree in plan.trees:
        yield from tree_lines(tree)
        yield ''
    for left_out in plan.left_out:
        yield f'Left out: {left_out.root_provider_name} ({left_out.root_provider_uuid})'
        for reason in left_out.reasons:
            yield f'  {reason.message}'
        yield ''
    warned = list(warnings(plan))
    if warned:
        yield 'Warnings:'
        yield from (f'  {line}' for line in warned)
        yield ''
    yield '  '.join(f'{name}: {count}' for name, count in summary(plan).items())


def warnings(plan: Plan) -> Iterator[str]:
    """What an operator should know, with its tree; what is equal for several trees once."""
    return grouped(
        (tree.root_provider_name, warning.message)
        for tree in plan.trees
        for warning in tree.warnings
    )


def tree_lines(tree: TreePlan) -> Iterator[str]:
    """The plan of one tree."""
    yield f'{tree.root_provider_name} ({tree.root_provider_uuid})'
    for title, after in (('before', False), ('after', True)):
        yield ''
        yield f'  {title}'
        for root in _roots(tree):
            yield from (f'    {line}' for line in _drawn(tree, root, after))
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


def _roots(tree: TreePlan) -> list[ProviderChange]:
    """The topmost of the providers concerned; also those of other trees."""
    uuids = {change.uuid for change in tree.providers}
    return [change for change in tree.providers if change.parent_provider_uuid not in uuids]


def _drawn(tree: TreePlan, root: ProviderChange, after: bool) -> Iterator[str]:
    def children(change: ProviderChange) -> list[ProviderChange]:
        return [
            child
            for child in tree.providers
            if child.parent_provider_uuid == change.uuid and (after or not child.is_created)
        ]

    def text(change: ProviderChange) -> Iterator[str]:
        content = change.after if after else change.content_before
        yield '  '.join([change.name, *_inventories(content)])
        if content.traits:
            yield ' '.join(sorted(content.traits))
        if change.content_before.aggregates != change.after.aggregates and content.aggregates:
            yield f'aggregates: {" ".join(sorted(content.aggregates))}'

    return trees.draw(root, children, text)


def _inventories(content: Content) -> Iterator[str]:
    held: Mapping[str, Inventory] = content.inventories
    for name, inventory in sorted(held.items()):
        total = str(inventory.total)
        if inventory.reserved:
            total = f'({total} - {inventory.reserved} reserved)'
        if inventory.allocation_ratio != 1:
            total = f'{total} × {inventory.allocation_ratio:g}'
        if inventory.max_unit < min(inventory.total, UNLIMITED):
            total = f'{total}, at most {inventory.max_unit} at once'
        yield f'{name} {total}'
