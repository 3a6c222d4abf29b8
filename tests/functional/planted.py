# SPDX-License-Identifier: Apache-2.0
"""Clouds with the answers of other services; one that is sound, but for a fault of each kind."""

from dataclasses import dataclass, field
from typing import Any

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.functional.clouds import uuid_of

#: Hosts that share one storage.
RACK = 100
OWNER, COMPUTE_NODE = 'OWNER_NOVA', 'COMPUTE_NODE'
VCPU = Inventory(32, reserved=2, max_unit=32, allocation_ratio=4.0)
MEMORY = Inventory(65536, reserved=512, max_unit=65536)
DISK = Inventory(100_000, max_unit=100_000)
HOST = {'VCPU': VCPU, 'MEMORY_MB': MEMORY}
#: When Nova has changed everything last.
ASKED_AT = '2020-01-01T00:00:00Z'
SERVER = {'VCPU': 4, 'MEMORY_MB': 8192}
#: The flavor of such a server.
FLAVOR = {'name': 'm', 'vcpus': 4, 'ram': 8192, 'disk': 0, 'extra_specs': {}}
EGRESS = 'NET_BW_EGR_KILOBIT_PER_SEC'
AGENT = 'Open vSwitch agent'
#: The options of audit for lists.
LISTS = (
    *('servers', 'migrations', 'services', 'hypervisors', 'flavors', 'limits', 'nodes'),
    *('ports', 'agents', 'subnets'),
)


@dataclass
class Planted:
    """A cloud, what other services say of it, and what is wrong with it.

    :param lists: what the services answer, by the option of audit
    :param expected: the id and the subject of every fault
    :param forgotten: consumers whose records have to be taken away once all is written
    """

    states: dict[str, ProviderState] = field(default_factory=dict)
    consumers: list[Consumer] = field(default_factory=list)
    lists: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {name: [] for name in LISTS}
    )
    expected: list[tuple[str, str]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    @property
    def snapshot(self):
        """All of it, as it is written."""
        return Snapshot(self.states.values(), self.consumers)

    def provider(self, name, inventories=HOST, parent=None, traits=(OWNER,), aggregates=()):
        """Add a provider; returns its name."""
        provider_uuid, above = uuid_of(name), parent and uuid_of(parent)
        root = self.states[parent].provider.root_uuid if parent else provider_uuid
        provider = Provider(provider_uuid, name, 1, above, root)
        self.states[name] = ProviderState(
            provider, inventories, frozenset(traits), frozenset(map(uuid_of, aggregates))
        )
        return name

    def consumer(self, name, kind='INSTANCE', **allocated):
        """Add a consumer; returns its UUID."""
        allocations = {
            uuid_of(provider): dict(resources) for provider, resources in allocated.items()
        }
        self.consumers.append(Consumer(uuid_of(name), allocations, 'project', 'user', 1, kind))
        return uuid_of(name)

    def server(self, name, host, kind='INSTANCE', **allocated):
        """Add a server, as OpenStackClient lists it, and its consumer."""
        server_uuid = self.consumer(name, kind, **allocated)
        self.lists['servers'].append(
            {
                'ID': server_uuid,
                'Name': name,
                'Status': 'ACTIVE',
                'Host': host,
                'Properties': {},
                'Task State': None,
                'Updated': ASKED_AT,
            }
        )
        return server_uuid

    def detailed(self, name, host=None, node=None, flavor=FLAVOR, state='active', task=None):
        """Add a server as the API lists it, with the amounts of its flavor."""
        size = {key: value for key, value in flavor.items() if key not in ('id', 'name')}
        server = {
            'id': uuid_of(name), 'tenant_id': 'project', 'user_id': 'user', 'image': {'id': 'i'},
            'OS-EXT-SRV-ATTR:host': host, 'OS-EXT-SRV-ATTR:hypervisor_hostname': node or host,
            'OS-EXT-STS:vm_state': state, 'OS-EXT-STS:task_state': task,
            'updated': ASKED_AT,
            'flavor': size | {'original_name': flavor['name']},
        }  # fmt: skip
        self.lists['servers'].append(server)
        return server

    def migration(self, name, server, source, status, kind, target=None):
        """Add a migration, as OpenStackClient lists it."""
        self.lists['migrations'].append(
            {
                'Id': len(self.lists['migrations']) + 1, 'UUID': uuid_of(name),
                'Source Compute': source, 'Dest Compute': target, 'Status': status,
                'Server UUID': server, 'Type': kind,
                'Created At': ASKED_AT, 'Updated At': ASKED_AT,
            }
        )  # fmt: skip

    def service(self, host, *, enabled=True, up=True):
        """Add a nova-compute."""
        self.lists['services'].append(
            {
                'id': uuid_of(f'{host} service'), 'binary': 'nova-compute', 'host': host,
                'status': 'enabled' if enabled else 'disabled', 'state': 'up' if up else 'down',
                'forced_down': False,
            }
        )  # fmt: skip

    def hypervisor(self, uuid, name, host, totals, used, servers=0, kind='QEMU'):
        """Add a compute node; the amounts are by class."""
        fields = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'local_gb'}
        self.lists['hypervisors'].append(
            {
                'id': uuid, 'hypervisor_hostname': name, 'hypervisor_type': kind,
                'service': {'host': host}, 'running_vms': servers,
                **{key: totals.get(name, 0) for name, key in fields.items()},
                **{f'{key}_used': used.get(name, 0) for name, key in fields.items()},
            }
        )  # fmt: skip

    def node(self, name, state, **fields):
        """Add a node of Ironic; its provider has its UUID as its name."""
        node = {
            'uuid': uuid_of(name), 'name': name, 'provision_state': state,
            'instance_uuid': None, 'power_state': 'power on', 'maintenance': False,
            'reservation': None, 'target_provision_state': None, **fields,
        }  # fmt: skip
        self.lists['nodes'].append(node)
        return node

    def agent(self, host, hypervisor, egress=None, *, synced=None):
        """Add an agent of Neutron, with the bandwidth of its device br-ex, if it has one."""
        self.lists['agents'].append(
            {
                'id': uuid_of(f'{host} agent'), 'agent_type': AGENT, 'host': host,
                'resources_synced': synced,
                'configurations': {
                    'resource_provider_bandwidths': {'br-ex': {'egress': egress}},
                    'resource_provider_hypervisors': {'br-ex': hypervisor},
                } if egress else {},
            }
        )  # fmt: skip

    def port(self, server, host, provider, *, is_old=False):
        """Add a port of a server that asks for bandwidth; of an old Neutron without groups."""
        port_uuid, group = uuid_of(f'port of {server}'), uuid_of(f'group of {server}')
        request: dict[str, Any] = {'required': [], 'resources': {EGRESS: 100}}
        allocation: Any = provider
        if not is_old:
            allocation = {group: provider}
            request = {'request_groups': [request | {'id': group}], 'same_subtree': [group]}
        self.lists['ports'].append(
            {
                'id': port_uuid, 'device_id': server, 'device_owner': 'compute:nova',
                'binding:host_id': host, 'binding:profile': {'allocation': allocation},
                'resource_request': request,
            }
        )  # fmt: skip

    def flavor(self, name, vcpus=4, ram=8192, disk=0, **specs):
        """Add a flavor; in the names of extra specs two underscores are a colon."""
        self.lists['flavors'].append(
            {
                'id': uuid_of(name), 'name': name, 'vcpus': vcpus, 'ram': ram, 'disk': disk,
                'swap': '', 'OS-FLV-EXT-DATA:ephemeral': 0, 'os-flavor-access:is_public': True,
                'extra_specs': {key.replace('__', ':'): value for key, value in specs.items()},
            }
        )  # fmt: skip

    def limits(self, *classes):
        """Add registered limits of servers and of classes."""
        for name in ('servers', *(f'class:{name}' for name in classes)):
            self.lists['limits'].append({'id': uuid_of(name), 'resource_name': name})


def planted(hosts):
    """A cloud of so many sound hosts, and as many more as faults need one."""
    cloud = Planted()
    for number in range(hosts):
        _host(cloud, number)
    _sound(cloud)
    for plant in (_inventories, _names, _sharing, _consumers, _moving, _healing, _misplaced):
        plant(cloud)
    return cloud


def _host(cloud, number):
    """Every fifth host has its CPUs in two cells; half of them have a server; few, a migration."""
    pool, name = f'nfs{number // RACK}', f'compute{number:04}'
    if number % RACK == 0:
        cloud.provider(pool, {'DISK_GB': DISK}, traits=(SHARING_TRAIT,), aggregates=(pool,))
    place = name
    if number % 5:
        cloud.provider(name, aggregates=(pool,))
    else:
        cloud.provider(name, {}, aggregates=(pool,))
        for cell in range(2):
            place = cloud.provider(f'{name}_numa{cell}', HOST, parent=name)
    disk = {'DISK_GB': 80}
    if number % 50 == 7:
        # As after a resize that is not confirmed yet: the migration has the source.
        moving = f'moving{number}'
        server = cloud.server(moving, name, **{place: SERVER, pool: disk})
        cloud.migration(f'{moving} back', server, f'compute{number - 1:04}', 'finished', 'resize')
        cloud.consumer(f'{moving} back', 'MIGRATION', **{f'compute{number - 1:04}': SERVER})
    elif number % 2:
        kind = 'INSTANCE' if number % 3 else None
        cloud.server(f'server{number}', name, kind, **{place: SERVER, pool: disk})


def _sound(cloud):
    """What looks odd and is as it should be."""
    host = cloud.provider('net')
    agent = cloud.provider('net:Open vSwitch agent', {}, parent=host, traits=())
    cloud.provider(
        'net:bridge', {'NET_BW_EGR_KILOBIT_PER_SEC': Inventory(1000)}, parent=agent, traits=()
    )
    gpus = cloud.provider('gpus')
    for number in range(7):
        cloud.provider(f'gpus_{number}', {'VGPU': Inventory(4)}, parent=gpus)
    cloud.provider('web.a.example')
    cloud.provider('web.b.example')
    cloud.consumer('container', 'CONTAINER', **{host: SERVER})


def _inventories(cloud):
    cloud.provider('crowded', {'VCPU': Inventory(8)})
    cloud.server('too-much', 'crowded', crowded={'VCPU': 9})
    cloud.expected.append(('over-capacity', 'crowded'))
    cloud.provider('stepped', {'VGPU': Inventory(8, max_unit=2, step_size=2)})
    uneven = cloud.server('uneven', 'stepped', stepped={'VGPU': 3})
    cloud.expected.append(('broken-units', uneven))
    cloud.provider('withheld', {'MEMORY_MB': Inventory(1024, reserved=2048)})
    cloud.expected.append(('reserved-above-total', 'withheld'))
    cloud.provider('idle', {'VCPU': Inventory(8, allocation_ratio=0.0)})
    cloud.expected.append(('ratio-without-room', 'idle'))
    cloud.provider('old')
    cloud.forgotten.append(cloud.server('before-consumers', 'old', old=SERVER))
    cloud.expected.append(('unlisted-usage', 'old'))


def _names(cloud):
    cloud.provider('twice')
    cloud.provider('twice.example.com')
    cloud.server('on-twice', 'twice.example.com', **{'twice.example.com': SERVER})
    cloud.expected.append(('doubled-host', 'twice'))
    cells = cloud.provider('renamed')
    cloud.provider('renamed_numa0', parent=cells)
    cloud.provider('former_numa1', parent=cells)
    cloud.expected.append(('misnamed-child', 'former_numa1'))
    many = cloud.provider('many')
    for number in range(8):
        cloud.provider(f'many_{number}', {'VGPU': Inventory(4)}, parent=many)
    cloud.expected.append(('wide-tree', 'many'))
    for name, ratio in (('usual', 4.0), ('like', 4.0), ('overwritten', 16.0)):
        cpus = VCPU.with_fields({'allocation_ratio': ratio})
        cloud.provider(name, {**HOST, 'VCPU': cpus}, aggregates=('alike',))
    cloud.expected.append(('ratio-differs', 'overwritten'))
    owner = cloud.provider('owner')
    cloud.provider('owner_gpu', {'VGPU': Inventory(4)}, parent=owner, traits=())
    cloud.expected.append(('owner-missing', 'owner_gpu'))
    cloud.provider('marked', traits=(OWNER, COMPUTE_NODE))
    cloud.provider('unmarked', traits=(COMPUTE_NODE,))
    cloud.expected.append(('owner-missing', 'unmarked'))


def _sharing(cloud):
    cloud.provider('unshared', {'DISK_GB': DISK}, traits=(SHARING_TRAIT,))
    cloud.expected.append(('sharing-without-aggregate', 'unshared'))
    cloud.provider('lonely', {'DISK_GB': DISK}, traits=(SHARING_TRAIT,), aggregates=('nobody',))
    cloud.expected.append(('sharing-alone', 'lonely'))
    cloud.provider('single', aggregates=('zone',))
    cloud.expected.append(('aggregate-of-one', uuid_of('zone')))


def _consumers(cloud):
    for name in ('left', 'right'):
        cloud.provider(name)
    cloud.expected.append(('orphan', cloud.consumer('gone', left=SERVER)))
    cloud.lists['servers'].append({'ID': uuid_of('gone'), 'Name': 'gone', 'Status': 'DELETED'})
    both = cloud.server('both', 'left', left=SERVER, right=SERVER)
    cloud.migration('both away', both, 'right', 'completed', 'live-migration', 'left')
    cloud.expected.append(('doubled', both))
    for name in ('untraited', 'beside'):
        cloud.provider(name, aggregates=('untraited',))
    cloud.provider('pool', {'DISK_GB': DISK}, traits=(), aggregates=('untraited',))
    apart = cloud.server('apart', 'untraited', untraited=SERVER, pool={'DISK_GB': 80})
    cloud.expected.append(('held-elsewhere', apart))


def _moving(cloud):
    """Of the servers on two hosts, one has been evacuated and another one is being."""
    cloud.provider('source')
    cloud.provider('target')
    for name, status, id in (
        ('evacuated', 'done', 'left-by-evacuation'),
        ('evacuating', 'pre-migrating', 'in-migration'),
    ):
        server = cloud.server(name, 'target', source=SERVER, target=SERVER)
        cloud.migration(f'{name} away', server, 'source', status, 'evacuation', 'target')
        cloud.expected.append((id, server))
    moved = cloud.server('moved', 'target', target=SERVER)
    cloud.migration('moved away', moved, 'source', 'completed', 'live-migration', 'target')
    left = cloud.consumer('moved away', 'MIGRATION', source=SERVER)
    cloud.expected.append(('left-by-migration', left))


def _healing(cloud):
    """Of two servers, as the API lists them, one holds nothing, and one what is another's."""
    cloud.provider('healing')
    cloud.expected.append(('without-allocations', uuid_of('lost')))
    cloud.expected.append(('foreign-owner', cloud.consumer('sold', healing=SERVER)))
    for name in ('lost', 'sold'):
        cloud.detailed(name, 'healing')['tenant_id'] = 'buyer'


def _misplaced(cloud):
    """Servers that hold something where they are not, when they are nowhere, or other amounts."""
    cloud.provider('misplaced')
    cloud.provider('right-place')
    cloud.server('stays', 'misplaced', misplaced=SERVER)
    elsewhere = cloud.server('elsewhere', 'right-place', misplaced=SERVER)
    cloud.expected.append(('wrong-host', elsewhere))
    shelved = cloud.server('shelved', '', misplaced=SERVER)
    cloud.lists['servers'][-1]['Status'] = 'SHELVED_OFFLOADED'
    cloud.expected.append(('left-by-shelving', shelved))
    grown = cloud.consumer('grown', misplaced={'VCPU': 4, 'MEMORY_MB': 4096})
    cloud.detailed('grown', 'misplaced')
    cloud.expected.append(('wrong-amount', grown))
