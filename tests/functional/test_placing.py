# SPDX-License-Identifier: Apache-2.0
"""Random requests on random small clouds: what the service grants, and what is worked out.

``PLACING_REQUESTS=20000`` compares so many requests, from the cloud ``PLACING_FIRST`` on.
"""

import os
import random
from collections import Counter

import pytest
from keystoneauth1.session import Session

from placementclient.api import allocation_candidate, trait
from placementclient.client import errors, http, microversion
from placementclient.embedded import Direct
from placementclient.insight.candidates.explanation import explain_request
from placementclient.insight.candidates.matching import index_snapshot
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.totals import ALL
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import build_problem
from placementclient.insight.drain.proof import pack_servers
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing import candidate_count
from placementclient.placing.options import OptionSearch
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import parse_request
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.functional.planted import Planted

TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')
AGGREGATES = ('rack', 'row', 'storage')
CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU')
#: That of Nova, and the first with alternatives of traits.
VERSIONS = ('1.36', '1.39')
#: How many requests each cloud gets.
REQUESTS = 25
FIRST = int(os.environ.get('PLACING_FIRST', '0'))
SEEDS = range(FIRST, FIRST + int(os.environ.get('PLACING_REQUESTS', '200')) // REQUESTS)
#: Those of the tests without a number from outside.
FEW = range(20)


def random_cloud(chance):
    """Return some hosts, of which some are alike, and pools; some share what they have."""
    cloud = Planted()
    kinds = [chance.random() for _ in range(2)]
    for host in range(chance.randint(1, 3)):
        _host(cloud, random.Random(chance.choice(kinds)), f'host{host}')
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


def _host(cloud, chance, host):
    _provider(cloud, chance, host, None)
    for cell in range(chance.choice((0, 1, 2, 2))):
        name = f'{host}_cell{cell}'
        _provider(cloud, chance, name, host)
        for device in range(chance.choice((0, 0, 1, 2))):
            _provider(cloud, chance, f'{name}_device{device}', name)


def _provider(cloud, chance, name, parent, *, sharing=False):
    classes = chance.sample(CLASSES, chance.choice((0, 1, 1, 2, 2, 3) if parent else (1, 2, 3)))
    traits = [name for name in TRAITS if chance.random() < 0.35]
    is_sharing = sharing or chance.random() < 0.04
    cloud.provider(
        name,
        {name: _inventory(chance) for name in classes},
        parent,
        (*traits, *((SHARING_TRAIT,) if is_sharing else ())),
        tuple(name for name in AGGREGATES if chance.random() < (0.6 if sharing else 0.3)),
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


def every_option(problem, kind, host, room, pools):
    """Return all options to serve a request on a host, those that are alike too."""
    request, shape = problem.requests[kind], problem.shapes[host.shape]
    suitable = shape.find_suitable_providers(request)
    if suitable is None:
        return []
    return list(OptionSearch(request, shape, suitable, room, pools).find_options())


def worked_out(snapshot, request):
    """Return the root of a tree, a candidate on it, and whether it is certain, for each.

    The service keeps what sharing providers alone can give to the common group for one of the trees
    that they reach, and which one that is nobody can tell.
    """
    cloud, parts = DrainCloud(snapshot), parse_request(request)
    cloud.hosts = list(cloud.topology.trees)
    kind = cloud.find_kind_of_request(parts)
    problem = build_problem(cloud, {kind: ()}, ())
    packing = Packing(problem)
    for number, host in enumerate(problem.hosts):
        options = every_option(problem, kind, host, host.room, problem.pools)
        is_admitted = problem.find_shape_fit(kind, host.shape) is not None
        assert bool(options) == (is_admitted and packing.find_option(kind, number) is not None)
        for option in options:
            mappings: dict[str, list[str]] = {}
            for part, place in zip(parts.parts, option.places, strict=True):
                mappings.setdefault(part.group, []).append(host.providers[place])
            common = mappings.get('', [])
            shared = common and all(is_sharing(snapshot.providers[uuid]) for uuid in common)
            served = _served(host.build_allocations(parts, option), mappings)
            yield host.uuid, served, not (shared and request.groups)


def _served(allocations, mappings):
    return (
        frozenset((u, n, a) for u, amounts in allocations.items() for n, a in amounts.items()),
        frozenset((suffix, frozenset(providers)) for suffix, providers in mappings.items()),
    )


@pytest.fixture(scope='module')
def service_clients():
    """A client for each version, of one service."""
    with Direct.scratch() as service:
        session = Session(auth=service)
        clients = {
            version: http.Client(session, microversion.parse_version_option(version), max_retries=0)
            for version in VERSIONS
        }
        for name in TRAITS:
            trait.create(clients['1.39'], name)
        yield clients


def loaded(client, seed):
    """Return a random cloud as the service has it, and the chance that made it."""
    chance = random.Random(seed)
    clouds.emptied(client)
    clouds.load(client, random_cloud(chance))
    return clouds.captured(client), chance


@pytest.mark.slow
def test_random_requests_have_the_candidates_of_the_service(service_clients):
    compared = Counter[str]()
    for seed in SEEDS:
        snapshot, chance = loaded(service_clients['1.39'], seed)
        for _ in range(REQUESTS):
            version = chance.choice(VERSIONS)
            request = random_request(chance, list(snapshot.providers), version)
            try:
                candidates, _ = allocation_candidate.list(service_clients[version], request)
            except errors.ServerError:
                # Groups without resources on trees that serve no other group break the service.
                compared['failed'] += 1
                continue
            check(snapshot, request, candidates, (seed, version, request))
            compared['met' if candidates else 'unmet'] += 1
    print(dict(compared))
    assert compared.total() == len(SEEDS) * REQUESTS
    assert compared['met'] >= 2 * len(SEEDS)
    assert compared['failed'] <= compared.total() // 20


def check(snapshot, request, candidates, case):
    """Compare the candidates of the service with what is worked out."""
    options = [_served(candidate.allocations, candidate.mappings) for candidate in candidates]
    granted = set(options)
    assert len(options) == len(granted), case
    expected = list(worked_out(snapshot, request))
    certain = {option for _, option, is_certain in expected if is_certain}
    assert certain <= granted <= {option for _, option, _ in expected}, case
    roots = {root for root, _, _ in expected}
    explained = explain_request(request, index_snapshot(snapshot), most_trees=1)
    assert (explained.has_candidates, explained.offer.tree_count) == (bool(roots), len(roots)), case
    assert explained.has_candidates == bool(granted) or not certain, case
    topology = Topology(snapshot)
    if not any(map(is_sharing, snapshot.providers.values())):
        number = candidate_count.count_candidates(topology, request)
        assert (number.total, number.is_exact) == (len(granted), True), case
    counts = fits.count_fits_by_tree(topology, request)
    names = {snapshot.providers[root].name for root in roots}
    assert {item.name for item in counts if item.count} - {ALL} == names, case


def test_capacity_and_drain_count_as_many_servers_as_trying_all_options():
    compared = 0
    for seed in FEW:
        chance = random.Random(seed)
        snapshot = random_cloud(chance)
        cloud, topology = DrainCloud(snapshot), Topology(snapshot)
        cloud.hosts = list(topology.trees)
        for _ in range(8):
            request = random_request(chance, list(snapshot.providers), '1.39')
            counts = {item.name: item.count for item in fits.count_fits_by_tree(topology, request)}
            kind = cloud.find_kind_of_request(parse_request(request))
            problem = build_problem(cloud, {kind: ()}, ())
            servers = [ServerMove('', '', {}, {})] * (counts[ALL] + 1)
            packing = pack_servers(build_problem(cloud, {kind: servers}, ()))
            assert packing.placed_count <= counts[ALL] <= packing.bound, (seed, request)
            for host in problem.hosts:
                most = most_servers(problem, kind, host)
                assert counts.get(snapshot.providers[host.uuid].name, 0) == most, (seed, request)
                others = [uuid for uuid in cloud.hosts if uuid != host.uuid]
                servers = [ServerMove('', '', {}, {})] * (most + 1)
                packing = pack_servers(build_problem(cloud, {kind: servers}, others))
                assert packing.placed_count <= most <= packing.bound, (seed, request)
                compared += most > 0
    assert compared >= len(FEW)


def most_servers(problem, kind, host):
    """Return how many servers fit on a host, by trying all options for each of them."""
    best: dict[object, int] = {}

    def most(room, pools):
        key = tuple(room), tuple(pools.values())
        if key not in best:
            best[key] = 0
            options = every_option(problem, kind, host, room, pools)
            for local, shared in {(option.local, option.shared) for option in options}:
                left, pooled = list(room), dict(pools)
                for at, amount in local:
                    left[at] -= amount
                for pool, amount in shared:
                    pooled[pool] -= amount
                best[key] = max(best[key], 1 + most(left, pooled))
        return best[key]

    return most(host.room, problem.pools)
