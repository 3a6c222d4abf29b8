"""Decoding of the lists of other services.

OpenStackClient and the APIs spell a field differently: ``Server UUID`` and ``server_uuid``. Case,
blanks and punctuation of the names of fields do not count.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from placementclient.client import errors
from placementclient.client.strict_json import located
from placementclient.model.listed import ListRecord

#: OpenStackClient prints a field without a value as one of these; the API leaves texts empty.
_NOTHING = ('', 'None')

R = TypeVar('R', bound=ListRecord)


class RecordPlace(NamedTuple):
    """A record as it was read, and its position for errors.

    :param name: such as ``servers[3]``
    """

    path: str
    name: str
    fields: Mapping[str, Any]

    def error(self, reason: str) -> errors.BadFile:
        """Return the exception for a fault of this record."""
        return errors.BadFile(self.path, f'{self.name}: {reason}')

    def lacking(self, *names: str) -> list[str]:
        """Return those of some fields that the record does not have, not even empty."""
        present = {_normal(str(name)) for name in self.fields}
        return [name for name in names if _normal(name) not in present]


def decoded(document: Any, path: str, kind: type[R]) -> Iterator[tuple[RecordPlace, R]]:
    """Return the records of a list, or of the object that the API puts around it.

    :raises errors.BadFile: if it is something else, or has a record twice
    """
    records = document.get(kind.key) if isinstance(document, Mapping) else document
    if not isinstance(records, list) or not all(isinstance(r, Mapping) for r in records):
        raise errors.BadFile(path, f'not a list of {kind.key}')
    seen: dict[tuple[str, str], str] = {}
    for index, fields in enumerate(records):
        place = RecordPlace(path, f'{kind.key}[{index}]', fields)
        record = convert(place, kind)
        for name in kind.unique:
            if (value := getattr(record, name)) is not None:
                value = value if name == 'name' else str(value).lower()
                if (first := seen.setdefault((name, value), place.name)) != place.name:
                    raise place.error(f'{value} is there twice, first as {first}')
        yield place, record


def convert(place: RecordPlace, kind: type[R]) -> R:
    """Return a record as a struct, without fields that have no value.

    :raises errors.BadFile: if a field is of another type, out of range, or missing
    """
    values = {
        _normal(str(name)): value
        for name, value in place.fields.items()
        if value is not None and (name == 'image' or value not in _NOTHING)
    }
    names = {**kind.aliases, **{name: name for name in kind.__struct_fields__}}
    fields = {
        field: values[_normal(name)] for name, field in names.items() if _normal(name) in values
    }
    for field in kind.lower:
        if isinstance(fields.get(field), str):
            fields[field] = fields[field].lower()
    try:
        return msgspec.convert(fields, kind, strict=False)
    except RecursionError:
        raise place.error('nested too deeply') from None
    except UnicodeError:
        # Half of a pair, as YAML takes an escape of JSON.
        raise place.error('not UTF-8 text') from None
    except msgspec.ValidationError as reason:
        raise errors.BadFile(place.path, located(str(reason), place.name)) from None


@lru_cache(1024)
def _normal(name: str) -> str:
    """Return the name of a field in lower case, without blanks and punctuation."""
    return ''.join(filter(str.isalnum, name)).lower()
