"""Providers that a file selects by the filters that commands have as options."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.client import errors
from placementclient.client.wording import meant
from placementclient.codec.cursors import Cursor
from placementclient.model import patterns
from placementclient.model.providers import normalized
from placementclient.model.snapshots import ProviderState

#: A field of :class:`ProviderSelector`, and the condition on a provider.
_Condition = tuple[str, Callable[[ProviderState], bool]]


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """Selects providers; all conditions that are given have to hold.

    :param match: a pattern of their names, as of files
    :param with_trait: a trait that they have
    :param with_class: a class that they have inventory of
    :param member_of: each element is an aggregate, or some joined by commas of which one is enough
    :param at: where the file says it
    """

    at: Cursor
    match: str | None = None
    with_trait: str | None = None
    with_class: str | None = None
    member_of: tuple[str, ...] = ()

    def selected(self, states: Collection[ProviderState]) -> list[ProviderState]:
        """Return the providers that meet all conditions.

        :raises errors.BadFile: if none does
        """
        found: Collection[ProviderState] = states
        for field, condition in self._conditions():
            found = [state for state in found if condition(state)]
            if not found:
                raise self._unmet(field, states)
        return list(found)

    def _conditions(self) -> Iterator[_Condition]:
        if self.match is not None:
            # A provider whose name looks like a pattern is found by its name.
            pattern = self.match
            yield (
                'match',
                lambda state: state.name == pattern or fnmatch.fnmatchcase(state.name, pattern),
            )
        if self.with_trait is not None:
            yield 'with_trait', lambda state: self.with_trait in state.traits
        if self.with_class is not None:
            yield 'with_class', lambda state: self.with_class in state.inventories
        for each in self.member_of:
            aggregates = frozenset(each.split(','))
            yield (
                'member_of',
                lambda state, any_of=aggregates: (
                    not any_of.isdisjoint(  # type: ignore[misc]
                        state.aggregates
                    )
                ),
            )

    def _unmet(self, field: str, states: Iterable[ProviderState]) -> errors.BadFile:
        at = self.at.inside(field)
        if field == 'match':
            return at.error(patterns.unmatched(str(self.match), [state.name for state in states]))
        there = {
            'with_trait': lambda: {name for state in states for name in state.traits},
            'with_class': lambda: {name for state in states for name in state.inventories},
        }
        name = getattr(self, field)
        if field in there and name not in (known := there[field]()):
            return at.error(f'no provider has {name}{meant(name, known)}')
        return at.error('no provider meets all conditions')


def _member_of(cursor: Cursor) -> tuple[str, ...]:
    items = cursor.items() if isinstance(cursor.value, list) else [cursor]
    return tuple(','.join(map(normalized, item.text().split(','))) for item in items)


#: The readers of the fields of a selector, by name.
READERS: Mapping[str, Callable[[Cursor], Any]] = {
    'match': Cursor.text,
    'with_trait': Cursor.symbol,
    'with_class': Cursor.symbol,
    'member_of': _member_of,
}


def taken(at: Cursor, given: dict[str, Any]) -> ProviderSelector:
    """Take the fields of a selector out of those of an entry.

    :param at: the entry
    :param given: what :data:`READERS` have read, among others
    :raises errors.BadFile: if there is no condition
    """
    conditions = {name: given.pop(name) for name in READERS if name in given}
    if not conditions:
        raise at.error(f'selects nothing: give {", ".join(READERS)}')
    return ProviderSelector(at, **conditions)
