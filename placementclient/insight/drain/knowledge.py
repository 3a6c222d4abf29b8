# SPDX-License-Identifier: Apache-2.0
"""The requests of servers, from lists of Nova."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import UNSET

from placementclient.basis.wording import format_count, join_names
from placementclient.insight import owners
from placementclient.insight.drain import requests
from placementclient.insight.drain.absences import RepairChoice, find_absent_servers
from placementclient.insight.drain.departures import Restriction, find_restriction
from placementclient.insight.drain.nova_facts import (
    NovaFacts,
    make_affinity_group_alias,
    make_zone_alias,
)
from placementclient.model.consumers import Allocations, sum_resources
from placementclient.model.findings import Finding
from placementclient.model.requests import CandidateRequest
from placementclient.model.servers import (
    HostAggregate,
    Image,
    Server,
    ServerGroup,
    ServerMigration,
    is_same_host,
)
from placementclient.model.snapshots import Snapshot
from placementclient.nova import records, server_request
from placementclient.nova.features import Features
from placementclient.nova.images import Images
from placementclient.nova.scheduler_filters import (
    CAPABILITIES_FILTER,
    METADATA_FILTER,
    NUMA_FILTER,
    PCI_FILTER,
)
from placementclient.nova.server_parts import Refusal, ServerRequest
from placementclient.nova.server_request import RequestBuilder
from placementclient.nova.settings import Settings
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request, parse_request

#: The policies of server groups that Nova's scheduler enforces.
_APART, _TOGETHER = 'anti-affinity', 'affinity'
_DEFAULT = RequestBuilder()
#: The lists of Nova that a file may lack.
_LISTS = ('aggregates', 'server_groups', 'migrations')


def _choose_no_repair(_: Finding) -> tuple[str, str]:
    return '', ''


def read_nova_facts(
    snapshot: Snapshot,
    document: object,
    path: str,
    scheduling: RequestBuilder = _DEFAULT,
    images: Callable[[Sequence[Server]], Images] | None = None,
    choose_repair: RepairChoice = _choose_no_repair,
) -> tuple[NovaFacts, list[str]]:
    """Return the facts that lists of Nova have, and sentences on what the drain does not count.

    :param document: what ``GET /servers/detail`` answers, as a list or an object with ``servers``;
        the object may have ``aggregates``, ``server_groups`` and ``migrations``, too
    :param images: returns the images of servers; ``None``: no image is known
    :param path: the file of the lists, or the service, for errors
    :param scheduling: builds the requests that Nova sends
    :param choose_repair: returns the command that repairs what an audit finds, or the reason for
        none; the other one is empty
    :raises errors.BadFile: if the document is something else
    """
    lists = document if isinstance(document, Mapping) else {}
    servers = records.decode_server_details(document, path, {})
    listed = _read_migrations(lists, path)
    migrations = _key_migrations_by_consumer(listed)
    # A list that the file lacks is empty, and a remark says so.
    lists = {name: lists.get(name, []) for name in _LISTS}
    aggregates = records.decode_aggregates(lists, path)
    server_groups = records.decode_server_groups(lists, path)
    # A server with allocations on a provider outside the snapshot stays where it is.
    here = [server for server in servers if _has_all_providers(snapshot, server)]
    known = images(here) if images else Images()
    # The zone of a server is its own.
    settings = replace(scheduling.settings, default_schedule_zone=None)
    sources = replace(scheduling.sources, aggregates=aggregates or None)
    scheduling = replace(scheduling, settings=settings, sources=sources)
    zones = {part.zone for part in aggregates if part.zone}
    groups, affine = _find_server_group_rules(snapshot, server_groups)
    is_owned = owners.is_owner_trait_needed(snapshot)
    reader = _RequestReader(snapshot, scheduling, known, is_owned, zones, groups, affine)
    for server in here:
        reader.add_request(server)
    states = _map_states(servers, (migrations or {}).values())
    absent, leaving = find_absent_servers(snapshot, servers, listed, states, choose_repair)
    nova_facts = NovaFacts(
        reader.requests,
        reader.least,
        states,
        {server.uuid for server in servers},
        _find_zones_of_hosts(snapshot, aggregates) if zones else {},
        {group.uuid: group.most for group in server_groups},
        groups,
        dict(_find_restrictions(snapshot, here, known, scheduling.settings)),
        migrations,
        aggregates={aggregate.uuid: aggregate.name for aggregate in aggregates},
        absent=absent,
        departures=leaving,
    )
    return nova_facts, [*reader.list_remarks(), *_list_missing_lists(document)]


def _has_all_providers(snapshot: Snapshot, server: Server) -> bool:
    """Return True if the server has allocations, all on providers of the snapshot."""
    consumer = snapshot.consumers.get(server.uuid)
    return consumer is not None and consumer.allocations.keys() <= snapshot.providers.keys()


def _read_migrations(lists: Mapping[str, object], path: str) -> list[ServerMigration] | None:
    """Return the migrations; ``None`` if they are not known."""
    return records.decode_migrations(lists, path) if 'migrations' in lists else None


def _key_migrations_by_consumer(
    migrations: Iterable[ServerMigration] | None,
) -> Mapping[str, ServerMigration] | None:
    """Return the migrations by the UUIDs of the consumers that hold amounts for them, if known."""
    if migrations is None:
        return None
    return {migration.uuid: migration for migration in migrations if migration.uuid}


def _map_states(servers: Iterable[Server], migrations: Iterable[ServerMigration]) -> dict[str, str]:
    """Return the states of servers by UUID; ``resized`` if a migration waits to be confirmed.

    The list of servers may be older than the migration.
    """
    states = {server.uuid: server.state or '' for server in servers}
    for migration in migrations:
        if migration.is_awaiting_confirmation and states.get(migration.server_uuid) in (
            '',
            'active',
        ):
            states[migration.server_uuid] = 'resized'
    return states


def _list_missing_lists(document: object) -> list[str]:
    """Return sentences about the lists that a file lacks."""
    missing = [name for name in _LISTS if not (isinstance(document, Mapping) and name in document)]
    if not missing:
        return []
    names = ', '.join(missing)
    return [f'Not in the file, so not counted: {names}. A second --requests FILE can add a list']


@dataclass(slots=True)
class _RequestReader:
    """Reads the requests of servers, and counts the servers of which some part is not known.

    :param zones: the availability zones that aggregates name
    :param groups: the anti-affinity groups by the UUID of the server
    :param affine: the affinity group by the UUID of the server, which then stays on its host
    :ivar requests: the requests of the servers
    :ivar least: those without uncertain parts, if that differs
    :param is_owned: whether Nova requires the trait OWNER_NOVA
    """

    snapshot: Snapshot
    scheduling: RequestBuilder
    images: Images
    is_owned: bool
    zones: Collection[str]
    groups: Mapping[str, tuple[str, ...]]
    affine: Mapping[str, str]
    requests: dict[str, Request] = field(default_factory=dict)
    least: dict[str, Request] = field(default_factory=dict)
    #: The UUIDs of servers by the reason why only their allocations are known.
    _unknown: dict[str, list[str]] = field(default_factory=dict)
    _filtered: int = 0
    _imageless: list[Server] = field(default_factory=list)

    def add_request(self, server: Server) -> None:
        """Add the request of a server, if it is known, and the one without its uncertain parts."""
        image, missing = self.images.find_image(server)
        asked = self._build_request(server, image)
        if isinstance(asked, str):
            self._unknown.setdefault(asked, []).append(server.uuid)
            return
        allocations = self.snapshot.consumers[server.uuid].allocations
        request = parse_request(asked)._replace(
            shared=requests.find_shared_amounts(self.snapshot, allocations),
            limits=self.groups.get(server.uuid, ()),
        )
        if server.uuid in self.affine:
            # No root has such a trait: no host may have it.
            request = request._replace(root_required=(frozenset({self.affine[server.uuid]}),))
        certain = request
        if self.zones and server.zone is not None and server.pinned_zone is not None:
            # Hosts in no zone are in Nova's default zone, whatever its name is.
            name = make_zone_alias(server.zone if server.zone in self.zones else '')
            certain = request._replace(root_member_of=(frozenset({name}),))
            if server.pinned_zone is not UNSET:
                request = certain
        if missing:
            # The image may require all that the old host has, and no more.
            self._imageless.append(server)
            certain = _make_old_host_request(self.snapshot, allocations, certain)
        self.requests[server.uuid] = certain
        if certain is not request:
            # It may have been booted without a zone, and may go to another one then.
            self.least[server.uuid] = request

    def _build_request(self, server: Server, image: Image | None) -> CandidateRequest | str:
        """Return the request that Nova would send for a server, or why it is not known.

        :param image: ``None``: it is not known
        """
        if not server.flavor:
            return 'the flavor is not known'
        is_booted = server.boots_from_volume
        parts = ServerRequest(server.flavor, image, None, server.project_id, from_volume=is_booted)
        try:
            request = self.scheduling.build_server_request(parts, has_owner_trait=self.is_owned)
        except Refusal as reason:
            return f'Nova would refuse the flavor: {reason}'
        self._filtered += request.has_filter(CAPABILITIES_FILTER, METADATA_FILTER)
        if request.unknown or request.ignored or request.has_filter(NUMA_FILTER, PCI_FILTER):
            return 'the flavor asks for devices or NUMA cells'
        allocations = self.snapshot.consumers[server.uuid].allocations
        if server_request.sum_request_amounts(request.first) != sum_resources(allocations.values()):
            return 'they differ from the flavor'
        return request.first

    def list_remarks(self) -> Iterator[str]:
        """Yield sentences about the parts of requests that are not known or not counted."""
        if self._imageless:
            missing = (
                part for server in self._imageless for part in self.images.find_image(server)[1]
            )
            parts = join_names(list(dict.fromkeys(missing)), 3)
            yield (
                f'The images of {format_count(len(self._imageless), "server")} are not known: '
                f'{parts}. Without --images, a new host needs all traits and aggregates of the old '
                'one'
            )
        for reason, uuids in sorted(self._unknown.items()):
            servers = f'{format_count(len(uuids), "server")} ({join_names(uuids, 3)})'
            yield f'For {servers} only the allocations count: {reason}'
        if self._filtered:
            yield (
                f'Not counted: what the flavors of {format_count(self._filtered, "server")} ask of '
                'capabilities and of the metadata of host aggregates'
            )


def _make_old_host_request(
    snapshot: Snapshot, allocations: Allocations, request: Request
) -> Request:
    """Return a server's strict request with the root's conditions and the limits of ``request``."""
    hosts = [uuid for uuid in allocations if not is_sharing(snapshot.providers[uuid])]
    root = snapshot.providers[snapshot.providers[hosts[0]].provider.root_uuid]
    strict = requests.build_strict_request(snapshot, root, dict(sorted(allocations.items())))
    return strict._replace(
        root_required=(*strict.root_required, *request.root_required),
        root_member_of=(*strict.root_member_of, *request.root_member_of),
        limits=request.limits,
    )


def _find_restrictions(
    snapshot: Snapshot, servers: Iterable[Server], images: Images, settings: Settings
) -> Iterator[tuple[str, Restriction | None]]:
    """Yield the UUID of each server with a known flavor, and why Nova does not live-migrate it."""
    for server in servers:
        if not server.flavor:
            continue
        allocations = snapshot.consumers[server.uuid].allocations
        with contextlib.suppress(Refusal):
            features = Features(server.flavor, images.find_image(server)[0])
            yield server.uuid, find_restriction(snapshot, allocations, features, settings)


def _find_server_group_rules(
    snapshot: Snapshot, server_groups: Iterable[ServerGroup]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return anti-affinity groups, and the alias of the affinity group, each by a server's UUID."""
    groups: dict[str, tuple[str, ...]] = {}
    affine: dict[str, str] = {}
    for group in server_groups:
        members = [uuid for uuid in group.members if uuid in snapshot.consumers]
        if group.policy == _APART:
            groups |= {uuid: (*groups.get(uuid, ()), group.uuid) for uuid in members}
        elif group.policy == _TOGETHER and len(members) > 1:
            affine |= dict.fromkeys(members, make_affinity_group_alias(group.name or group.uuid))
    return groups, affine


def _find_zones_of_hosts(snapshot: Snapshot, aggregates: Iterable[HostAggregate]) -> dict[str, str]:
    """Return the availability zone of each host by name; empty for Nova's default zone."""
    zones = {host: part.zone for part in aggregates if part.zone for host in part.hosts}
    names = (root.name for root in snapshot.roots())
    return dict.fromkeys(names, '') | key_by_root_name(snapshot, zones)


def key_by_root_name(snapshot: Snapshot, by_host: Mapping[str, str]) -> dict[str, str]:
    """Return values by the name of the root provider, from values by the name of Nova's host."""
    by_label: dict[str, dict[str, str]] = {}
    for host, value in by_host.items():
        by_label.setdefault(host.partition('.')[0], {})[host] = value
    result = {}
    for name in (root.name for root in snapshot.roots()):
        alike = by_label.get(name.partition('.')[0], {})
        same = [host for host in alike if is_same_host(host, name)]
        if same:
            result[name] = alike.get(name, alike[same[0]])
    return result
