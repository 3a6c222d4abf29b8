"""A mapping in a column: data for a script, a short text for a reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cliff import columns


class Facts(columns.FormattableColumn[Any]):
    """``{'used': 9, 'capacity': 8}``, in a table ``used 9, capacity 8``."""

    def human_readable(self) -> str:
        return text(self._value)

    def machine_readable(self) -> Any:
        return self._value


def text(value: Any) -> str:
    """A value without its punctuation, as far as it can be read so."""
    if value is None:
        return ''
    if isinstance(value, Mapping):
        return ', '.join(f'{key} {_inner(item)}' for key, item in value.items())
    if isinstance(value, list | tuple):
        return ', '.join(map(_inner, value))
    return str(value)


def _inner(value: Any) -> str:
    return f'({text(value)})' if isinstance(value, Mapping | list | tuple) else text(value)
