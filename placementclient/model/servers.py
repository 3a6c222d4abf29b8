# SPDX-License-Identifier: Apache-2.0
"""Servers and migrations of the compute service, with flavors, images and host aggregates."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from placementclient.model.listed import ListRecord, OptionalString, Quantity, String, Texts

#: How a migration ends; one that has 'finished' still waits to be confirmed or reverted.
_SUCCESS = frozenset({'completed', 'confirmed', 'reverted', 'cancelled', 'done'})
_FAILURE = frozenset({'error', 'failed'})
#: The state of a server that is shelved and on no host, which holds nothing.
_OFFLOADED = 'shelved_offloaded'
#: The state of a server that is gone for good: its record alone is left.
_DELETED = 'deleted'
#: A resize waits to be confirmed or reverted: the state of a server, and its status.
_RESIZED = ('resized', 'verify_resize')
#: A time in UTC, which Nova writes with a Z, or without any zone.
_UTC = re.compile(r'(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?')
#: The states, and their statuses, of a server that stays where it is.
_SETTLED = frozenset({'active', 'shutoff', 'stopped', 'paused', 'suspended', 'shelved'})
#: The statuses of a server that may be on two hosts.
_MOVING = frozenset({'resize', 'migrating', 'rebuild'})
#: How a migration ends on the host where it began.
_RETURNED = frozenset({'reverted', 'cancelled'})
#: The statuses that Nova leaves on some deleted servers.
_LEFT_BEHIND = frozenset({'BUILD', 'ERROR', 'SOFT_DELETED'})
#: Metadata of an aggregate by which Nova keeps other projects from its hosts.
_TENANTS = 'filter_tenant_id'


class Flavor(ListRecord, frozen=True, gc=False):
    """A flavor, in Nova's own units.

    :param ram: in MiB, as ``swap``
    :param disk: the root disk, in GiB; a server that boots from a volume does not take it
    :param ephemeral: the disk beside it, in GiB
    :param id: ``None`` for the flavor in a server's record, from compute API 2.47 on
    """

    key = 'flavors'
    aliases: ClassVar = {
        'uuid': 'id',
        'original_name': 'name',
        'OS-FLV-EXT-DATA:ephemeral': 'ephemeral',
        'os-flavor-access:is_public': 'is_public',
        'properties': 'extra_specs',
    }
    unique = ('id', 'name')
    texts = ('extra_specs',)
    is_never_empty = True
    source = 'openstack flavor list --all --long -f json'

    name: String
    vcpus: Quantity
    ram: Quantity
    disk: Quantity = 0
    ephemeral: Quantity = 0
    swap: Quantity = 0
    is_public: bool = True
    extra_specs: Texts = msgspec.field(default_factory=dict)
    id: OptionalString = None


class Image(ListRecord, frozen=True):
    """An image, or the image properties of a volume.

    :param properties: such as ``hw_disk_bus`` and ``trait:HW_CPU_X86_AVX``, under any of the names
        that Nova knows them by
    :param min_ram: in MiB; ``min_disk`` is in GiB, and ``size`` in bytes
    """

    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    disk_format: OptionalString = None
    min_ram: Quantity = 0
    min_disk: Quantity = 0
    size: int = 0


class ServerImage(ListRecord, frozen=True, gc=False):
    """The image of a server; its properties are known from compute API 2.98 on."""

    texts = ('properties',)

    id: OptionalString = None
    properties: Texts | UnsetType = UNSET


class VolumeReference(msgspec.Struct, frozen=True, gc=False):
    id: String


class Server(ListRecord, frozen=True, gc=False):
    """A server; ``UNSET`` for what the list does not say.

    :param host: of its compute service; ``None`` if it is on no host
    :param node: the name of the hypervisor that it is on, which its provider has too
    :param task: what Nova does with it now; ``None`` for nothing
    :param status: as the API has it: ``ACTIVE``, ``SOFT_DELETED``, ``UNKNOWN``, …
    :param vm_state: in small letters; a list of an administrator alone has it
    :param updated: when Nova has changed it last, UTC, as ISO 8601
    :param flavor: ``None`` if the list does not say what it asks for
    :param image: ``None`` if it boots from a volume
    :param root_device: the name of its first disk, such as ``/dev/vda``
    :param pinned_zone: the availability zone that it has to stay in
    """

    key = 'servers'
    aliases: ClassVar = {
        'id': 'uuid',
        'compute_host': 'host',
        'OS-EXT-SRV-ATTR:host': 'host',
        'hypervisor_hostname': 'node',
        'OS-EXT-SRV-ATTR:hypervisor_hostname': 'node',
        'task_state': 'task',
        'OS-EXT-STS:task_state': 'task',
        'OS-EXT-STS:vm_state': 'vm_state',
        'updated_at': 'updated',
        'tenant_id': 'project_id',
        'OS-EXT-AZ:availability_zone': 'zone',
        'availability_zone': 'zone',
        'pinned_availability_zone': 'pinned_zone',
        'OS-EXT-SRV-ATTR:root_device_name': 'root_device',
        'os-extended-volumes:volumes_attached': 'volumes',
    }
    unique = ('uuid',)
    lower = ('uuid', 'vm_state')
    marks = ('flavor', 'flavor_name', 'addresses', 'networks', 'OS-EXT-SRV-ATTR:host')
    others = ('properties', 'power_state', 'image_name', 'image_id')
    # From 2.69 on the API has no more of servers in a cell that does not answer.
    partial: ClassVar = {'status': 'UNKNOWN'}
    is_never_empty = True
    source = 'openstack server list --all-projects --long -f json'

    uuid: String
    host: OptionalString | UnsetType = UNSET
    node: OptionalString | UnsetType = UNSET
    task: OptionalString | UnsetType = UNSET
    status: OptionalString = None
    updated: OptionalString = None
    name: OptionalString = None
    flavor: Flavor | UnsetType | None = UNSET
    image: ServerImage | UnsetType | None = UNSET
    vm_state: OptionalString = None
    project_id: String = ''
    user_id: String = ''
    zone: OptionalString = None
    pinned_zone: OptionalString | UnsetType = UNSET
    root_device: OptionalString = None
    volumes: tuple[VolumeReference, ...] = ()

    @property
    def host_names(self) -> tuple[str, ...]:
        """Return the names of the server's host; none if it has none, or the host is not known."""
        return tuple(name for name in (self.host, self.node) if name)

    @property
    def state(self) -> str:
        """The ``vm_state`` of the server, or else its ``status``, in small letters."""
        return (self.vm_state or self.status or '').lower()

    @property
    def is_detailed(self) -> bool:
        """Return whether the record has the fields that decide the server's allocations."""
        details = (self.node, self.task, self.flavor, self.image)
        return bool(self.state and self.project_id and self.user_id) and UNSET not in details

    @property
    def is_in_silent_cell(self) -> bool:
        """Return whether its cell does not answer, so that Nova knows only its project."""
        return self.status == 'UNKNOWN' and UNSET in (self.flavor, self.image)

    @property
    def is_offloaded(self) -> bool:
        """Return whether it is shelved and on no host, so that it should have no allocations."""
        is_on_none = not self.host_names and None in (self.host, self.node)
        return self.state == _OFFLOADED and is_on_none

    @property
    def is_deleted(self) -> bool:
        """True for the record of a deleted server: it proves that the server needs nothing."""
        return {self.status, self.vm_state} <= {None, 'DELETED', _DELETED} and self.state != ''

    @property
    def is_settled(self) -> bool | None:
        """Return whether Nova is done with the server, so that it stays on its host.

        ``None`` if the list does not say it.
        """
        states = {state.lower() for state in (self.status, self.vm_state) if state}
        if self.task or not states <= (_SETTLED | {_OFFLOADED} if self.is_offloaded else _SETTLED):
            return False
        return None if self.task is UNSET or not states else True

    @property
    def departure_reason(self) -> str:
        """The reason why the server may be about to leave its host; empty: there is none."""
        if self.task:
            return f'it is under way: {self.task}'
        if self.is_resized or (self.status or '').lower() in _RESIZED:
            return 'a resize waits to be confirmed or reverted'
        status = (self.status or '').lower()
        return f'it is under way: {status}' if status in _MOVING else ''

    @property
    def is_resized(self) -> bool:
        """Return whether its resize or migration waits for confirm or revert."""
        return self.state in _RESIZED

    @property
    def boots_from_volume(self) -> bool:
        return self.image is None

    @property
    def image_properties(self) -> Mapping[str, str] | None:
        """Return the properties of its image; ``None`` if they are not known."""
        properties = self.image.properties if self.image else None
        return properties if isinstance(properties, Mapping) else None


def join_servers(lists: Iterable[Mapping[str, Server]]) -> dict[str, Server]:
    """Return the servers of several lists, each by its latest record.

    A record without a time counts as the latest. A list of deleted servers proves the deletion of a
    server only if no other list has a newer record.
    """
    joined: dict[str, Server] = {}
    for servers in lists:
        is_of_deleted = _is_list_of_deleted(servers.values())
        for uuid, server in servers.items():
            if is_of_deleted and not server.is_deleted:
                continue
            joined[uuid] = max(joined.get(uuid, server), server, key=_rank_by_recency)
    return joined


def _is_list_of_deleted(servers: Collection[Server]) -> bool:
    """Return whether a list is of deleted servers only; Nova 34 gives some another status."""
    remaining = {server.status for server in servers if not server.is_deleted}
    return any(server.is_deleted for server in servers) and remaining <= _LEFT_BEHIND


def _rank_by_recency(server: Server) -> tuple[bool, str, bool]:
    """Return a key to sort the records of one server by: the latest one comes last."""
    is_alive, updated = not server.is_deleted, normalize_time(server.updated)
    return is_alive and updated is None, updated or '', is_alive


def normalize_time(text: str | None) -> str | None:
    """Return a time as comparable text: ISO 8601 in UTC without fractions; ``None``: no time."""
    match = _UTC.fullmatch(text or '')
    return f'{match[1]}T{match[2]}' if match else None


class ServerGroup(msgspec.Struct, frozen=True, gc=False):
    """A server group; of one with anti-affinity a host may have at most ``most`` servers."""

    uuid: str
    policy: str
    members: tuple[str, ...]
    most: int = 1
    name: str | None = None


class ServerMigration(ListRecord, frozen=True, gc=False):
    """A migration, resize or evacuation of a server.

    :param uuid: of the consumer that holds what the server had on the source meanwhile;
        ``None`` where the list does not say it (before compute API 2.59)
    :param updated_at: when Nova has changed it last, UTC, as ISO 8601; ``None`` for never
    """

    key = 'migrations'
    aliases: ClassVar = {
        'server_id': 'server_uuid',
        'instance_uuid': 'server_uuid',
        'migration_type': 'type',
    }
    unique = ('uuid',)
    lower = ('uuid', 'server_uuid', 'status', 'type')
    marks = ('source_compute', 'source_node', 'dest_compute', 'dest_node')
    source = 'openstack server migration list -f json'

    server_uuid: String
    status: String
    uuid: OptionalString = None
    source_compute: OptionalString = None
    source_node: OptionalString = None
    type: OptionalString = None
    dest_compute: OptionalString = None
    dest_node: OptionalString = None
    created_at: OptionalString = None
    updated_at: OptionalString = None

    @property
    def retention_reason(self) -> str:
        """The reason why the migration needs its allocations, with the next step if it is known."""
        if self.status == 'finished':
            # A resize, or a cold migration: the server holds what it has on both hosts.
            return (
                'its resize or cold migration waits to be confirmed (or reverted): openstack '
                f'server resize confirm {self.server_uuid}'
            )
        return f'its migration is in progress: {self.status}'

    @property
    def source_names(self) -> tuple[str, ...]:
        """Return the known names, of host and node, of the host that the server came from."""
        return tuple(filter(None, (self.source_compute, self.source_node)))

    @property
    def is_over(self) -> bool:
        return self.status in _SUCCESS | _FAILURE

    @property
    def ended_at(self) -> str | None:
        """Return the time when the migration ended; ``None`` if that is not known.

        Nova writes again into the record of an evacuation when its source comes back, maybe after
        the server has moved there.
        """
        if (self.type, self.status) == ('evacuation', 'completed'):
            return None
        return normalize_time(self.updated_at or self.created_at)

    @property
    def has_returned(self) -> bool:
        """Return whether it was reverted or cancelled: the server is on the source host."""
        return self.status in _RETURNED

    @property
    def is_awaiting_confirmation(self) -> bool:
        """Return whether it waits to be confirmed or reverted."""
        return self.status == 'finished'

    @property
    def has_failed(self) -> bool:
        """Return whether the migration failed: the server may be on either host."""
        return self.status in _FAILURE


class HostAggregate(ListRecord, frozen=True, gc=False):
    """A host aggregate of Nova.

    :param uuid: of the aggregate in Placement, too
    """

    key = 'aggregates'
    unique = ('uuid',)
    lower = ('uuid',)

    uuid: String
    name: String
    hosts: tuple[String, ...]
    metadata: Mapping[String, String] = msgspec.field(default_factory=dict)

    @property
    def zone(self) -> str | None:
        """Return the availability zone of its hosts; ``None`` if it sets none."""
        return self.metadata.get('availability_zone')

    @property
    def project_ids(self) -> tuple[str, ...]:
        """Return the IDs of the projects for which Nova keeps the aggregate's hosts; none: all."""
        # With a suffix there are several such keys, and each may have several projects.
        values = [self.metadata[key] for key in sorted(self.metadata) if key.startswith(_TENANTS)]
        return tuple(filter(None, map(str.strip, ','.join(values).split(','))))


def is_same_host(name: str, other: str) -> bool:
    """Return whether two names, of which one may be short, mean the same host."""
    if name == other:
        return True
    shorter, longer = sorted((name, other), key=len)
    return '.' not in shorter and longer.partition('.')[0] == shorter
