"""Lists of servers and of migrations, as OpenStackClient prints them or the compute API answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from placementclient import errors
from placementclient.model.servers import Server, ServerMigration

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
_STATUS = ('status',)
_TYPE = ('type', 'migrationtype')


def servers(document: Any, path: str) -> dict[str, Server]:
    """The servers by UUID.

    :param document: what ``openstack server list --all-projects --long -f json`` prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else
    """
    found = {}
    for record in _records(document, 'servers', path):
        uuid = _required(record, _ID, 'ID', path).lower()
        found[uuid] = Server(uuid, tuple(_texts(record, _HOSTS)))
    return found


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
