"""Lists of servers, flavors, projects and others, from OpenStackClient or from the API.

A function takes a document and where it came from, and raises :class:`errors.BadFile` if the
document is something else or has a record twice. The API answers some fields to an administrator
alone.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from placementclient.model.listed import Limit, ListRecord, OptionalString, Quantity, String, Values
from placementclient.model.servers import (
    Flavor,
    HostAggregate,
    Image,
    Server,
    ServerGroup,
    ServerMigration,
)
from placementclient.model.services import COMPUTE_SERVICE
from placementclient.nova.schema import RecordPlace, convert, decoded
from placementclient.nova.server_parts import ServerRequest

#: Fields of an image that are no properties.
_IMAGE_FIELDS = frozenset({'disk_format', 'min_ram', 'min_disk', 'size', 'name', 'id', 'status'})
#: The fields of a server that only an administrator gets, and only from ``GET /servers/detail``.
_DETAILS = (
    'OS-EXT-SRV-ATTR:hypervisor_hostname',
    'OS-EXT-STS:task_state',
    'OS-EXT-STS:vm_state',
    'flavor',
    'image',
)


class ImageRecord(msgspec.Struct):
    """The image of a server; the API has its properties from 2.98 on."""

    properties: Values | None = None


class _ServerRecord(ListRecord, frozen=True):
    key = 'servers'
    aliases: ClassVar = {
        'uuid': 'id',
        'compute_host': 'host',
        'OS-EXT-SRV-ATTR:host': 'host',
        'hypervisor_hostname': 'node',
        'OS-EXT-SRV-ATTR:hypervisor_hostname': 'node',
        'OS-EXT-STS:task_state': 'task_state',
        'OS-EXT-STS:vm_state': 'vm_state',
        'updated': 'updated_at',
        'project_id': 'tenant_id',
        'OS-EXT-AZ:availability_zone': 'zone',
    }

    id: String
    name: OptionalString = None
    host: OptionalString = None
    node: OptionalString = None
    task_state: OptionalString = None
    vm_state: OptionalString = None
    status: OptionalString = None
    updated_at: OptionalString = None
    tenant_id: OptionalString = None
    user_id: OptionalString = None
    zone: OptionalString = None
    image: ImageRecord | str | None = None
    flavor: dict[str, Any] | str | None = None


class _FlavorRecord(ListRecord, frozen=True):
    key = 'flavors'
    aliases: ClassVar = {
        'uuid': 'id',
        'original_name': 'name',
        'OS-FLV-EXT-DATA:ephemeral': 'ephemeral',
        'os-flavor-access:is_public': 'is_public',
        'properties': 'extra_specs',
    }
    unique = ('id', 'name')

    name: String
    vcpus: Quantity
    ram: Quantity
    id: OptionalString = None
    disk: Quantity = 0
    ephemeral: Quantity = 0
    swap: Quantity = 0
    is_public: bool = True
    extra_specs: Values | str | None = None


class _ServerGroupRecord(ListRecord, frozen=True):
    """A server group; ``policy`` and ``rules`` from compute API 2.64 on."""

    key = 'server_groups'

    id: String
    members: list[String]
    name: OptionalString = None
    policy: OptionalString = None
    policies: tuple[String, ...] = ()
    rules: Values = msgspec.field(default_factory=dict)


class _ProjectRecord(ListRecord, frozen=True):
    key = 'projects'
    aliases: ClassVar = {'uuid': 'id'}

    id: String
    name: String


class _QuotaRecord(ListRecord, frozen=True):
    key = 'quotas'
    aliases: ClassVar = {'project_id': 'id'}

    id: String
    cores: Limit | None = None
    ram: Limit | None = None


def servers(document: Any, path: str) -> dict[str, Server]:
    """Return the servers by UUID, with details if the list has them."""
    result = {}
    for place, record in decoded(document, path, _ServerRecord):
        is_detailed = not place.lacking(*_DETAILS) and isinstance(record.flavor, Mapping)
        server = _server(place, record, {})
        result[server.uuid] = _detailed(server, place, record) if is_detailed else server
    return result


def server_details(document: Any, path: str, flavors: Mapping[str, Flavor]) -> list[Server]:
    """Return the servers with their flavors: ``GET /servers/detail``.

    :param flavors: by ID; compute API 2.46 and below answers only the ID of a flavor
    """
    result = []
    for place, record in decoded(document, path, _ServerRecord):
        # A missing field must not be taken for an empty one.
        for name in place.lacking(*_DETAILS):
            raise place.error(f'has no {name!r}: GET /servers/detail has it')
        result.append(_detailed(_server(place, record, flavors), place, record))
    return result


def _server(place: RecordPlace, record: _ServerRecord, flavors: Mapping[str, Flavor]) -> Server:
    flavor, embedded = None, record.flavor
    if isinstance(embedded, Mapping):
        if 'id' in embedded:
            flavor = flavors.get(str(embedded['id']))
        elif 'extra_specs' in embedded:  # else the policy of the cloud hides them
            inside = RecordPlace(place.path, f'{place.name}.flavor', embedded)
            flavor = _flavor(convert(inside, _FlavorRecord), inside)
    properties = record.image.properties if isinstance(record.image, ImageRecord) else None
    return Server(
        record.id.lower(),
        tuple(filter(None, (record.host, record.node))),
        record.task_state,
        record.updated_at,
        (record.vm_state or record.status or '').lower() or None,
        record.name,
        flavor=flavor,
        image_properties=None if properties is None else _texts(properties),
    )


def _detailed(server: Server, place: RecordPlace, record: _ServerRecord) -> Server:
    if not isinstance(record.flavor, Mapping):
        raise place.error('its flavor is not one of GET /servers/detail')
    for name in ('tenant_id', 'user_id'):
        if getattr(record, name) is None:
            raise place.error(f'has no {name!r}')
    is_pinned = None
    if 'pinned_availability_zone' in place.fields:
        is_pinned = place.fields['pinned_availability_zone'] is not None
    return replace(
        server,
        is_detailed=True,
        node=record.node,
        project_id=record.tenant_id,
        user_id=record.user_id,
        # The API has '' for a server that was booted from a volume.
        boots_from_volume=not record.image,
        zone=record.zone,
        is_pinned=is_pinned,
    )


def scheduled(document: Any, path: str) -> ServerRequest:
    """Return the server of a list of one, of the newest microversion, as Nova would schedule it."""
    [detail] = server_details(document, path, {})
    [raw] = document
    if detail.flavor is None:
        raise RecordPlace(path, 'server', raw).error('its flavor with extra specs is not known')
    properties = detail.image_properties
    zone = raw.get('pinned_availability_zone')
    return ServerRequest(
        detail.flavor,
        None if properties is None else Image(properties),
        str(zone) if zone else None,
        detail.project_id,
        from_volume=detail.boots_from_volume,
        hints=frozenset(raw.get('scheduler_hints') or raw.get('OS-SCH-HNT:scheduler_hints') or ()),
    )


def image(document: Any, path: str) -> Image:
    """Return an image: the answer to ``GET /v2/images/{id}``."""
    place = RecordPlace(path, 'image', document)
    if not isinstance(document, Mapping) or 'disk_format' not in document:
        raise place.error('is no answer of GET /v2/images/ID: it has no disk_format')
    properties = {
        str(name): str(value)
        for name, value in document.items()
        if isinstance(value, str | int | float) and name not in _IMAGE_FIELDS
    }
    fields = {name: document[name] for name in _IMAGE_FIELDS & document.keys()}
    return replace(convert(place._replace(fields=fields), Image), properties=properties)


def server_groups(document: Any, path: str) -> list[ServerGroup]:
    """Return the server groups: ``GET /os-server-groups``."""
    groups = []
    for place, record in decoded(document, path, _ServerGroupRecord):
        policy = next(filter(None, (record.policy, *record.policies)), None)
        if policy is None:
            raise place.error("has no 'policy'")
        most = record.rules.get('max_server_per_host', 1)
        if not isinstance(most, int) or most < 1:
            raise place.error(f'max_server_per_host is {most!r}, not a number from 1 on')
        members = tuple(member.lower() for member in record.members)
        groups.append(ServerGroup(record.id, policy, members, most, record.name))
    return groups


def migrations(document: Any, path: str) -> list[ServerMigration]:
    """Return the migrations: the output of ``openstack server migration list -f json``."""
    return [migration for _, migration in decoded(document, path, ServerMigration)]


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def aggregates(document: Any, path: str) -> list[HostAggregate]:
    """Return the host aggregates: ``GET /os-aggregates``, from compute API 2.41 on."""
    return [aggregate for _, aggregate in decoded(document, path, HostAggregate)]


def projects(document: Any, path: str) -> dict[str, str]:
    """Return the names of projects by ID: ``GET /v3/projects``, or ``openstack project list``."""
    return {record.id: record.name for _, record in decoded(document, path, _ProjectRecord)}


def quotas(document: Any, path: str) -> dict[str, dict[str, int]]:
    """Return the quotas of projects by ID: of ``CPUS`` and ``MEMORY_MB``; -1 means no limit."""
    result = {}
    for _, record in decoded(document, path, _QuotaRecord):
        limits = {'CPUS': record.cores, 'MEMORY_MB': record.ram}
        result[record.id] = {name: n for name, n in limits.items() if n is not None}
    return result


def flavors(document: Any, path: str) -> list[Flavor]:
    """Return the flavors: ``GET /flavors/detail`` (2.61 on), ``openstack flavor list --long``."""
    return [_flavor(record, place) for place, record in decoded(document, path, _FlavorRecord)]


def flavors_by_id(document: Any, path: str) -> dict[str, Flavor]:
    """Return the flavors of a list by their IDs."""
    by_id = {}
    for place, record in decoded(document, path, _FlavorRecord):
        if record.id is None:
            raise place.error("has no 'id'")
        by_id[record.id] = _flavor(record, place)
    return by_id


def _flavor(record: _FlavorRecord, place: RecordPlace) -> Flavor:
    specs = record.extra_specs
    if not isinstance(specs, Mapping):
        # Without them it would be counted on hosts that it never gets.
        if place.path == COMPUTE_SERVICE:
            raise place.error(
                f'Nova hides the extra specs of flavor {record.name!r} from your roles: its policy '
                'os_compute_api:os-flavor-extra-specs:index says who sees them'
            )
        raise place.error(
            f'flavor {record.name!r} has no extra specs: list flavors with --long, or at compute '
            'API 2.61'
        )
    return Flavor(
        record.name,
        record.vcpus,
        record.ram,
        record.disk,
        record.ephemeral,
        record.swap,
        record.is_public,
        _texts(specs),
    )
