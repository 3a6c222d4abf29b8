# SPDX-License-Identifier: Apache-2.0
"""The requests of servers, from lists of Nova."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from placementclient.basis.wording import counted, listed
from placementclient.insight import owners
from placementclient.insight.drain import requests
from placementclient.insight.drain.departures import (
    Restriction,
    migrations_by_consumer,
    restriction,
)
from placementclient.insight.drain.nova_facts import Knowledge, affinity, zone
from placementclient.model.consumers import Allocations, together
from placementclient.model.requests import CandidateRequest
from placementclient.model.servers import HostAggregate, Image, Server, ServerGroup, same_host
from placementclient.model.snapshots import Snapshot
from placementclient.nova import records, server_request
from placementclient.nova.images import Images
from placementclient.nova.scheduler_filters import CAPABILITIES, METADATA, NUMA, PCI
from placementclient.nova.server_parts import Refusal, ServerRequest
from placementclient.nova.server_request import Scheduling
from placementclient.nova.settings import Settings
from placementclient.nova.wishes import Wishes
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request, parsed

#: The policies of server groups that Nova's scheduler enforces.
_APART, _TOGETHER = 'anti-affinity', 'affinity'
_DEFAULT = Scheduling()
#: Sentences about requirements that do not count, with a place for the number of servers.
_FILTERS = (
    'Not counted: what the flavors of {} ask of capabilities and of the metadata of host aggregates'
)


def learn(
    snapshot: Snapshot,
    document: Any,
    path: str,
    scheduling: Scheduling = _DEFAULT,
    images: Callable[[Sequence[Server]], Images] = lambda _: Images(),
) -> tuple[Knowledge, list[str]]:
    """Return the requests of servers from lists of Nova, and sentences on what is not counted.

    :param document: what ``GET /servers/detail`` answers, as a list or an object with ``servers``;
        the object may have ``aggregates``, ``server_groups`` and ``migrations``, too
    :param images: returns the images of servers
    :raises errors.BadFile: if it is something else
    """
    lists = document if isinstance(document, Mapping) else {}
    servers = records.server_details(document, path, {})
    aggregates = records.aggregates(lists, path) if 'aggregates' in lists else []
    server_groups = records.server_groups(lists, path) if 'server_groups' in lists else []
    migrations = None
    if 'migrations' in lists:
        migrations = migrations_by_consumer(records.migrations(lists, path))
    scheduling = replace(
        scheduling,
        # The zone of a server is its own.
        settings=replace(scheduling.settings, default_schedule_zone=None),
        sources=replace(scheduling.sources, aggregates=aggregates or None),
    )
    is_owned = owners.is_owner_required(snapshot)
    zones = {aggregate.zone for aggregate in aggregates if aggregate.zone}
    groups, affine = _groups(snapshot, server_groups)
    servers_here = [server for server in servers if server.uuid in snapshot.consumers]
    known = images(servers_here)
    restrictions = dict(_restrictions(snapshot, servers_here, known, scheduling.settings))
    certain: dict[str, Request] = {}
    least: dict[str, Request] = {}
    unknown, uncounted = Counter[str](), Counter({_FILTERS: 0})
    imageless: list[Server] = []
    for server in servers_here:
        consumer = snapshot.consumers[server.uuid]
        image, missing = known.of(server)
        requested = _requested(server, image, consumer.allocations, scheduling, is_owned, uncounted)
        if isinstance(requested, str):
            unknown[requested] += 1
            continue
        stays = bool(zones) and server.zone is not None and server.pinned_zone is not None
        # Hosts in no zone are in Nova's default zone, whatever its name is.
        name = zone(server.zone or '' if server.zone in zones else '')
        request = parsed(requested)._replace(
            root_member_of=(frozenset({name}),) if stays else (),
            shared=requests.shared(snapshot, consumer.allocations),
            limits=groups.get(server.uuid, ()),
        )
        if server.uuid in affine:
            # No root has such a trait: no host may have it.
            request = request._replace(root_required=(frozenset({affine[server.uuid]}),))
        certain[server.uuid] = request
        if stays and server.pinned_zone is UNSET:
            # It may have been booted without a zone, and may go to another one then.
            least[server.uuid] = request._replace(root_member_of=())
        if missing:
            # The image may require all that the old host has, and no more.
            imageless.append(server)
            least.setdefault(server.uuid, request)
            certain[server.uuid] = _like_before(snapshot, consumer.allocations, request)
    remarks = [*_without_image(known, imageless)]
    remarks += [
        f'Of {counted(number, "server")} only the allocations are counted: {reason}'
        for reason, number in sorted(unknown.items())
    ]
    remarks += [text.format(counted(n, 'server')) for text, n in uncounted.items() if n]
    if 'aggregates' not in lists:
        remarks.append('Not counted: availability zones, as there are no aggregates in the file')
    if 'server_groups' not in lists:
        remarks.append('Not counted: server groups, as there are no server_groups in the file')
    knowledge = Knowledge(
        certain,
        least,
        {server.uuid: server.state for server in servers if server.state},
        {server.uuid for server in servers},
        _zones(snapshot, aggregates) if zones else {},
        {group.uuid: group.most for group in server_groups if group.policy == _APART},
        groups,
        restrictions,
        migrations,
        aggregates={aggregate.uuid: aggregate.name for aggregate in aggregates},
    )
    return knowledge, remarks


def _requested(
    server: Server,
    image: Image | None,
    allocations: Allocations,
    scheduling: Scheduling,
    is_owned: bool,
    uncounted: Counter[str],
) -> CandidateRequest | str:
    """Return the request that Nova would send, or why it is not known."""
    if not server.flavor:
        return 'their flavor is not known'
    is_booted = server.boots_from_volume
    parts = ServerRequest(server.flavor, image, project=server.project_id, from_volume=is_booted)
    try:
        request = scheduling.of_server(parts, is_owned=is_owned)
    except Refusal as reason:
        return f'Nova would refuse them: {reason}'
    uncounted[_FILTERS] += request.has_filter(CAPABILITIES, METADATA)
    if request.unknown or request.ignored or request.has_filter(NUMA, PCI):
        return 'their flavor asks for devices or NUMA cells'
    if server_request.amounts(request.first) != together(allocations.values()):
        return 'they hold other amounts than their flavor says'
    return request.first


def _like_before(snapshot: Snapshot, allocations: Allocations, request: Request) -> Request:
    """Return a request for all that the old host has, with the conditions of Nova."""
    hosts = [uuid for uuid in allocations if not is_sharing(snapshot.providers[uuid])]
    root = snapshot.providers[snapshot.providers[hosts[0]].provider.root_uuid]
    strict = requests.strict(snapshot, root, dict(sorted(allocations.items())))
    return strict._replace(
        root_required=(*strict.root_required, *request.root_required),
        root_member_of=(*strict.root_member_of, *request.root_member_of),
        limits=request.limits,
    )


def _without_image(known: Images, servers: Sequence[Server]) -> Iterator[str]:
    """Return a sentence about the servers whose images are not known."""
    if servers:
        parts = dict.fromkeys(part for server in servers for part in known.of(server)[1])
        yield (
            f'Of {counted(len(servers), "server")} the image is not known, so that the new host '
            f'needs all traits and aggregates of the old one (--images): {listed(list(parts), 3)}'
        )


def _restrictions(
    snapshot: Snapshot, servers: Iterable[Server], images: Images, settings: Settings
) -> Iterator[tuple[str, Restriction | None]]:
    """Return why Nova does not live-migrate each server with a flavor that Nova accepts."""
    for server in servers:
        if not server.flavor:
            continue
        allocations = snapshot.consumers[server.uuid].allocations
        with contextlib.suppress(Refusal):
            wishes = Wishes(server.flavor, images.of(server)[0])
            yield server.uuid, restriction(snapshot, allocations, wishes, settings)


def _groups(
    snapshot: Snapshot, server_groups: Iterable[ServerGroup]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the groups that keep each server apart, and the one that keeps it where it is."""
    groups: dict[str, tuple[str, ...]] = {}
    affine: dict[str, str] = {}
    for group in server_groups:
        members = [uuid for uuid in group.members if uuid in snapshot.consumers]
        if group.policy == _APART:
            groups |= {uuid: (*groups.get(uuid, ()), group.uuid) for uuid in members}
        elif group.policy == _TOGETHER and len(members) > 1:
            affine |= dict.fromkeys(members, affinity(group.name or group.uuid))
    return groups, affine


def _zones(snapshot: Snapshot, aggregates: Iterable[HostAggregate]) -> dict[str, str]:
    """Return the availability zone by the name of the host; empty for Nova's default zone."""
    zones = {host: part.zone for part in aggregates if part.zone for host in part.hosts}
    names = [root.name for root in snapshot.roots()]
    return dict.fromkeys(names, '') | by_provider(snapshot, zones)


def by_provider(snapshot: Snapshot, by_host: Mapping[str, str]) -> dict[str, str]:
    """Return values by the names of root providers, from values by the hosts of Nova."""
    by_label: dict[str, dict[str, str]] = {}
    for host, value in by_host.items():
        by_label.setdefault(host.partition('.')[0], {})[host] = value
    result = {}
    for name in (root.name for root in snapshot.roots()):
        alike = by_label.get(name.partition('.')[0], {})
        same = [host for host in alike if same_host(host, name)]
        if same:
            result[name] = alike.get(name, alike[same[0]])
    return result
