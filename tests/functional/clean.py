# SPDX-License-Identifier: Apache-2.0
"""Random clouds in which nothing is wrong, with what all services say of them.

They have servers in all states, migrations under way, shared storage, nested trees, disabled hosts,
hosts that are down, bare metal nodes, and ports with bandwidth.
"""

import random
from typing import Any

from placementclient.model.inventories import Inventory
from placementclient.model.nova import COMPUTE_NODE, DISABLED, INSTANCE, MIGRATION, OWNER_NOVA
from placementclient.model.providers import SHARING_TRAIT
from tests.functional.clouds import uuid_of
from tests.functional.planted import AGENT, EGRESS, Planted

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
Amounts = dict[str, dict[str, int]]


class Clean(Planted):
    """A cloud, and what the services say of it, as the APIs answer."""

    def __init__(self, seed):
        super().__init__()
        self._random = draw = random.Random(seed)
        #: Nova sends no types yet.
        self._is_typed = draw.random() < 0.5
        self._owner = (OWNER_NOVA,) if draw.random() < 0.5 else ()
        self._ratio = draw.choice((4.0, 16.0))
        self._pools = [
            self.provider(
                f'pool{n}', {'DISK_GB': Inventory(100_000, max_unit=100_000)}, None,
                (SHARING_TRAIT,), (f'storage{n}',),
            )
            for n in range(draw.randint(0, 2))
        ]  # fmt: skip
        self._hosts = [self._host(number) for number in range(draw.randint(3, 9))]
        self._flavors()
        for number in range(draw.randint(4, 20)):
            self._server(f'server{number}')
        self._rack()
        self._reported()

    # Hosts

    def _host(self, number):
        """A host, flat or with cells, with or without cards and a network agent."""
        draw, name = self._random, f'host{number}'
        full = draw.choice((name, f'{name}.example.com'))
        enabled = number == 0 or draw.random() < 0.8
        # Two hosts at least have each pool, or none: an aggregate of one is told.
        pool = self._pools[number % 2] if len(self._pools) > 1 and number < 4 else None
        pool = self._pools[0] if len(self._pools) == 1 else pool
        reserved = {'VCPU': draw.choice((0, 2)), 'MEMORY_MB': 512, 'DISK_GB': draw.choice((0, 3))}
        totals = {'VCPU': 64, 'MEMORY_MB': 262_144, 'DISK_GB': draw.choice((900, 1800))}
        ratios = {'VCPU': self._ratio, 'MEMORY_MB': 1.0, 'DISK_GB': 1.0}
        cells = draw.choice((0, 0, 2))

        def part(name, parts=1):
            total = totals[name] // parts
            return Inventory(total, reserved[name] // parts, 1, total, 1, ratios[name])

        local = {} if pool else {'DISK_GB': part('DISK_GB')}
        parts = {name: part(name, cells or 1) for name in ('VCPU', 'MEMORY_MB')}
        self.provider(
            full, local if cells else parts | local,
            traits=(COMPUTE_NODE, *self._owner, *(() if enabled else (DISABLED,))),
            aggregates=(pool.replace('pool', 'storage'),) if pool else (),
        )  # fmt: skip
        places = [
            self.provider(f'{full}_numa{n}', dict(parts), full, self._owner) for n in range(cells)
        ] or [full]
        gpus = {'VGPU': Inventory(4, max_unit=4)}
        cards = [
            self.provider(f'{full}_pci_0000_8{n}_00_0', gpus, full, self._owner)
            for n in range(2 if number == 0 else draw.choice((0, 0, 3)))
        ]
        bridge = None
        if draw.random() < 0.5:
            agent = self.provider(f'{full}:{AGENT}', {}, full, ())
            bridge = self.provider(f'{agent}:br-ex', {EGRESS: Inventory(10_000_000)}, agent, ())
            self.agent(name, full, 10_000_000, synced=True)
        return {
            'short': name, 'full': full, 'places': places, 'cards': cards, 'bridge': bridge,
            'pool': pool, 'enabled': enabled, 'totals': totals, 'reserved': reserved,
            'up': number == 0 or draw.random() < 0.8,
        }  # fmt: skip

    def _reported(self):
        """Say of each host what nova-compute says of it."""
        using = {uuid for consumer in self.consumers for uuid in consumer.allocations}
        for host in self._hosts:
            root = uuid_of(host['full'])
            is_used = any(state.uuid in using for state in self.snapshot.tree(root))
            used = host['reserved'] | ({'VCPU': 9, 'MEMORY_MB': 9999} if is_used else {})
            used['DISK_GB'] = max(used['DISK_GB'] - 1, 0)
            self.service(host['short'], enabled=host['enabled'], up=host['up'])
            self.hypervisor(root, host['full'], host['short'], host['totals'], used, int(is_used))

    # Servers

    def _flavors(self):
        self.flavor('small', 1, 1024)
        self.flavor('large', 4, 4096, 40)
        self.flavor('vgpu', 2, 2048, 10, resources__VGPU='1')
        none = {f'resources__{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
        self.flavor('metal', 4, 4096, 9, resources__CUSTOM_GOLD='1', **none)
        if self._random.random() < 0.5:
            self.limits('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_GOLD')

    def _holds(self, host, flavor):
        """What a server of a flavor holds on a host."""
        place = self._random.choice(host['places'])
        allocated: Amounts = {place: {'VCPU': flavor['vcpus'], 'MEMORY_MB': flavor['ram']}}
        if flavor['disk']:
            allocated.setdefault(host['pool'] or host['full'], {})['DISK_GB'] = flavor['disk']
        if 'resources:VGPU' in flavor['extra_specs']:
            allocated[next(card for card in host['cards'] if self._free(card) > 0)] = {'VGPU': 1}
        return allocated

    def _free(self, card):
        return 4 - sum(c.amount(uuid_of(card), 'VGPU') for c in self.consumers)

    def _server(self, name):
        draw = self._random
        host, other = draw.sample(self._hosts, 2)
        flavors = self.lists['flavors'][: 3 if any(map(self._free, host['cards'])) else 2]
        flavor = draw.choice(flavors)
        kind = draw.choice(('resting', 'resting', 'nowhere', 'live', 'resize', 'waiting', 'moved'))
        if flavor['name'] == 'vgpu':
            kind = 'resting'
        if kind == 'nowhere':
            self.detailed(name, None, None, flavor, *draw.choice(NOWHERE))
            return
        allocated = self._holds(host, flavor)
        states = {
            'live': ('active', 'migrating'), 'resize': ('active', 'resize_migrating'),
            'waiting': ('resized', None), 'moved': ('active', None),
        }  # fmt: skip
        # During a live migration Nova has the server on the source.
        home = other if kind == 'live' else host
        state = states.get(kind) or draw.choice(RESTING)
        self.detailed(name, home['short'], home['full'], flavor, *state)
        if kind in ('live', 'resize', 'waiting'):
            status = {'live': 'running', 'resize': 'migrating', 'waiting': 'finished'}[kind]
            self._migration(name, other, status, 'live-migration' if kind == 'live' else 'resize')
            self.consumer(f'{name} away', MIGRATION, **self._holds(other, flavor))
        elif kind == 'moved':
            kinds = ('migration', 'evacuation')
            self._migration(name, other, draw.choice(OVER), draw.choice(kinds))
        if host['bridge'] and kind == 'resting' and draw.random() < 0.5:
            bridge = uuid_of(host['bridge'])
            self.port(uuid_of(name), host['short'], bridge, is_old=draw.random() < 0.5)
            allocated[host['bridge']] = {EGRESS: 100}
        self.consumer(name, INSTANCE, **allocated)

    def consumer(self, name, kind=INSTANCE, **allocated):
        return super().consumer(name, kind if self._is_typed else None, **allocated)

    def _migration(self, server, source, status, kind):
        self.lists['migrations'].append(
            {
                'id': len(self.lists['migrations']), 'uuid': uuid_of(f'{server} away'),
                'instance_uuid': uuid_of(server), 'source_compute': source['short'],
                'source_node': source['full'], 'status': status, 'migration_type': kind,
            }
        )  # fmt: skip

    # Bare metal

    def _rack(self):
        """Nodes in all states; the first one is there for the flavor."""
        states = [('available', {}), *self._random.sample(NODES, 3)]
        for number, (state, fields) in enumerate(states):
            usual = {'power_state': 'power off', 'resource_class': 'gold'}
            node = self.node(f'node{number}', state, **usual | fields)
            if state in ('enroll', 'verifying'):
                continue
            is_served = node['instance_uuid'] is not None
            is_free = state == 'available' and not node['maintenance'] and node['power_state']
            gold = {'CUSTOM_GOLD': Inventory(1, int(not is_served and not is_free), max_unit=1)}
            self.provider(node['uuid'], gold, traits=(COMPUTE_NODE, *self._owner))
            if is_served:
                metal, flavor = f'metal{number}', self.lists['flavors'][3]
                node['instance_uuid'] = uuid_of(metal)
                task = 'spawning' if state in ('available', 'deploying') else None
                self.detailed(metal, 'ironic', node['uuid'], flavor, task=task)
                self.consumer(metal, INSTANCE, **{node['uuid']: {'CUSTOM_GOLD': 1}})
