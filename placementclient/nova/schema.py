"""Typed records of the compute and identity services, for decoding every list.

OpenStackClient and the API spell a field differently: ``Server UUID`` and ``instance_uuid``,
``OS-EXT-SRV-ATTR:host`` and ``Host``. The fields here are their names in small letters, without
blanks and punctuation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache, wraps
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from placementclient.client import errors
from placementclient.client.strict_json import located

#: The largest amount that Nova's database holds.
MOST = 2**31 - 1
#: OpenStackClient prints a field without a value as one of these; the API leaves texts empty.
_NOTHING = ('', 'None')

Text = Annotated[str, msgspec.Meta(max_length=255)]
OptionalText = Text | None
Amount = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Limit = Annotated[int, msgspec.Meta(ge=-1, le=MOST)]
#: The values of extra specs and of the properties of images.
Value = Text | int | float | bool
Values = dict[Text, Value]

#: The list that a record is of, by fields that no record of another list has.
_FOREIGN = {
    'servers': ({'serveruuid', 'serverid', 'instanceuuid'}, 'migrations'),
    'flavors': (
        {'flavor', 'host', 'computehost', 'hypervisorhostname', 'osextsrvattrhost'},
        'servers',
    ),
}

T = TypeVar('T')
V = TypeVar('V')


class ImageRecord(msgspec.Struct):
    """The image of a server.

    :param properties: from compute API 2.98 on
    """

    properties: Values | None = None


class ImageFileRecord(msgspec.Struct):
    """An image of the image service, in its units."""

    diskformat: OptionalText = None
    minram: Amount = 0
    mindisk: Amount = 0
    size: int = 0


class ServerRecord(msgspec.Struct):
    """A server; ``image`` is ``''`` if it was booted from a volume."""

    id: OptionalText = None
    uuid: OptionalText = None
    name: OptionalText = None
    host: OptionalText = None
    computehost: OptionalText = None
    hypervisorhostname: OptionalText = None
    osextsrvattrhost: OptionalText = None
    osextsrvattrhypervisorhostname: OptionalText = None
    osextststaskstate: OptionalText = None
    taskstate: OptionalText = None
    osextstsvmstate: OptionalText = None
    status: OptionalText = None
    updated: OptionalText = None
    updatedat: OptionalText = None
    tenantid: OptionalText = None
    projectid: OptionalText = None
    userid: OptionalText = None
    osextazavailabilityzone: OptionalText = None
    image: ImageRecord | str | None = None
    flavor: dict[str, Any] | str | None = None

    @property
    def server_uuid(self) -> str | None:
        """The UUID in small letters; ``None`` if the list lacks it."""
        uuid = self.id or self.uuid
        return uuid and uuid.lower()


class FlavorRecord(msgspec.Struct):
    """A flavor, with the amounts of Nova's API."""

    id: OptionalText = None
    uuid: OptionalText = None
    name: OptionalText = None
    originalname: OptionalText = None
    vcpus: Amount = 0
    ram: Amount = 0
    disk: Amount = 0
    ephemeral: Amount = 0
    osflvextdataephemeral: Amount = 0
    swap: Amount = 0
    ispublic: bool = True
    osflavoraccessispublic: bool = True
    extraspecs: Values | str | None = None
    properties: Values | str | None = None


class MigrationRecord(msgspec.Struct):
    """A migration."""

    uuid: OptionalText = None
    serveruuid: OptionalText = None
    serverid: OptionalText = None
    instanceuuid: OptionalText = None
    sourcecompute: OptionalText = None
    sourcenode: OptionalText = None
    status: OptionalText = None
    type: OptionalText = None
    migrationtype: OptionalText = None


class AggregateRecord(msgspec.Struct):
    """A host aggregate."""

    hosts: list[Text]
    uuid: OptionalText = None
    name: OptionalText = None
    metadata: Values | None = None


class ServerGroupRecord(msgspec.Struct):
    """A server group; ``policy`` and ``rules`` from compute API 2.64 on."""

    members: list[Text]
    id: OptionalText = None
    policy: OptionalText = None
    policies: list[Text] | None = None
    rules: Values | None = None


class ProjectRecord(msgspec.Struct):
    """A project of the identity service."""

    id: OptionalText = None
    uuid: OptionalText = None
    name: OptionalText = None


class QuotaRecord(msgspec.Struct):
    """The quotas of a project; -1 means no limit."""

    projectid: OptionalText = None
    id: OptionalText = None
    cores: Limit | None = None
    ram: Limit | None = None


class RecordPlace(NamedTuple):
    """The position of a record, for errors.

    :param path: of the file, or the service
    :param name: of the record in it: ``servers[3]``
    """

    path: str
    name: str

    def error(self, reason: str) -> errors.BadFile:
        """Return the exception for a fault of this record."""
        return errors.BadFile(self.path, f'{self.name}: {reason}')

    def required(self, column: str, *values: str | None) -> str:
        """Return the first of some fields that has a value.

        :param column: its name, as OpenStackClient prints it
        :raises errors.BadFile: if there is none
        """
        found = next(filter(None, values), None)
        if found is None:
            raise self.error(f'has no column {column!r}')
        return found


def listed(document: Any, key: str, path: str) -> list[Mapping[str, Any]]:
    """Return the raw records of a list, or of the object of the API around it.

    :raises errors.BadFile: if it is something else
    """
    if isinstance(document, Mapping):
        document = document.get(key)
    if not isinstance(document, list) or not all(isinstance(r, Mapping) for r in document):
        raise errors.BadFile(path, f'not a list of {key}')
    foreign, others = _FOREIGN.get(key, (set(), ''))
    if any(normal(str(name)) in foreign for record in document for name in record):
        raise errors.BadFile(path, f'a list of {others}, not of {key}')
    return document


def decoded(
    document: Any,
    key: str,
    path: str,
    kind: type[T],
    ids: Callable[[T], tuple[Hashable, ...]],
) -> Iterator[tuple[RecordPlace, T]]:
    """Return the decoded records of a list, each with its position.

    :param document: a list, or the object that the API puts around it
    :param key: the name of the list in that object: ``servers``
    :param ids: the names of a record, none of which another record may have; ``None`` is no name
    :raises errors.BadFile: if it is something else, or has a record twice
    """
    seen: dict[tuple[int, Hashable], str] = {}
    for index, record in enumerate(listed(document, key, path)):
        place = RecordPlace(path, f'{key}[{index}]')
        found = convert(record, kind, place)
        for names in enumerate(ids(found)):
            if names[1] is not None and seen.setdefault(names, place.name) != place.name:
                raise place.error(f'{names[1]} is there twice, first as {seen[names]}')
        yield place, found


def reader(
    key: str, kind: type[T], ids: Callable[[T], tuple[Hashable, ...]]
) -> Callable[[Callable[[RecordPlace, T], V | None]], Callable[[Any, str], list[V]]]:
    """Return a decorator that turns a function for one record into one for a list.

    That takes the list, as :func:`decoded` does, and where it came from, for the errors. It returns
    what the function makes of the records, in the order of the list, and leaves out ``None``.

    :param key: the name of the list: ``servers``
    :param ids: the names of a record, none of which another record may have
    """

    def decorated(make: Callable[[RecordPlace, T], V | None]) -> Callable[[Any, str], list[V]]:
        @wraps(make)
        def read(document: Any, path: str) -> list[V]:
            made = (make(*each) for each in decoded(document, key, path, kind, ids))
            return [value for value in made if value is not None]

        return read

    return decorated


def convert(record: Mapping[str, Any], kind: type[T], place: RecordPlace) -> T:
    """Return a record as a struct, without fields that have no value.

    :raises errors.BadFile: if a field is of another type, or out of range
    """
    given = {
        name: value
        for name, value in ((normal(str(name)), value) for name, value in record.items())
        if value is not None and (name == 'image' or value not in _NOTHING)
    }
    try:
        return msgspec.convert(given, kind, strict=False)
    except RecursionError:
        raise place.error('nested too deeply') from None
    except UnicodeError:
        # Half of a pair, as YAML takes an escape of JSON.
        raise place.error('not UTF-8 text') from None
    except msgspec.ValidationError as reason:
        raise errors.BadFile(place.path, located(str(reason), place.name)) from None


@lru_cache(1024)
def normal(name: str) -> str:
    """Return the name of a field in lower case, without blanks and punctuation."""
    return ''.join(filter(str.isalnum, name)).lower()
