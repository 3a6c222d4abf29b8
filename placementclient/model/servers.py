"""Servers and migrations of the compute service, with flavors, images and host aggregates."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from placementclient.model.listed import ListRecord, OptionalString, Quantity, String

#: How a migration ends; one that has 'finished' still waits to be confirmed or reverted.
_SUCCESS = frozenset({'completed', 'confirmed', 'reverted', 'cancelled', 'done'})
_FAILURE = frozenset({'error', 'failed'})
#: The state of a server that is shelved and on no host, which holds nothing.
_OFFLOADED = 'shelved_offloaded'
#: A resize waits to be confirmed or reverted: the state of a server, and its status.
_RESIZED = ('resized', 'verify_resize')
#: Metadata of an aggregate by which Nova keeps other projects from its hosts.
_TENANTS = 'filter_tenant_id'


class Flavor(msgspec.Struct, frozen=True, gc=False):
    """A flavor, in Nova's own units.

    :param ram: in MiB, as ``swap``
    :param disk: the root disk, in GiB; a server that boots from a volume does not take it
    :param ephemeral: the disk beside it, in GiB
    """

    name: str
    vcpus: int
    ram: int
    disk: int = 0
    ephemeral: int = 0
    swap: int = 0
    is_public: bool = True
    extra_specs: Mapping[str, str] = msgspec.field(default_factory=dict)


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


class Server(msgspec.Struct, frozen=True, gc=False):
    """A server; ``None`` for what the list does not say.

    :param hosts: the names of the host that it is on: of the compute service, of the hypervisor
    :param changed_at: when Nova has changed it last, UTC, as ISO 8601
    :param status: in small letters
    :param is_detailed: whether the list says what decides its allocations: all that follows
    :param node: the name of the hypervisor that it is on, which its provider has too
    :param is_pinned: whether it has to stay in its availability zone
    """

    uuid: str
    hosts: tuple[str, ...] = ()
    task: str | None = None
    changed_at: str | None = None
    status: str | None = None
    name: str | None = None
    flavor: Flavor | None = None
    image_properties: Mapping[str, str] | None = None
    is_detailed: bool = False
    node: str | None = None
    project_id: str = ''
    user_id: str = ''
    boots_from_volume: bool = False
    zone: str | None = None
    is_pinned: bool | None = None

    @property
    def is_offloaded(self) -> bool:
        """True for a shelved server without a host, which should have no allocations."""
        return self.status == _OFFLOADED and not self.hosts

    @property
    def is_resized(self) -> bool:
        """True for a server whose resize or migration waits for confirm or revert."""
        return self.status in _RESIZED


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
    """

    key = 'migrations'
    aliases: ClassVar = {
        'server_id': 'server_uuid',
        'instance_uuid': 'server_uuid',
        'migration_type': 'type',
    }
    unique = ('uuid',)
    lower = ('uuid', 'server_uuid', 'status', 'type')

    server_uuid: String
    status: String
    uuid: OptionalString = None
    source_compute: OptionalString = None
    source_node: OptionalString = None
    type: OptionalString = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of the host that the server came from."""
        return tuple(filter(None, (self.source_compute, self.source_node)))

    @property
    def is_over(self) -> bool:
        return self.status in _SUCCESS | _FAILURE

    @property
    def is_finished(self) -> bool:
        """Return whether it waits to be confirmed or reverted."""
        return self.status == 'finished'

    @property
    def has_failed(self) -> bool:
        """Return whether it ended with an unknown host of the server."""
        return self.status in _FAILURE


class HostAggregate(ListRecord, frozen=True, gc=False):
    """A host aggregate.

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
        return self.metadata.get('availability_zone')

    @property
    def project_ids(self) -> tuple[str, ...]:
        """Return the projects that alone may use its hosts, or prefer them; none: all."""
        # With a suffix there are several such keys, and each may have several projects.
        values = [self.metadata[key] for key in sorted(self.metadata) if key.startswith(_TENANTS)]
        return tuple(filter(None, map(str.strip, ','.join(values).split(','))))


def same_host(name: str, other: str) -> bool:
    """Return whether two names, of which one may be short, mean the same host."""
    if name == other:
        return True
    shorter, longer = sorted((name, other), key=len)
    return '.' not in shorter and longer.partition('.')[0] == shorter
