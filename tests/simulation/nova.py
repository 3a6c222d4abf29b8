# SPDX-License-Identifier: Apache-2.0
"""What Nova does to Placement all day: updates of hosts, claims, migrations, deletes.

Each is a generator that yields between two requests, where anything else may happen.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.simulation.state import State

#: Sends a request in the name of Nova: the status, and the JSON of the answer.
Call = Callable[..., tuple[int, Any]]
Steps = Iterator[None]

PROJECT, USER = 'b' * 32, 'c' * 32
#: What servers ask for.
FLAVORS = (
    {'VCPU': 1, 'MEMORY_MB': 1024},
    {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 10},
    {'VCPU': 1, 'MEMORY_MB': 1024, 'VGPU': 1},
    {'VCPU': 4, 'MEMORY_MB': 512, 'VGPU': 2},
)
LOCAL_TRAITS = {'COMPUTE_NODE', 'COMPUTE_VOLUME_EXTEND'}
DISABLED = 'COMPUTE_STATUS_DISABLED'


@dataclass
class Nova:
    """The compute service of one cloud.

    :param hosts: the inventories that each host's driver reports, by the UUID of its provider
    :ivar servers: what each server asked for, by UUID
    :ivar migrating: the migrations that are not over: their servers, by UUID
    :ivar stopped: the hosts whose nova-compute is down
    :ivar replaced: the hosts that come back under another UUID, or may: the old one and the new one
    """

    call: Call
    state: Callable[[], State]
    dice: random.Random
    hosts: dict[str, dict[str, dict[str, Any]]]
    servers: dict[str, dict[str, int]] = field(default_factory=dict)
    migrating: dict[str, str] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    replaced: list[tuple[str, str]] = field(default_factory=list)

    def uuid(self):
        return str(UUID(int=self.dice.getrandbits(128), version=4))

    def replace(self, old, new):
        """A host was reinstalled: its nova-compute waits until its provider has the new UUID."""
        if old in self.hosts:
            self.stopped.add(old)
            self.replaced.append((old, new))

    def follow(self):
        """Know hosts by the UUIDs that they have now."""
        state = self.state()
        for pair in self.replaced:
            for old, new in (pair, pair[::-1]):
                is_moved = ('provider', old) not in state and ('provider', new) in state
                if old in self.hosts and is_moved:
                    self.hosts[new] = self.hosts.pop(old)
                    self.stopped.discard(old)

    def move(self):
        """Something that Nova does now."""
        kinds = (self.boot, self.boot, self.delete, self.migrate, self.update, self.update)
        return self.dice.choice((*kinds, self.toggle, self.resize))()

    def boot(self):
        """A new server: the scheduler asks for candidates and claims one of them."""
        flavor = self.dice.choice(FLAVORS)
        candidates = self._candidates(flavor)
        yield
        for candidate in candidates[:2]:
            uuid = self.uuid()
            status = self._put(uuid, candidate, None)
            if status == 204:
                self.servers[uuid] = dict(flavor)
                return
            yield

    def delete(self):
        """A server goes, at the generation that its consumer has."""
        if not self.servers:
            return
        uuid = self.dice.choice(sorted(self.servers))
        if uuid in self.migrating.values():
            return
        for _ in range(3):
            status, live = self.call('GET', f'/allocations/{uuid}')
            yield
            if uuid in self.migrating.values():
                return
            if status != 200:
                continue
            if not live['allocations']:
                self.servers.pop(uuid, None)
                return
            if self._put(uuid, {}, live['consumer_generation'], live) == 204:
                self.servers.pop(uuid, None)
                return

    def migrate(self):
        """A live migration: the source is held by the migration until it is over."""
        still = sorted(self.servers.keys() - set(self.migrating.values()))
        if not still:
            return
        server, migration = self.dice.choice(still), self.uuid()
        status, live = self.call('GET', f'/allocations/{server}')
        yield
        if status != 200 or not live['allocations'] or server not in self.servers:
            return
        if self._hand_over(server, migration, live) != 204:
            return
        self.migrating[migration] = server
        yield
        source = next(iter(live['allocations']))
        yield from self._to_target(server, migration, source)

    def _to_target(self, server, migration, source):
        candidates = [c for c in self._candidates(self.servers[server]) if source not in c]
        yield
        if candidates and self._put(server, candidates[0], None) == 204:
            for _ in range(self.dice.randint(1, 6)):
                yield
            yield from self._freed(migration)
        else:
            yield from self._reverted(server, migration)

    def _freed(self, migration):
        for _ in range(20):
            status, live = self.call('GET', f'/allocations/{migration}')
            yield
            if status != 200:
                continue
            generation = live.get('consumer_generation')
            if not live['allocations'] or self._put(migration, {}, generation, live) == 204:
                self.migrating.pop(migration, None)
                return

    def _reverted(self, server, migration):
        for _ in range(20):
            status, live = self.call('GET', f'/allocations/{migration}')
            yield
            if status == 200 and not live['allocations']:
                break
            if status == 200 and self._hand_over(migration, server, live) == 204:
                break
        self.migrating.pop(migration, None)

    def resize(self):
        """A server gets more, or less, of what it has on its host."""
        still = sorted(self.servers.keys() - set(self.migrating.values()))
        if not still:
            return
        consumer = self.dice.choice(still)
        status, live = self.call('GET', f'/allocations/{consumer}')
        yield
        is_busy = consumer in self.migrating.values()
        if status != 200 or not live['allocations'] or is_busy:
            return
        allocations = {
            host: {'resources': holding['resources'] | {'VCPU': self.dice.randint(1, 4)}}
            for host, holding in live['allocations'].items()
            if 'VCPU' in holding['resources']
        }
        self._put(consumer, live['allocations'] | allocations, live['consumer_generation'], live)

    def update(self):
        """The periodic task of a nova-compute: its host shall be as the driver says."""
        up = sorted(self.hosts.keys() - self.stopped)
        if not up:
            return
        host = self.dice.choice(up)
        self.hosts[host]['DISK_GB'] = self.hosts[host]['DISK_GB'] | self._disk()
        status, live = self.call('GET', f'/resource_providers/{host}/inventories')
        yield
        # It may have come back under another UUID.
        if status != 200 or host in self.stopped or host not in self.hosts:
            return
        present = live['inventories']
        desired = {name: fields for name, fields in present.items() if name.startswith('CUSTOM')}
        # It leaves the ratio, and what operators have added, as it is.
        for name, fields in self.hosts[host].items():
            desired[name] = present.get(name, {}) | fields
        if desired != present:
            generation = live['resource_provider_generation']
            body = {'resource_provider_generation': generation, 'inventories': desired}
            self.call('PUT', f'/resource_providers/{host}/inventories', body)

    def _disk(self):
        """What a driver finds on disk is seldom the same as before."""
        total = self.dice.randint(480, 520)
        return {'total': total, 'max_unit': total}

    def toggle(self):
        """A service is disabled or enabled, and nova-compute says so in its traits."""
        host = self.dice.choice(sorted(self.hosts))
        status, live = self.call('GET', f'/resource_providers/{host}/traits')
        yield
        if status == 200:
            desired = sorted({*live['traits'], *LOCAL_TRAITS} ^ {DISABLED})
            generation = live['resource_provider_generation']
            body = {'traits': desired, 'resource_provider_generation': generation}
            self.call('PUT', f'/resource_providers/{host}/traits', body)

    def _candidates(self, flavor):
        resources = ','.join(f'{name}:{amount}' for name, amount in sorted(flavor.items()))
        path = f'/allocation_candidates?resources={resources}&required=!{DISABLED}&limit=20'
        status, answer = self.call('GET', path)
        if status != 200:
            return []
        candidates = [request['allocations'] for request in answer['allocation_requests']]
        candidates.sort(key=sorted)
        self.dice.shuffle(candidates)
        return candidates

    def _put(self, uuid, allocations, generation, owner=None):
        body = {
            'allocations': allocations,
            'project_id': owner['project_id'] if owner else PROJECT,
            'user_id': owner['user_id'] if owner else USER,
            'consumer_generation': generation,
        }
        return self.call('PUT', f'/allocations/{uuid}', body)[0]

    def _hand_over(self, giver, taker, live):
        owner = {name: live[name] for name in ('project_id', 'user_id')}
        allocations = {
            provider: {'resources': holding['resources']}
            for provider, holding in live['allocations'].items()
        }
        body = {
            giver: {
                'allocations': {}, 'consumer_generation': live['consumer_generation'], **owner
            },
            taker: {'allocations': allocations, 'consumer_generation': None, **owner},
        }  # fmt: skip
        return self.call('POST', '/allocations', body)[0]
