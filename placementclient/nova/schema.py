# SPDX-License-Identifier: Apache-2.0
"""Decoding of the lists of other services.

OpenStackClient and the APIs spell a field differently: ``Server UUID`` and ``server_uuid``. Case,
blanks and punctuation of the names of fields do not count.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import describe_fault
from placementclient.files import kinds
from placementclient.model.listed import ListRecord

#: OpenStackClient prints a field without a value as one of these; the API leaves texts empty.
_NOTHING = (None, '', 'None')
#: A mapping as OpenStackClient prints it where it does not print JSON: ``a='1', b='2'``.
_PAIR = re.compile("([^=', ]+)='([^']*)'")
_PAIRS = re.compile(f'{_PAIR.pattern}(?:, {_PAIR.pattern})*')
#: The last record of a page, in the link to the next one.
_MARKER = re.compile('[?&]marker=([^&]+)')
_ONE_PAGE = (
    'only one page of the list of {}: the next page begins after {}. Join all pages to one list'
)

R = TypeVar('R', bound=ListRecord)


class IncompleteList(errors.BadFile):
    """A list is incomplete: only one page of several."""


class BadList(errors.BadFile):
    """A document is not the list that was expected, or a record of it is wrong."""


class UnknownList(BadList, errors.WrongFile):
    """A document is nothing that could be the list that was expected."""


class MissingField(BadList):
    """No record of a list has a field that the service shows to administrators, or on demand."""


class RecordPlace(NamedTuple):
    """A record as it was read, and its position for errors.

    :param name: such as ``servers[3]``
    """

    path: str
    name: str
    fields: Mapping[str, Any]

    def make_error(self, reason: str) -> BadList:
        return BadList(self.path, f'{self.name}: {reason}')

    def list_missing_fields(self, *names: str) -> list[str]:
        """Return the names of fields that the record does not have, not even empty."""
        present = {_normalize_name(str(name)) for name in self.fields}
        return [name for name in names if _normalize_name(name) not in present]

    def find_value(self, *names: str) -> Any:
        """Return the first value of a field with one of some names; ``None`` if there is none."""
        wanted = {_normalize_name(name) for name in names}
        values = (
            value for name, value in self.fields.items() if _normalize_name(str(name)) in wanted
        )
        return next((value for value in values if value is not None), None)


def decode_records(document: object, path: str, kind: type[R]) -> Iterator[tuple[RecordPlace, R]]:
    """Yield each decoded record of a list, or of the object that the API puts around the list.

    :raises errors.BadFile: if it is something else, one page of several, or has a record twice
    """
    seen: dict[tuple[str, str], str] = {}
    for place in locate_records(document, path, kind):
        record = convert_record(place, kind)
        refuse_duplicate_record(place, record, seen)
        yield place, record


def locate_records(document: object, path: str, kind: type[ListRecord]) -> Iterator[RecordPlace]:
    """Yield each record of a list, or of the object around the list, before it is decoded."""
    records, key = document, kind.key
    needed = kinds.get_list_kind(kind)
    if isinstance(document, Mapping):
        try:
            link = find_next_page(document, key)
        except (AttributeError, KeyError, TypeError):
            raise UnknownList(path, kinds.UNKNOWN, needed) from None
        if link is not None:
            marker = _MARKER.search(link)
            raise IncompleteList(
                path, _ONE_PAGE.format(key, f'marker {marker[1]}' if marker else link)
            )
        records = document.get(key)
    if not isinstance(records, list) or not all(isinstance(r, Mapping) for r in records):
        mistake = 'plain text' if isinstance(document, str) else kinds.UNKNOWN
        if isinstance(document, Mapping):
            mistake = f'has no key "{key}"'
        raise UnknownList(path, mistake, needed)
    for index, fields in enumerate(records):
        place = RecordPlace(path, f'{key}[{index}]', _drop_sdk_defaults(fields))
        if kind.marks and not _is_record_of(place, kind):
            raise place.make_error(f'not of {needed.name}{needed.remedy}')
        yield place


def is_sdk_record(fields: Mapping[str, object]) -> bool:
    """Return whether OpenStack's SDK has written a record: its unknown fields are ``None``."""
    return 'location' in fields


def _drop_sdk_defaults(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of a record without those that the SDK has filled with ``None``."""
    if not is_sdk_record(fields):
        return fields
    said = {n: value for n, value in fields.items() if value is not None or n == 'location'}
    if 'status' in said and 'task_state' in fields:
        # Nova says the task of each server of which it says the status.
        said.setdefault('task_state', None)
    return said


def _is_record_of(place: RecordPlace, kind: type[ListRecord]) -> bool:
    """Return whether a record is of a kind of list, by its fields."""
    own, _ = _map_field_names(kind)
    present = {_normalize_name(str(name)) for name in place.fields}
    has_mark = not present.isdisjoint(map(_normalize_name, kind.marks))
    is_partial = any(place.find_value(name) == value for name, value in kind.partial.items())
    return has_mark or is_partial or present <= own.keys() | set(map(_normalize_name, kind.others))


def find_next_page(document: Mapping[str, Any], key: str) -> str | None:
    """Return the link to the next page in an answer of OpenStack; ``None`` on the last page.

    :param key: the name of the list in the answer
    :raises AttributeError, KeyError, TypeError: if the answer has something else in place of links
    """
    for link in document.get(f'{key}_links') or ():
        if link['rel'] == 'next':
            return str(link['href'])
    following = (document.get('links') or {}).get('next') or document.get('next')
    return str(following) if following else None


def refuse_duplicate_record(
    place: RecordPlace, record: ListRecord, seen: dict[tuple[str, str], str]
) -> None:
    """Raise an error for a record whose ID or name an earlier one has.

    :param seen: the places of earlier records by ID and name; those of this one are added
    """
    values = msgspec.structs.asdict(record)
    for name in record.unique:
        if (value := values[name]) is not None:
            value = value if name == 'name' else str(value).lower()
            if (first := seen.setdefault((name, value), place.name)) != place.name:
                raise place.make_error(f'{value} appears twice, first as {first}')


def convert_record(place: RecordPlace, kind: type[R], **values: object) -> R:
    """Return a record as a struct.

    :param values: replace the values of fields, which are not converted
    :raises errors.BadFile: if a field is of another type, out of range, or missing
    """
    fields = _rename_fields(place, kind) | values
    fields = {name: value for name, value in fields.items() if value is not msgspec.UNSET}
    try:
        return msgspec.convert(fields, kind, strict=False)
    except RecursionError:
        raise place.make_error('nested too deeply') from None
    except UnicodeError:
        # Half of a pair, as YAML takes an escape of JSON.
        raise place.make_error('not UTF-8 text') from None
    except msgspec.ValidationError as reason:
        raise BadList(place.path, describe_fault(str(reason), place.name)) from None


def _rename_fields(place: RecordPlace, kind: type[ListRecord]) -> dict[str, object]:
    """Return the values of a record by the names of the struct's fields."""
    names, nullable = _map_field_names(kind)
    fields: dict[str, object] = {}
    for spelled, value in place.fields.items():
        name = names.get(_normalize_name(str(spelled)))
        if name is None:
            continue
        if value in _NOTHING:
            if name in nullable:
                fields.setdefault(name, None)
            continue
        if fields.get(name) not in (value, None):
            raise place.make_error(f'has two values of {name}, one of them as {spelled!r}')
        fields[name] = value
    for name in kind.lower:
        if isinstance(value := fields.get(name), str):
            fields[name] = value.lower()
    for name in fields.keys() & kind.texts:
        fields[name] = _parse_text_mapping(fields[name])
    return fields


def _parse_text_mapping(value: object) -> object:
    """Return a mapping with texts as values, also from the text that OpenStackClient prints of one.

    Numbers become texts; any other value stays.
    """
    if isinstance(value, str) and _PAIRS.fullmatch(value):
        return dict(_PAIR.findall(value))
    if isinstance(value, Mapping):
        return {k: str(v) if isinstance(v, int | float) else v for k, v in value.items()}
    return value


@lru_cache
def _map_field_names(kind: type[ListRecord]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the field for each normalized name, and the fields in which null has a meaning."""
    fields = msgspec.structs.fields(kind)
    names = {_normalize_name(spelled): name for spelled, name in kind.aliases.items()}
    names |= {_normalize_name(field.name): field.name for field in fields}
    optional = (field for field in fields if NoneType in get_args(field.type))
    nullable = (field.name for field in optional if field.default is msgspec.UNSET)
    return names, frozenset(nullable)


@lru_cache(1024)
def _normalize_name(name: str) -> str:
    """Return the name of a field in lower case, without blanks and punctuation."""
    return ''.join(filter(str.isalnum, name)).lower()
