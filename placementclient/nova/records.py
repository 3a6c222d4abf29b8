"""Lists of servers, flavors, projects and others, from OpenStackClient or from the API.

Each function takes a document and where it came from, for the errors, and raises
:class:`errors.BadFile` if the document is something else. A record that is there twice is an error
in each of them: one of the two is not true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from placementclient.model.flavors import Flavor
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.images import Image
from placementclient.model.servers import Server, ServerGroup, ServerMigration
from placementclient.model.services import COMPUTE_SERVICE
from placementclient.nova import schema
from placementclient.nova.schema import RecordPlace
from placementclient.nova.server_parts import ServerRequest

#: Stands for a field that a list does not have, where it may have none.
_UNSAID = object()
#: Fields of an image that are no properties.
_IMAGE_FIELDS = frozenset({'disk_format', 'min_ram', 'min_disk', 'size', 'name', 'id', 'status'})
#: What ``GET /servers/detail`` answers an administrator, by the names of the fields.
_DETAILS = {
    schema.normal(name): name
    for name in (
        'OS-EXT-SRV-ATTR:hypervisor_hostname',
        'OS-EXT-STS:task_state',
        'OS-EXT-STS:vm_state',
        'flavor',
        'image',
    )
}


def servers(document: Any, path: str) -> dict[str, Server]:
    """Return the servers by UUID, with details if the list has them.

    :param document: what ``openstack server list --all-projects --long -f json`` prints, or what
        ``GET /servers/detail`` answers an administrator
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, or has a server twice
    """
    found = {}
    for raw, place, record in _servers(document, path):
        is_detailed = not _undetailed(raw) and isinstance(record.flavor, Mapping)
        server = _server(place, record)
        found[server.uuid] = _detailed(server, raw, place, record, {}) if is_detailed else server
    return found


def server_details(document: Any, path: str, flavors: Mapping[str, Flavor]) -> list[Server]:
    """Return the servers with their flavors, in the order of the list.

    :param document: the answer of ``GET /servers/detail`` to an administrator
    :param path: the source of the document, for the error
    :param flavors: by ID; compute API 2.46 and below answers only the ID of a flavor
    :raises errors.BadFile: if the document is something else, or has a server twice
    """
    found = []
    for raw, place, record in _servers(document, path):
        # Only an administrator gets all fields; a missing field must not be taken for an empty one.
        for name in _undetailed(raw):
            raise place.error(f'has no {name!r}: GET /servers/detail has it')
        found.append(_detailed(_server(place, record), raw, place, record, flavors))
    return found


def _servers(
    document: Any, path: str
) -> Iterator[tuple[Mapping[str, Any], RecordPlace, schema.ServerRecord]]:
    records = schema.decoded(
        document, 'servers', path, schema.ServerRecord, lambda r: (r.server_uuid,)
    )
    raw = schema.listed(document, 'servers', path)
    return ((fields, *pair) for fields, pair in zip(raw, records, strict=True))


def _server(place: RecordPlace, record: schema.ServerRecord) -> Server:
    hosts = (
        record.host,
        record.computehost,
        record.hypervisorhostname,
        record.osextsrvattrhost,
        record.osextsrvattrhypervisorhostname,
    )
    return Server(
        place.required('ID', record.server_uuid),
        tuple(filter(None, hosts)),
        record.osextststaskstate or record.taskstate,
        record.updated or record.updatedat,
        _lower(record.osextstsvmstate or record.status),
        record.name,
    )


def _undetailed(record: Mapping[str, Any]) -> list[str]:
    """Return the members that the list lacks of a server, as the API spells them."""
    said = {schema.normal(str(name)) for name in record}
    return [spelt for name, spelt in _DETAILS.items() if name not in said]


def _detailed(
    server: Server,
    raw: Mapping[str, Any],
    place: RecordPlace,
    record: schema.ServerRecord,
    flavors: Mapping[str, Flavor],
) -> Server:
    embedded = record.flavor
    if not isinstance(embedded, Mapping):
        raise place.error('its flavor is not one of GET /servers/detail')
    if 'id' in embedded:
        flavor = flavors.get(str(embedded['id']))
    elif 'extra_specs' in embedded:
        inside = RecordPlace(place.path, f'{place.name}.flavor')
        flavor = _flavor(schema.convert(embedded, schema.FlavorRecord, inside), inside)
    else:
        # The policy of the cloud keeps them back.
        flavor = None
    pinned = raw.get('pinned_availability_zone', _UNSAID)
    return replace(
        server,
        is_detailed=True,
        node=record.osextsrvattrhypervisorhostname,
        flavor=flavor,
        project_id=place.required('tenant_id', record.tenantid, record.projectid),
        user_id=place.required('user_id', record.userid),
        # The API says '' of a server that was booted from a volume.
        boots_from_volume=not record.image,
        zone=record.osextazavailabilityzone,
        is_pinned=None if pinned is _UNSAID else pinned is not None,
        image_properties=_properties(record.image),
    )


def scheduled(document: Any, path: str) -> ServerRequest:
    """Return the server of a list as Nova would schedule it again.

    :param document: what ``GET /servers/{id}`` answers at the newest microversion, in a list
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, or does not have the flavor
    """
    [detail] = server_details(document, path, {})
    [raw] = schema.listed(document, 'servers', path)
    if detail.flavor is None:
        raise RecordPlace(path, 'server').error('its flavor with extra specs is not known')
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


def _properties(image: schema.ImageRecord | str | None) -> dict[str, str] | None:
    """Return the properties of an image, which the API has from 2.98 on."""
    if not isinstance(image, schema.ImageRecord) or image.properties is None:
        return None
    return {name: str(value) for name, value in image.properties.items()}


def image(document: Any, path: str) -> Image:
    """Return an image: the answer to ``GET /v2/images/{id}``.

    :raises errors.BadFile: if it is something else
    """
    place = RecordPlace(path, 'image')
    if not isinstance(document, Mapping) or 'disk_format' not in document:
        raise place.error('is no answer of GET /v2/images/ID: it has no disk_format')
    numbers = schema.convert(document, schema.ImageFileRecord, place)
    properties = {
        str(name): str(value)
        for name, value in document.items()
        if isinstance(value, str | int | float) and name not in _IMAGE_FIELDS
    }
    return Image(properties, numbers.diskformat, numbers.minram, numbers.mindisk, numbers.size)


@schema.reader('server_groups', schema.ServerGroupRecord, lambda r: (r.id,))
def server_groups(place: RecordPlace, record: schema.ServerGroupRecord) -> ServerGroup:
    """Return the server groups: the answer to ``GET /os-server-groups`` for an administrator."""
    policy = place.required('policy', record.policy, *(record.policies or ()))
    most = (record.rules or {}).get('max_server_per_host', 1)
    if not isinstance(most, int) or most < 1:
        raise place.error(f'max_server_per_host is {most!r}, not a number from 1 on')
    members = tuple(member.lower() for member in record.members)
    return ServerGroup(place.required('id', record.id), policy, members, most)


@schema.reader('migrations', schema.MigrationRecord, lambda r: (_lower(r.uuid),))
def migrations(place: RecordPlace, record: schema.MigrationRecord) -> ServerMigration:
    """Return the migrations: the output of ``openstack server migration list -f json``."""
    return ServerMigration(
        _lower(record.uuid),
        place.required(
            'Server UUID', record.serveruuid, record.serverid, record.instanceuuid
        ).lower(),
        tuple(filter(None, (record.sourcecompute, record.sourcenode))),
        place.required('Status', record.status).lower(),
        _lower(record.type or record.migrationtype),
    )


def _lower(text: str | None) -> str | None:
    return text and text.lower()


@schema.reader('aggregates', schema.AggregateRecord, lambda r: (_lower(r.uuid),))
def aggregates(place: RecordPlace, record: schema.AggregateRecord) -> HostAggregate:
    """Return the host aggregates: ``GET /os-aggregates``, from compute API 2.41 on."""
    if len(set(record.hosts)) < len(record.hosts):
        raise place.error('has a host twice')
    metadata = {key: str(value) for key, value in (record.metadata or {}).items()}
    return HostAggregate(
        place.required('uuid', record.uuid).lower(),
        place.required('name', record.name),
        tuple(record.hosts),
        metadata.get('availability_zone'),
        tuple(_projects_of(metadata)),
        metadata,
    )


def _projects_of(metadata: Mapping[str, str]) -> Iterator[str]:
    """The projects of ``filter_tenant_id``; with a suffix there are several such keys."""
    for key in sorted(metadata):
        if key.startswith('filter_tenant_id'):
            # AggregateMultiTenancyIsolation takes several in one, too.
            yield from filter(None, map(str.strip, metadata[key].split(',')))


def projects(document: Any, path: str) -> dict[str, str]:
    """The names of the projects, by ID: what ``GET /v3/projects`` answers, or what ``openstack
    project list -f json`` prints.
    """
    return dict(_projects(document, path))


@schema.reader('projects', schema.ProjectRecord, lambda r: (r.id or r.uuid,))
def _projects(place: RecordPlace, record: schema.ProjectRecord) -> tuple[str, str]:
    return place.required('ID', record.id, record.uuid), place.required('Name', record.name)


def quotas(document: Any, path: str) -> dict[str, dict[str, int]]:
    """Return the quotas of projects by ID: of ``CPUS`` and ``MEMORY_MB``; -1 means no limit.

    :param document: a list of what ``GET /os-quota-sets/{project}`` answers, or what
        ``openstack quota list --compute -f json`` prints
    """
    return dict(_quotas(document, path))


@schema.reader('quotas', schema.QuotaRecord, lambda r: (r.projectid or r.id,))
def _quotas(place: RecordPlace, record: schema.QuotaRecord) -> tuple[str, dict[str, int]]:
    limits = {'CPUS': record.cores, 'MEMORY_MB': record.ram}
    said = {name: limit for name, limit in limits.items() if limit is not None}
    return place.required('Project ID', record.projectid, record.id), said


def flavors(document: Any, path: str) -> list[Flavor]:
    """The flavors: what ``GET /flavors/detail`` answers from compute API 2.61 on, or what
    ``openstack flavor list --all --long -f json`` prints.
    """
    return [flavor for _, flavor in _flavors(document, path)]


def flavors_by_id(document: Any, path: str) -> dict[str, Flavor]:
    """Return the flavors of a list by their IDs."""
    found = _flavors(document, path)
    return {place.required('ID', uuid): flavor for (place, uuid), flavor in found}


@schema.reader('flavors', schema.FlavorRecord, lambda r: (r.id or r.uuid, r.name or r.originalname))
def _flavors(
    place: RecordPlace, record: schema.FlavorRecord
) -> tuple[tuple[RecordPlace, str | None], Flavor]:
    return (place, record.id or record.uuid), _flavor(record, place)


def _flavor(record: schema.FlavorRecord, place: RecordPlace) -> Flavor:
    name = place.required('Name', record.name, record.originalname)
    specs = record.properties if record.extraspecs is None else record.extraspecs
    if not isinstance(specs, Mapping):
        # Without them it would be counted on hosts that it never gets.
        if place.path == COMPUTE_SERVICE:
            raise place.error(
                f'Nova hides the extra specs of flavor {name!r} from your roles: its policy '
                'os_compute_api:os-flavor-extra-specs:index says who sees them'
            )
        raise place.error(
            f'flavor {name!r} has no extra specs: list flavors with --long, or at compute API 2.61'
        )
    return Flavor(
        name,
        record.vcpus,
        record.ram,
        record.disk,
        record.ephemeral or record.osflvextdataephemeral,
        record.swap,
        record.ispublic and record.osflavoraccessispublic,
        {key: str(value) for key, value in specs.items()},
    )
