# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from placementclient.basis import errors
from placementclient.hosts import additions, device_spec
from placementclient.hosts.assignments import split_findings
from placementclient.hosts.devices import Device
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.hosts.libvirt_output import SERVERS
from tests.unit.hosts.test_assignments import ROOT, snapshot

MANAGED = ['COMPUTE_MANAGED_PCI_DEVICE', 'OWNER_NOVA']


def device(address, kind='type-PCI', parent='', used=''):
    product = '10ed' if kind in ('type-VF', 'vdpa') else '1563'
    status = 'allocated' if used else 'available'
    return Device('gpu1', address, parent, '8086', product, kind, status, used, 'pci.csv', 7)


def made(devices, *specs, of=None):
    entries = device_spec.parse_device_specs(json.dumps(list(specs) or [{}]), 'spec')
    added, contradictions = split_findings(additions.build_additions(devices, {'': entries}, of))
    return (
        {entry['resource_provider']: entry for entry in added},
        [f'{contradiction.subject} {contradiction.reason}' for contradiction in contradictions],
    )


def test_a_device_of_a_server_becomes_an_addition():
    entries, contradictions = made([device('0000:81:0a.0', used=SERVERS[0])])
    assert entries == {
        'gpu1_0000:81:0A.0': {
            'resource_provider': 'gpu1_0000:81:0A.0',
            'parent': 'gpu1',
            'inventories': {'CUSTOM_PCI_8086_1563': {'total': 1, 'max_unit': 1}},
            'traits': MANAGED,
            'consumers': {SERVERS[0]: {'CUSTOM_PCI_8086_1563': 1}},
        }
    }
    assert contradictions == []


def test_virtual_functions_belong_to_the_provider_of_their_parent():
    functions = [
        device(f'0000:81:00.{number}', 'type-VF', '0000:81:00.0', used)
        for number, used in ((1, SERVERS[0]), (2, SERVERS[0]), (3, SERVERS[1]), (4, ''))
    ]
    entries, _ = made(functions)
    (entry,) = entries.values()
    assert entry['resource_provider'] == 'gpu1_0000:81:00.0'
    assert entry['inventories'] == {'CUSTOM_PCI_8086_10ED': {'total': 4, 'max_unit': 4}}
    assert entry['consumers'] == {
        SERVERS[0]: {'CUSTOM_PCI_8086_10ED': 2},
        SERVERS[1]: {'CUSTOM_PCI_8086_10ED': 1},
    }


@pytest.mark.parametrize(
    ('tag', 'name'),
    [
        ('PGPU', 'PGPU'),
        ('custom_gpu', 'CUSTOM_GPU'),
        ('a40-16q', 'CUSTOM_A40_16Q'),
        ('', 'CUSTOM_PCI_8086_1563'),
    ],
)
def test_a_device_has_the_class_of_its_specification(tag, name):
    entries, _ = made([device('0000:81:00.0')], {'resource_class': tag})
    (entry,) = entries.values()
    assert list(entry['inventories']) == [name]


def test_a_device_has_the_traits_of_its_specification():
    tag = 'HW_GPU_API_VULKAN,hw_gpu_api_dxva,CUSTOM_A,custom_b,my-trait'
    entries, _ = made([device('0000:81:00.0')], {'traits': tag, 'live_migratable': 'yes'})
    (entry,) = entries.values()
    assert entry['traits'] == sorted(
        [
            *MANAGED,
            'CUSTOM_A',
            'CUSTOM_B',
            'CUSTOM_HW_GPU_API_DXVA',
            'CUSTOM_MY_TRAIT',
            'HW_GPU_API_VULKAN',
            'HW_PCI_LIVE_MIGRATABLE',
        ]
    )


@pytest.mark.parametrize('used', ['', SERVERS[0]])
def test_a_used_device_for_one_time_use_is_reserved(used):
    entries, contradictions = made([device('0000:81:00.0', used=used)], {'one_time_use': 'true'})
    (entry,) = entries.values()
    assert 'HW_PCI_ONE_TIME_USE' in entry['traits']
    # The service grants nothing on what is reserved: that comes after the allocation.
    assert entry['inventories'] == {'CUSTOM_PCI_8086_1563': {'total': 1, 'max_unit': 1}}
    assert contradictions == (
        [
            'gpu1_0000:81:00.0 is for one use and in use: after "reshape apply", reserve it with '
            '"placement resource provider inventory set --amend --resource '
            'CUSTOM_PCI_8086_1563:reserved=1"'
        ]
        if used
        else []
    )


def test_devices_of_neutron_or_that_are_gone_are_left_out():
    gone = Device('gpu1', '0000:83:00.0', '', '8086', '1563', 'type-PCI', 'removed', '', 'pci.csv')
    entries, contradictions = made(
        [device('0000:81:00.0'), device('0000:82:00.0'), gone],
        {'address': '0000:81:00.0', 'physical_network': 'physnet1'},
        {},
    )
    assert list(entries) == ['gpu1_0000:82:00.0']
    assert contradictions == []


def test_a_used_device_without_device_spec_leaves_the_tree_out():
    entries, contradictions = made(
        [device('0000:81:00.0'), device('0000:82:00.0', used=SERVERS[0])],
        {'address': '0000:81:00.0'},
    )
    assert entries == {}
    assert contradictions == [
        f'gpu1_0000:82:00.0 is used by server {SERVERS[0]}, and no device_spec matches it: the '
        'tree of gpu1 is left out'
    ]


def test_an_instance_without_allocation_is_left_out_by_name():
    used = [device('0000:81:00.0', used=SERVERS[0]), device('0000:82:00.0', used=SERVERS[1])]
    entries, contradictions = made(used, of=snapshot(s0={'VCPU': 1}))
    assert [entry.get('consumers') for entry in entries.values()] == [
        {SERVERS[0]: {'CUSTOM_PCI_8086_1563': 1}},
        None,
    ]
    assert contradictions == [
        f'{SERVERS[1]} has 0000:82:00.0 of gpu1, and holds nothing there in Placement: under '
        'migration or resized on its host'
    ]


CLASS = 'CUSTOM_PCI_8086_1563'


def with_devices(*providers, **allocated):
    """The snapshot of a host with PCI devices.

    :param providers: of each the address, the class and what the consumers hold
    """
    base = snapshot(**allocated)
    states, consumers = [*base.providers.values()], dict(base.consumers)
    for number, (address, name, held) in enumerate(providers):
        uuid = f'20000000-0000-0000-0000-00000000000{number}'
        provider = Provider(uuid, f'gpu1_{address}', 1, ROOT, ROOT)
        inventories = {name: Inventory(1)} if name else {}
        states.append(ProviderState(provider, inventories, traits=frozenset(MANAGED)))
        for consumer, amount in held.items():
            allocations = {**consumers[consumer].allocations, uuid: {name: amount}}
            consumers[consumer] = Consumer(consumer, allocations)
    return Snapshot(states, consumers.values())


def test_another_card_in_the_slot_is_named_and_left_out():
    cloud = with_devices(('0000:81:00.0', 'CUSTOM_PCI_10DE_2204', {}))
    entries, contradictions = made([device('0000:81:00.0'), device('0000:82:00.0')], of=cloud)
    assert list(entries) == ['gpu1_0000:82:00.0']
    assert contradictions == [
        'gpu1_0000:81:00.0 has CUSTOM_PCI_10DE_2204 in Placement, and the listed device is '
        f'{CLASS}: another card?'
    ]


def test_a_device_that_placement_has_already_is_compared():
    cloud = with_devices(
        ('0000:81:00.0', CLASS, {SERVERS[0]: 1}),
        ('0000:82:00.0', CLASS, {}),
        ('0000:83:00.0', CLASS, {SERVERS[1]: 1}),
        ('0000:84:00.0', '', {}),
        s0={'VCPU': 1},
        s1={'VCPU': 1},
    )
    rows = [
        device('0000:81:00.0', used=SERVERS[0]),
        device('0000:82:00.0', used=SERVERS[1]),
        device('0000:83:00.0'),
        device('0000:84:00.0'),
    ]
    entries, contradictions = made(rows, of=cloud)
    assert list(entries) == ['gpu1_0000:84:00.0']
    assert contradictions == [
        f'{SERVERS[1]} holds 0 {CLASS} on gpu1_0000:82:00.0, and has 1 listed device there',
        f'{SERVERS[1]} holds 1 {CLASS} on gpu1_0000:83:00.0, and has 0 listed devices there',
    ]


def test_the_number_of_functions_of_a_provider_is_compared():
    functions = [device(f'0000:81:00.{n}', 'type-VF', '0000:81:00.0') for n in (1, 2)]
    cloud = with_devices(('0000:81:00.0', 'CUSTOM_PCI_8086_10ED', {}))
    entries, contradictions = made(functions, of=cloud)
    reason = 'gpu1_0000:81:00.0 has 1 CUSTOM_PCI_8086_10ED in Placement, and 2 listed devices'
    assert (entries, contradictions) == ({}, [reason])


@pytest.mark.parametrize('tags', [{'vendor_id': '10de'}, {'physical_network': 'physnet1'}])
def test_a_provider_that_no_row_explains_is_named(tags):
    cloud = with_devices(('0000:81:00.0', CLASS, {}))
    entries, contradictions = made([device('0000:81:00.0')], tags, of=cloud)
    assert entries == {}
    assert contradictions == [
        'gpu1_0000:81:00.0 is in Placement, but no listed device matches a device_spec: '
        'nova-compute removes it when it starts, and fails if a server uses it'
    ]


PHYSICAL = device('0000:81:00.0', 'type-PF')
FUNCTION = device('0000:81:00.1', 'type-VF', '0000:81:00.0')


@pytest.mark.parametrize(
    ('devices', 'specs', 'message'),
    [
        ([PHYSICAL, FUNCTION], [{}], 'is listed together with 0000:81:00.0'),
        ([FUNCTION, PHYSICAL], [{}], 'is listed together with 0000:81:00.1'),
        (
            [FUNCTION, device('0000:81:00.2', 'type-VF', '0000:81:00.0')],
            [{'address': '0000:81:00.2', 'resource_class': 'PGPU'}, {}],
            'is PGPU, and 0000:81:00.1 is CUSTOM_PCI_8086_10ED',
        ),
        (
            [FUNCTION, device('0000:81:00.2', 'type-VF', '0000:81:00.0')],
            [{'address': '0000:81:00.2', 'traits': 'A'}, {}],
            'has other traits than 0000:81:00.1',
        ),
        ([FUNCTION], [{'one_time_use': 'false'}], 'one_time_use is only for devices'),
        ([device('0000:81:00.1', 'type-VF')], [{}], 'a virtual function without parent_addr'),
    ],
)
def test_devices_that_nova_refuses_are_an_error_with_their_line(devices, specs, message):
    with pytest.raises(errors.BadFile, match=message) as caught:
        made(devices, *specs)
    assert str(caught.value).startswith('pci.csv:7: gpu1 0000:81:00.')
