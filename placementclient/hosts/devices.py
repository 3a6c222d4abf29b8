# SPDX-License-Identifier: Apache-2.0
"""Rows of Nova's table of PCI devices, in every export format."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from placementclient.basis import errors, strict_json
from placementclient.basis.wording import format_count, split_lines
from placementclient.hosts import markup
from placementclient.model.providers import is_uuid, normalize_uuid

COLUMNS = (
    'hypervisor_hostname',
    'address',
    'parent_addr',
    'vendor_id',
    'product_id',
    'dev_type',
    'status',
    'instance_uuid',
)
#: A field may be left empty.
_OPTIONAL = ('parent_addr', 'instance_uuid')
PCI, PF, VF, VDPA = 'type-PCI', 'type-PF', 'type-VF', 'vdpa'
#: The states of devices that the host no longer has.
REMOVED = ('removed', 'deleted')

_ADDRESS = re.compile(r'[0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]')
_ID = re.compile(r'[0-9a-fA-F]{4}')
#: Other columns may be there too.
_RECORDS = list[dict[str, str | int | float | None]]
_ESCAPES = {'t': '\t', 'n': '\n', '\\': '\\', '0': '\0'}


@dataclass(frozen=True, slots=True)
class Device:
    """A row of Nova's table ``pci_devices``.

    :param parent: the address of its physical function, if it is a virtual one; may be empty
    :param line: the line of the file, from 1; ``None`` where it is not known
    :param path: of the file, for errors
    """

    host: str
    address: str
    parent: str
    vendor_id: str
    product_id: str
    type: str
    status: str
    instance_uuid: str
    path: str
    line: int | None = None

    @property
    def is_virtual(self) -> bool:
        """Return whether it is a virtual function of a physical one."""
        return self.type in (VF, VDPA)

    def make_error(self, reason: str) -> errors.BadFile:
        """Return the exception for a fault of this row."""
        return errors.BadFile(self.path, f'{self.host} {self.address}: {reason}', self.line)


def parse_devices(text: str, path: str) -> list[Device]:
    """Return the rows of ``pci_devices``: CSV, JSON, or output of ``mysql --batch`` or ``--xml``.

    :raises errors.BadFile: if the text is none of them, or a row is wrong, with its line
    """
    text = text.lstrip('\ufeff')
    start = text.lstrip()[:1]
    parse_records = _read_csv
    if start in ('[', '<'):
        parse_records = _parse_json_records if start == '[' else _parse_mysql_xml_records
    elif '\t' in split_lines(text)[0]:
        parse_records = _read_mysql_batch
    devices: dict[tuple[str, str], Device] = {}
    for record, line in parse_records(text, path):
        if record.get('deleted', '') not in ('', '0'):
            continue  # Nova keeps deleted rows, with their ID in this column
        device = _parse_record(record, path, line)
        if (device.host, device.address) in devices:
            raise device.make_error('appears twice')
        devices[device.host, device.address] = device
    return list(devices.values())


def _parse_record(record: Mapping[str, str], path: str, line: int | None) -> Device:
    """Return the device of a row; refuse a row with a missing or wrong field."""
    lacking = [name for name in COLUMNS if name not in _OPTIONAL and not record.get(name)]
    if lacking:
        raise errors.BadFile(path, f'{lacking[0]} is missing', line)
    address, parent = record['address'].lower(), record.get('parent_addr', '').lower()
    instance = normalize_uuid(record.get('instance_uuid', ''))
    for value, name, is_valid in (
        (address, 'address of a PCI device', _ADDRESS.fullmatch(address)),
        (parent, 'address of a PCI device', not parent or _ADDRESS.fullmatch(parent)),
        (record['vendor_id'], 'vendor_id', _ID.fullmatch(record['vendor_id'])),
        (record['product_id'], 'product_id', _ID.fullmatch(record['product_id'])),
        (record['dev_type'], 'dev_type', record['dev_type'] in (PCI, PF, VF, VDPA)),
        (instance, 'instance_uuid', not instance or is_uuid(instance)),
    ):
        if not is_valid:
            raise errors.BadFile(path, f'{value[:40]!r} is no {name}', line)
    return Device(
        record['hypervisor_hostname'],
        address,
        parent,
        record['vendor_id'].lower(),
        record['product_id'].lower(),
        record['dev_type'],
        record['status'],
        instance,
        path,
        line,
    )


#: The fields of each row by column, with its line.
DeviceRecords = Iterator[tuple[Mapping[str, str], int | None]]


def _read_csv(text: str, path: str) -> DeviceRecords:
    lines = split_lines(text)
    header = lines[0]
    if ';' in header and ',' not in header:
        raise errors.BadFile(path, 'has semicolons between its fields: commas are expected', 1)
    reader = csv.reader((f'{line}\n' for line in lines), strict=True)
    try:
        yield from _read_table(((cells, reader.line_num) for cells in reader), path)
    except csv.Error as reason:
        raise errors.BadFile(path, str(reason), reader.line_num) from None


def _read_mysql_batch(text: str, path: str) -> DeviceRecords:
    rows = (list(map(_unescape_mysql_cell, line.split('\t'))) for line in split_lines(text))
    yield from _read_table(((cells, number) for number, cells in enumerate(rows, 1)), path)


def _unescape_mysql_cell(cell: str) -> str:
    """Return a field of ``mysql --batch`` without its backslash escapes; empty for NULL."""
    if cell == 'NULL':
        return ''
    return re.sub(r'\\(.)', lambda match: _ESCAPES.get(match[1], match[1]), cell)


def _read_table(rows: Iterator[tuple[list[str], int]], path: str) -> DeviceRecords:
    """Yield each row below a header as its values by column, with its line.

    :param rows: the cells of each line, with its number
    """
    header: list[str] | None = None
    for cells, line in rows:
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        lacking = [name for name in COLUMNS if name not in cells]
        if header is None or not lacking:
            # Files that were joined have a header each.
            header = cells
            if lacking:
                raise errors.BadFile(path, f'has no column {lacking[0]}', line)
        elif len(cells) != len(header):
            fields = format_count(len(cells), 'field')
            raise errors.BadFile(path, f'{fields}, the header has {len(header)}', line)
        else:
            yield dict(zip(header, cells, strict=True)), line


def _parse_json_records(text: str, path: str) -> DeviceRecords:
    try:
        document = strict_json.decode_json(text.encode(), _RECORDS)
    except (strict_json.InvalidJSON, UnicodeError) as reason:
        raise errors.BadFile(path, f'not a JSON list of devices: {reason}') from None
    for record in document:
        yield (
            {name: '' if value is None else str(value).strip() for name, value in record.items()},
            None,
        )


def _parse_mysql_xml_records(text: str, path: str) -> DeviceRecords:
    for row in markup.parse_xml(text, path).findall('row'):
        # NULL has the attribute xsi:nil and no text.
        yield {cell.get('name', ''): (cell.text or '').strip() for cell in row}, None
