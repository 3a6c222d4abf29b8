# SPDX-License-Identifier: Apache-2.0
"""Lists of servers, flavors, projects and others, from OpenStackClient or from the API.

A function takes a document and where it came from, and raises :class:`errors.BadFile` if the
document is something else or has a record twice. The API answers some fields to an administrator
alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import msgspec
from msgspec import UNSET

from placementclient.model.catalog import COMPUTE_SERVICE
from placementclient.model.listed import ListRecord, OptionalString, String
from placementclient.model.servers import (
    Flavor,
    HostAggregate,
    Server,
    ServerGroup,
    ServerImage,
    ServerMigration,
)
from placementclient.model.services import Project, Quota, User
from placementclient.nova.images import Images
from placementclient.nova.schema import (
    BadList,
    RecordPlace,
    convert_record,
    decode_records,
    is_sdk_record,
    locate_records,
    refuse_duplicate_record,
)
from placementclient.nova.server_parts import ServerRequest

#: The fields of a server that only an administrator gets, and only from ``GET /servers/detail``.
_DETAILS = (
    'OS-EXT-SRV-ATTR:hypervisor_hostname',
    'OS-EXT-STS:task_state',
    'OS-EXT-STS:vm_state',
    'flavor',
    'image',
)


class _ServerGroupRecord(ListRecord, frozen=True):
    """A server group; ``policy`` and ``rules`` from compute API 2.64 on."""

    key = 'server_groups'
    aliases: ClassVar = {'member_ids': 'members'}

    id: String
    members: list[String]
    name: OptionalString = None
    policy: OptionalString = None
    policies: tuple[String, ...] = ()
    rules: Mapping[String, String | int | bool] = msgspec.field(default_factory=dict)


def decode_servers(
    document: object, path: str, flavors: Mapping[str, Flavor] = MappingProxyType({})
) -> dict[str, Server]:
    """Return the servers by UUID; fields that the list lacks are UNSET.

    :param flavors: the flavors by ID, for servers whose records have no more than the ID
    """
    return {server.uuid: server for _, server in _decode_servers(document, path, flavors)}


def decode_server_details(
    document: object, path: str, flavors: Mapping[str, Flavor]
) -> list[Server]:
    """Return the servers with their flavors, which deleted ones may lack: ``GET /servers/detail``.

    Servers in a cell that does not answer are left out: the API has no details of them.

    :param flavors: the flavors by ID; compute API 2.46 and below answers only the ID
    """
    result = []
    for place, server in _decode_servers(document, path, flavors):
        if server.is_in_silent_cell:
            continue
        result.append(server)
        if server.is_deleted:
            continue
        # A missing field must not be taken for an empty one.
        for name in place.list_missing_fields(*_DETAILS):
            raise place.make_error(
                f'has no {name!r}: GET /servers/detail has it for an administrator'
            )
        if server.flavor is UNSET:
            raise place.make_error('its flavor is not one of GET /servers/detail')
        for name, value in (('tenant_id', server.project_id), ('user_id', server.user_id)):
            if not value:
                raise place.make_error(f'has no {name!r}')
    return result


def _decode_servers(
    document: object, path: str, flavors: Mapping[str, Flavor]
) -> Iterator[tuple[RecordPlace, Server]]:
    """Yield the servers of a list, each with its position.

    :raises errors.BadFile: if a record has only a name, or a server is there twice
    """
    seen: dict[tuple[str, str], str] = {}
    for place in locate_records(document, path, Server):
        parts = {'flavor': _find_embedded_flavor(place, flavors), 'image': _find_image(place)}
        server = convert_record(place, Server, **parts)
        refuse_duplicate_record(place, server, seen)
        known = (server.host, server.node, server.task, server.flavor)
        if not server.state and all(value is UNSET for value in known):
            raise place.make_error(f'says no more than its name. "{Server.source}" says more')
        if server.status and not server.status.isupper():
            raise place.make_error(f'{server.status!r} is no status of a server')
        yield place, server


def _find_embedded_flavor(place: RecordPlace, flavors: Mapping[str, Flavor]) -> object:
    """Return the flavor in a record; ``None`` if only its ID is known, UNSET if not even that."""
    flavor = place.find_value('flavor')
    if flavor is None or isinstance(flavor, str):
        return UNSET  # the name that OpenStackClient prints
    if not isinstance(flavor, Mapping):
        return flavor
    inside = RecordPlace(place.path, f'{place.name}.flavor', flavor)
    specs = inside.find_value('extra_specs')
    if specs or (specs is not None and not is_sdk_record(flavor)):
        return convert_record(inside, Flavor)
    # Else it is of compute API 2.46 or below, or the policy of the cloud hides them.
    return flavors.get(str(inside.find_value('id')))


def _find_image(place: RecordPlace) -> object:
    """Return the image in a server's record; ``None``: the server boots from a volume.

    UNSET: the record does not tell.
    """
    image = place.find_value('image')
    if not image:
        # The API has '' for a server that was booted from a volume.
        return UNSET if place.list_missing_fields('image') else None
    if not isinstance(image, Mapping):
        return UNSET if isinstance(image, str) else image
    if is_sdk_record(image):
        properties = {k: v for k, v in (image.get('properties') or {}).items() if k != 'links'}
        image = {'id': image.get('id'), **({'properties': properties} if properties else {})}
    return convert_record(RecordPlace(place.path, f'{place.name}.image', image), ServerImage)


def decode_server_request(
    document: Sequence[Mapping[str, object]], path: str, images: Callable[[Server], Images]
) -> ServerRequest:
    """Return the only server of a list as Nova would schedule it.

    :param document: the list, of the newest microversion
    :param images: reads the image of the server
    """
    [server] = decode_server_details(document, path, {})
    [raw] = document
    if not server.flavor:
        raise RecordPlace(path, 'server', raw).make_error(
            'its flavor with extra specs is not known'
        )
    image, unknown = images(server).find_image(server)
    hints = raw.get('scheduler_hints') or raw.get('OS-SCH-HNT:scheduler_hints')
    return ServerRequest(
        server.flavor,
        image,
        server.pinned_zone or None,
        server.project_id,
        from_volume=server.boots_from_volume,
        hints=frozenset(hints if isinstance(hints, Mapping) else ()),
        unknown=unknown,
    )


def decode_server_groups(document: object, path: str) -> list[ServerGroup]:
    """Return the server groups: ``GET /os-server-groups``."""
    groups = []
    for place, record in decode_records(document, path, _ServerGroupRecord):
        policy = next(filter(None, (record.policy, *record.policies)), None)
        if policy is None:
            raise place.make_error("has no 'policy'")
        most = record.rules.get('max_server_per_host', 1)
        if not isinstance(most, int) or most < 1:
            raise place.make_error(f'max_server_per_host is {most!r}, not a number from 1 on')
        members = tuple(member.lower() for member in record.members)
        groups.append(ServerGroup(record.id, policy, members, most, record.name))
    return groups


def decode_migrations(document: object, path: str) -> list[ServerMigration]:
    """Return the migrations: the output of ``openstack server migration list -f json``."""
    return [migration for _, migration in decode_records(document, path, ServerMigration)]


def decode_aggregates(document: object, path: str) -> list[HostAggregate]:
    """Return the host aggregates: ``GET /os-aggregates``, from compute API 2.41 on."""
    return [aggregate for _, aggregate in decode_records(document, path, HostAggregate)]


def decode_projects(document: object, path: str) -> dict[str, str]:
    """Return the names of projects by ID: ``GET /v3/projects``, or ``openstack project list``."""
    return {project.id: project.name for _, project in decode_records(document, path, Project)}


def decode_users(document: object, path: str) -> dict[str, str]:
    """Return the names of users by ID: ``GET /v3/users``, or ``openstack user list``."""
    return {user.id: user.name for _, user in decode_records(document, path, User)}


def decode_quotas(document: object, path: str) -> dict[str, dict[str, int]]:
    """Return the quotas of projects by ID: of ``CPUS`` and ``MEMORY_MB``; -1 means no limit."""
    result = {}
    for place, quota in decode_records(document, path, Quota):
        if quota.cores is quota.ram is UNSET:
            raise place.make_error(f'has no cores and no ram. "{Quota.source}" has them')
        result[quota.id] = quota.limits
    return result


def decode_flavors(document: object, path: str) -> list[Flavor]:
    """Return the flavors: ``GET /flavors/detail`` (2.61 on), ``openstack flavor list --long``."""
    result = list(decode_records(document, path, Flavor))
    for place, flavor in result:
        # OpenStack's SDK has {} for those that it was not told.
        is_silent = is_sdk_record(place.fields) and not any(f.extra_specs for _, f in result)
        if is_silent or place.find_value('extra_specs', 'properties') is None:
            raise _make_missing_specs_error(place, flavor.name)
    return [flavor for _, flavor in result]


def decode_flavors_by_id(document: object, path: str) -> dict[str, Flavor]:
    """Return the flavors of a list by their IDs."""
    by_id = {}
    for index, flavor in enumerate(decode_flavors(document, path)):
        if flavor.id is None:
            raise BadList(path, f"flavors[{index}]: has no 'id'")
        by_id[flavor.id] = flavor
    return by_id


def _make_missing_specs_error(place: RecordPlace, flavor: str) -> BadList:
    # Without them it would be counted on hosts that it never gets.
    if place.path == COMPUTE_SERVICE:
        return place.make_error(
            f'Nova hides the extra specs of flavor {flavor!r} from your roles: its policy '
            'os_compute_api:os-flavor-extra-specs:index says who sees them'
        )
    return place.make_error(
        f'flavor {flavor!r} has no extra specs: list flavors with --long, or at compute API 2.61'
    )
