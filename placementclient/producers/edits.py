# SPDX-License-Identifier: Apache-2.0
"""Edits of many providers: select them, and read the parts that the edit needs."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from placementclient.api import inventory, resource_class, resource_provider, trait
from placementclient.basis import errors
from placementclient.basis.wording import add_names_to_uuids, join_first_sentences, suggest_similar
from placementclient.client.http import Client
from placementclient.insight.selecting import ProviderSelector
from placementclient.model import patterns
from placementclient.model.findings import Finding
from placementclient.model.outcomes import TreeState
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.shortfalls import find_shortfalls
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.edited import Edit
from placementclient.producers.names import suggest_remedy
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import make_origin
from placementclient.reading.facets import read_facets


class EditProducer(StateProducer):
    """Plans one edit of all selected providers.

    :param command: the name of the command, for the plan
    :param with_usages: read the usages too, for a plan that is carried out later
    :ivar remarks: sentences on providers that are passed over, or in use; known after :meth:`plan`
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
        super().__init__(client)
        self.command = command
        self._selection, self._edit = selection, edit
        self._facets = {edit.facet, *(['usages'] if with_usages else [])}
        self._before = Snapshot((), ())
        #: The UUIDs of the selected providers that can have the edit.
        self._selected: list[str] = []
        self.remarks: list[str] = []

    def read_live_state(self) -> Snapshot:
        """Read the selected providers; of others in their trees at most UUID, name and parent."""
        self._before = self._read_selected_providers()
        return self._before

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with the edit on the providers that can have it.

        :raises errors.BadArgument: if a class or a trait does not exist, or if the edit suits no
            provider
        """
        states = dict(live.providers)
        for uuid in self._selected:
            try:
                states[uuid] = self._edit.edit_state(states[uuid])
            except errors.BadArgument as reason:
                self.notes.append(Finding(TreeState.FAILED, states[uuid].name, reason=str(reason)))
        after = Snapshot(states.values(), live.consumers.values(), live.origin)
        selected = [live.providers[uuid] for uuid in self._selected]
        self._edit.check_providers(selected)
        self._refuse_unknown_names(selected, after)
        self.remarks = [*self._edit.list_remarks(selected), *self._describe_shortfalls(after)]
        return after

    def _describe_shortfalls(self, after: Snapshot) -> Iterator[str]:
        """Yield a remark on inventories that get smaller than their usage."""
        shrunk = {}
        for uuid in self._selected:
            before, state = self._before.providers[uuid], after.providers[uuid]
            if any(state.capacity(name) < before.capacity(name) for name in before.inventories):
                shrunk[uuid] = read_facets(self.client, before, {'usages'} - self._facets).state
        if messages := [lack.message for lack in find_shortfalls(shrunk, after.providers)]:
            lacking = join_first_sentences(messages)
            yield f'{lacking}. Placement grants nothing more there until enough is freed'

    def _read_selected_providers(self) -> Snapshot:
        """Read the selected providers; of others in their trees at most UUID, name and parent."""
        origin = make_origin(self.client)
        name = self._selection.with_class
        facets = self._facets | ({'inventories'} if name else set())
        states = {}
        for provider in select_providers(self.client, self._selection):
            state = self._read_state(provider, facets)
            if not name or name in state.inventories:
                states[provider.uuid] = state
        if not states:
            existing = resource_class.list(self.client)
            near = '' if name in existing else suggest_similar(str(name), existing)
            raise errors.NoSuchProvider(
                f'No resource provider is selected: none of them has inventory of {name}{near}'
            )
        self._selected = list(states)
        parents = {state.provider.parent_provider_uuid for state in states.values()} - {None}
        if parents - states.keys():
            # The providers above name the trees of a plan.
            roots = {state.provider.root_uuid for state in states.values()}
            members = (p for p in resource_provider.list(self.client) if p.root_uuid in roots)
            states = {member.uuid: ProviderState(member) for member in members} | states
        return Snapshot(states.values(), (), origin)

    def _read_state(self, provider: Provider, facets: Collection[str]) -> ProviderState:
        """Read some facets of a provider, with the generation of the edited facet."""
        state, generations, _ = read_facets(self.client, ProviderState(provider), facets)
        generation = generations[self._edit.facet]
        if generation is None:
            return state
        return replace(state, provider=replace(provider, generation=generation))

    def _refuse_unknown_names(self, states: Iterable[ProviderState], after: Snapshot) -> None:
        """Refuse new classes and traits that the service lacks: a plan would create them."""
        desired = [after.providers[state.uuid] for state in states]
        classes = _collect_names(desired, 'inventories') - _collect_names(states, 'inventories')
        if classes:
            _require_existing_names(classes, resource_class.list(self.client), 'resource class')
        traits = _collect_names(desired, 'traits') - _collect_names(states, 'traits')
        present = trait.list(self.client, name=f'in:{",".join(sorted(traits))}') if traits else ()
        if traits.difference(present):
            _require_existing_names(traits, trait.list(self.client), 'trait')


def _require_existing_names(names: Iterable[str], existing: Collection[str], kind: str) -> None:
    """Refuse names that are not among the existing ones, and suggest similar ones."""
    for name in sorted(set(names).difference(existing)):
        hint = suggest_remedy([name], existing, f'placement {kind} create')
        raise errors.BadArgument(f'There is no {kind} {name!r}{hint}')


def select_providers(client: Client, selection: ProviderSelector) -> list[Provider]:
    """Return the selected providers, even without the class of the selection, sorted by name.

    :raises errors.NoSuchProvider: if there is none
    """
    required = (selection.with_trait,) if selection.with_trait else ()
    matching = Filter(required=required, member_of=selection.member_of)
    providers = {p.name: p for p in resource_provider.list(client, matching=matching)}
    names: Iterable[str] = providers
    if selection.match is not None:
        names = patterns.find_matching_names(selection.match, providers)
        if providers and not names:
            reason = patterns.describe_unmatched_pattern(selection.match, providers)
            raise errors.NoSuchProvider(f'No resource provider is selected: {reason}')
    if not names:
        conditions = [f'has the trait {name}' for name in required]
        conditions += [f'is in the aggregate {uuid}' for uuid in selection.member_of]
        reason = f'none {" and ".join(conditions)}' if conditions else 'there is none'
        sentence = add_names_to_uuids(f'No resource provider is selected: {reason}', client.names)
        raise errors.NoSuchProvider(sentence)
    return [providers[name] for name in sorted(names)]


def select_roots(client: Client, selection: ProviderSelector, names: Sequence[str]) -> list[str]:
    """Return the UUIDs of the roots of the trees with a selected provider.

    :param names: names, UUIDs or patterns of providers whose trees alone count; none: all trees
    :raises errors.NoSuchProvider: if no provider is selected
    """
    providers = select_providers(client, selection)
    if names:
        states = map(ProviderState, resource_provider.list(client))
        roots = Snapshot(states, ()).root_uuids(names)
        providers = [provider for provider in providers if provider.root_uuid in roots]
    if name := selection.with_class:
        providers = [p for p in providers if name in inventory.list(client, p.uuid).value]
    if not providers:
        raise errors.NoSuchProvider(f'No resource provider is selected by {selection}')
    return list({provider.root_uuid: provider for provider in providers})


def _collect_names(states: Iterable[ProviderState], facet: str) -> set[str]:
    return {name for state in states for name in getattr(state, facet)}
