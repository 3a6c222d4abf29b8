"""Host aggregates of Nova for the providers in Placement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from placementclient.api import aggregate as aggregate_api
from placementclient.api import resource_provider
from placementclient.api.parallel import parallel
from placementclient.changes.results import Note
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import listed
from placementclient.model.freshness import Read
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.requests import SHARING, Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.producers.producer import Producer
from placementclient.reading.capture import origin_of

#: Hosts of which the aggregates are read at a time.
_WORKERS = 4


class Sync(Producer):
    """The producer of Nova's aggregates.

    :param remove: take hosts out of the aggregates of Nova in which Nova does not have them
    :ivar notes: the hosts that are left as they are
    """

    command = 'resource provider aggregate sync'
    has_notes = True

    def __init__(
        self, client: Client, aggregates: Sequence[HostAggregate], *, remove: bool = False
    ) -> None:
        super().__init__(client)
        self._aggregates, self._remove = aggregates, remove
        self._members = Snapshot((), ())

    def read(self, roots: Sequence[str]) -> Snapshot:
        if not roots:
            self._members = _members(self.client, self._aggregates)
            self.notes[:] = self._synced(self._members)[1]
        return self._read(roots or self._changing())

    def desired(self, live: Snapshot) -> Snapshot:
        return self._synced(live)[0]

    def _changing(self) -> list[str]:
        after, _ = self._synced(self._members)
        states = self._members.providers
        return [
            uuid
            for uuid, state in after.providers.items()
            if states[uuid].aggregates != state.aggregates
        ]

    def _synced(self, live: Snapshot) -> tuple[Snapshot, list[Note]]:
        return synced(live, self._aggregates, remove=self._remove)

    def _read(self, uuids: Sequence[str]) -> Snapshot:
        """Return all hosts, some of them as they are now, with all their aggregates."""
        states = dict(self._members.providers)
        for uuid, read in zip(uuids, parallel(self._aggregates_of, uuids, _WORKERS), strict=True):
            if read is None:
                del states[uuid]
                continue
            provider = states[uuid].provider
            if read.generation is not None:
                provider = replace(provider, generation=read.generation)
            aggregates = frozenset(read.value)
            states[uuid] = replace(states[uuid], provider=provider, aggregates=aggregates)
        return Snapshot(states.values(), (), self._members.origin)

    def _aggregates_of(self, uuid: str) -> Read[list[str]] | None:
        try:
            return aggregate_api.list(self.client, uuid)
        except errors.NotFound:
            return None


def _members(client: Client, aggregates: Iterable[HostAggregate]) -> Snapshot:
    """Return all roots, the aggregates of Nova that they are in, and whether they share."""
    origin = origin_of(client)
    listed = resource_provider.list(client)
    roots = {p.uuid: ProviderState(p) for p in listed if p.uuid == p.root_uuid}
    for provider in resource_provider.list(client, matching=SHARING):
        if provider.uuid in roots:
            state = roots[provider.uuid]
            roots[provider.uuid] = replace(state, traits=frozenset({SHARING_TRAIT}))
    for aggregate in aggregates:
        for member in resource_provider.list(client, matching=Filter(member_of=(aggregate.uuid,))):
            if member.uuid in roots:
                state = roots[member.uuid]
                joined = state.aggregates | {aggregate.uuid}
                roots[member.uuid] = replace(state, aggregates=joined)
    return Snapshot(roots.values(), (), origin)


def synced(
    snapshot: Snapshot, aggregates: Iterable[HostAggregate], *, remove: bool = False
) -> tuple[Snapshot, list[Note]]:
    """Return the snapshot with each host in its aggregates, and notes on hosts that stay.

    Aggregates that Nova does not have stay: they may tie hosts to sharing providers. No host leaves
    an aggregate of which one host is not known: it may be that very provider.

    :param snapshot: has all roots, and whether they are in the aggregates of Nova and share
    :param remove: take hosts out of the aggregates of Nova in which Nova does not have them
    """
    hosts = _Hosts(state.provider for state in snapshot.roots())
    gained, lost = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    notes: list[Note] = []
    for aggregate in aggregates:
        named, unknown = set[str](), list[str]()
        for host in aggregate.hosts:
            matches = hosts.called(host)
            named |= {provider.uuid for provider in matches}
            if len(matches) == 1:
                gained[matches[0].uuid].add(aggregate.uuid)
                continue
            having = f'{len(matches)} resource providers have' if matches else 'no provider has'
            unknown.append(host)
            notes.append(
                Note(host, 'not known', f'{aggregate.name}: {having} the name of the host')
            )
        surplus = [
            state
            for state in snapshot.roots()
            if aggregate.uuid in state.aggregates
            and state.uuid not in named
            and not is_sharing(state)
        ]
        for state in surplus if remove else ():
            if unknown:
                first = f'{aggregate.name}: every host of the aggregate has to be known first'
                notes.append(Note(state.name, 'left alone', f'{first}: {listed(unknown, 3)}'))
            else:
                lost[state.uuid].add(aggregate.uuid)
    states = (
        replace(state, aggregates=(state.aggregates - lost[uuid]) | gained[uuid])
        for uuid, state in snapshot.providers.items()
    )
    return Snapshot(states, snapshot.consumers.values(), snapshot.origin), notes


class _Hosts:
    """The providers of hosts, by the names that these may go by."""

    def __init__(self, roots: Iterable[Provider]) -> None:
        self._by_name: dict[str, Provider] = {}
        self._by_short_name: dict[str, list[Provider]] = {}
        for provider in roots:
            self._by_name[provider.name] = provider
            self._by_short_name.setdefault(_short(provider.name), []).append(provider)

    def called(self, host: str) -> list[Provider]:
        """Return the provider of that very name, or those of the host's short or full name."""
        named = self._by_name.get(host) or self._by_name.get(_short(host))
        return [named] if named else self._by_short_name.get(host, [])


def _short(host: str) -> str:
    return host.partition('.')[0]
