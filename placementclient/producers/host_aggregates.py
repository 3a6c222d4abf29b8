"""Read the hosts and their aggregates, and plan what puts them into those that Nova says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from placementclient.api import aggregate, resource_provider
from placementclient.api.parallel import parallel
from placementclient.changes.plan import ChangePlan, plan_of
from placementclient.changes.results import Note
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.freshness import Read
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.synced import synced
from placementclient.reading.capture import origin_of

#: Hosts of which the aggregates are read at a time.
_WORKERS = 4


class Sync:
    """Plans, and plans again for a host that another client changes at the same time.

    :param remove: take hosts out of the aggregates of Nova in which Nova does not have them
    :ivar notes: the hosts that are left as they are
    """

    def __init__(
        self, client: Client, aggregates: Sequence[HostAggregate], *, remove: bool = False
    ) -> None:
        self._client, self._aggregates, self._remove = client, aggregates, remove
        self._members = Snapshot((), ())
        self.notes: list[Note] = []

    def plan(self, roots: Sequence[str] = ()) -> ChangePlan:
        """Plan what puts the hosts into their aggregates.

        :param roots: the UUIDs of the hosts to plan again; none: all
        """
        if not roots:
            self._members = _members(self._client, self._aggregates)
            self.notes[:] = self._synced(self._members)[1]
        there = self._read(roots or self._changing())
        return plan_of('resource provider aggregate sync', there, self._synced(there)[0])

    def _changing(self) -> list[str]:
        after, _ = self._synced(self._members)
        states = self._members.providers
        return [
            uuid
            for uuid, state in after.providers.items()
            if states[uuid].aggregates != state.aggregates
        ]

    def _synced(self, there: Snapshot) -> tuple[Snapshot, list[Note]]:
        return synced(there, self._aggregates, remove=self._remove)

    def _read(self, uuids: Sequence[str]) -> Snapshot:
        """Return all hosts, some of them as they are now, with all their aggregates."""
        states = dict(self._members.providers)
        for uuid, read in zip(uuids, parallel(self._aggregates_of, uuids, _WORKERS), strict=True):
            if read is None:
                del states[uuid]
                continue
            provider = states[uuid].provider
            if read.generation is not None:
                provider = provider._replace(generation=read.generation)
            aggregates = frozenset(read.value)
            states[uuid] = replace(states[uuid], provider=provider, aggregates=aggregates)
        return Snapshot(states.values(), (), self._members.origin)

    def _aggregates_of(self, uuid: str) -> Read[list[str]] | None:
        try:
            return aggregate.list(self._client, uuid)
        except errors.NotFound:
            return None


def _members(client: Client, aggregates: Iterable[HostAggregate]) -> Snapshot:
    """Return all roots, the aggregates of Nova that they are in, and whether they share."""
    origin = origin_of(client)
    listed = resource_provider.list(client)
    roots = {each.uuid: ProviderState(each) for each in listed if each.uuid == each.root_uuid}
    sharing = Filter(required=(SHARING_TRAIT,))
    for provider in resource_provider.list(client, matching=sharing):
        if provider.uuid in roots:
            state = roots[provider.uuid]
            roots[provider.uuid] = replace(state, traits=frozenset({SHARING_TRAIT}))
    for each in aggregates:
        for member in resource_provider.list(client, matching=Filter(member_of=(each.uuid,))):
            if member.uuid in roots:
                state = roots[member.uuid]
                roots[member.uuid] = replace(state, aggregates=state.aggregates | {each.uuid})
    return Snapshot(roots.values(), (), origin)
