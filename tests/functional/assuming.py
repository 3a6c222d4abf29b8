"""Assumptions about random clouds, and the same changes really made in a scratch Placement.

``python -m tests.functional.assuming --overlays 1000`` tries as many.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keystoneauth1.session import Session

from placementclient.api import (
    aggregate,
    allocation,
    allocation_candidate,
    inventory,
    resource_provider,
    trait,
)
from placementclient.changes.plan import plan_of
from placementclient.client import errors, http, microversion
from placementclient.client.http import Client
from placementclient.embedded import Direct
from placementclient.insight.candidates.matching import Matcher
from placementclient.insight.candidates.requirements import requirements
from placementclient.insight.candidates.snapshot_index import SnapshotIndex
from placementclient.insight.capacity import totals
from placementclient.model.consumers import Consumer
from placementclient.model.flavors import Flavor
from placementclient.model.inventories import Inventory
from placementclient.model.plans import Plan
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.nova.server_parts import ServerRequest
from placementclient.nova.server_request import requested
from placementclient.producers.assuming import Assumed
from placementclient.producers.assuming.assumptions import NamedFiles, parse
from placementclient.producers.assuming.overlay import OWNER, assumed
from placementclient.producers.declarations import Declared
from placementclient.producers.declare import declared
from placementclient.reshape import engines
from tests.functional import clouds
from tests.functional.planted import Planted, uuid_of

TRAITS = ('CUSTOM_SSD', 'CUSTOM_FAST', 'HW_CPU_X86_AVX2', 'COMPUTE_STATUS_DISABLED')
AGGREGATES = ('rack', 'zone')
Entry = dict[str, Any]
FLAVORS = {
    'm1': Flavor('m1', 2, 512),
    'fast': Flavor('fast', 1, 512, extra_specs={'trait:CUSTOM_FAST': 'required'}),
    'gpu': Flavor('gpu', 1, 256, extra_specs={'resources1:VGPU': '1'}),
    'disk': Flavor('disk', 1, 256, 10),
}
REQUESTS = (
    *(requested(ServerRequest(flavor)).first for flavor in FLAVORS.values()),
    CandidateRequest(Filter({'VCPU': 4, 'MEMORY_MB': 2048})),
    CandidateRequest(Filter({'VCPU': 1}, ('CUSTOM_SSD',), ('CUSTOM_FAST',))),
    CandidateRequest(Filter({'VCPU': 1}, member_of=(uuid_of('rack'),))),
    CandidateRequest(
        Filter({'VCPU': 1}), {'1': Filter({'VGPU': 1}), '2': Filter({'VGPU': 1})}, 'isolate'
    ),
)


@dataclass
class Trial:
    """A random cloud about which something is assumed, and in which the same is made.

    :ivar entries: the assumptions so far
    :ivar plans: the plans that these name, by path
    """

    client: Client
    random: random.Random
    folder: Path
    entries: list[Entry] = field(default_factory=list)
    plans: dict[str, Plan] = field(default_factory=dict)

    def run(self, most: int) -> Counter[str]:
        """Assume at most so many things, and make each; compare; return how often which."""
        clouds.load(self.client, random_cloud(self.random))
        self.before = clouds.captured(self.client)
        made: Counter[str] = Counter()
        while sum(made.values()) < self.random.randint(1, most):
            kind = self.random.choice(('edit', 'add', 'without', 'servers', 'plan'))
            if getattr(self, f'_{kind}')():
                made[kind] += 1
        self._compare()
        return made

    def assumed(self) -> Assumed:
        """Return the cloud under all assumptions so far."""
        sources = NamedFiles(self.plans.__getitem__, lambda _: list(FLAVORS.values()))
        return assumed(self.before, parse(json.dumps(self.entries), 'assume.yaml', sources))

    def _compare(self) -> None:
        there, wanted = clouds.captured(self.client), self.assumed().snapshot
        assert _content(wanted) == _content(there), self.entries
        assert totals.by_tree(wanted) == totals.by_tree(there), self.entries
        for request in REQUESTS:
            matcher = Matcher(SnapshotIndex(wanted), asked := requirements(request))
            found, summaries = allocation_candidate.list(self.client, request)
            granted = {root for each in found for root in each.roots(summaries)}
            said = matcher.satisfying(frozenset(asked))
            pools = {root.uuid for root in wanted.roots() if SHARING_TRAIT in root.traits}
            # A candidate of nothing but what pools share does not say which host it is for.
            shared = [each.allocations.keys() for each in found if each.allocations.keys() <= pools]
            served = {
                root
                for root, pool in matcher.index.reach.items()
                if any(providers <= set(pool) for providers in shared)
            }
            assert said - pools <= granted | served, (request, self.entries)
            assert said >= granted - pools, (request, self.entries)

    def _names(self) -> list[str]:
        """The names of the hosts."""
        roots = clouds.captured(self.client).roots()
        return [root.name for root in roots if SHARING_TRAIT not in root.traits]

    def _edit(self) -> bool:
        entry: Entry = {'match': self.random.choice(('*', 'host*', 'gpu?', '*cell*', 'n*'))}
        if self.random.random() < 0.3:
            entry['with_class'] = self.random.choice(('VCPU', 'VGPU'))
        if self.random.random() < 0.2:
            entry['member_of'] = uuid_of(self.random.choice(AGGREGATES))
        fields: Mapping[str, Sequence[Any]] = {
            'allocation_ratio': (1.0, 1.5, 4.0),
            'total': (16, 4000),
            'reserved': (0, 1, 2),
            'max_unit': (1, 2, 4000),
            'step_size': (1, 2),
        }
        if self.random.random() < 0.7:
            chosen = self.random.sample(sorted(fields), 2)
            entry['inventories'] = {
                self.random.choice(('VCPU', 'MEMORY_MB', 'VGPU', 'DISK_GB')): {
                    name: self.random.choice(fields[name]) for name in chosen
                }
            }
        if self.random.random() < 0.5:
            added, removed = self.random.sample(TRAITS, 2)
            entry['traits'] = {'add': [added], 'remove': [removed]}
        if self.random.random() < 0.3:
            added, removed = map(uuid_of, self.random.sample(AGGREGATES, 2))
            entry['aggregates'] = {'add': [added], 'remove': [removed]}
        if not entry.keys() & {'inventories', 'traits', 'aggregates'}:
            return False
        self.entries.append(entry)
        try:
            self.assumed()
        except errors.BadFile:
            # Nobody is selected, or nobody has the class.
            self.entries.pop()
            return False
        self._make_edit(entry)
        return True

    def _make_edit(self, entry: Entry) -> None:
        members = (entry['member_of'],) if 'member_of' in entry else ()
        for each in resource_provider.list(self.client, matching=Filter(member_of=members)):
            there = inventory.list(self.client, each.uuid).value
            if not fnmatch.fnmatchcase(each.name, entry['match']):
                continue
            if 'with_class' in entry and entry['with_class'] not in there:
                continue
            wanted = {name: each.as_fields() for name, each in there.items()}
            for name, fields in entry.get('inventories', {}).items():
                if name in there or 'total' in fields:
                    wanted[name] = wanted.get(name, {}) | fields
            self._write(inventory.set_all, each.uuid, wanted)
            traits = set(trait.list_of_provider(self.client, each.uuid).value)
            change = entry.get('traits', {'add': (), 'remove': ()})
            traits = traits.difference(change['remove']).union(change['add'])
            self._write(trait.set_on_provider, each.uuid, traits)
            aggregates = set(aggregate.list(self.client, each.uuid).value)
            change = entry.get('aggregates', {'add': (), 'remove': ()})
            aggregates = aggregates.difference(change['remove']).union(change['add'])
            self._write(aggregate.set, each.uuid, aggregates)

    def _write(self, write: Any, uuid: str, wanted: Any) -> None:
        write(self.client, uuid, wanted, resource_provider.generation(self.client, uuid))

    def _add(self) -> bool:
        like, count = self.random.choice(self._names()), self.random.randint(1, 3)
        prefix = f'new{len(self.entries)}-'
        self.entries.append({'add': count, 'like': like, 'name': prefix + '{n:02d}'})
        wanted, there = self.assumed().snapshot, clouds.captured(self.client)
        for number in range(1, count + 1):
            name = f'{prefix}{number:02d}'
            parents: dict[str | None, str] = {}
            for state in there.tree(there.root_uuids([like])[0]):
                # As the children of the clouds here are called.
                own = name + state.name.removeprefix(like)
                known = wanted.named(own)
                assert known is not None
                parent = parents.get(state.provider.parent_provider_uuid)
                resource_provider.create(
                    self.client, own, uuid=known.uuid, parent_provider_uuid=parent
                )
                parents[state.uuid] = known.uuid
                fields = {each: one.as_fields() for each, one in state.inventories.items()}
                self._write(inventory.set_all, known.uuid, fields)
                self._write(trait.set_on_provider, known.uuid, state.traits)
                self._write(aggregate.set, known.uuid, state.aggregates)
        return True

    def _without(self) -> bool:
        names = self._names()
        if len(names) < 3:
            return False
        gone = self.random.sample(names, self.random.randint(1, 2))
        self.entries.append({'without': gone})
        for name in gone:
            root = resource_provider.named(self.client, name)
            tree = resource_provider.list(self.client, matching=Filter(in_tree=root.uuid))
            for each in tree:
                for holding in allocation.list_of_provider(self.client, each.uuid).value:
                    self._free(holding.consumer_uuid, each.uuid)
            left = {each.uuid: each for each in tree}
            while left:
                parents = {each.parent_provider_uuid for each in left.values()}
                for uuid in left.keys() - parents:
                    resource_provider.delete(self.client, uuid)
                    del left[uuid]
        return True

    def _free(self, consumer_uuid: str, provider_uuid: str) -> None:
        held = allocation.show(self.client, consumer_uuid).value
        rest = {uuid: n for uuid, n in held.allocations.items() if uuid != provider_uuid}
        if rest:
            allocation.set(self.client, clouds.replace(held, allocations=rest))
        else:
            allocation.delete(self.client, consumer_uuid)

    def _servers(self) -> bool:
        count, flavor = self.random.randint(1, 12), self.random.choice(list(FLAVORS.values()))
        entry: Entry = {'count': count, 'flavor': flavor.name}
        if self.random.random() < 0.4:
            entry['on'] = self.random.sample(self._names(), 1)
        placed = self.assumed().placed
        self.entries.append({'servers': entry})
        after = self.assumed()
        request = requested(ServerRequest(flavor)).first
        new = [uuid for uuid in after.snapshot.consumers if uuid in after.placed - placed]
        for uuid in new:
            held = after.snapshot.consumers[uuid].allocations
            granted, _ = allocation_candidate.list(self.client, request)
            assert held in [each.allocations for each in granted], (held, self.entries)
            allocation.set(self.client, Consumer(uuid, held, OWNER, OWNER, None, 'INSTANCE'))
        if len(new) < count:
            found, summaries = allocation_candidate.list(self.client, request)
            left = {root for each in found for root in each.roots(summaries)}
            chosen = entry.get('on', self._names())
            roots = {resource_provider.named(self.client, name).uuid for name in chosen}
            assert not left & roots, (len(new), self.entries)
        return True

    def _plan(self) -> bool:
        there = clouds.captured(self.client)
        name = self.random.choice(self._names())
        try:
            plan = self.random.choice((self._reshape, self._change))(there, name)
        except errors.PlacementError:
            return False
        if plan is None:
            return False
        path = f'plan{len(self.plans)}'
        self.plans[path] = plan
        self.entries.append({'plan': path})
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix='.journal') as journal:
            path = journal.name
        run = engines.apply(self.client, plan, path)
        assert run.exit_status is errors.ExitStatus.DONE, (run, self.entries)
        return True

    def _reshape(self, there: Snapshot, name: str) -> Plan | None:
        root = there.find(name)
        assert root is not None
        if 'VGPU' not in root.inventories or root.inventories['VGPU'].total != 8:
            return None
        # The server knows the children by their names.
        return clouds.plan_of(there.only([name]), 2, allow_inferred=True, known=False)

    def _change(self, there: Snapshot, name: str) -> Plan:
        """Give a host another child, and have a consumer of another host use it."""
        wanted = Declared(
            name,
            traits=frozenset({'CUSTOM_PLANNED'}),
            children=(Declared(f'{name}_more', inventories={'VCPU': {'total': 64}}),),
        )
        number = iter(range(100))
        after = declared(
            there, [wanted], new_uuid=lambda: uuid_of(f'{name} {next(number)} {len(self.plans)}')
        )
        child = after.named(f'{name}_more')
        assert child is not None
        consumers = dict(after.consumers)
        for each in list(consumers.values())[:1]:
            held = {uuid: dict(resources) for uuid, resources in each.allocations.items()}
            for uuid, resources in list(held.items()):
                if 'VCPU' in resources:
                    held[child.uuid] = {'VCPU': resources.pop('VCPU')}
                    if not resources:
                        del held[uuid]
                    break
            consumers[each.uuid] = clouds.replace(each, allocations=held)
        after = Snapshot(after.providers.values(), consumers.values())
        return plan_of('resource provider tree apply', there, after)


def _content(snapshot: Snapshot) -> Any:
    content = clouds.content(snapshot)
    for record in content['providers']:
        # That nothing is used of a class is said or not.
        record['usages'] = {name: n for name, n in record['usages'].items() if n}
    content['providers'].sort(key=lambda record: record['uuid'])
    return content


def random_cloud(choose: random.Random) -> Snapshot:
    """Return flat hosts, hosts with cells and devices, and pools, with some servers."""
    cloud, places = Planted(), []
    for number in range(choose.randint(1, 2)):
        racks = tuple(choose.sample(AGGREGATES, 1))
        cloud.provider(f'pool{number}', {'DISK_GB': Inventory(200)}, None, (SHARING_TRAIT,), racks)
    for number in range(choose.randint(2, 4)):
        traits = tuple(choose.sample(TRAITS, choose.randint(0, 2)))
        racks = tuple(choose.sample(AGGREGATES, choose.randint(0, 2)))
        both = {
            'VCPU': Inventory(choose.choice((4, 8)), allocation_ratio=choose.choice((1.0, 2.0))),
            'MEMORY_MB': Inventory(8192, reserved=512),
        }
        kind = choose.choice(('host', 'gpu', 'nested'))
        name = f'{kind}{number}'
        if kind == 'nested':
            cloud.provider(name, {'DISK_GB': Inventory(100)}, None, traits, racks)
            for cell in range(2):
                cloud.provider(f'{name}_cell{cell}', both, name, traits)
                gpu = {'VGPU': Inventory(2, max_unit=2)}
                cloud.provider(f'{name}_cell{cell}_gpu', gpu, f'{name}_cell{cell}', ())
            places.append(f'{name}_cell{choose.randint(0, 1)}')
        else:
            own = both | ({'VGPU': Inventory(8, max_unit=8)} if kind == 'gpu' else {})
            cloud.provider(name, own, None, traits, racks)
            places.append(name)
    for number in range(choose.randint(0, 5)):
        held = {choose.choice(places): {'VCPU': 1, 'MEMORY_MB': 512}}
        if choose.random() < 0.4:
            held['pool0'] = {'DISK_GB': 10}
        cloud.consumer(f'server{number}', choose.choice((None, 'INSTANCE')), **held)
    return cloud.snapshot


def tried(client: Client, folder: Path, seeds: Sequence[int], most: int = 5) -> Counter[str]:
    """Try some random overlays; return how many assumptions of each kind they had."""
    for name in TRAITS:
        # The service refuses a request for one that it does not know.
        if name.startswith('CUSTOM_'):
            trait.create(client, name)
    made: Counter[str] = Counter()
    for seed in seeds:
        made += Trial(client, random.Random(seed), folder).run(most)
        clouds.emptied(client)
    return made


def main() -> None:
    """Try many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--overlays', type=int, default=1000)
    parser.add_argument('--first', type=int, default=0, help='the first seed')
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.overlays)
    with Direct.scratch() as service, tempfile.TemporaryDirectory() as folder:
        client = http.Client(Session(auth=service), microversion.HIGHEST)
        print(json.dumps({'overlays': len(seeds), **tried(client, Path(folder), seeds)}))


if __name__ == '__main__':
    main()
