"""Random requests on random small clouds: the candidates of the service, and those worked out.

python -m tests.functional.candidates --requests 20000
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass

from keystoneauth1.session import Session

from placementclient.api import allocation_candidate, trait
from placementclient.client import errors, http, microversion
from placementclient.client.http import Client
from placementclient.embedded import Direct
from placementclient.insight.candidates import counting
from placementclient.insight.candidates.matching import Matcher, snapshot_index
from placementclient.insight.candidates.requirements import requirements
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.totals import ALL
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.options import OptionSearch, PartSearch
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import parsed
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.planted import Planted, uuid_of

TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')
AGGREGATES = ('rack', 'row', 'storage')
CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU')
#: That of Nova, and the first with alternatives of traits.
VERSIONS = ('1.36', '1.39')
#: How many requests each cloud gets.
REQUESTS = 25

#: The amounts of each provider, and the providers that serve each group.
Served = tuple[frozenset[tuple[str, str, int]], frozenset[tuple[str, frozenset[str]]]]


def random_cloud(chance):
    """Return some hosts with cells and devices, and pools; some share what they have."""
    cloud = Planted()
    for host in range(chance.randint(1, 3)):
        _provider(cloud, chance, f'host{host}', None)
        for cell in range(chance.choice((0, 1, 2, 2))):
            name = f'host{host}_cell{cell}'
            _provider(cloud, chance, name, f'host{host}')
            for device in range(chance.choice((0, 0, 1, 2))):
                _provider(cloud, chance, f'{name}_device{device}', name)
    for pool in range(chance.choice((0, 0, 1, 1, 2))):
        _provider(cloud, chance, f'pool{pool}', None, sharing=True)
        if chance.random() < 0.1:
            _provider(cloud, chance, f'pool{pool}_child', f'pool{pool}')
    for number, state in enumerate(list(cloud.states.values())):
        taken = {
            name: inventory.min_unit
            for name, inventory in state.inventories.items()
            if chance.random() < 0.3
            and inventory.admits(inventory.min_unit)
            and inventory.min_unit <= inventory.capacity
        }
        if taken:
            cloud.consumer(f'server{number}', **{state.name: taken})
    return cloud.snapshot


def _provider(cloud, chance, name, parent, *, sharing=False):
    classes = chance.sample(CLASSES, chance.choice((0, 1, 1, 2, 2, 3) if parent else (1, 2, 3)))
    traits = [name for name in TRAITS if chance.random() < 0.35]
    is_sharing = sharing or chance.random() < 0.04
    cloud.provider(
        name,
        {each: _inventory(chance) for each in classes},
        parent,
        (*traits, *((SHARING_TRAIT,) if is_sharing else ())),
        tuple(each for each in AGGREGATES if chance.random() < (0.6 if sharing else 0.3)),
    )


def _inventory(chance):
    total = chance.randint(2, 8)
    return Inventory(
        total,
        reserved=chance.choice((0, 0, 0, 1)),
        min_unit=chance.choice((1, 1, 1, 1, 2)),
        max_unit=chance.choice((total, total, 2, 3)),
        step_size=chance.choice((1, 1, 1, 1, 2)),
        allocation_ratio=chance.choice((1.0, 1.0, 1.5, 2.0)),
    )


def random_request(chance, providers, version):
    """Return a request that the service takes.

    :param providers: the UUIDs that it may name
    """
    groups = {
        suffix: _group(chance, providers, version)
        for suffix in ('_A', '_B', '_C')[: chance.choice((0, 0, 1, 1, 2, 2, 3))]
    }
    same = []
    while len(groups) > 1 and chance.random() < 0.3:
        same.append(tuple(chance.sample(list(groups), chance.randint(2, len(groups)))))
    # Groups without resources are for same_subtree alone.
    for suffix, group in groups.items():
        bare = group._replace(resources={})
        joint = any(suffix in suffixes for suffixes in same)
        if joint and bare != Filter() and chance.random() < 0.6:
            groups[suffix] = bare
    is_served = any(group.resources for group in groups.values())
    common = Filter()
    if not is_served or chance.random() < 0.6:
        common = _group(chance, providers, version)
    # The service adds up what the common group and another one take, again and again, with isolate.
    is_doubled = any(common.resources.keys() & group.resources.keys() for group in groups.values())
    policies = ('none',) if is_doubled else ('none', 'isolate')
    return CandidateRequest(
        common,
        groups,
        chance.choice(policies) if groups else None,
        tuple(same),
        (chance.choice(TRAITS[:2]),) if chance.random() < 0.1 else (),
        (TRAITS[2],) if chance.random() < 0.1 else (),
    )


def _group(chance, providers, version):
    traits = chance.sample(TRAITS, chance.choice((0, 0, 0, 1, 2)))
    forbidden = traits[: chance.choice((0, 0, 1))]
    required = traits[len(forbidden) :]
    if version == '1.39' and len(required) == 2 and chance.random() < 0.5:
        required = [','.join(required)]
    if version == '1.39' and not traits and chance.random() < 0.2:
        required = [','.join(chance.sample(TRAITS, 2))]
    aggregates = chance.choice((0, 0, 0, 0, 1, 2))
    return Filter(
        {
            name: chance.choice((1, 1, 2, 3))
            for name in chance.sample(CLASSES, chance.choice((1, 1, 2, 3)))
        },
        tuple(required),
        tuple(forbidden),
        tuple(_some(chance) for _ in range(aggregates)),
        tuple(_some(chance) for _ in range(chance.choice((0, 0, 0, 0, 1)))),
        chance.choice(providers) if chance.random() < 0.1 else None,
    )


def _some(chance):
    return ','.join(uuid_of(name) for name in chance.sample(AGGREGATES, chance.choice((1, 1, 2))))


def granted(client, request):
    """Return the candidates of the service."""
    candidates, _ = allocation_candidate.list(client, request)
    options = [_served(candidate.allocations, candidate.mappings) for candidate in candidates]
    assert len(options) == len(set(options))
    return set(options)


class _EveryOption(OptionSearch):
    """Those that are alike too."""

    _sorted = PartSearch._sorted


def every_option(problem, request, host, room, pools):
    """Return all options to serve a request on a host, those that are alike too."""
    suitable = problem.suitable(request, host.shape)
    if suitable is None:
        return []
    return list(_EveryOption(request, host.shape, suitable, room, pools).every())


def worked_out(snapshot, request):
    """Return the root of a tree, a candidate on it, and whether it is certain, for each.

    The service keeps what sharing providers alone can give to the common group for one of the trees
    that they reach, and which one that is nobody can tell.
    """
    cloud, asked = DrainCloud(snapshot), parsed(request)
    cloud.hosts = list(cloud.topology.trees)
    problem = cloud.problem([asked], ())
    for host in problem.hosts:
        options = every_option(problem, asked, host, host.room, problem.pools)
        is_admitted = problem.suitable(asked, host.shape) is not None
        assert bool(options) == (is_admitted and problem.option(asked, host) is not None)
        for option in options:
            allocations: dict[str, dict[str, int]] = {}
            mappings: dict[str, list[str]] = {}
            for part, place in zip(asked.parts, option.places, strict=True):
                provider = host.providers[place]
                mappings.setdefault(part.group, []).append(provider)
                held = allocations.setdefault(provider, {}) if part.resources else {}
                for name, amount in part.resources:
                    held[name] = held.get(name, 0) + amount
            common = mappings.get('', [])
            shared = common and all(is_sharing(snapshot.providers[uuid]) for uuid in common)
            yield host.uuid, _served(allocations, mappings), not (shared and request.groups)


def _served(allocations, mappings):
    return (
        frozenset((u, n, a) for u, each in allocations.items() for n, a in each.items()),
        frozenset((suffix, frozenset(providers)) for suffix, providers in mappings.items()),
    )


@dataclass
class Trial:
    """A client for each version, of a service with a cloud of its own."""

    clients: dict[str, Client]

    def run(self, seed, requests):
        """Compare some requests on one cloud; return how many, and how many were met."""
        chance, writer = random.Random(seed), self.clients['1.39']
        clouds.load(writer, random_cloud(chance))
        snapshot, compared = clouds.captured(writer), Counter[str]()
        for _ in range(requests):
            version = chance.choice(VERSIONS)
            request = random_request(chance, list(snapshot.providers), version)
            try:
                compared['met'] += self._compare(snapshot, request, version, seed)
                compared['compared'] += 1
            except errors.ServerError:
                # Groups without resources on trees that serve no other group break the service.
                compared['failed'] += 1
        clouds.emptied(writer)
        return compared

    def _compare(self, snapshot, request, version, seed):
        """Return whether a request has candidates, and compare them."""
        served = granted(self.clients[version], request)
        candidates = list(worked_out(snapshot, request))
        options = {option for _, option, _ in candidates}
        roots = {root for root, _, _ in candidates}
        certain = {option for _, option, is_certain in candidates if is_certain}
        assert certain <= served <= options, (seed, version, request, certain, served, options)
        matcher = Matcher(snapshot_index(snapshot), wanted := requirements(request))
        assert matcher.satisfying(frozenset(wanted)) == roots, (seed, request)
        if not any(is_sharing(state) for state in snapshot.providers.values()):
            number = counting.counted(Topology(snapshot), request)
            assert (number.total, number.is_exact) == (len(served), True), (seed, request)
        counts = fits.by_tree(Topology(snapshot), [request])
        names = {snapshot.providers[root].name for root in roots}
        assert {each.name for each in counts if each.count} - {ALL} == names, (seed, request)
        return bool(served)


def trial(session):
    """Return a trial on a service that is empty."""
    clients = {
        version: http.Client(session, microversion.requested(version), max_retries=0)
        for version in VERSIONS
    }
    for name in TRAITS:
        trait.create(clients['1.39'], name)
    return Trial(clients)


def tried(seeds):
    """Compare requests on a random cloud for each seed."""
    with Direct.scratch() as service:
        judge = trial(Session(auth=service))
        return sum((judge.run(seed, REQUESTS) for seed in seeds), Counter[str]())


def main():
    """Try many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--requests', type=int, default=20_000)
    parser.add_argument('--first', type=int, default=0, help='the first seed')
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.requests // REQUESTS)
    print(json.dumps(tried(seeds)))


if __name__ == '__main__':
    main()
