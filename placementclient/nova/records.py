"""Lists of servers, flavors, projects and the like, as OpenStackClient or the API has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from placementclient import errors
from placementclient.model.flavors import Flavor
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.servers import Server, ServerDetail, ServerMigration

#: The names that releases and formats have for a field; without case, blanks and punctuation.
_ID = ('id', 'uuid')
_HOSTS = (
    'host',
    'computehost',
    'hypervisorhostname',
    'osextsrvattrhost',
    'osextsrvattrhypervisorhostname',
)
_UUID = ('uuid',)
_SERVER = ('serveruuid', 'serverid', 'instanceuuid')
_SOURCES = ('sourcecompute', 'sourcenode')
_NODE, _TASK, _STATE = 'osextsrvattrhypervisorhostname', 'osextststaskstate', 'osextstsvmstate'
_TASKS = (_TASK, 'taskstate')
_CHANGED = ('updated', 'updatedat')
#: What ``GET /servers/detail`` answers an administrator, as the API spells it.
_DETAILS = {
    _NODE: 'OS-EXT-SRV-ATTR:hypervisor_hostname',
    _TASK: 'OS-EXT-STS:task_state',
    _STATE: 'OS-EXT-STS:vm_state',
    'flavor': 'flavor',
    'image': 'image',
}
_STATUS = ('status',)
_TYPE = ('type', 'migrationtype')
_NAME = ('name', 'originalname')
_EPHEMERAL = ('ephemeral', 'osflvextdataephemeral')
_PUBLIC = ('ispublic', 'osflavoraccessispublic')
_EXTRA_SPECS = ('extraspecs', 'properties')


def servers(document: Any, path: str) -> dict[str, Server]:
    """The servers by UUID; with details where the list has them.

    :param document: what ``openstack server list --all-projects --long -f json`` prints, or what
        ``GET /servers/detail`` answers an administrator
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    found = {}
    for record in _records(document, 'servers', path):
        if any(_texts(record, _SERVER)):
            raise errors.BadFile(path, 'a list of migrations, not of servers')
        uuid = _required(record, _ID, 'ID', path).lower()
        is_detailed = record.keys() >= _DETAILS.keys() and isinstance(record['flavor'], Mapping)
        found[uuid] = Server(
            uuid,
            tuple(_texts(record, _HOSTS)),
            next(_texts(record, _TASKS), None),
            next(_texts(record, _CHANGED), None),
            _server_detail(record, path, {}) if is_detailed else None,
            next((status.lower() for status in _texts(record, (_STATE, *_STATUS))), None),
        )
    return found


def server_details(document: Any, path: str, flavors: Mapping[str, Flavor]) -> list[ServerDetail]:
    """The servers with their flavors, in the order of the list.

    :param document: what ``GET /servers/detail`` answers an administrator
    :param path: where it came from, for the error
    :param flavors: by ID, for what compute API 2.46 and below answers
    :raises errors.BadFile: if it is something else
    """
    return [_server_detail(record, path, flavors) for record in _records(document, 'servers', path)]


def _server_detail(
    record: Mapping[str, Any], path: str, flavors: Mapping[str, Flavor]
) -> ServerDetail:
    uuid = _required(record, _ID, 'ID', path).lower()
    for key, name in _DETAILS.items():
        # Only an administrator is told all; what is not told must not be taken for nothing.
        if key not in record:
            raise errors.BadFile(path, f'server {uuid} has no {name!r}: GET /servers/detail has it')
    embedded = record['flavor']
    if not isinstance(embedded, Mapping):
        raise errors.BadFile(path, f'server {uuid}: its flavor is not one of GET /servers/detail')
    if 'id' in embedded:
        flavor = flavors.get(str(embedded['id']))
    elif 'extra_specs' in embedded:
        flavor = _flavor(next(_records([embedded], 'flavors', path)), path)
    else:
        # The policy of the cloud keeps them back.
        flavor = None
    return ServerDetail(
        uuid,
        record[_NODE],
        flavor,
        _required(record, ('tenantid', 'projectid'), 'tenant_id', path),
        _required(record, ('userid',), 'user_id', path),
        # The API says '' of a server that was booted from a volume.
        not record['image'],
        record[_TASK],
        record[_STATE] == 'resized',
    )


def migrations(document: Any, path: str) -> list[ServerMigration]:
    """The migrations, in the order of the list.

    :param document: what ``openstack server migration list -f json`` prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    return [
        ServerMigration(
            next((uuid.lower() for uuid in _texts(record, _UUID)), None),
            _required(record, _SERVER, 'Server UUID', path).lower(),
            tuple(_texts(record, _SOURCES)),
            _required(record, _STATUS, 'Status', path).lower(),
            next((kind.lower() for kind in _texts(record, _TYPE)), None),
        )
        for record in _records(document, 'migrations', path)
    ]


def aggregates(document: Any, path: str) -> list[HostAggregate]:
    """The host aggregates, in the order of the list.

    :param document: what ``GET /os-aggregates`` answers from compute API 2.41 on
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    found = []
    for record in _records(document, 'aggregates', path):
        uuid = _required(record, _UUID, 'uuid', path).lower()
        hosts = record.get('hosts')
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise errors.BadFile(path, f'aggregate {uuid} has no list of hosts')
        metadata = record.get('metadata') or {}
        if not isinstance(metadata, Mapping):
            raise errors.BadFile(path, f'aggregate {uuid}: its metadata is no object')
        found.append(
            HostAggregate(
                uuid,
                _required(record, _NAME, 'name', path),
                tuple(hosts),
                next(_texts(metadata, ('availability_zone',)), None),
                tuple(_projects_of(metadata)),
            )
        )
    return found


def _projects_of(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The projects of ``filter_tenant_id``; with a suffix there are several such keys."""
    for key in sorted(metadata):
        if str(key).startswith('filter_tenant_id'):
            # AggregateMultiTenancyIsolation takes several in one, too.
            yield from filter(None, map(str.strip, str(metadata[key]).split(',')))


def projects(document: Any, path: str) -> dict[str, str]:
    """The names of the projects, by ID.

    :param document: what ``GET /v3/projects`` answers, or what ``openstack project list -f json``
        prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    return {
        _required(record, _ID, 'ID', path): _required(record, _NAME, 'Name', path)
        for record in _records(document, 'projects', path)
    }


def quotas(document: Any, path: str) -> dict[str, dict[str, int]]:
    """The quotas of projects by ID: of ``CPUS`` and ``MEMORY_MB``, -1 for no limit.

    :param document: a list of what ``GET /os-quota-sets/{project}`` answers, or what
        ``openstack quota list --compute -f json`` prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    found = {}
    for record in _records(document, 'quotas', path):
        project = _required(record, ('projectid', 'id'), 'Project ID', path)
        found[project] = {
            name: limit
            for name, key in (('CPUS', 'cores'), ('MEMORY_MB', 'ram'))
            if isinstance(limit := record.get(key), int)
        }
    return found


def flavors(document: Any, path: str) -> list[Flavor]:
    """The flavors, in the order of the list.

    :param document: what ``GET /flavors/detail`` answers from compute API 2.61 on, or what
        ``openstack flavor list --all --long -f json`` prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    return [_flavor(record, path) for record in _records(document, 'flavors', path)]


def flavors_by_id(document: Any, path: str) -> dict[str, Flavor]:
    """The flavors by ID.

    :raises errors.BadFile: as :func:`flavors` does
    """
    return {
        _required(record, _ID, 'ID', path): _flavor(record, path)
        for record in _records(document, 'flavors', path)
    }


def _flavor(record: Mapping[str, Any], path: str) -> Flavor:
    name = _required(record, _NAME, 'Name', path)
    if 'flavor' in record or any(_texts(record, _HOSTS)):
        raise errors.BadFile(path, 'a list of servers, not of flavors')
    specs = next((record[key] for key in _EXTRA_SPECS if key in record), None)
    if not isinstance(specs, Mapping):
        # Without them it would be counted on hosts that it never gets.
        raise errors.BadFile(
            path,
            f'flavor {name!r} has no extra specs: list flavors with --long, or at compute API 2.61',
        )
    return Flavor(
        name,
        _number(record, name, ('vcpus',), path),
        _number(record, name, ('ram',), path),
        _number(record, name, ('disk',), path),
        _number(record, name, _EPHEMERAL, path),
        _number(record, name, ('swap',), path),
        next((bool(record[key]) for key in _PUBLIC if key in record), True),
        {str(key): str(value) for key, value in specs.items()},
    )


def _number(record: Mapping[str, Any], flavor: str, names: Iterable[str], path: str) -> int:
    """An amount; nothing is 0, which Nova says of swap as an empty text."""
    value = next((record[name] for name in names if name in record), 0)
    try:
        number = int(value or 0)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise errors.BadFile(path, f'flavor {flavor!r}: {value!r} is not an amount')
    return number


def _records(document: Any, key: str, path: str) -> Iterator[Mapping[str, Any]]:
    """The records of a list, or of the object that the API puts around it."""
    if isinstance(document, Mapping):
        document = document.get(key)
    if not isinstance(document, list) or not all(isinstance(r, Mapping) for r in document):
        raise errors.BadFile(path, f'not a list of {key}')
    return (
        {''.join(filter(str.isalnum, str(name))).lower(): value for name, value in record.items()}
        for record in document
    )


def _texts(record: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """What a record says in some of its fields; OpenStackClient prints what is missing as None."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value not in ('', 'None'):
            yield value


def _required(record: Mapping[str, Any], names: Iterable[str], column: str, path: str) -> str:
    value = next(_texts(record, names), None)
    if value is None:
        raise errors.BadFile(path, f'an entry has no column {column!r}')
    return value
