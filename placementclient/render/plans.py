# SPDX-License-Identifier: Apache-2.0
"""Plans as text for people."""

from collections import Counter
from collections.abc import Iterable, Iterator

from placementclient.basis.wording import format_count, merge_alike_sentences
from placementclient.changes.summary import list_change_rows
from placementclient.changes.summary import summarize_changes as changes_summary
from placementclient.model.inventories import UNLIMITED
from placementclient.model.plans import Change, Plan, PlannedRow, RowLabel
from placementclient.model.snapshots import ProviderState
from placementclient.render import changes, trees

#: The title of the moves of a reshape. A table of changes has the aggregates, moves do not.
_MOVES = 'who goes where'


def count_changes_in_words(changes: Iterable[Change]) -> str:
    """Return the number of changes of each kind in words, with the number of warnings."""
    changes = list(changes)
    counts = changes_summary(changes)
    number = len(list(list_warnings(changes)))
    return f'{counts}; {format_count(number, "warning")}' if number else counts


def count_plan_parts(plan: Plan) -> dict[str, int]:
    """Return the numbers of trees, new providers, consumers, rows and warnings of a plan."""
    labels = Counter(row.label for tree in plan.changes for row in tree.reasons)
    return {
        'trees': len(plan.changes),
        'left_out': len(plan.left_out),
        'providers_to_create': sum(
            1 for tree in plan.changes for _ in tree.list_created_providers()
        ),
        'consumers': len({change.uuid for tree in plan.changes for change in tree.consumers}),
        **{label.value: labels[label] for label in RowLabel},
        'warnings': len(list(list_warnings(plan.changes))),
    }


def format_plan(plan: Plan, *, is_summary: bool = False) -> Iterator[str]:
    """Yield the lines of a plan: its trees before and after, the moves of consumers, the warnings.

    :param is_summary: whether to leave out the trees
    """
    yield count_changes_in_words(plan.changes)
    if plan.recipe is None:
        yield from _format_changes(plan.changes, is_summary)
        yield from _format_warnings(plan)
        return
    for change in () if is_summary else plan.changes:
        yield from ('', *_format_tree(change, _MOVES, map(_format_planned_row, change.reasons)))
    for left_out in plan.left_out:
        yield ''
        yield f'Left out: {left_out.root_provider_name} ({left_out.root_provider_uuid})'
        yield from (f'  {reason.message}' for reason in left_out.reasons)
    yield from _format_warnings(plan)
    yield ''
    yield '  '.join(f'{name}: {count}' for name, count in count_plan_parts(plan).items())


def _format_changes(trees: Iterable[Change], is_summary: bool) -> Iterator[str]:
    """Yield the trees of a plan that is no reshape, each before and after.

    :param is_summary: whether each tree is one line with the number of its changes
    """
    for tree in trees:
        parts = list(list_change_rows(tree.before, tree.after))
        if is_summary:
            yield f'  {tree.root_provider_name}: {format_count(len(parts), "change")}'
        else:
            yield from ('', *_format_tree(tree, 'changes', changes.format_planned_parts(parts)))


def _format_warnings(plan: Plan) -> Iterator[str]:
    if texts := list(list_warnings(plan.changes)):
        yield from ('', 'Warnings:', *(f'  {text}' for text in texts))


def list_warnings(changes: Iterable[Change]) -> Iterator[str]:
    """Yield the warnings of changes as text; equal ones of several trees are one."""
    return merge_alike_sentences(
        (change.root_provider_name, warning.message)
        for change in changes
        for warning in change.warnings
    )


def _format_tree(change: Change, title: str, body: Iterable[str]) -> Iterator[str]:
    """Yield a tree before and after its change, and a section below.

    :param title: of the section, which is left out if ``body`` is empty
    """
    yield ', '.join(f'{name} ({uuid})' for uuid, name in change.roots.items())
    aggregates = title == _MOVES
    for heading, after in (('before', False), ('after', True)):
        drawn = _draw_providers(change, after=after, aggregates=aggregates)
        yield from ('', f'  {heading}', *(f'    {text}' for text in drawn))
    if texts := list(body):
        yield from ('', f'  {title}', *(f'    {text}' for text in texts))


def _format_planned_row(row: PlannedRow) -> str:
    name = row.resource_class
    if row.to_resource_class != name:
        name = f'{name} as {row.to_resource_class}'
    evidence = f': {row.evidence}' if row.evidence else ''
    way = f'{row.from_provider} → {row.to_provider}'
    if row.from_provider is None:
        way = f'new on {row.to_provider}'
    return f'{row.consumer_uuid}  {row.amount} {name}  {way}  ({row.label.value}{evidence})'


def _draw_providers(change: Change, *, after: bool, aggregates: bool) -> Iterator[str]:
    """Yield the lines of the providers before or after a change; those that share come last.

    :param after: whether to draw those after the change, not those before it
    :param aggregates: whether to show the aggregates that change
    """
    side, other = (change.after, change.before) if after else (change.before, change.after)

    def format_provider(state: ProviderState) -> Iterator[str]:
        yield '  '.join([state.name, *_format_inventories(state)])
        if state.traits:
            yield ' '.join(sorted(state.traits))
        counterpart = other.providers.get(state.uuid, ProviderState(state.provider))
        if aggregates and state.aggregates and state.aggregates != counterpart.aggregates:
            yield f'aggregates: {" ".join(sorted(state.aggregates))}'

    for uuid in change.concerned_roots:
        if root := side.providers.get(uuid):
            yield from trees.draw_tree(side, root, format_provider)


def _format_inventories(state: ProviderState) -> Iterator[str]:
    """Yield the inventories of a provider as text: total, reserved amount, ratio and max_unit."""
    for name, inventory in sorted(state.inventories.items()):
        total = str(inventory.total)
        if inventory.reserved:
            total = f'({total} - {inventory.reserved} reserved)'
        if inventory.allocation_ratio != 1:
            total = f'{total} × {inventory.allocation_ratio:g}'
        if inventory.max_unit < min(inventory.total, UNLIMITED):
            total = f'{total}, at most {inventory.max_unit} at once'
        yield f'{name} {total}'
