# SPDX-License-Identifier: Apache-2.0
"""Mappings in a column: data for scripts, a short text for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cliff import columns

from placementclient.basis.printable import RightAligned
from placementclient.render.units import format_amount

if TYPE_CHECKING:
    from placementclient.model.consumers import Resources


class Facts(columns.FormattableColumn[Any]):
    """``{'used': 9, 'capacity': 8}``, in a table ``used 9, capacity 8``.

    :param shown: returns the text for people
    """

    def __init__(self, value: Any, shown: Callable[[Any], str] | None = None) -> None:
        super().__init__(value)
        self._shown = shown or format_value

    def human_readable(self) -> str:
        return self._shown(self._value)


def show_amount(resource_class: str, amount: int) -> Facts:
    """Return an amount in the unit of its class, for people with that unit: ``1.5 TiB``."""
    return Facts(amount, lambda amount: RightAligned(format_amount(resource_class, amount)))


def show_difference(resource_class: str, amount: int) -> Facts:
    """Return a difference of amounts, for people with its sign and unit: ``-1.5 TiB``."""
    sign = '-' if amount < 0 else '+' if amount else ''
    return Facts(
        amount, lambda _: RightAligned(f'{sign}{format_amount(resource_class, abs(amount))}')
    )


def format_evidence(facts: Mapping[str, Any]) -> str:
    """``{'type': None, 'used': 9}`` as ``no type, used 9``."""
    return ', '.join(
        f'no {key}' if value is None or value in ([], {}) else f'{key} {_format_inner(value)}'
        for key, value in facts.items()
    )


def format_figures(by_class: Mapping[str, Mapping[str, int]]) -> str:
    """Figures by class: ``{'VCPU': {'used': 9}}`` as ``VCPU (used 9)``."""
    return format_value(
        {
            name: {key: format_amount(name, amount) for key, amount in amounts.items()}
            for name, amounts in by_class.items()
        }
    )


def format_amounts(resources: Resources) -> str:
    """``{'VCPU': 4, 'VGPU': 1}`` as ``VCPU=4, VGPU=1``."""
    return ', '.join(f'{name}={amount}' for name, amount in resources.items())


def format_sizes(resources: Resources) -> str:
    """Amounts with their units: ``DISK_GB 1.5 TiB, VCPU 4``."""
    return ', '.join(f'{name} {format_amount(name, amount)}' for name, amount in resources.items())


def format_value(value: Any) -> str:
    """Return a value as text without punctuation, as far as it stays clear."""
    if value is None:
        return ''
    if isinstance(value, Mapping):
        items = ((key, item) for key, item in value.items() if item is not None)
        return ', '.join(f'{key} {_format_inner(item)}' for key, item in items)
    if isinstance(value, list | tuple):
        return ', '.join(map(_format_inner, value))
    return str(value)


def _format_inner(value: Any) -> str:
    return (
        f'({format_value(value)})'
        if isinstance(value, Mapping | list | tuple)
        else format_value(value)
    )
