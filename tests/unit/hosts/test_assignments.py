# SPDX-License-Identifier: Apache-2.0
import pytest

from placementclient.hosts import assignments
from placementclient.hosts.libvirt import Domain, HostFacts, MediatedDevice
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.hosts.libvirt_output import GPU0, GPU1, MDEVS, SERVERS

ROOT = '10000000-0000-0000-0000-000000000001'


def facts(*domains, host='gpu1', **parents):
    """:param parents: of the mediated devices, ``m0`` for the first"""
    mdevs = {
        MDEVS[int(name[1])]: (
            MediatedDevice(MDEVS[int(name[1])], parent, 'nvidia-699', f'{name}.xml'),
        )
        for name, parent in parents.items()
    }
    return HostFacts(host, f'{host}.tar', domains, mdevs, {0: 0, 1: 0, 2: 1, 3: 1})


def snapshot(**allocated):
    """:param allocated: what the servers hold on the host, ``s0`` for the first"""
    state = ProviderState(
        Provider(ROOT, 'gpu1', 1, None, ROOT),
        {'VGPU': Inventory(8), 'VCPU': Inventory(64), 'MEMORY_MB': Inventory(65536)},
    )
    return Snapshot(
        [state],
        [
            Consumer(SERVERS[int(name[1])], {ROOT: resources})
            for name, resources in allocated.items()
        ],
    )


def outcome(prove, *facts):
    rows, contradictions = assignments.split_findings(prove(*facts))
    return rows, [(contradiction.subject, contradiction.reason) for contradiction in contradictions]


def test_servers_are_assigned_to_the_cards_of_their_devices():
    one = Domain(SERVERS[0], 's0.xml', (MDEVS[0], MDEVS[1]))
    two = Domain(SERVERS[1], 's1.xml', (MDEVS[2], MDEVS[3]))
    rows, contradictions = outcome(
        assignments.assign_mediated_devices,
        [facts(one, two, m0=GPU0, m1=GPU0, m2=GPU0, m3=GPU1)],
        snapshot(s0={'VGPU': 2}, s1={'VGPU': 2}),
    )
    assert [(row.consumer_uuid, row.amount, row.to_provider) for row in rows] == [
        (SERVERS[0], 2, f'gpu1_{GPU0}'),
        (SERVERS[1], 1, f'gpu1_{GPU0}'),
        (SERVERS[1], 1, f'gpu1_{GPU1}'),
    ]
    assert rows[0].evidence == f'mdev {MDEVS[0]}, {MDEVS[1]} on gpu1'
    assert contradictions == []


def test_a_mediated_device_has_the_class_of_its_type():
    one = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    rows, _ = outcome(
        assignments.assign_mediated_devices,
        [facts(one, m0='pci_0000_84_00_4')],
        None,
        {'nvidia-699': 'CUSTOM_A40_16Q'},
    )
    (row,) = rows
    assert (row.resource_class, row.to_provider) == ('CUSTOM_A40_16Q', 'gpu1_pci_0000_84_00_4')


def test_assignments_are_written_beside_servers_that_are_named_as_contradictions():
    certain = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    nowhere = Domain(SERVERS[1], 's1.xml', (MDEVS[1],))
    unknown = Domain('99999999-23e4-44d7-b7ab-15cbc5b5e5a8', 's9.xml', (MDEVS[2],))
    rows, contradictions = outcome(
        assignments.assign_mediated_devices,
        [facts(certain, nowhere, unknown, m0=GPU0, m2=GPU1)],
        snapshot(s0={'VGPU': 1}, s1={'VGPU': 1}, s2={'VGPU': 1}),
    )
    assert [row.consumer_uuid for row in rows] == [SERVERS[0]]
    assert contradictions == [
        (MDEVS[1], f'is attached to server {SERVERS[1]}, and nothing says where it is'),
        (unknown.uuid, 'is defined on gpu1, and holds nothing there in Placement'),
    ]


def test_assignments_name_a_server_with_another_amount_than_allocated():
    one = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    rows, contradictions = outcome(
        assignments.assign_mediated_devices, [facts(one, m0=GPU0)], snapshot(s0={'VGPU': 2})
    )
    assert rows == []
    assert contradictions == [
        (SERVERS[0], 'has 1 mediated devices of VGPU, and 2 VGPU is allocated to it')
    ]


@pytest.mark.parametrize(
    ('devices', 'reason'),
    [
        ([(GPU0, ''), (GPU1, '')], f'is on several devices of gpu1: {GPU0}, {GPU1}'),
        ([(GPU0, 'b'), (GPU0, 'a')], 'has several types: a, b'),
    ],
)
def test_assignments_name_a_device_about_which_files_differ(devices, reason):
    one = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    described = tuple(MediatedDevice(MDEVS[0], *device, 'a.xml') for device in devices)
    host = HostFacts('gpu1', 'gpu1.tar', (one,), {MDEVS[0]: described})
    assert outcome(assignments.assign_mediated_devices, [host]) == (
        [],
        [(MDEVS[0], f'{reason}; it is attached to server {SERVERS[0]}')],
    )


def test_assignments_name_a_device_that_two_servers_have():
    one, two = (Domain(server, f'{server}.xml', (MDEVS[0],)) for server in SERVERS[:2])
    twice = Domain(SERVERS[2], 's2.xml', (MDEVS[1], MDEVS[1]))
    rows, contradictions = outcome(
        assignments.assign_mediated_devices, [facts(one, two, twice, m0=GPU0, m1=GPU1)]
    )
    assert rows == []
    other = 'one of them has another device'
    assert [reason for _, reason in dict.fromkeys(contradictions)] == [
        f'is attached to server {SERVERS[0]} and to server {SERVERS[1]}: {other}',
        f'is attached to server {SERVERS[1]} and to server {SERVERS[0]}: {other}',
        f'is attached to server {SERVERS[2]} twice: {other}',
    ]


@pytest.mark.parametrize(
    ('parents', 'is_active', 'fits'),
    [(None, False, True), ({GPU0}, False, True), ({GPU1}, False, False), ({GPU1}, True, True)],
)
def test_assignments_name_a_defined_device_on_an_address_that_is_gone(parents, is_active, fits):
    one = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    device = MediatedDevice(MDEVS[0], GPU0, 'nvidia-699', 'd.json', is_active)
    present = None if parents is None else frozenset(parents)
    host = HostFacts('gpu1', 'gpu1.tar', (one,), {MDEVS[0]: (device,)}, parents=present)
    rows, contradictions = outcome(assignments.assign_mediated_devices, [host])
    reason = (
        f'is attached to server {SERVERS[0]}, and is only defined, on {GPU0}, a device that gpu1 '
        'does not have now'
    )
    assert (len(rows), contradictions) == ((1, []) if fits else (0, [(MDEVS[0], reason)]))


@pytest.mark.parametrize(
    ('domain', 'state'),
    [
        (Domain(SERVERS[0], 's0.xml', is_running=True), 'is running'),
        (Domain(SERVERS[0], 's0.xml'), 'is shut off'),
        (
            Domain(SERVERS[0], 's0.xml', functions=('0000:84:00.4',), is_running=True),
            'has the PCI devices 0000:84:00.4, as with a VFIO variant driver',
        ),
    ],
)
def test_assignments_say_the_state_of_a_server_without_a_mediated_device(domain, state):
    _, contradictions = outcome(
        assignments.assign_mediated_devices, [facts(domain)], snapshot(s0={'VGPU': 1})
    )
    reason = f'holds 1 VGPU on gpu1, {state}, and has no mediated device'
    assert contradictions == [(SERVERS[0], reason)]


def test_assignments_name_a_server_that_is_on_two_hosts():
    here, elsewhere = (Domain(SERVERS[0], f'{host}/s0.xml', (MDEVS[0],)) for host in ('a', 'b'))
    rows, contradictions = outcome(
        assignments.assign_mediated_devices,
        [facts(here, host='a', m0=GPU0), facts(elsewhere, host='b', m0=GPU0)],
    )
    assert rows == []
    assert contradictions == [
        (SERVERS[0], 'is on several hosts, as in a migration: a/s0.xml, b/s0.xml')
    ]


def test_servers_are_assigned_to_their_numa_cells():
    bound = Domain(SERVERS[0], 's0.xml', nodeset=frozenset({1}))
    pinned = Domain(SERVERS[1], 's1.xml', cpus=frozenset({0, 1}))
    spanning = Domain(SERVERS[2], 's2.xml', nodeset=frozenset({0, 1}))
    loose = Domain(SERVERS[3], 's3.xml')
    allocated = {'VCPU': 4, 'MEMORY_MB': 512}
    rows, contradictions = outcome(
        assignments.assign_numa_cells,
        [facts(bound, pinned, spanning, loose)],
        snapshot(s0=allocated, s1=allocated, s2=allocated, s3=allocated),
    )
    assert [(row.consumer_uuid, row.resource_class, row.to_provider) for row in rows] == [
        (SERVERS[0], 'VCPU', 'gpu1_NUMA1'),
        (SERVERS[0], 'MEMORY_MB', 'gpu1_NUMA1'),
        (SERVERS[1], 'VCPU', 'gpu1_NUMA0'),
        (SERVERS[1], 'MEMORY_MB', 'gpu1_NUMA0'),
    ]
    assert contradictions == [
        (SERVERS[2], 'spans the NUMA cells 0, 1'),
        (SERVERS[3], 'is not bound to a NUMA cell'),
    ]
