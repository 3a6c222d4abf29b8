# SPDX-License-Identifier: Apache-2.0
"""Small clouds with new servers, and the fewest moves by trying all moves in every order."""

import random
from itertools import product

from msgspec.structs import replace

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.insight.drain.room_plan import NewServers, decide_room
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.placing.requests import parse_request
from tests.unit.insight.clouds import cloud, consumer, host
from tests.unit.insight.drain import oracle

#: The most servers of a cloud that are moved in every way.
MOST = 6


def case(seed):
    """Return a cloud, the hosts that may receive new servers, their resources and their number."""
    rng = random.Random(seed)
    snapshot = _filled(rng) if seed % 2 else _thinned(rng, seed)
    hosts = [root.uuid for root in snapshot.roots() if _is_host(root)]
    chosen = rng.sample(hosts, rng.randint(1, len(hosts))) if rng.random() < 0.3 else hosts
    used = _used([_frozen(consumer.allocations) for consumer in snapshot.consumers.values()])
    for _ in range(20):
        resources = {'VCPU': rng.randint(1, 5), 'MEMORY_MB': rng.randint(1, 5)}
        if rng.random() < 0.3:
            resources['VGPU'] = rng.randint(1, 2)
        # One more than has room, if the amounts of all hosts are enough.
        number = 1
        while number < 4 and _fit(snapshot, used, chosen, resources, number):
            number += 1
        if all(_free(snapshot, name) >= number * n for name, n in resources.items()):
            break
    return snapshot, chosen, resources, number


def _thinned(rng, seed):
    """Return a cloud of the drains with fewer servers, and in most cases alike hosts."""
    snapshot, _ = oracle.case(seed)
    kept = rng.sample(list(snapshot.consumers), min(MOST, len(snapshot.consumers)))
    are_alike = rng.random() < 0.7
    states = [
        replace(
            state,
            usages={},
            traits=frozenset({'COMPUTE_NODE'}) if are_alike and _is_host(state) else state.traits,
            aggregates=state.aggregates - {'zone'} if are_alike else state.aggregates,
        )
        for state in snapshot.providers.values()
    ]
    return cloud(states, [snapshot.consumers[uuid] for uuid in sorted(kept)])


def _filled(rng):
    """Return a cloud of hosts that are nearly full of small servers."""
    states, servers = [], []
    for number in range(rng.randint(2, 4)):
        free = rng.randint(4, 8)
        inventories = {'VCPU': free, 'MEMORY_MB': rng.choice((99, free, free + 1))}
        states.append(host(f'host{number}', **inventories))
        left = dict(inventories)
        for server in range(rng.randint(0, 3)):
            amounts = {'VCPU': rng.randint(1, 3), 'MEMORY_MB': rng.randint(1, 3)}
            if (
                all(left[name] >= amount for name, amount in amounts.items())
                and len(servers) < MOST
            ):
                left = {name: left[name] - amount for name, amount in amounts.items()}
                servers.append(consumer(f'host{number}-{server}', **{f'host{number}': amounts}))
    return cloud(states, servers)


def _is_host(state):
    return 'COMPUTE_NODE' in state.traits


def _free(snapshot, name):
    return sum(
        max(0, state.free(name))
        for state in snapshot.providers.values()
        if name in state.inventories
    )


def fewest(snapshot, chosen, resources, number):
    """Return the fewest moves after which the new servers fit; ``None``: no number suffices."""
    servers = [
        (uuid, list(_images(snapshot, consumer))) for uuid, consumer in snapshot.consumers.items()
    ]
    start = tuple(_frozen(snapshot.consumers[uuid].allocations) for uuid, _ in servers)
    seen, level, moves = {start}, [start], 0
    while level:
        if any(_fit(snapshot, _used(state), chosen, resources, number) for state in level):
            return moves
        following = []
        for state in level:
            used = _used(state)
            for place, (_, images) in enumerate(servers):
                for root, image in images:
                    after = (*state[:place], _frozen(image), *state[place + 1 :])
                    if after in seen or root == _root(snapshot, state[place]):
                        continue
                    if oracle._are_granted(snapshot, image, used):
                        seen.add(after)
                        following.append(after)
        level, moves = following, moves + 1
    return None


def _frozen(allocations):
    return tuple(sorted((uuid, tuple(sorted(part.items()))) for uuid, part in allocations.items()))


def _used(state):
    used: oracle.Used = oracle.Counter()
    for allocations in state:
        oracle._enter(used, {uuid: dict(part) for uuid, part in allocations})
    return used


def _root(snapshot, allocations):
    roots = {snapshot.providers[uuid].provider.root_uuid for uuid, _ in allocations} - {'nfs'}
    return next(iter(roots))


def _images(snapshot, consumer):
    host = _root(snapshot, _frozen(consumer.allocations))
    for image in oracle._images(snapshot, [], host, consumer):
        root = _root(snapshot, _frozen(image)) if set(image) != {'nfs'} else None
        if root is not None:
            yield root, image


def _fit(snapshot, used, chosen, resources, number):
    """Return whether new servers fit, by trying all options for each."""
    if not number:
        return True
    targets = set(oracle._targets(snapshot, [])) & set(chosen)
    for target in sorted(targets):
        places = [
            [state for state in oracle._serving(snapshot, target) if name in state.inventories]
            for name in resources
        ]
        for states in product(*places):
            allocations: dict[str, dict[str, int]] = {}
            for state, (name, amount) in zip(states, resources.items(), strict=True):
                allocations.setdefault(state.uuid, {})[name] = amount
            if oracle._are_granted(snapshot, allocations, used):
                oracle._enter(used, allocations)
                is_enough = _fit(snapshot, used, chosen, resources, number - 1)
                oracle._enter(used, allocations, -1)
                if is_enough:
                    return True
    return False


def decision(snapshot: Snapshot, chosen, resources, number, **options):
    """Return the answer for servers of a flavor with some resources."""
    request = parse_request(CandidateRequest(Filter(resources), root_forbidden=(oracle.DISABLED,)))
    new = NewServers('new', request, number)
    return decide_room(DrainCloud(snapshot), chosen, new, **options)


def fault(seed):
    """Return how the answer for a case differs from that of the search; ``None``: it agrees."""
    snapshot, chosen, resources, number = case(seed)
    expected = fewest(snapshot, chosen, resources, number)
    certain = decision(snapshot, chosen, resources, number, is_certain=True)
    answer = decision(snapshot, chosen, resources, number)
    if expected is None:
        is_no = certain.verdict is DrainVerdict.NO and answer.verdict is not DrainVerdict.YES
        return None if is_no else f'{certain.verdict} and {answer.verdict}, not no'
    found = certain.verdict, len(certain.moves), certain.bound
    if found != (DrainVerdict.YES, expected, expected):
        return f'{found}, not {expected} moves'
    if (answer.verdict, answer.moves) != (certain.verdict, certain.moves):
        return f'{answer.verdict} where only amounts are certain'
    if answer.bound > expected:
        return f'at least {answer.bound}, not {expected} moves'
    return next(oracle.refusals(snapshot, certain.moves), None)
