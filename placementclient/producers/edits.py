"""One edit of many providers: read as much of them as it takes, and plan it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from placementclient.api import inventory, resource_class, resource_provider, trait
from placementclient.changes.plan import ChangePlan, plan_of
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import first, suggestion
from placementclient.insight.selecting import ProviderSelector
from placementclient.model import patterns
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.shortfalls import shortfalls
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.edited import Edit, Edited, edited
from placementclient.producers.unknown_names import remedy
from placementclient.reading.capture import origin_of
from placementclient.reading.facets import with_facets


class Edits:
    """One edit of the providers that a selection finds.

    :param command: the command, without the program
    :param with_usages: read what is used of them too, for a plan that is carried out later
    :ivar refused: why some of them cannot have it, by name; known once it is planned
    :ivar remarks: sentences on what is not done; likewise
    """

    def __init__(
        self,
        client: Client,
        command: str,
        selection: ProviderSelector,
        edit: Edit,
        *,
        with_usages: bool = False,
    ) -> None:
        self._client, self._command = client, command
        self._selection, self._edit = selection, edit
        self._facets = {edit.facet, *(['usages'] if with_usages else [])}
        self._before = Snapshot((), ())
        self._selected: Sequence[str] = ()
        self.refused: dict[str, str] = {}
        self.remarks: list[str] = []

    def plan(self, roots: Sequence[str] = ()) -> ChangePlan:
        """Plan the edit.

        :param roots: the UUIDs of the roots of the trees to plan again; none: select and plan all
        :raises errors.NoSuchProvider: if no provider is selected
        :raises errors.BadArgument: if a class or a trait does not exist, or if no provider can have
            meant the edit
        """
        if roots:
            return plan_of(self._command, *self._again(roots))
        self._before = self._read()
        states = [self._before.providers[uuid] for uuid in self._selected]
        found = edited(self._before, self._selected, self._edit)
        self._edit.check(states)
        self._check_names(states, found)
        self.refused = dict(found.refused)
        self.remarks = [*self._edit.remarks(states), *self._shortfalls(found.after)]
        return plan_of(self._command, self._before, found.after)

    def _shortfalls(self, after: Snapshot) -> Iterator[str]:
        """Say where the edit leaves less than what is in use: the service takes that."""
        shrunk = {}
        for uuid in self._selected:
            state, wanted = self._before.providers[uuid], after.providers[uuid]
            if any(wanted.capacity(each) < state.capacity(each) for each in state.inventories):
                shrunk[uuid] = with_facets(self._client, state, {'usages'} - self._facets).state
        if found := [each.message for each in shortfalls(shrunk, after.providers)]:
            yield f'{first(found)}. Nothing goes there until enough of it has left'

    def _read(self) -> Snapshot:
        """Read the providers that are selected; of those above them only that they are there."""
        origin = origin_of(self._client)
        name = self._selection.with_class
        facets = self._facets | ({'inventories'} if name else set())
        states = {}
        for provider in listed(self._client, self._selection):
            state = self._state(provider, facets)
            if not name or name in state.inventories:
                states[provider.uuid] = state
        if not states:
            known = resource_class.list(self._client)
            near = '' if name in known else suggestion(str(name), known)
            raise errors.NoSuchProvider(
                f'No resource provider is selected: none of them has inventory of {name}{near}'
            )
        self._selected = list(states)
        return Snapshot([*states.values(), *self._above(states.values())], (), origin)

    def _above(self, states: Collection[ProviderState]) -> Iterator[ProviderState]:
        """Return the providers above some, which name the trees of a plan."""
        found = {state.uuid for state in states}
        pending = {state.provider.parent_provider_uuid for state in states} - found - {None}
        if not pending:
            return
        every = {each.uuid: each for each in resource_provider.list(self._client)}
        while pending:
            parent = every.get(pending.pop() or '')
            if parent is None or parent.uuid in found:
                continue
            found.add(parent.uuid)
            yield ProviderState(parent)
            if parent.parent_provider_uuid is not None:
                pending.add(parent.parent_provider_uuid)

    def _again(self, roots: Collection[str]) -> tuple[Snapshot, Snapshot]:
        """Return providers in their present and in their wanted state."""
        states = {
            uuid: state
            for uuid, state in self._before.providers.items()
            if state.provider.root_uuid in roots
        }
        own = [
            uuid
            for uuid in self._selected
            if uuid in states and states[uuid].name not in self.refused
        ]
        for uuid in own:
            states[uuid] = self._state(states[uuid].provider, self._facets)
        before = Snapshot(states.values(), (), self._before.origin)
        found = edited(before, own, self._edit)
        for reason in found.refused.values():
            raise errors.BadArgument(reason)
        return before, found.after

    def _state(self, provider: Provider, facets: Collection[str]) -> ProviderState:
        """Read some facets of a provider, with the generation of the one that changes."""
        state, generations, _ = with_facets(self._client, ProviderState(provider), facets)
        generation = generations[self._edit.facet]
        if generation is None:
            return state
        return replace(state, provider=provider._replace(generation=generation))

    def _check_names(self, states: Iterable[ProviderState], found: Edited) -> None:
        """Refuse classes and traits that do not exist: a plan would make them.

        :raises errors.BadArgument: for the first of them
        """
        wanted = [found.after.providers[state.uuid] for state in states]
        classes = _new(wanted, 'inventories') - _new(states, 'inventories')
        traits = _new(wanted, 'traits') - _new(states, 'traits')
        known = resource_class.list(self._client) if classes else []
        for name in sorted(classes.difference(known)):
            hint = remedy([name], known, 'resource class create')
            raise errors.BadArgument(f'There is no resource class {name!r}{hint}')
        asked = f'in:{",".join(sorted(traits))}'
        if not traits or not traits.difference(trait.list(self._client, name=asked)):
            return
        known = trait.list(self._client)
        for name in sorted(traits.difference(known)):
            hint = remedy([name], known, 'trait create')
            raise errors.BadArgument(f'There is no trait {name!r}{hint}')


def listed(client: Client, selection: ProviderSelector) -> list[Provider]:
    """List the selected providers by name; those that lack the class are among them.

    :raises errors.NoSuchProvider: if there is none
    """
    required = (selection.with_trait,) if selection.with_trait else ()
    wanted = Filter(required=required, member_of=selection.member_of)
    listed = {each.name: each for each in resource_provider.list(client, matching=wanted)}
    names: Iterable[str] = listed
    if selection.match is not None:
        names = patterns.matching(selection.match, listed)
        if listed and not names:
            reason = patterns.unmatched(selection.match, listed)
            raise errors.NoSuchProvider(f'No resource provider is selected: {reason}')
    if not names:
        conditions = [f'has the trait {name}' for name in required]
        conditions += [f'is in the aggregate {each}' for each in selection.member_of]
        reason = f'none {" and ".join(conditions)}' if conditions else 'there is none'
        raise errors.NoSuchProvider(f'No resource provider is selected: {reason}')
    return [listed[name] for name in sorted(names)]


def selected_roots(client: Client, selection: ProviderSelector, names: Sequence[str]) -> list[str]:
    """Return the UUIDs of the roots of the trees with a selected provider.

    :param names: names, UUIDs or patterns of providers, only of whose trees they are; none: of all
    :raises errors.NoSuchProvider: if there is none
    """
    found = listed(client, selection)
    if names:
        states = map(ProviderState, resource_provider.list(client))
        roots = Snapshot(states, ()).root_uuids(names)
        found = [each for each in found if each.root_uuid in roots]
    if name := selection.with_class:
        found = [each for each in found if name in inventory.list(client, each.uuid).value]
    if not found:
        raise errors.NoSuchProvider(f'No resource provider is selected by {selection}')
    return list({each.root_uuid: each for each in found})


def _new(states: Iterable[ProviderState], facet: str) -> set[str]:
    return {name for state in states for name in getattr(state, facet)}
