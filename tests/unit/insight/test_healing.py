# SPDX-License-Identifier: Apache-2.0
"""What servers without allocations should hold, and of which that is not known."""

import pytest
from msgspec.structs import replace

from placementclient.insight.healing import LEFT_ALONE, UNKNOWN, find_heals
from placementclient.model.consumers import Consumer
from placementclient.model.network import Port, PortGroup, PortProfile, PortRequest
from placementclient.model.servers import Flavor, Server
from tests.unit.insight.clouds import cloud, consumer, pool, provider

FLAVOR = Flavor('m', 4, 2048, 20, 10, 1025)
SERVER = Server('s', node='host1', flavor=FLAVOR, project_id='p', user_id='u')
PLAIN = {'VCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 32}
CLOUD = cloud(
    [
        provider('host1', VCPU=64, PCPU=8, MEMORY_MB=65536, DISK_GB=1000, VGPU=8, CUSTOM_BM=1),
        provider('host2', MEMORY_MB=65536, DISK_GB=1000),
        provider('host2_numa0', 'host2', VCPU=8),
        provider('host3', VCPU=8, MEMORY_MB=65536, DISK_GB=1000),
        provider('host3_numa0', 'host3', VCPU=8),
        provider('host4', VCPU=8),
        replace(provider('host4_numa0', 'host4', VCPU=8), usages={'VCPU': 1}),
    ],
    [consumer('other', host1={'VCPU': 1}), consumer('elsewhere', host2_numa0={'VCPU': 1})],
)


def heal(server, *migrating, snapshot=CLOUD, ports=()):
    [result] = find_heals(snapshot, [server], migrating, {'s': ports})
    return result


def with_specs(**specs):
    return replace(FLAVOR, extra_specs=specs)


@pytest.mark.parametrize(
    ('changes', 'resources'),
    [
        ({}, PLAIN),
        ({'image': None}, PLAIN | {'DISK_GB': 12}),
        ({'flavor': Flavor('m', 1, 64, 5), 'image': None},
         {'VCPU': 1, 'MEMORY_MB': 64}),
        ({'flavor': with_specs(**{'hw:cpu_policy': 'dedicated'})},
         {'PCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 32}),
        ({'flavor': with_specs(**{'resources:DISK_GB': '7'}), 'image': None},
         PLAIN | {'DISK_GB': 7}),
        ({'flavor': with_specs(**{'resources1:PCPU': '1', 'resources2:PCPU': '3'})},
         {'PCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 32}),
    ],
)  # fmt: skip
def test_heal_takes_the_amounts_of_the_flavor(changes, resources):
    result = heal(replace(SERVER, **changes))
    assert (result.state, result.reason, result.resources) == ('', '', resources)
    assert result.consumer == Consumer('s', {'host1': resources}, 'p', 'u', type='INSTANCE')


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'flavor': None}, 'its flavor with extra specs is not known'),
        ({'flavor': with_specs(**{'resources:VGPU': '1'})},
         'the lists do not say which VGPU it has'),
        ({'flavor': with_specs(**{'resources1:VGPU': '1', 'accel:device_profile': 'a'})},
         'the lists do not say which accel:device_profile, VGPU it has'),
        ({'flavor': with_specs(**{'pci_passthrough:alias': 'a:1'})},
         'the lists do not say which pci_passthrough:alias it has'),
        ({'node': 'host9'}, 'there is no resource provider host9'),
        ({'node': 'host2'}, 'host2 itself has no VCPU'),
        ({'node': 'host3'}, '2 providers of host3 have VCPU'),
        ({'node': 'host4'}, 'host4 has usage without a consumer, which may be of this server'),
        ({'flavor': Flavor('m', 0, 0)}, 'its flavor asks for nothing'),
    ],
)  # fmt: skip
def test_heal_names_what_it_does_not_know(changes, reason):
    result = heal(replace(SERVER, **changes))
    assert (result.state, result.reason, result.consumer) == (UNKNOWN, reason, None)


def test_heal_leaves_a_server_alone_whose_resize_waits():
    result = heal(replace(SERVER, status='resized'))
    reason = 'a resize waits to be confirmed or reverted'
    assert (result.state, result.reason, result.consumer) == (LEFT_ALONE, reason, None)


def test_heal_passes_over_servers_with_allocations_or_without_a_host():
    owned = replace(SERVER, project_id='project', user_id='user')
    servers = [replace(owned, uuid=uuid) for uuid in ('other', 'elsewhere')]
    assert not list(find_heals(CLOUD, [*servers, replace(owned, node=None)], ()))


@pytest.mark.parametrize('owner', [('other', 'u'), ('p', 'other'), (None, None)])
def test_heal_corrects_owners(owner):
    allocated = Consumer('s', {'host2': {'VCPU': 1}}, *owner, generation=4, type='INSTANCE')
    result = heal(replace(SERVER, flavor=None), snapshot=cloud([], [allocated]))
    assert (result.lacks, result.state, result.resources) == ('owner', '', {})
    assert result.consumer == replace(allocated, project_id='p', user_id='u')


BANDWIDTH = 'NET_BW_EGR_KILOBIT_PER_SEC'


def owned(**allocations):
    return Consumer('s', allocations, 'p', 'u', 1, 'INSTANCE')


def wired(*consumers):
    """A host with two NICs on two networks, of which the second appears twice."""
    nics = {'nic1': 'CUSTOM_A', 'nic2': 'CUSTOM_B', 'nic3': 'CUSTOM_B'}
    return cloud(
        [
            provider('host1', VCPU=64, MEMORY_MB=65536, DISK_GB=1000),
            *(
                replace(provider(name, 'host1', **{BANDWIDTH: 9000}), traits=frozenset({trait}))
                for name, trait in nics.items()
            ),
        ],
        consumers,
    )


WIRED = wired(owned(host1=PLAIN))


def port(noted=None, *traits, amount=1000):
    request = PortRequest(request_groups=(PortGroup('g', {BANDWIDTH: amount}, traits),))
    return Port('port', 's', request, PortProfile({'g': noted} if noted else None))


@pytest.mark.parametrize(
    ('ports', 'allocated'),
    [
        ([port('nic2')], {'nic2': {BANDWIDTH: 1000}}),
        ([port(None, 'CUSTOM_A')], {'nic1': {BANDWIDTH: 1000}}),
        ([port('nic2'), port('nic2', amount=500)], {'nic2': {BANDWIDTH: 1500}}),
        (
            [port('nic2'), port(None, 'CUSTOM_A', amount=500)],
            {'nic1': {BANDWIDTH: 500}, 'nic2': {BANDWIDTH: 1000}},
        ),
    ],
)
def test_heal_adds_the_amounts_of_ports(ports, allocated):
    for snapshot in (wired(), WIRED):
        result = heal(SERVER, snapshot=snapshot, ports=ports)
        assert result.state == ''
        assert result.consumer is not None
        assert result.consumer.allocations == {'host1': PLAIN, **allocated}
        assert (result.consumer.project_id, result.consumer.user_id) == ('p', 'u')
    complete = wired(owned(host1=PLAIN, **allocated))
    assert list(find_heals(complete, [SERVER], (), {'s': ports})) == []


@pytest.mark.parametrize(
    ('requested', 'reason'),
    [
        (port(None, 'CUSTOM_B'), '2 providers of host1 can serve its port port'),
        (port(None, 'CUSTOM_C'), '0 providers of host1 can serve its port port'),
        (port('gone'), '0 providers of host1 can serve its port port'),
    ],
)
def test_heal_leaves_out_a_port_whose_provider_is_not_known(requested, reason):
    result = heal(SERVER, snapshot=WIRED, ports=[requested])
    assert (result.state, result.reason, result.consumer) == (UNKNOWN, reason, None)


def test_heal_names_amounts_on_providers_without_a_port():
    elsewhere = wired(owned(host1=PLAIN, nic2={BANDWIDTH: 1000}))
    result = heal(SERVER, snapshot=elsewhere, ports=[port('nic1')])
    assert result.state == UNKNOWN
    assert result.reason == f'it holds {BANDWIDTH} on nic2, which serves no port of it'


AMOUNTS = cloud(
    [
        provider('host1', VCPU=64, MEMORY_MB=65536, DISK_GB=1000),
        provider('numa0', 'host1', PCPU=64, CUSTOM_GOLD=1),
        provider('numa1', 'host1', PCPU=64),
        pool('nfs', DISK_GB=1000),
    ]
)


def with_amounts(allocations, **changes):
    """Return what ``heals`` says of a server that holds something already."""
    snapshot = cloud(AMOUNTS.providers.values(), [owned(**allocations)])
    server = replace(SERVER, **{'vm_state': 'active', 'task': None, **changes})
    return list(find_heals(snapshot, [server], (), amounts=True))


@pytest.mark.parametrize(
    ('allocations', 'changes', 'expected'),
    [
        ({'host1': PLAIN | {'VCPU': 8}}, {}, {'host1': PLAIN}),
        ({'host1': {'VCPU': 4}}, {}, {'host1': PLAIN}),
        # On the pool of its host, and for the dedicated CPUs of its image.
        (
            {'host1': {'VCPU': 4, 'MEMORY_MB': 1}, 'nfs': {'DISK_GB': 5}}, {},
            {'host1': {'VCPU': 4, 'MEMORY_MB': 2048}, 'nfs': {'DISK_GB': 32}},
        ),
        (
            {'host1': {'MEMORY_MB': 2048, 'DISK_GB': 32}, 'numa0': {'PCPU': 2}}, {},
            {'host1': {'MEMORY_MB': 2048, 'DISK_GB': 32}, 'numa0': {'PCPU': 4}},
        ),
        # What it does not need goes, and with it a provider.
        (
            {'host1': {'VCPU': 4, 'MEMORY_MB': 2048}, 'nfs': {'DISK_GB': 32}},
            {'image': None, 'flavor': Flavor('m', 4, 2048, 20)},
            {'host1': {'VCPU': 4, 'MEMORY_MB': 2048}},
        ),
        # Classes of ports, devices and images stay.
        (
            {'host1': PLAIN | {'VCPU': 1, BANDWIDTH: 5, 'MEM_ENCRYPTION_CONTEXT': 1},
             'numa0': {'CUSTOM_GOLD': 1}}, {'vm_state': 'stopped'},
            {'host1': PLAIN | {BANDWIDTH: 5, 'MEM_ENCRYPTION_CONTEXT': 1},
             'numa0': {'CUSTOM_GOLD': 1}},
        ),
    ],
)  # fmt: skip
def test_heal_of_amounts_sets_those_of_the_flavor(allocations, changes, expected):
    [result] = with_amounts(allocations, **changes)
    assert (result.lacks, result.state, result.reason) == ('amounts', '', '')
    assert result.consumer == replace(owned(), allocations=expected)


@pytest.mark.parametrize(
    ('allocations', 'changes', 'state', 'reason'),
    [
        ({'host1': PLAIN | {'VCPU': 1}}, {'task': 'resize_prep'}, LEFT_ALONE,
         'it is under way: resize_prep'),
        ({'host1': PLAIN | {'VCPU': 1}}, {'vm_state': 'error'}, UNKNOWN, 'its state is error'),
        ({'host2': PLAIN | {'VCPU': 1}}, {}, UNKNOWN,
         'it has allocations on a host that is not its own, host1'),
        ({'host1': {'MEMORY_MB': 2048, 'DISK_GB': 32}, 'numa0': {'PCPU': 1}, 'numa1': {'PCPU': 1}},
         {}, UNKNOWN, 'it holds PCPU on 2 providers'),
        ({'host1': PLAIN | {'VCPU': 1}, 'numa0': {'PCPU': 1}}, {}, UNKNOWN,
         'how its CPUs are divided into shared and dedicated ones'),
        ({'host1': {'MEMORY_MB': 2048, 'DISK_GB': 32}},
         {'flavor': with_specs(**{'hw:cpu_policy': 'dedicated'})}, UNKNOWN,
         '2 providers of host1 have PCPU'),
        ({'host1': PLAIN}, {'flavor': with_specs(**{'resources:VGPU': '1'})}, UNKNOWN,
         'the lists do not say which VGPU it has'),
        ({'host1': PLAIN}, {'flavor': None}, UNKNOWN, 'its flavor with extra specs is not known'),
    ],
)  # fmt: skip
def test_heal_keeps_amounts_that_it_does_not_know(allocations, changes, state, reason):
    [result] = with_amounts(allocations, **changes)
    assert (result.lacks, result.state, result.reason) == ('amounts', state, reason)


@pytest.mark.parametrize(
    ('allocations', 'changes'),
    [
        ({'host1': PLAIN}, {}),
        ({'host1': PLAIN, 'numa0': {'CUSTOM_GOLD': 1}}, {}),
        ({'host1': {'MEMORY_MB': 2048, 'DISK_GB': 32}, 'numa0': {'PCPU': 4}}, {}),
    ],
)
def test_heal_keeps_right_amounts(allocations, changes):
    assert with_amounts(allocations, **changes) == []
