# SPDX-License-Identifier: Apache-2.0
"""Lists of hosts, nodes, ports and limits, in all the forms that they come in."""

import pytest
from msgspec import UNSET

from placementclient.basis import errors
from placementclient.model.network import PortGroup, Subnet
from placementclient.nova import host_records
from placementclient.nova.schema import decode_records

HYPERVISOR = {
    'id': '1BB62A04-c576-402c-8147-9e89757a09e3', 'hypervisor_hostname': 'host1.example.com',
    'hypervisor_type': 'QEMU', 'hypervisor_version': 6002000, 'host_ip': '192.0.2.1',
    'cpu_info': {'arch': 'x86_64', 'features': ['pge']}, 'state': 'up', 'status': 'enabled',
    'service': {'host': 'host1', 'id': '62f62f6e-a713-4cbe-87d3-3ecf8a1e0f8d',
                'disabled_reason': None},
    'vcpus': 2, 'vcpus_used': 0, 'memory_mb': 8192, 'memory_mb_used': 512, 'local_gb': 1028,
    'local_gb_used': 0, 'running_vms': 0, 'current_workload': 0, 'disk_available_least': 0,
}  # fmt: skip
AMOUNTS = ('vcpus', 'memory_mb', 'local_gb')


@pytest.mark.parametrize(
    ('fields', 'is_enabled', 'is_up'),
    [
        ({'status': 'enabled', 'state': 'up'}, True, True),
        ({'status': 'disabled', 'state': 'down'}, False, False),
        ({'status': 'disabled', 'state': 'up', 'forced_down': True}, False, False),
        # A cell that does not answer.
        ({'status': 'UNKNOWN'}, None, False),
    ],
)
def test_a_service_is_enabled_and_up(fields, is_enabled, is_up):
    listed = [{'host': 'h', **fields}, {'host': 'h', 'binary': 'nova-scheduler'}]
    [service] = host_records.decode_compute_services({'services': listed}, 'x.json')
    assert (service.is_enabled, service.is_up) == (is_enabled, is_up)


def amounts(hypervisor):
    return hypervisor.totals, hypervisor.used, hypervisor.running_vms


def test_hypervisors_of_the_api_are_read():
    document = {'hypervisors': [HYPERVISOR], 'hypervisors_links': []}
    [read] = host_records.decode_hypervisors(document, 'x.json')
    assert (read.node, read.uuid, read.host, read.type) == (
        'host1.example.com', '1bb62a04-c576-402c-8147-9e89757a09e3', 'host1', 'QEMU'
    )  # fmt: skip
    assert amounts(read) == (
        {'VCPU': 2, 'MEMORY_MB': 8192, 'DISK_GB': 1028},
        {'VCPU': 0, 'MEMORY_MB': 512, 'DISK_GB': 0},
        0,
    )


def test_hypervisors_of_openstackclient_are_read():
    record = {
        'ID': '3', 'Hypervisor Hostname': 'h', 'Hypervisor Type': 'QEMU', 'Host IP': '192.0.2.1',
        'State': 'up', 'vCPUs Used': 1, 'vCPUs': 8, 'Memory MB Used': 512, 'Memory MB': 4096,
    }  # fmt: skip
    [read] = host_records.decode_hypervisors([record], 'x.json')
    assert (read.node, read.uuid, read.host, read.type) == ('h', None, None, 'QEMU')
    assert amounts(read) == ({'VCPU': 8, 'MEMORY_MB': 4096}, {'VCPU': 1, 'MEMORY_MB': 512}, None)


def test_hypervisors_from_api_2_88_on_have_no_amounts():
    record = {
        name: value
        for name, value in HYPERVISOR.items()
        if not name.startswith(AMOUNTS) and name != 'running_vms'
    }
    [read] = host_records.decode_hypervisors([record], 'x.json')
    assert amounts(read) == ({}, {}, None)


NODE = {
    'uuid': 'AB', 'name': 'rack1', 'instance_uuid': None, 'provision_state': 'available',
    'target_provision_state': None, 'power_state': 'power off', 'maintenance': False,
    'reservation': None, 'resource_class': 'gold.large', 'properties': {}, 'traits': [],
}  # fmt: skip


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({}, {}),
        ({'instance_uuid': 'S'}, {'instance_uuid': 's'}),
        ({'maintenance': True}, {'reserving_fields': {'maintenance': True}}),
        ({'retired': True}, {'reserving_fields': {'retired': True}}),
        ({'power_state': None}, {'reserving_fields': {'power_state': None}}),
        ({'power_state': 'error'}, {'reserving_fields': {'power_state': 'error'}}),
        ({'reservation': 'conductor1'}, {'is_busy': True}),
        ({'target_provision_state': 'active'}, {'is_busy': True}),
        ({'resource_class': None}, {'resource_class': None}),
    ],
)
def test_nodes_of_the_api_are_read(changes, expected):
    fields = {
        'uuid': 'ab', 'name': 'rack1', 'state': 'available', 'resource_class': 'gold.large',
        'instance_uuid': None, 'is_busy': False, 'reserving_fields': {},
    } | expected  # fmt: skip
    [node] = host_records.decode_baremetal_nodes(
        {'nodes': [NODE | changes], 'next': None}, 'x.json'
    )
    assert {name: getattr(node, name) for name in fields} == fields


def test_nodes_of_openstackclient_are_read():
    record = {
        'UUID': 'ab', 'Name': None, 'Instance UUID': 's', 'Power State': 'power on',
        'Provisioning State': 'active', 'Maintenance': False, 'Resource Class': 'gold',
    }  # fmt: skip
    [node] = host_records.decode_baremetal_nodes([record], 'x.json')
    assert (node.uuid, node.state, node.resource_class, node.instance_uuid) == (
        'ab', 'active', 'gold', 's'
    )  # fmt: skip
    assert (node.is_busy, node.reserving_fields) == (False, {})


@pytest.mark.parametrize('field', ['resource_class', 'power_state', 'maintenance'])
def test_a_list_of_nodes_without_deciding_fields_is_refused(field):
    short = {name: value for name, value in NODE.items() if name != field}
    with pytest.raises(errors.BadFile, match=r'x\.json: nodes\[0\]: .* --long'):
        host_records.decode_baremetal_nodes([short], 'x.json')


BANDWIDTH = {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}
PORT = {
    'id': 'p', 'device_id': 'S', 'device_owner': 'compute:nova', 'binding:host_id': 'host1',
    'binding:profile': {'allocation': {'g': 'RP'}, 'pci_slot': '0000:81:00.0'},
    'binding:vnic_type': 'direct', 'status': 'ACTIVE', 'fixed_ips': [],
    'resource_request': {
        'request_groups': [
            {'id': 'g', 'required': ['CUSTOM_PHYSNET_1'], 'resources': BANDWIDTH},
        ],
        'same_subtree': ['g'],
    },
}  # fmt: skip


def test_ports_with_request_groups_are_read():
    [port] = host_records.decode_bound_ports({'ports': [PORT]}, 'x.json')
    assert (port.uuid, port.server_uuid, port.host, port.vnic_type) == ('p', 's', 'host1', 'direct')
    assert port.groups == (PortGroup('g', BANDWIDTH, ('CUSTOM_PHYSNET_1',)),)
    assert (port.providers, port.same_subtree) == ({'g': 'rp'}, ('g',))


def test_ports_of_older_releases_are_read():
    old = {
        'resource_request': {'required': [], 'resources': BANDWIDTH},
        'binding:profile': {'allocation': 'RP'},
    }
    [port] = host_records.decode_bound_ports([PORT | old], 'x.json')
    assert port.groups == (PortGroup('p', BANDWIDTH),)
    assert (port.providers, port.same_subtree) == ({'p': 'rp'}, ())


@pytest.mark.parametrize(
    'changes',
    [
        {'device_id': ''},
        {'device_owner': 'network:dhcp'},
        {'device_owner': 'trunk:subport'},
        {'binding:host_id': ''},
        {'resource_request': None},
        {'resource_request': {'request_groups': [], 'same_subtree': []}},
        {'resource_request': {'required': [], 'resources': {}}},
    ],
)
def test_ports_without_resource_request_or_binding_are_passed_over(changes):
    assert host_records.decode_bound_ports([PORT | changes], 'x.json') == []


def test_an_absent_field_of_a_port_or_a_subnet_is_not_null():
    """A port that requires nothing is known; of one without the field nothing is."""
    null = PORT | {'resource_request': None}
    unknown = {name: value for name, value in PORT.items() if name != 'resource_request'}
    ports = host_records.decode_server_ports([null, unknown | {'id': 'q'}], 'x.json')
    assert [port.request for port in ports] == [None, UNSET]
    subnets = [{'id': 'a', 'segment_id': None}, {'id': 'b', 'cidr': 'n'}]
    assert [s.segment_id for _, s in decode_records(subnets, 'x.json', Subnet)] == [None, UNSET]


def test_a_list_of_ports_without_resource_requests_is_refused():
    short = {name: value for name, value in PORT.items() if name != 'resource_request'}
    with pytest.raises(errors.BadFile, match=r'x\.json: ports: has no resource_request'):
        host_records.decode_bound_ports([short], 'x.json')
    assert host_records.decode_bound_ports([], 'x.json') == []


def test_agents_have_the_bandwidths_of_their_devices():
    bandwidths = {'eth0': {'egress': 10, 'ingress': 20}, 'eth1': {'egress': 0, 'ingress': None}}
    agent = {'id': 'a', 'agent_type': 'NIC Switch agent', 'host': 'host', 'resources_synced': False}
    configured = {
        'resource_provider_bandwidths': bandwidths,
        'resource_provider_hypervisors': {'eth0': 'host.example.com'},
    }
    [read] = host_records.decode_network_agents(
        {'agents': [agent | {'configurations': configured}]}, ''
    )
    assert (read.type, read.host, read.is_synced) == ('NIC Switch agent', 'host', False)
    assert read.bandwidths == {
        ('host.example.com', 'eth0'): {
            'NET_BW_EGR_KILOBIT_PER_SEC': 10,
            'NET_BW_IGR_KILOBIT_PER_SEC': 20,
        },
        ('host', 'eth1'): {},
    }
    [silent] = host_records.decode_network_agents([agent | {'configurations': {}}], '')
    assert silent.bandwidths is None
    with pytest.raises(errors.BadFile, match='has no configurations'):
        host_records.decode_network_agents([agent], '')


def test_the_addresses_of_a_segment_are_those_of_its_pools_and_gateways():
    def subnet(number, start, end, **fields):
        pools = [{'start': start, 'end': end}]
        return {
            'id': str(number), 'segment_id': 's', 'ip_version': 4, 'allocation_pools': pools
        } | fields  # fmt: skip

    subnets = [
        subnet(1, '192.0.2.2', '192.0.2.10', gateway_ip='192.0.2.1'),
        subnet(2, '198.51.100.2', '198.51.100.3', gateway_ip=None),
        subnet(3, '2001:db8::2', '2001:db8::3', ip_version=6),
        subnet(4, '203.0.113.2', '203.0.113.3', segment_id=None),
    ]
    assert host_records.count_segment_addresses({'subnets': subnets}, '') == {'s': 12}
    with pytest.raises(errors.BadFile, match=r'a to b are no IPv4 addresses'):
        host_records.count_segment_addresses([subnet(5, 'a', 'b')], '')


def test_subnets_that_all_lack_their_segment_are_refused():
    with pytest.raises(errors.BadFile, match=r'has no segment_id, .* GET /v2.0/subnets has it'):
        host_records.count_segment_addresses(
            [{'ID': 'a', 'cidr': 'n'}, {'ID': 'b', 'cidr': 'n'}], ''
        )
    some = [{'id': 'a', 'segment_id': None}, {'id': 'b'}]
    assert host_records.count_segment_addresses(some, '') == {}
