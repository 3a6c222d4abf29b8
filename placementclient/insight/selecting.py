# SPDX-License-Identifier: Apache-2.0
"""Selectors of providers, in a file or in options."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.files.cursors import Cursor
from placementclient.model import patterns
from placementclient.model.providers import is_uuid
from placementclient.model.snapshots import ProviderState
from placementclient.placing.requests import split_alternatives
from placementclient.placing.shapes import has_one_of_each

#: The place of options.
_NOWHERE = Cursor(None, '', '')
#: The fields of :class:`ProviderSelector` that are conditions, in their order.
CONDITIONS = ('match', 'with_trait', 'without_trait', 'with_class', 'member_of')


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """Selects providers that meet all conditions.

    :param member_of: each element is an aggregate, or some joined by commas of which one is enough
    :param at: the entry of a file that has the conditions, for errors
    """

    match: str | None = None
    with_trait: str | None = None
    without_trait: str | None = None
    with_class: str | None = None
    member_of: tuple[str, ...] = ()
    at: Cursor = _NOWHERE

    def select(self, states: Collection[ProviderState]) -> list[ProviderState]:
        """Return the providers that meet all conditions, in their order.

        :param states: the providers to select from
        :raises errors.BadFile: if none does, and the conditions are of a file
        :raises errors.NoSuchProvider: if none does, and they are of options
        """
        selected = list(states)
        for field, is_met in self._list_conditions():
            selected = [state for state in selected if is_met(state)]
            if not selected:
                raise self._make_error(field, states)
        return selected

    def _list_conditions(self) -> Iterator[tuple[str, Callable[[ProviderState], bool]]]:
        """Yield the field of each given condition, and the function that tests a provider."""
        if match := self.match:
            # A provider whose name looks like a pattern is found by its name.
            yield 'match', lambda state: state.name == match or fnmatchcase(state.name, match)
        if trait := self.with_trait:
            yield 'with_trait', lambda state: trait in state.traits
        if unwanted := self.without_trait:
            yield 'without_trait', lambda state: unwanted not in state.traits
        if name := self.with_class:
            yield 'with_class', lambda state: name in state.inventories
        if groups := split_alternatives(self.member_of):
            yield 'member_of', lambda state: has_one_of_each(state.aggregates, groups)

    def _make_error(self, field: str, states: Collection[ProviderState]) -> errors.PlacementError:
        """Return the error for the first condition that no provider meets.

        :param field: of the condition
        :param states: all providers, before any condition
        """
        in_file = self.at.descend(field).make_error
        error = errors.NoSuchProvider if self.at is _NOWHERE else in_file
        if field == 'match':
            return error(
                patterns.describe_unmatched_pattern(
                    self.match or '', [state.name for state in states]
                )
            )
        if field == 'member_of' and (name := self._find_aggregate_name()):
            return error(
                f'"{name}" cannot be looked up without Nova: give the UUID of the aggregate, which '
                '"placement resource provider aggregate list HOST" prints'
            )
        known = {
            'with_trait': (self.with_trait, {name for s in states for name in s.traits}),
            'with_class': (self.with_class, {name for s in states for name in s.inventories}),
        }
        unknown, names = known.get(field, (None, set()))
        if unknown and unknown not in names:
            return error(f'no provider has {unknown}{suggest_similar(unknown, names)}')
        return error('no provider meets all conditions')

    def _find_aggregate_name(self) -> str | None:
        """Return the first aggregate that is no UUID; ``None`` if each is one."""
        aggregates = (name for group in self.member_of for name in group.split(','))
        return next(
            (
                name
                for name in aggregates
                if not is_uuid(name.removeprefix('in:').removeprefix('!'))
            ),
            None,
        )
