# SPDX-License-Identifier: Apache-2.0
"""One record of each list that Nova, Neutron, Ironic, Keystone, Glance and Cinder answer.

The fields are those of the API references, of OpenStackClient (names with capitals) and of
OpenStack's SDK (with a location); the values are made up.
"""

from typing import Any

A, B = 'a0000000-0000-4000-8000-000000000001', 'b0000000-0000-4000-8000-000000000002'
_LINKS = {'links': [{'rel': 'self', 'href': 'http://cloud.example/x'}]}
_NAMED = {'id': A, 'name': 'one'}
_NETWORKED = _NAMED | {'tenant_id': B, 'project_id': B, 'status': 'ACTIVE', 'description': ''}
_FLAVOR = {'vcpus': 2, 'ram': 64, 'disk': 1, 'ephemeral': 0, 'swap': 0, 'original_name': 'small'}
_SERVER = _NAMED | _LINKS | {
    'status': 'ACTIVE', 'tenant_id': B, 'user_id': B, 'created': '2026-01-02T03:04:05Z',
    'updated': '2026-01-02T03:04:05Z', 'hostId': 'f', 'addresses': {}, 'accessIPv4': '',
    'image': {'id': B}, 'flavor': {'id': '1'}, 'metadata': {}, 'key_name': None,
    'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': 'active', 'OS-EXT-STS:power_state': 1,
    'OS-EXT-AZ:availability_zone': 'north',
}  # fmt: skip
_OWNED = _SERVER | {
    'OS-EXT-SRV-ATTR:host': 'h1', 'OS-EXT-SRV-ATTR:hypervisor_hostname': 'h1.example',
    'OS-EXT-SRV-ATTR:instance_name': 'i-1',
}  # fmt: skip
_EMBEDDED = _OWNED | {'flavor': _FLAVOR | {'extra_specs': {'a': '1'}}}
_HYPERVISOR = {'id': 1, 'hypervisor_hostname': 'h1', 'state': 'up', 'status': 'enabled'}
_AMOUNTS = {
    'vcpus': 8, 'vcpus_used': 2, 'memory_mb': 64, 'memory_mb_used': -1, 'local_gb': 9,
    'local_gb_used': 1, 'running_vms': 1, 'hypervisor_type': 'QEMU', 'free_disk_gb': -4,
    'service': {'host': 'h1', 'id': 1, 'disabled_reason': None}, 'host_ip': '192.0.2.1',
    'cpu_info': '', 'disk_available_least': -3, 'current_workload': 0, 'free_ram_mb': 2,
    'hypervisor_version': 1,
}  # fmt: skip
_MIGRATION = {
    'id': 7, 'instance_uuid': A, 'status': 'done', 'source_compute': 'h1', 'source_node': 'h1',
    'dest_compute': 'h2', 'dest_node': 'h2', 'dest_host': '192.0.2.2', 'old_instance_type_id': 1,
    'new_instance_type_id': 1, 'created_at': '2026-01-02T03:04:05', 'updated_at': None,
}  # fmt: skip
_SERVICE = {
    'id': 1, 'binary': 'nova-compute', 'host': 'h1', 'zone': 'north', 'status': 'enabled',
    'state': 'up', 'updated_at': '2026-01-02T03:04:05', 'disabled_reason': None,
}  # fmt: skip
_NODE = {
    'uuid': A, 'name': 'n1', 'instance_uuid': None, 'power_state': 'power off',
    'provision_state': 'available', 'maintenance': False, **_LINKS,
}  # fmt: skip
_AGENT = {
    'id': A, 'agent_type': 'Open vSwitch agent', 'binary': 'neutron-openvswitch-agent',
    'host': 'h1', 'alive': True, 'admin_state_up': True, 'topic': 'N/A', 'resources_synced': True,
}  # fmt: skip
_PORT = _NETWORKED | {
    'network_id': B, 'mac_address': '00:00:5e:00:53:01', 'device_id': B, 'fixed_ips': [],
    'device_owner': 'compute:north', 'security_groups': [],
}  # fmt: skip
_SUBNET = _NAMED | {
    'network_id': B, 'cidr': '192.0.2.0/24', 'ip_version': 4, 'gateway_ip': '192.0.2.1',
    'allocation_pools': [{'start': '192.0.2.2', 'end': '192.0.2.9'}], 'tenant_id': B,
    'enable_dhcp': True,
}  # fmt: skip
_LIMIT = {
    'id': A, 'resource_name': 'class:VCPU', 'service_id': B, 'region_id': None,
    'description': None, 'links': {'self': 'http://cloud.example/x'},
}  # fmt: skip
_KEYSTONE = _NAMED | {'links': {'self': 'http://cloud.example/x'}, 'description': None}
_AGGREGATE = {'id': 1, 'name': 'north', 'hosts': ['h1'], 'metadata': {}}
_GROUP = _NAMED | {'members': [B], 'metadata': {}}

#: The name of a list in its answer, a record of it, and who reads it; else it is refused.
ANSWERS: dict[str, tuple[str, dict[str, Any], str]] = {
    # Nova.
    'servers': ('servers', _NAMED | _LINKS, ''),
    'server details, of a member': ('servers', _SERVER, 'servers'),
    'server details': ('servers', _OWNED, 'servers, server_details'),
    'server details 2.47': ('servers', _EMBEDDED, 'servers, server_details'),
    'server details 2.98': (
        'servers',
        _EMBEDDED | {'pinned_availability_zone': None, 'scheduler_hints': {},
                     'image': {'id': B, 'properties': {'hw_disk_bus': 'virtio'}}},
        'servers, server_details',
    ),
    'servers of a silent cell': (
        'servers',
        {'id': A, 'status': 'UNKNOWN', 'tenant_id': B, 'created': '2026-01-02T03:04:05Z', **_LINKS},
        'servers, server_details',
    ),
    'server list': (
        'servers',
        {'ID': A, 'Name': 's', 'Status': 'ACTIVE', 'Networks': {}, 'Image': 'i', 'Flavor': 'm'},
        'servers',
    ),
    'server list --long': (
        'servers',
        {'ID': A, 'Name': 's', 'Status': 'DELETED', 'Task State': None, 'Power State': 1,
         'Networks': {}, 'Image Name': 'i', 'Image ID': B, 'Flavor': 'm', 'Host': 'h1',
         'Availability Zone': 'north', 'Properties': {}},
        # A server that is deleted needs no details.
        'servers, server_details',
    ),
    'servers of the SDK': (
        'servers',
        {'id': A, 'name': 's', 'status': 'ACTIVE', 'task_state': None, 'vm_state': 'active',
         'compute_host': 'h1', 'hypervisor_hostname': 'h1', 'host': None, 'addresses': {},
         'project_id': B, 'user_id': B, 'image': {}, 'location': None, 'updated_at': None,
         'flavor': _FLAVOR | {'id': 'small', 'name': 'small', 'extra_specs': {}, 'location': None}},
        'servers',
    ),
    'migrations': ('migrations', _MIGRATION, 'migrations'),
    'migrations 2.80': (
        'migrations',
        _MIGRATION | {'migration_type': 'resize', 'uuid': B, 'project_id': B, 'user_id': B},
        'migrations',
    ),
    'migration list': (
        'migrations',
        {'Id': 7, 'UUID': B, 'Source Node': 'h1', 'Dest Node': 'h2', 'Source Compute': 'h1',
         'Dest Compute': 'h2', 'Dest Host': '192.0.2.2', 'Status': 'done', 'Server UUID': A,
         'Old Flavor': 1, 'New Flavor': 1, 'Type': 'resize', 'Created At': '', 'Updated At': ''},
        'migrations',
    ),
    'events': (
        'events',
        {'server_uuid': A, 'name': 'network-changed', 'status': 'completed', 'code': 200,
         'tag': 't'},
        '',
    ),
    'services': ('services', _SERVICE, 'compute_services'),
    'services 2.69': (
        'services', {'binary': 'nova-compute', 'host': 'h1', 'status': 'UNKNOWN'},
        'compute_services',
    ),
    'service list': (
        'services',
        {'ID': A, 'Binary': 'nova-compute', 'Host': 'h1', 'Zone': 'north', 'Status': 'enabled',
         'State': 'up', 'Updated At': ''},
        'compute_services',
    ),
    'hypervisors': ('hypervisors', _HYPERVISOR, 'hypervisors'),
    'hypervisor details': ('hypervisors', _HYPERVISOR | _AMOUNTS, 'hypervisors'),
    'hypervisor details 2.53': (
        'hypervisors', _HYPERVISOR | _AMOUNTS | {'id': A, 'servers': [{'name': 's', 'uuid': B}]},
        'hypervisors',
    ),
    'hypervisor details 2.88': (
        'hypervisors',
        _HYPERVISOR | {'id': A, 'uptime': None, 'service': {'host': 'h1', 'id': B}},
        'hypervisors',
    ),
    'hypervisor list': (
        'hypervisors',
        {'ID': A, 'Hypervisor Hostname': 'h1', 'Hypervisor Type': 'QEMU', 'Host IP': '192.0.2.1',
         'State': 'up'},
        'hypervisors',
    ),
    'hypervisors of the SDK': (
        'hypervisors',
        {'id': A, 'name': 'h1', 'hypervisor_type': 'QEMU', 'state': 'up', 'status': 'enabled',
         'service_details': {'host': 'h1', 'id': B}, 'servers': [{'name': 's', 'uuid': B}],
         'memory_size': None, 'location': None},
        'hypervisors',
    ),
    'flavors': ('flavors', _NAMED | _LINKS, ''),
    'flavor details': ('flavors', _NAMED | _FLAVOR | {'original_name': None}, ''),
    'flavor details 2.61': (
        'flavors', _NAMED | _FLAVOR | {'original_name': None, 'extra_specs': {}, 'description': ''},
        'flavors',
    ),
    'flavor list --long': (
        'flavors',
        {'ID': '1', 'Name': 'm', 'RAM': 64, 'Disk': 1, 'Ephemeral': 0, 'VCPUs': 1,
         'Is Public': True, 'Swap': 0, 'RXTX Factor': 1.0, 'Properties': {'a': '1'}},
        'flavors',
    ),
    'flavors of the SDK, without extra specs': (
        'flavors', _NAMED | _FLAVOR | {'original_name': None, 'extra_specs': {}, 'location': None},
        '',
    ),
    'flavors of the SDK': (
        'flavors',
        _NAMED | _FLAVOR | {'original_name': None, 'extra_specs': {'a': '1'}, 'location': None},
        'flavors',
    ),
    'aggregates': ('aggregates', _AGGREGATE, ''),
    'aggregates 2.41': ('aggregates', _AGGREGATE | {'uuid': A}, 'aggregates'),
    'server groups': ('server_groups', _GROUP | {'policies': ['affinity']}, 'server_groups'),
    'server groups 2.64': (
        'server_groups', _GROUP | {'policy': 'anti-affinity', 'rules': {}}, 'server_groups',
    ),
    'quota sets': ('quotas', {'id': A, 'cores': 20, 'ram': -1, 'instances': 10}, 'quotas'),
    'quota list --compute': (
        'quotas', {'Project ID': A, 'Cores': 20, 'Instances': 10, 'Ram': -1}, 'quotas',
    ),
    # Keystone.
    'projects': (
        'projects', _KEYSTONE | {'is_domain': False, 'domain_id': B, 'enabled': True}, 'projects',
    ),
    'project list': ('projects', {'ID': A, 'Name': 'one'}, 'projects'),
    'users': ('users', _KEYSTONE | {'domain_id': B, 'enabled': True}, ''),
    'domains': ('domains', _KEYSTONE | {'enabled': True}, ''),
    'registered limits': (
        'registered_limits', _LIMIT | {'default_limit': 10}, 'registered_limits',
    ),
    'limits': ('limits', _LIMIT | {'project_id': B, 'domain_id': None, 'resource_limit': 5}, ''),
    # Ironic.
    'nodes': ('nodes', _NODE, ''),
    'node details': ('nodes', _NODE | {'resource_class': 'gold', 'retired': False}, 'nodes'),
    'nodes of the SDK': (
        'nodes',
        {'id': A, 'name': 'n1', 'instance_id': None, 'power_state': 'power off', 'location': None,
         'provision_state': 'available', 'is_maintenance': True, 'resource_class': 'gold'},
        'nodes',
    ),
    'bare metal ports': ('ports', {'uuid': A, 'address': '00:00:5e:00:53:01', **_LINKS}, ''),
    # Neutron.
    'ports': ('ports', _PORT, ''),
    'ports, of an administrator': (
        'ports',
        _PORT | {'resource_request': None, 'binding:host_id': 'h1', 'binding:profile': {},
                 'binding:vnic_type': 'normal'},
        'ports, requested_ports',
    ),
    'ports of the SDK': ('ports', _PORT | {'resource_request': None, 'location': None}, ''),
    'agents': ('agents', _AGENT | {'configurations': {}}, 'agents'),
    'agent list': (
        'agents',
        {'ID': A, 'Agent Type': 'L3 agent', 'Host': 'h1', 'Availability Zone': 'nova',
         'Alive': True, 'State': True, 'Binary': 'neutron-l3-agent'},
        '',
    ),
    'agents of the SDK': ('agents', _AGENT | {'configuration': {}, 'location': None}, 'agents'),
    'subnets': ('subnets', _SUBNET, ''),
    'subnets with segments': (
        'subnets', _SUBNET | {'segment_id': None}, 'segment_addresses, segments',
    ),
    'networks': ('networks', _NETWORKED | {'subnets': [A], 'shared': False}, ''),
    'segments': ('segments', _NAMED | {'network_id': B, 'network_type': 'vlan'}, ''),
    'neutron quotas': ('quotas', {'project_id': A, 'network': 10, 'port': 50}, ''),
    # Glance and Cinder.
    'images': (
        'images', _NAMED | {'status': 'active', 'disk_format': 'raw', 'visibility': 'public'}, '',
    ),
    'image list': ('images', {'ID': A, 'Name': 'one', 'Status': 'active'}, ''),
    'volumes': ('volumes', _NAMED | {'status': 'in-use', 'size': 1, 'attachments': []}, ''),
    'volume services': ('services', _SERVICE | {'binary': 'cinder-volume'}, ''),
}  # fmt: skip
