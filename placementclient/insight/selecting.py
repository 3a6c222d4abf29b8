# SPDX-License-Identifier: Apache-2.0
"""Selectors of providers, in a file or in options."""

import fnmatch
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.basis import errors
from placementclient.basis.wording import suggestion
from placementclient.files.cursors import Cursor
from placementclient.model import patterns
from placementclient.model.providers import is_uuid
from placementclient.model.snapshots import ProviderState
from placementclient.placing.requests import alternatives
from placementclient.placing.shapes import has_each

#: The place of options.
_NOWHERE = Cursor(None, '', '')
#: The condition of each field of :class:`ProviderSelector`, in their order.
CONDITIONS: Mapping[str, Callable[[ProviderState, Any], bool]] = {
    # A provider whose name looks like a pattern is found by its name.
    'match': lambda state, name: state.name == name or fnmatch.fnmatchcase(state.name, name),
    'with_trait': lambda state, trait: trait in state.traits,
    'without_trait': lambda state, trait: trait not in state.traits,
    'with_class': lambda state, name: name in state.inventories,
    'member_of': lambda state, groups: has_each(state.aggregates, alternatives(groups)),
}


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """Selects providers that meet all conditions.

    :param member_of: each element is an aggregate, or some joined by commas of which one is enough
    :param at: the entry of the file that says it
    """

    match: str | None = None
    with_trait: str | None = None
    without_trait: str | None = None
    with_class: str | None = None
    member_of: tuple[str, ...] = ()
    at: Cursor = _NOWHERE

    def selected(self, states: Collection[ProviderState]) -> list[ProviderState]:
        """Return the providers that meet all conditions.

        :raises errors.BadFile: if none does, in a file
        :raises errors.NoSuchProvider: likewise, in options
        """
        selected = list(states)
        for field, meets in CONDITIONS.items():
            if condition := getattr(self, field):
                selected = [state for state in selected if meets(state, condition)]
                if not selected:
                    raise self._unmet(field, condition, states)
        return selected

    def _unmet(
        self, field: str, condition: Any, states: Iterable[ProviderState]
    ) -> errors.PlacementError:
        in_file = self.at.inside(field).error
        error = errors.NoSuchProvider if self.at is _NOWHERE else in_file
        if field == 'match':
            return error(patterns.unmatched(condition, [state.name for state in states]))
        if field == 'member_of':
            for aggregate in (part for group in condition for part in group.split(',')):
                if not is_uuid(aggregate.removeprefix('in:').removeprefix('!')):
                    return error(
                        f'"{aggregate}" cannot be looked up without Nova: give the UUID of the '
                        'aggregate, which "resource provider aggregate list HOST" prints'
                    )
        facet = {'with_trait': 'traits', 'with_class': 'inventories'}.get(field)
        if facet:
            names = {name for state in states for name in getattr(state, facet)}
            if condition not in names:
                return error(f'no provider has {condition}{suggestion(condition, names)}')
        return error('no provider meets all conditions')
