"""Mappings in a column: data for scripts, a short text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cliff import columns

from placementclient.client.printable import RightAligned
from placementclient.render.units import sized

if TYPE_CHECKING:
    from placementclient.model.consumers import Resources


class Facts(columns.FormattableColumn[Any]):
    """``{'used': 9, 'capacity': 8}``, in a table ``used 9, capacity 8``."""

    def human_readable(self) -> str:
        return text(self._value)

    def machine_readable(self) -> Any:
        return self._value


class Evidence(Facts):
    """``{'type': None, 'used': 9}``, in a table ``no type, used 9``."""

    def human_readable(self) -> str:
        return ', '.join(
            f'no {key}' if value is None or value in ([], {}) else f'{key} {_inner(value)}'
            for key, value in self._value.items()
        )


class AmountFacts(Facts):
    """``{'VCPU': 4, 'VGPU': 1}``, in a table ``VCPU=4, VGPU=1``."""

    def human_readable(self) -> str:
        return amounts(self._value)


class Sized(Facts):
    """An amount of a resource class, for people with its unit: ``1.5 TiB``.

    :param resource_class: its name
    :param amount: in the unit of the class: MiB of MEMORY_MB, GiB of DISK_GB
    """

    def __init__(self, resource_class: str, amount: int) -> None:
        super().__init__(amount)
        self._resource_class = resource_class

    def human_readable(self) -> str:
        return RightAligned(sized(self._resource_class, self._value))


class ClassFacts(Facts):
    """Figures by class: ``{'VCPU': {'used': 9}}``, in a table ``VCPU (used 9)``."""

    def human_readable(self) -> str:
        return text(
            {
                name: {key: sized(name, amount) for key, amount in figures.items()}
                for name, figures in self._value.items()
            }
        )


class Groups(Facts):
    """``['', '1']``, the groups of a request that a provider serves, in a table ``1``."""

    def human_readable(self) -> str:
        return ', '.join(filter(None, self._value))


def amounts(resources: Resources) -> str:
    return ', '.join(f'{name}={amount}' for name, amount in resources.items())


def sizes(resources: Resources) -> str:
    """Return amounts with their units: ``DISK_GB 1.5 TiB, VCPU 4``."""
    return ', '.join(f'{name} {sized(name, amount)}' for name, amount in resources.items())


def text(value: Any) -> str:
    """Return a value as text without punctuation, as far as it stays clear."""
    if value is None:
        return ''
    if isinstance(value, Mapping):
        there = ((key, item) for key, item in value.items() if item is not None)
        return ', '.join(f'{key} {_inner(item)}' for key, item in there)
    if isinstance(value, list | tuple):
        return ', '.join(map(_inner, value))
    return str(value)


def _inner(value: Any) -> str:
    return f'({text(value)})' if isinstance(value, Mapping | list | tuple) else text(value)
