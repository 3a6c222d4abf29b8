# SPDX-License-Identifier: Apache-2.0
"""Host aggregates of Nova for the providers in Placement."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from placementclient.api import aggregate as aggregate_api
from placementclient.api import resource_provider
from placementclient.api.parallel import call_in_parallel
from placementclient.basis.wording import join_names
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.findings import Finding, Severity
from placementclient.model.freshness import Read
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import SHARING, Filter
from placementclient.model.servers import HostAggregate
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import make_origin

#: Hosts of which the aggregates are read at a time.
_WORKERS = 4


class SyncProducer(StateProducer):
    """Plans the aggregates of hosts so that they follow the host aggregates of Nova.

    :param remove: take hosts out of the aggregates in which Nova does not have them
    :param notes: findings to report with its own: cells of Nova do not answer
    """

    command = 'resource provider aggregate sync'
    has_notes = True

    def __init__(
        self,
        client: Client,
        aggregates: Sequence[HostAggregate],
        *,
        remove: bool = False,
        notes: Sequence[Finding] = (),
    ) -> None:
        super().__init__(client)
        self._aggregates, self._remove = aggregates, remove
        self.notes += notes

    def read_live_state(self) -> Snapshot:
        """Read all hosts, and all aggregates of the hosts that change."""
        members = _read_roots(self.client, self._aggregates)
        after, notes = sync_aggregates(members, self._aggregates, remove=self._remove)
        self.notes += notes
        states = dict(members.providers)
        roots = [uuid for uuid, state in after.providers.items() if state != states[uuid]]
        for uuid, read in zip(
            roots, call_in_parallel(self._read_aggregates_of_host, roots, _WORKERS), strict=True
        ):
            if read is None:
                del states[uuid]
                continue
            provider = states[uuid].provider
            if read.generation is not None:
                provider = replace(provider, generation=read.generation)
            aggregates = frozenset(read.value)
            states[uuid] = replace(states[uuid], provider=provider, aggregates=aggregates)
        return Snapshot(states.values(), (), members.origin)

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with each host in its aggregates."""
        return sync_aggregates(live, self._aggregates, remove=self._remove)[0]

    def _read_aggregates_of_host(self, uuid: str) -> Read[list[str]] | None:
        """Return the aggregates of a provider; ``None`` if it does not exist any more."""
        try:
            return aggregate_api.list(self.client, uuid)
        except errors.NotFound:
            return None


def _read_roots(client: Client, aggregates: Iterable[HostAggregate]) -> Snapshot:
    """Read all roots, which of them are sharing providers, and which are in Nova's aggregates."""
    origin = make_origin(client)
    providers = resource_provider.list(client)
    roots = {p.uuid: ProviderState(p) for p in providers if p.uuid == p.root_uuid}
    for provider in resource_provider.list(client, matching=SHARING):
        if state := roots.get(provider.uuid):
            roots[state.uuid] = replace(state, traits=frozenset({SHARING_TRAIT}))
    for aggregate in aggregates:
        for member in resource_provider.list(client, matching=Filter(member_of=(aggregate.uuid,))):
            if state := roots.get(member.uuid):
                joined = state.aggregates | {aggregate.uuid}
                roots[state.uuid] = replace(state, aggregates=joined)
    return Snapshot(roots.values(), (), origin)


def sync_aggregates(
    snapshot: Snapshot, aggregates: Iterable[HostAggregate], *, remove: bool = False
) -> tuple[Snapshot, list[Finding]]:
    """Return the snapshot with each host in its aggregates, and notes on hosts that do not change.

    Aggregates that Nova does not have stay: they may tie hosts to sharing providers. If one host of
    an aggregate is not known, no host is taken out of it: a provider there may be that host.

    :param snapshot: has all roots, with their aggregates of Nova and the trait of sharing providers
    :param aggregates: those of Nova
    :param remove: whether hosts leave aggregates of Nova that do not list them
    """
    by_short_name: dict[str, list[ProviderState]] = {}
    for state in snapshot.roots():
        by_short_name.setdefault(state.name.partition('.')[0], []).append(state)
    gained, lost = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    notes: list[Finding] = []
    for aggregate in aggregates:
        named, unknown = set[str](), list[str]()
        for host in aggregate.hosts:
            match = snapshot.find_by_name(host) or snapshot.find_by_name(host.partition('.')[0])
            matches = [match] if match else by_short_name.get(host, [])
            named |= {state.uuid for state in matches}
            if len(matches) == 1:
                gained[matches[0].uuid].add(aggregate.uuid)
            else:
                unknown.append(host)
                notes.append(_make_unknown_host_note(aggregate, host, len(matches)))
        for state in snapshot.roots() if remove else ():
            if aggregate.uuid not in state.aggregates or state.uuid in named or is_sharing(state):
                continue
            if unknown:
                first = f'{aggregate.name}: every host of the aggregate has to be known first'
                reason, severity = f'{first}: {join_names(unknown, 3)}', Severity.WARNING
                notes.append(Finding('left alone', state.name, reason=reason, severity=severity))
            else:
                lost[state.uuid].add(aggregate.uuid)
    states = (
        replace(state, aggregates=(state.aggregates - lost[uuid]) | gained[uuid])
        for uuid, state in snapshot.providers.items()
    )
    return Snapshot(states, snapshot.consumers.values(), snapshot.origin), notes


def _make_unknown_host_note(aggregate: HostAggregate, host: str, matches: int) -> Finding:
    """Return the note that none or several providers have the name of a host of an aggregate.

    :param matches: the number of these providers
    """
    having = f'{matches} resource providers have' if matches else 'no provider has'
    reason = f'{having} the name of this host, which is in the aggregate {aggregate.name}'
    return Finding('not known', host, reason=reason)
