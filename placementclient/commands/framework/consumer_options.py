# SPDX-License-Identifier: Apache-2.0
"""Options whose values are UUIDs of consumers, or files with UUIDs."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient.basis import errors, strict_json
from placementclient.commands.framework.option import Option
from placementclient.model.providers import is_uuid, normalize_uuid

#: The keys that have the UUID in the JSON of OpenStackClient, of APIs, and of the audit.
_KEYS = ('id', 'ID', 'uuid', 'UUID', 'subject')
GONE = Option(
    '--gone <uuid>|<file>...',
    help='Your word that these consumers are gone: a UUID, or a file with a UUID a line or with '
    'JSON records that have an id. One that Nova or a list shows is refused',
)
IGNORED = Option(
    '--ignore-consumer <uuid>|<file>...',
    help='Consumers that are not of Nova, as for --gone: they are no orphans, and keep all',
)


def read_consumer_uuids(option: Option, values: list[str]) -> frozenset[str]:
    """Return the UUIDs of an option, in small letters.

    :param values: UUIDs, or paths of files with UUIDs
    :raises errors.BadFile: if a file has something else
    """
    uuids = set[str]()
    for value in values:
        uuids.update(
            [normalize_uuid(value)] if is_uuid(value) else _read_uuids_of_file(option, value)
        )
    return frozenset(uuids)


def _read_uuids_of_file(option: Option, path: str) -> Iterator[str]:
    """Yield the UUIDs of a file: one on each line, or a JSON list of UUIDs or of records."""
    from placementclient.files import disk, kinds

    text = disk.read_text(path, kinds.UUIDS, kinds.ROWS, *kinds.LISTS.values())
    document: object = text.split()
    if text.lstrip()[:1] in ('[', '{'):
        try:
            document = strict_json.decode_json(text.encode())
        except strict_json.InvalidJSON as fault:
            raise errors.BadFile(path, str(fault)) from None
    if isinstance(document, dict) and len(document) == 1:
        [document] = document.values()
    for number, record in enumerate(document if isinstance(document, list) else [document], 1):
        fields = record if isinstance(record, dict) else {'id': record}
        uuid = next(filter(is_uuid, (str(fields.get(key)) for key in _KEYS)), None)
        if uuid is None:
            raise errors.BadFile(path, f'{option.flags[0]} needs UUIDs: entry {number} is not one')
        yield normalize_uuid(uuid)
