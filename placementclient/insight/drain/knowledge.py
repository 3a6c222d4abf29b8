"""The requests of servers, from lists of Nova."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from placementclient.client.wording import counted
from placementclient.insight import owners
from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import Knowledge, zone
from placementclient.model.consumers import Allocations
from placementclient.model.servers import HostAggregate, Image, Server, ServerGroup, same_host
from placementclient.model.snapshots import Snapshot
from placementclient.nova import records, server_request
from placementclient.nova.server_parts import Refusal, ServerRequest
from placementclient.nova.server_request import Scheduling
from placementclient.placing.requests import Request

#: The policies of server groups that Nova's scheduler enforces.
_APART, _TOGETHER = 'anti-affinity', 'affinity'
_DEFAULT = Scheduling()
#: No host satisfies this.
_NOWHERE = (frozenset[str](),)


def learn(
    snapshot: Snapshot, document: Any, path: str, scheduling: Scheduling = _DEFAULT
) -> tuple[Knowledge, list[str]]:
    """Return the requests of servers from lists of Nova, and sentences on what is not counted.

    :param document: what ``GET /servers/detail`` answers, as a list or an object with ``servers``;
        the object may have ``aggregates``, ``server_groups`` and ``flavors``, too
    :param path: where it came from, for errors
    :param scheduling: of servers, in any zone
    :raises errors.BadFile: if it is something else
    """
    other = document if isinstance(document, Mapping) else {}
    flavors = records.flavors_by_id(other, path) if 'flavors' in other else {}
    servers = records.server_details(document, path, flavors)
    aggregates = records.aggregates(other, path) if 'aggregates' in other else []
    groups = records.server_groups(other, path) if 'server_groups' in other else []
    learning = _Learning(snapshot, aggregates, groups, servers, scheduling)
    return (
        Knowledge(
            learning.requests,
            learning.least,
            {server.uuid: server.status for server in servers if server.status},
            {server.uuid for server in servers},
            learning.zones,
            {group.uuid: group.most for group in groups if group.policy == _APART},
            learning.groups,
        ),
        list(learning.remarks('aggregates' in other, 'server_groups' in other)),
    )


class _Learning:
    def __init__(
        self,
        snapshot: Snapshot,
        aggregates: Sequence[HostAggregate],
        groups: Sequence[ServerGroup],
        servers: Sequence[Server],
        scheduling: Scheduling,
    ) -> None:
        self._snapshot = snapshot
        self._is_owned = owners.is_owner_required(snapshot)
        self._scheduling = replace(
            scheduling,
            # The zone of a server is its own.
            settings=replace(scheduling.settings, default_schedule_zone=None),
            sources=replace(scheduling.sources, aggregates=aggregates or None),
        )
        self._named = {aggregate.zone for aggregate in aggregates if aggregate.zone}
        self.zones = _zones(snapshot, aggregates) if self._named else {}
        consumers = snapshot.consumers.keys()
        self._bound: set[str] = set()
        self.groups: dict[str, tuple[str, ...]] = {}
        for group in groups:
            members = [uuid for uuid in group.members if uuid in consumers]
            if group.policy == _APART:
                for uuid in members:
                    self.groups[uuid] = (*self.groups.get(uuid, ()), group.uuid)
            elif group.policy == _TOGETHER and len(members) > 1:
                self._bound.update(members)
        self.requests: dict[str, Request] = {}
        self.least: dict[str, Request] = {}
        self._unknown: Counter[str] = Counter()
        self._images = 0
        self._filtered = 0
        for server in servers:
            if (consumer := snapshot.consumers.get(server.uuid)) is not None:
                self._learn(server, consumer.allocations)

    def remarks(self, has_aggregates: bool, has_groups: bool) -> Iterator[str]:
        for reason, number in sorted(self._unknown.items()):
            yield f'Of {counted(number, "server")} only the allocations are counted: {reason}'
        if self._images:
            yield (
                f'Not counted: what the images of {counted(self._images, "server")} ask for. '
                'Servers have the properties of their images from compute API 2.98 on'
            )
        if self._filtered:
            yield (
                f'Not counted: what the flavors of {counted(self._filtered, "server")} ask of '
                'capabilities and of the metadata of host aggregates'
            )
        if not has_aggregates:
            yield 'Not counted: availability zones, as there are no aggregates in the file'
        if not has_groups:
            yield 'Not counted: server groups, as there are no server_groups in the file'

    def _learn(self, server: Server, allocations: Allocations) -> None:
        if server.flavor is None:
            self._unknown['their flavor is not known'] += 1
            return
        properties = server.image_properties
        if properties is None and not server.boots_from_volume:
            self._images += 1
        image = None if properties is None else Image(properties)
        try:
            request = self._scheduling.of_server(
                ServerRequest(
                    server.flavor,
                    image,
                    project=server.project_id,
                    from_volume=server.boots_from_volume,
                ),
                is_owned=self._is_owned,
            )
        except Refusal as reason:
            self._unknown[f'Nova would refuse them: {reason}'] += 1
            return
        filtered = server_request.filtered(server.flavor)
        self._filtered += bool(filtered)
        if set(request.uncounted) - set(filtered):
            self._unknown['their flavor asks for devices or NUMA cells'] += 1
            return
        held = requests.lax(self._snapshot, allocations).totals
        if server_request.amounts(request.first) != held:
            self._unknown['they hold other amounts than their flavor says'] += 1
            return
        zones = self._zone(server)
        known = requests.known(
            self._snapshot, request.first, allocations, zones, self.groups.get(server.uuid, ())
        )
        if server.uuid in self._bound:
            known = known._replace(root_required=_NOWHERE)
        self.requests[server.uuid] = known
        if zones and server.is_pinned is None:
            # It may have been booted without a zone, and may go to another one then.
            self.least[server.uuid] = known._replace(root_member_of=())

    def _zone(self, server: Server) -> frozenset[str]:
        """Return what stands for the zone that a server has to stay in; nothing if it may leave."""
        if not self._named or server.zone is None or server.is_pinned is False:
            return frozenset()
        # Hosts in no zone are in Nova's default zone, whatever its name is.
        return frozenset({zone(server.zone if server.zone in self._named else '')})


def _zones(snapshot: Snapshot, aggregates: Sequence[HostAggregate]) -> dict[str, str]:
    """Return the availability zone by the name of the host; empty for Nova's default zone."""
    by_host = {host: each.zone for each in aggregates if each.zone for host in each.hosts}
    short: dict[str, list[str]] = {}
    for host in by_host:
        short.setdefault(host.partition('.')[0], []).append(host)
    zones = {}
    for root in snapshot.roots():
        name = root.name
        names = [name] if name in by_host else short.get(name.partition('.')[0], [])
        same = [each for each in names if same_host(each, name)]
        zones[name] = (by_host[same[0]] if same else None) or ''
    return zones
