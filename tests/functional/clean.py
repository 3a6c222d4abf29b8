"""Random clouds in which nothing is wrong, with what all services say of them.

They have servers in all states, migrations under way, shared storage, nested trees, disabled hosts,
hosts that are down, bare metal nodes, and ports with bandwidth.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import Any

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.nova import COMPUTE_NODE, DISABLED, INSTANCE, MIGRATION, OWNER_NOVA
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot

EGRESS = 'NET_BW_EGR_KILOBIT_PER_SEC'
#: The states of servers on a host: vm_state, task_state.
RESTING = (
    *(('active', None), ('stopped', None), ('paused', None), ('suspended', None)),
    *(('rescued', None), ('error', None), ('soft-delete', None), ('shelved', None)),
    *(('active', 'rebooting'), ('active', 'rebuilding'), ('active', 'deleting')),
)
#: Those of servers on none.
NOWHERE = (('shelved_offloaded', None), ('error', None), ('building', 'scheduling'))
#: How migrations end.
OVER = ('completed', 'confirmed', 'reverted', 'cancelled', 'error', 'failed', 'done')
Held = dict[str, dict[str, int]]


@dataclass
class Clean:
    """A cloud, and what the services say of it.

    :param lists: by the option of audit, as the APIs answer
    """

    seed: int
    states: list[ProviderState] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self):
        self._random = random.Random(self.seed)
        names = 'servers migrations services hypervisors flavors limits nodes ports agents subnets'
        self.lists = {name: [] for name in names.split()}
        #: Nova sends no types yet.
        self._is_typed = self._random.random() < 0.5
        self._is_owned = self._random.random() < 0.5
        self._pools = self._shared()
        self._hosts = [self._host(number) for number in range(self._random.randint(3, 9))]
        self._flavors()
        for number in range(self._random.randint(4, 20)):
            self._server(number)
        self._rack()
        self._reported()

    @property
    def snapshot(self):
        """The cloud as it is written to a Placement."""
        return Snapshot(self.states, self.consumers)

    def uuid(self, name):
        """The UUID of something that has a name here."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f'{self.seed} {name}'))

    # Hosts

    def _provider(self, name, inventories, *above, traits=(), aggregates=()):
        own = self.uuid(name)
        parent, root = (above[-1].uuid, above[0].uuid) if above else (None, own)
        state = ProviderState(
            Provider(own, name, 1, parent, root), inventories, frozenset(traits),
            frozenset(map(self.uuid, aggregates)),
        )  # fmt: skip
        self.states.append(state)
        return state

    def _shared(self):
        return [
            self._provider(
                f'pool{n}', {'DISK_GB': Inventory(100_000, max_unit=100_000)},
                traits=(SHARING_TRAIT,), aggregates=(f'storage{n}',),
            )
            for n in range(self._random.randint(0, 2))
        ]  # fmt: skip

    def _host(self, number):
        """A host, flat or with cells, with or without cards and a network agent."""
        draw, name = self._random, f'host{number}'
        full = draw.choice((name, f'{name}.example.com'))
        enabled = number == 0 or draw.random() < 0.8
        owner = (OWNER_NOVA,) if self._is_owned else ()
        # Two hosts at least have each pool, or none: an aggregate of one is told.
        pool = self._pools[number % 2] if len(self._pools) > 1 and number < 4 else None
        pool = self._pools[0] if len(self._pools) == 1 else pool
        reserved = {'VCPU': draw.choice((0, 2)), 'MEMORY_MB': 512, 'DISK_GB': draw.choice((0, 3))}
        totals = {'VCPU': 64, 'MEMORY_MB': 262_144, 'DISK_GB': draw.choice((900, 1800))}
        ratios = {'VCPU': draw.choice((4.0, 16.0)), 'MEMORY_MB': 1.0, 'DISK_GB': 1.0}
        cells = draw.choice((0, 0, 2))
        local = {} if pool else {'DISK_GB': _inventory('DISK_GB', totals, reserved, ratios)}
        parts = {
            c: _inventory(c, totals, reserved, ratios, cells or 1) for c in ('VCPU', 'MEMORY_MB')
        }
        traits = (COMPUTE_NODE, *owner, *(() if enabled else (DISABLED,)))
        root = self._provider(
            full, local if cells else parts | local, traits=traits,
            aggregates=(f'storage{self._pools.index(pool)}',) if pool else (),
        )  # fmt: skip
        places = [
            self._provider(f'{full}_numa{n}', dict(parts), root, traits=owner) for n in range(cells)
        ] or [root]
        cards = [
            self._provider(f'{full}_pci_0000_8{n}_00_0', {'VGPU': Inventory(4, max_unit=4)}, root,
                           traits=owner)
            for n in range(2 if number == 0 else draw.choice((0, 0, 3)))
        ]  # fmt: skip
        bridge = None
        if draw.random() < 0.5:
            agent = self._provider(f'{full}:Open vSwitch agent', {}, root)
            bridge = self._provider(
                f'{full}:Open vSwitch agent:br0', {EGRESS: Inventory(10_000_000)}, root, agent
            )
            self.lists['agents'].append(
                {
                    'id': self.uuid(f'agent {name}'), 'agent_type': 'Open vSwitch agent',
                    'host': name, 'resources_synced': True,
                    'configurations': {
                        'resource_provider_bandwidths': {'br0': {'egress': 10_000_000}},
                        'resource_provider_hypervisors': {'br0': full},
                    },
                }
            )  # fmt: skip
        return {
            'short': name, 'full': full, 'root': root, 'places': places, 'cards': cards,
            'bridge': bridge, 'pool': pool, 'enabled': enabled, 'totals': totals,
            'reserved': reserved, 'up': number == 0 or draw.random() < 0.8,
        }  # fmt: skip

    def _reported(self):
        """Say of each host what nova-compute says of it."""
        using = {uuid for consumer in self.consumers for uuid in consumer.allocations}
        for host in self._hosts:
            below = {s.uuid for s in self.states if s.provider.root_uuid == host['root'].uuid}
            is_used = bool(below & using)
            used = host['reserved'] | ({'VCPU': 9, 'MEMORY_MB': 9999} if is_used else {})
            self.lists['services'].append(
                {
                    'id': self.uuid(f'service {host["short"]}'), 'binary': 'nova-compute',
                    'host': host['short'], 'status': 'enabled' if host['enabled'] else 'disabled',
                    'state': 'up' if host['up'] else 'down', 'forced_down': False,
                }
            )  # fmt: skip
            self.lists['hypervisors'].append(
                {
                    'id': host['root'].uuid, 'hypervisor_hostname': host['full'],
                    'hypervisor_type': 'QEMU', 'service': {'host': host['short']},
                    'vcpus': host['totals']['VCPU'], 'vcpus_used': used['VCPU'],
                    'memory_mb': host['totals']['MEMORY_MB'], 'memory_mb_used': used['MEMORY_MB'],
                    'local_gb': host['totals']['DISK_GB'],
                    'local_gb_used': max(used['DISK_GB'] - 1, 0),
                    'running_vms': int(is_used),
                }
            )  # fmt: skip

    # Servers

    def _flavors(self):
        extra = {'vgpu': {'resources:VGPU': '1'}, 'metal': _METAL}
        for name, cpus, disk in (
            ('small', 1, 0),
            ('large', 4, 40),
            ('vgpu', 2, 10),
            ('metal', 4, 9),
        ):
            self.lists['flavors'].append(
                {
                    'id': self.uuid(name), 'name': name, 'vcpus': cpus, 'ram': cpus * 1024,
                    'disk': disk, 'swap': '', 'OS-FLV-EXT-DATA:ephemeral': 0,
                    'extra_specs': extra.get(name, {}),
                }
            )  # fmt: skip
        if self._random.random() < 0.5:
            classes = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_GOLD']
            for name in ('servers', *(f'class:{each}' for each in classes)):
                self.lists['limits'].append({'id': self.uuid(name), 'resource_name': name})

    def _holds(self, host, flavor):
        """What a server of a flavor holds on a host."""
        place = self._random.choice(host['places']).uuid
        held: Held = {place: {'VCPU': flavor['vcpus'], 'MEMORY_MB': flavor['ram']}}
        if flavor['disk']:
            disk = (host['pool'] or host['root']).uuid
            held.setdefault(disk, {})['DISK_GB'] = flavor['disk']
        if 'resources:VGPU' in flavor['extra_specs']:
            card = next(c for c in host['cards'] if self._free(c) > 0)
            held[card.uuid] = {'VGPU': 1}
        return held

    def _free(self, card):
        return 4 - sum(c.amount(card.uuid, 'VGPU') for c in self.consumers)

    def _server(self, number):
        draw = self._random
        host, other = draw.sample(self._hosts, 2)
        flavors = self.lists['flavors'][: 3 if any(map(self._free, host['cards'])) else 2]
        flavor = draw.choice(flavors)
        kind = draw.choice(('resting', 'resting', 'nowhere', 'live', 'resize', 'waiting', 'moved'))
        if flavor['name'] == 'vgpu':
            kind = 'resting'
        own = self.uuid(f'server{number}')
        if kind == 'nowhere':
            self._listed(own, None, flavor, *draw.choice(NOWHERE))
            return
        held = self._holds(host, flavor)
        states = {
            'live': ('active', 'migrating'), 'resize': ('active', 'resize_migrating'),
            'waiting': ('resized', None), 'moved': ('active', None),
        }  # fmt: skip
        vm_state, task = states.get(kind) or draw.choice(RESTING)
        # During a live migration Nova has the server on the source.
        self._listed(own, other if kind == 'live' else host, flavor, vm_state, task)
        if kind in ('live', 'resize', 'waiting'):
            status = {'live': 'running', 'resize': 'migrating', 'waiting': 'finished'}[kind]
            migration = self._migration(
                own, other, status, 'live-migration' if kind == 'live' else 'resize'
            )
            self._consumer(migration, self._holds(other, flavor), MIGRATION)
        elif kind == 'moved':
            self._migration(own, other, draw.choice(OVER), draw.choice(('migration', 'evacuation')))
        if host['bridge'] and kind == 'resting' and draw.random() < 0.5:
            self._port(own, host)
            held[host['bridge'].uuid] = {EGRESS: 100}
        self._consumer(own, held, INSTANCE)

    def _consumer(self, own, held, kind):
        self.consumers.append(
            Consumer(own, held, 'project', 'user', 1, kind if self._is_typed else None)
        )

    def _listed(self, own, host, flavor, state, task):
        self.lists['servers'].append(
            {
                'id': own, 'tenant_id': 'project', 'user_id': 'user', 'image': {'id': 'image'},
                'OS-EXT-SRV-ATTR:host': host and host['short'],
                'OS-EXT-SRV-ATTR:hypervisor_hostname': host and host['full'],
                'OS-EXT-STS:vm_state': state, 'OS-EXT-STS:task_state': task,
                'updated': '2020-01-01T00:00:00Z',
                'flavor': {k: v for k, v in flavor.items() if k not in ('id', 'name')}
                | {'original_name': flavor['name']},
            }
        )  # fmt: skip

    def _migration(self, server, source, status, kind):
        own = self.uuid(f'migration of {server}')
        self.lists['migrations'].append(
            {
                'id': len(self.lists['migrations']), 'uuid': own, 'instance_uuid': server,
                'source_compute': source['short'], 'source_node': source['full'],
                'status': status, 'migration_type': kind,
            }
        )  # fmt: skip
        return own

    def _port(self, server, host):
        own, provider = self.uuid(f'port of {server}'), host['bridge'].uuid
        asked: dict[str, Any] = {'required': [], 'resources': {EGRESS: 100}}
        if self._random.random() < 0.5:
            request, allocation = asked, provider
        else:
            request = {'request_groups': [asked | {'id': own}], 'same_subtree': [own]}
            allocation = {own: provider}
        self.lists['ports'].append(
            {
                'id': own, 'device_id': server, 'device_owner': 'compute:nova',
                'binding:host_id': host['short'], 'binding:profile': {'allocation': allocation},
                'resource_request': request,
            }
        )  # fmt: skip

    # Bare metal

    def _rack(self):
        """Nodes in all states; the first one is there for the flavor."""
        usual = {
            'instance_uuid': None, 'power_state': 'power off', 'maintenance': False,
            'reservation': None, 'target_provision_state': None, 'resource_class': 'gold',
        }  # fmt: skip
        states = [('available', {}), *self._random.sample(NODES, 3)]
        for number, (state, fields) in enumerate(states):
            name = self.uuid(f'node{number}')
            node = (
                usual | {'uuid': name, 'name': f'node{number}', 'provision_state': state} | fields
            )
            self.lists['nodes'].append(node)
            if state in ('enroll', 'verifying'):
                continue
            is_served = node['instance_uuid'] is not None
            is_free = state == 'available' and not node['maintenance'] and node['power_state']
            gold = Inventory(1, int(not is_served and not is_free), max_unit=1)
            owner = (OWNER_NOVA,) if self._is_owned else ()
            root = self._provider(name, {'CUSTOM_GOLD': gold}, traits=(COMPUTE_NODE, *owner))
            if is_served:
                own = self.uuid(f'metal{number}')
                node['instance_uuid'] = own
                host = {'short': 'ironic', 'full': name}
                task = 'spawning' if state in ('available', 'deploying') else None
                self._listed(own, host, self.lists['flavors'][3], 'active', task)
                self._consumer(own, {root.uuid: {'CUSTOM_GOLD': 1}}, INSTANCE)


_METAL = {
    'resources:CUSTOM_GOLD': '1', 'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
    'resources:DISK_GB': '0',
}  # fmt: skip
#: States of nodes; a server is on those that have some instance.
NODES: list[tuple[str, dict[str, Any]]] = [
    ('active', {'instance_uuid': 'some', 'power_state': 'power on'}),
    ('active', {'power_state': 'power on'}),
    ('available', {'maintenance': True}),
    ('available', {'power_state': None}),
    ('available', {'instance_uuid': 'some'}),
    ('deploying', {'instance_uuid': 'some', 'target_provision_state': 'active'}),
    ('cleaning', {'target_provision_state': 'available', 'reservation': 'conductor'}),
    ('clean wait', {'target_provision_state': 'available'}),
    ('manageable', {}),
    ('enroll', {'resource_class': None}),
    ('verifying', {'resource_class': None, 'target_provision_state': 'manageable'}),
]


def _inventory(name, totals, reserved, ratios, parts=1):
    total = totals[name] // parts
    return Inventory(total, reserved[name] // parts, 1, total, 1, ratios[name])
