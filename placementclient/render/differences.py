# SPDX-License-Identifier: Apache-2.0
"""The differences between two snapshots as lines of text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from placementclient.basis.printable import escape_text
from placementclient.insight.diff import Difference
from placementclient.render import facts
from placementclient.render.units import format_amount

_SIGNS = {'added': '+', 'changed': '~', 'removed': '-'}
_SETS = {'traits': 'trait', 'aggregates': 'aggregate'}


def describe_differences(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield each difference as text: ``+``, ``~`` or ``-``, and the object.

    All amounts that a consumer gained are one text, and so are all that it lost. Another UUID of a
    provider is one text, too.
    """
    replaced = _find_replaced_providers(differences)
    items: list[tuple[Difference, str, str]] = []
    for difference in differences:
        old, new = replaced.get(difference.name, (None, None))
        if old and new and difference is old:
            items.append((difference, '~', f'UUID {old.uuid} → {new.uuid}'))
        if not (old and new and old.before == new.after and difference in (old, new)):
            items += ((difference, *part) for part in _describe_changed_parts(difference))
    for (sign, name, _), group in groupby(items, _make_line_key):
        yield escape_text(f'{sign} {name} {", ".join(text for *_, text in group)}'.rstrip())


def _find_replaced_providers(
    differences: Iterable[Difference],
) -> dict[str, tuple[Difference, Difference]]:
    """Return the removal and the addition of each provider that has another UUID, by name."""
    providers = [d for d in differences if d.kind == 'provider' and not d.field]
    removed = {d.name: d for d in providers if d.after is None}
    added = {d.name: d for d in providers if d.before is None}
    return {name: (removed[name], added[name]) for name in removed.keys() & added.keys()}


def _make_line_key(item: tuple[Difference, str, str]) -> tuple[str, str, str]:
    """Return a key: consecutive parts of differences with one key share a line.

    :param item: the difference, the sign of the part and its text
    """
    difference, sign, text = item
    is_shared = difference.kind == 'consumer' and sign != '~'
    return sign, difference.name, difference.uuid if is_shared else text


def _describe_changed_parts(difference: Difference) -> Iterator[tuple[str, str]]:
    """Yield the sign and the text of each part in which an object differs."""
    before, after, field = difference.before, difference.after, difference.field
    sign = _SIGNS[difference.change_type]
    if not field:
        yield sign, _describe_amounts(before or after)
    elif field in _SETS:
        for name in sorted({*(before or ())} ^ {*(after or ())}):
            yield '+' if name in (after or ()) else '-', f'{_SETS[field]} {name}'
    elif field.startswith('inventories.') and sign != '~':
        # The total stands for all fields of an inventory that only one side has.
        _, name, part = field.split('.')
        if part == 'total':
            yield sign, f'{name} {format_amount(name, before or after)}'
    else:
        values = [_format_value(field, value) for value in (before, after) if value is not None]
        yield sign, f'{_label_field(field)} {" → ".join(values)}'


def _describe_amounts(content: Mapping[str, object]) -> str:
    """Return the amounts of an object that was added or removed."""
    amounts = (
        f'{_label_field(field.removesuffix(".total"))} {_format_value(field, value)}'
        for field, value in sorted(content.items())
        if field.endswith('.total') or field.startswith('allocations.')
    )
    return ', '.join(amounts)


def _label_field(field: str) -> str:
    """Return a field in words: ``VCPU on compute1`` for an allocation."""
    kind, _, rest = field.partition('.')
    if kind == 'allocations':
        provider, _, name = rest.rpartition('.')
        return f'{name} on {provider}'
    return (
        f'{rest.replace(".", " ")} {kind}' if kind == 'unlisted' else rest.replace('.', ' ') or kind
    )


def _format_value(field: str, value: object) -> str:
    """Return the value of a field as text, an amount with its unit."""
    parts = field.split('.')
    name = parts[1] if parts[0] == 'inventories' else parts[-1]
    is_amount = parts[-1] != 'allocation_ratio' and len(parts) > 1
    return format_amount(name, value) if is_amount else facts.format_value(value)
