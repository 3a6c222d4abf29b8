# SPDX-License-Identifier: Apache-2.0
"""Mappings in a column: data for scripts, a short text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cliff import columns

from placementclient.basis.printable import RightAligned
from placementclient.render.units import format_amount, format_whole_amount, sort_by_class

if TYPE_CHECKING:
    from placementclient.model.consumers import Resources
    from placementclient.model.servers import Server


T = TypeVar('T')


class Facts(columns.FormattableColumn[object]):
    """A cell with data for programs and a short text for people.

    ``{'used': 9, 'capacity': 8}`` is ``used 9, capacity 8`` in a table.

    :param show: returns the text of the value for people
    """

    def __init__(self, value: T, show: Callable[[T], str] | None = None) -> None:
        super().__init__(value)
        self._show: Callable[[Any], str] = show or format_value

    def human_readable(self) -> str:
        return self._show(self.machine_readable())


def add_server_name(subject: str, servers: Mapping[str, Server]) -> str:
    """Return the subject of a row, with the name of the server if it has one: ``UUID (web1)``."""
    server = servers.get(subject.removeprefix('consumer '))
    return f'{subject} ({server.name})' if server and server.name else subject


def make_amount_cell(resource_class: str, amount: int | None) -> Facts:
    """Return the cell of an amount, for people with the unit of its class: ``1.5 TiB``.

    :param amount: ``None``: the cell is empty
    """
    return Facts(
        amount,
        lambda _: RightAligned('' if amount is None else format_amount(resource_class, amount)),
    )


def make_difference_cell(resource_class: str, amount: int) -> Facts:
    """Return the cell of a difference of amounts, for people with sign and unit: ``-1.5 TiB``."""
    sign = '-' if amount < 0 else '+' if amount else ''
    return Facts(
        amount, lambda _: RightAligned(f'{sign}{format_amount(resource_class, abs(amount))}')
    )


def is_empty(value: object) -> bool:
    """Return True if a value is null, an empty text, or a list or mapping without items."""
    return value is None or value in ('', [], {})


def format_fact(value: object) -> str:
    """Return a fact of a finding as words: ``VCPU 4 on host1`` for ``{'host1': {'VCPU': 4}}``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        if all(isinstance(item, Mapping) for item in value.values()):
            return '; '.join(_format_holdings(value))
        if all(isinstance(item, int) for item in value.values()):
            amounts = sort_by_class(value)
            return ', '.join(
                f'{name} {format_whole_amount(name, n)}' for name, n in amounts.items()
            )
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return '; '.join(map(_format_migration, value))
    return format_value(value)


def _format_holdings(by_provider: Mapping[str, object]) -> Iterator[str]:
    """Yield the amounts on each provider as text; equal amounts of several are one text."""
    names = dict[str, list[str]]()
    for name, amounts in by_provider.items():
        names.setdefault(format_fact(amounts), []).append(name)
    for amounts, providers in names.items():
        yield f'{amounts} on {"each of " if len(providers) > 1 else ""}{", ".join(providers)}'


def _format_migration(migration: Mapping[str, object]) -> str:
    """Return a migration as text: ``resize UUID (finished)``."""
    words = [str(migration[key]) for key in ('type', 'uuid') if migration.get(key)]
    return f'{" ".join(words)} ({migration.get("status") or "status not known"})'


def format_figures(by_class: Mapping[str, Mapping[str, int]]) -> str:
    """Return figures by class as text: ``VCPU (used 9)`` for ``{'VCPU': {'used': 9}}``."""
    return format_value(
        {
            name: {key: format_amount(name, amount) for key, amount in amounts.items()}
            for name, amounts in by_class.items()
        }
    )


def format_amounts(resources: Resources) -> str:
    """Return amounts as text: ``VCPU=4, VGPU=1`` for ``{'VCPU': 4, 'VGPU': 1}``."""
    return ', '.join(f'{name}={amount}' for name, amount in resources.items())


def format_amounts_with_units(resources: Resources) -> str:
    """Return amounts with their units as text: ``VCPU 4, DISK_GB 1.5 TiB``."""
    amounts = sort_by_class(resources).items()
    return ', '.join(f'{name} {format_amount(name, amount)}' for name, amount in amounts)


def format_value(value: object) -> str:
    """Return any value as text: ``used 9, capacity 8`` for ``{'used': 9, 'capacity': 8}``."""
    if value is None:
        return ''
    if isinstance(value, Mapping):
        items = ((key, item) for key, item in value.items() if item is not None)
        return ', '.join(f'{key} {_format_nested_value(item)}' for key, item in items)
    if isinstance(value, list | tuple):
        return ', '.join(map(_format_nested_value, value))
    return str(value)


def _format_nested_value(value: object) -> str:
    """Return a value inside of another one as text; lists and mappings are in parentheses."""
    return (
        f'({format_value(value)})'
        if isinstance(value, Mapping | list | tuple)
        else format_value(value)
    )
