# SPDX-License-Identifier: Apache-2.0
import json
import re

import pytest

from placementclient.basis import errors
from placementclient.hosts import device_spec
from placementclient.hosts.devices import Device


def device(address, parent='', kind='type-PCI'):
    return Device('gpu1', address, parent, '8086', '10ed', kind, 'available', '', 'pci')


def spec(**entry):
    (parsed,) = device_spec.parse_device_specs(json.dumps(entry), 'spec')
    return parsed


NONE: frozenset[device_spec.Address] = frozenset()


@pytest.mark.parametrize(
    ('entry', 'address', 'matches'),
    [
        ({}, '0000:81:00.1', True),
        ({'vendor_id': '8086', 'product_id': '10ED'}, '0000:81:00.1', True),
        ({'vendor_id': '*'}, '0000:81:00.1', True),
        ({'vendor_id': '10de'}, '0000:81:00.1', False),
        ({'product_id': '1515'}, '0000:81:00.1', False),
        ({'address': '0000:81:00.1'}, '0000:81:00.1', True),
        ({'address': '0000:81:00.*'}, '0000:81:00.7', True),
        ({'address': '*:81:*.*'}, '0000:81:00.7', True),
        ({'address': ':81:'}, '0000:81:00.7', True),
        ({'address': '81:00'}, '0000:81:00.7', True),
        ({'address': '.7'}, '0000:81:00.7', True),
        ({'address': '.6'}, '0000:81:00.7', False),
        ({'address': {'bus': '81', 'function': '[0-3]'}}, '0000:81:00.2', True),
        ({'address': {'bus': '81', 'function': '[0-3]'}}, '0000:81:00.5', False),
        ({'address': {'bus': '8'}}, '0000:81:00.5', True),  # from the start, not to the end
    ],
)
def test_device_spec_matches_devices_as_nova_does(entry, address, matches):
    assert spec(**entry).matches(device(address), NONE) is matches


def test_the_address_of_a_physical_function_matches_its_virtual_functions():
    function = device('0000:81:00.1', '0000:81:00.0', 'type-VF')
    physical = device_spec.find_physical_functions([function])
    assert spec(address='0000:81:00.0').matches(function, physical)
    assert not spec(address='0000:81:00.*').matches(
        device('0000:82:00.1', '0000:81:00.0'), physical
    )


def test_the_first_matching_device_spec_wins():
    specs = device_spec.parse_device_specs('{"vendor_id": "8086", "a": "1"}\n{"a": "2"}', 'spec')
    match = device_spec.find_device_spec(specs, device('0000:81:00.1'), NONE)
    assert match is not None
    assert match.tags == {'a': '1'}


@pytest.mark.parametrize(
    'pattern',
    [
        '.*', '^81$', '8[1-3]|9[0-9a-f]', '(81|82)', '(?:0[1-7])|(1[0-9])', '0?[0-9a-f]{1,2}',
        r'\d{2}', '[^0]', '[]0-9]', '8.', '(81)',
    ],
)  # fmt: skip
def test_a_pattern_that_people_write_is_matched_as_nova_does(pattern):
    for bus in ('81', '82', '9a', '00', '07', '13'):
        match = spec(address={'bus': pattern}).matches(device(f'0000:{bus}:00.1'), NONE)
        assert match is bool(re.match(pattern, bus))


NOVA = """[DEFAULT]
device_spec = {"address": "not this one"}
[pci]
# a comment
device_spec = {"vendor_id": "8086"}
device_spec = [{"vendor_id": "10de"},
    {"vendor_id": "15b3"}]
passthrough_whitelist = {"vendor_id": "1137"}
alias = {"name": "a"}
[neutron]
device_spec = {"address": "nor this"}
"""


@pytest.mark.parametrize('before', ['', '\n', '\ufeff \n\n[pci]\n'])
def test_device_specs_of_a_nova_conf_are_read(before):
    entries = device_spec.parse_device_specs(before + NOVA, 'nova.conf')
    assert [entry.vendor_id for entry in entries] == ['1137', '8086', '10de', '15b3']


@pytest.mark.parametrize('value', ['null', '""', 'false'])
def test_an_empty_tag_is_no_tag(value):
    (entry,) = device_spec.parse_device_specs(
        f'{{"physical_network": {value}, "traits": {value}}}', 'spec'
    )
    assert entry.tags == {'physical_network': '', 'traits': ''}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('[pci]\n\ndevice_spec = {"devname": "eth0"}', 'nova.conf:3: devname: only the host knows'),
        ('[pci]\ndevice_spec = {', 'nova.conf:2: not an entry, nor a list: no JSON'),
        ('[pci]\ndevice_spec = 7', 'nova.conf:2: not an entry, nor a list: expected object'),
        ('{"address": "0:1:2:3:4"}', "nova.conf:1: '0:1:2:3:4' is not an address"),
        ('{"address": "0000:81:00.9"}', "nova.conf:1: function '9' is not from 0 to 7"),
        ('{"address": {"bus": "["}}', "nova.conf:1: '[' is no regular expression"),
        ('{"vendor_id": "xyz"}', "nova.conf:1: vendor_id 'xyz' is not from 0 to ffff"),
        ('{"address": 7}', 'nova.conf:1: 7 is not an address'),
        ('{}\n{', 'nova.conf:2: not JSON'),
        ('{"a":\n"b"}\n{', 'nova.conf:3: not JSON'),
        ('{"vendor_id": ["8086"]}', 'nova.conf:1: not an entry, nor a list: [...]: expected'),
        ('{"traits": {"a": "b"}}', 'nova.conf:1: traits is an object: a text is expected'),
        ('{"address": {"bus": 81}}', 'nova.conf:1: not an entry, nor a list: [...][...]: expected'),
        ('{}' * 1001, 'nova.conf:1: has more than 1000 entries'),
        ('[pci]\nalias = {}', 'nova.conf: has no entry of [pci] device_spec: Nova manages'),
        ('[]', 'nova.conf: has no entry of [pci] device_spec: Nova manages'),
    ],
)
def test_device_specs_that_nova_refuses_are_errors(text, message):
    with pytest.raises(errors.BadFile) as caught:
        device_spec.parse_device_specs(text, 'nova.conf')
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(('end', 'count'), [('\r', 1), ('\x0b', 0), ('\x85', 0), ('\u2028', 0)])
def test_a_line_of_a_configuration_ends_where_nova_ends_it(end, count):
    text = f'[pci]\n# of old{end}device_spec = {{"vendor_id": "8086"}}\n'
    if count:
        assert len(device_spec.parse_device_specs(text, 'nova.conf')) == count
    else:
        with pytest.raises(errors.BadFile, match='has no entry'):
            device_spec.parse_device_specs(text, 'nova.conf')
