# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from placementclient.basis import errors
from placementclient.hosts import devices

SERVER = '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8'
HEADER = ','.join(devices.COLUMNS)
VALUES = ('gpu1', '0000:81:00.1', '0000:81:00.0', '8086', '10ed', 'type-VF', 'allocated', SERVER)
CSV = f'{HEADER}\n{",".join(VALUES)}\n'
BATCH = '\t'.join(devices.COLUMNS) + '\n' + '\t'.join(VALUES) + '\n'
XML = (
    """<?xml version="1.0"?>
<resultset statement="select …" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <row>
"""
    + ''.join(
        f'<field name="{name}">{value}</field>\n'
        for name, value in zip(devices.COLUMNS, VALUES, strict=True)
    )
    + '  </row></resultset>'
)


@pytest.mark.parametrize(
    'text',
    [
        CSV,
        '\ufeff' + CSV,
        CSV.replace('\n', '\r\n'),
        BATCH,
        json.dumps([dict(zip(devices.COLUMNS, VALUES, strict=True))]),
        XML,
    ],
    ids=['csv', 'byte-order mark', 'CRLF', 'mysql --batch', 'json', 'mysql --xml'],
)
def test_devices_are_the_same_in_every_format(text):
    (device,) = devices.parse_devices(text, 'pci')
    assert (device.host, device.address, device.parent, device.type, device.instance_uuid) == (
        'gpu1',
        '0000:81:00.1',
        '0000:81:00.0',
        'type-VF',
        SERVER,
    )


@pytest.mark.parametrize(
    'text',
    [
        BATCH.replace('0000:81:00.0', 'NULL').replace(SERVER, 'NULL'),
        CSV.replace('0000:81:00.0', '').replace(SERVER, ''),
        XML.replace(
            '<field name="parent_addr">0000:81:00.0</field>',
            '<field name="parent_addr" xsi:nil="true" />',
        ).replace(SERVER, ''),
    ],
)
def test_null_is_an_empty_parent_and_an_empty_instance(text):
    (device,) = devices.parse_devices(text, 'pci')
    assert (device.parent, device.instance_uuid) == ('', '')


@pytest.mark.parametrize('text', [CSV, BATCH, XML], ids=['csv', 'batch', 'xml'])
def test_rows_that_nova_has_deleted_are_left_out(text):
    separator = '\t' if text is BATCH else ','
    lines = text.splitlines()
    if text is XML:
        live = XML.replace('  </row>', '<field name="deleted">0</field>\n  </row>')
        dead = XML.replace('  </row>', '<field name="deleted">7</field>\n  </row>')
    else:
        live, dead = (f'{lines[0]}{separator}deleted\n{lines[1]}{separator}{d}\n' for d in '07')
    assert (len(devices.parse_devices(live, 'pci')), devices.parse_devices(dead, 'pci')) == (1, [])
    records = [{**dict(zip(devices.COLUMNS, VALUES, strict=True)), 'deleted': d} for d in (0, 7)]
    assert len(devices.parse_devices(json.dumps(records), 'pci')) == 1


@pytest.mark.parametrize(('text', 'separator'), [(CSV, ','), (BATCH, '\t')], ids=['csv', 'batch'])
def test_answers_of_several_cells_that_were_joined_are_read(text, separator):
    # The columns of the other cell are in another order.
    second = [separator.join(reversed(row)) for row in (devices.COLUMNS, VALUES)]
    joined = text + second[0] + '\n' + second[1].replace('gpu1', 'gpu2') + '\n'
    assert [device.host for device in devices.parse_devices(joined, 'pci')] == ['gpu1', 'gpu2']
    with pytest.raises(errors.BadFile, match=r"^pci:4: '80' is no vendor_id"):
        devices.parse_devices(joined.replace(f'8086{separator}0000', f'80{separator}0000'), 'pci')


def test_escapes_of_mysql_batch_are_read():
    (device,) = devices.parse_devices(BATCH.replace('gpu1', 'gpu\\\\1'), 'pci')
    assert device.host == 'gpu\\1'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (CSV.replace(',', ';'), 'pci:1: has semicolons between its fields: commas are expected'),
        (CSV.replace('vendor_id', 'vendor'), 'pci:1: has no column vendor_id'),
        (CSV.replace('8086', ''), 'pci:2: vendor_id is missing'),
        (CSV.replace('8086', '80'), "pci:2: '80' is no vendor_id"),
        (CSV.replace('0000:81:00.1', '81'), "pci:2: '81' is no address of a PCI device"),
        (CSV.replace('type-VF', 'VF'), "pci:2: 'VF' is no dev_type"),
        (CSV.replace(SERVER, 'x'), "pci:2: 'x' is no instance_uuid"),
        (CSV + ','.join(VALUES), 'pci:3: gpu1 0000:81:00.1: appears twice'),
        (CSV + 'a,b\n', 'pci:3: 2 fields, the header has 8'),
        ('[', 'pci: not a JSON list of devices: no JSON'),
        ('[1]', 'pci: not a JSON list of devices: [0]: expected object'),
        ('<a>', 'pci:1: not XML, or not complete'),
        ('[{"address": ["0000:81:00.1"]}]', 'pci: not a JSON list of devices: [0][...]: expected'),
    ],
)
def test_a_wrong_list_of_devices_is_an_error_of_one_line(text, message):
    with pytest.raises(errors.BadFile) as caught:
        devices.parse_devices(text, 'pci')
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize('control', list('\r\x0b\x0c\x1c\x85\u2028'), ids=ascii)
@pytest.mark.parametrize(('text', 'separator'), [(CSV, ','), (BATCH, '\t')], ids=['csv', 'batch'])
def test_no_character_but_a_line_feed_begins_a_row(text, separator, control):
    second = separator.join(VALUES).replace('81:00.1', '82:00.1')
    with pytest.raises(errors.BadFile) as refused:
        devices.parse_devices(f'{text.rstrip()}{control}{second}\n', 'pci')
    assert refused.value.line == 2
