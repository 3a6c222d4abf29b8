# SPDX-License-Identifier: Apache-2.0
"""Small clouds, and the answers of a search through everything that servers could do.

It knows nothing of groups, cuts or patterns, and takes no shortcut.
"""

import random
from collections import Counter
from itertools import product

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import Ledger, ServerMove
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import AGGREGATE, cloud, pool, provider

DISABLED = 'COMPUTE_STATUS_DISABLED'
_TRAITS = ('CUSTOM_A', 'CUSTOM_B')
Used = Counter[tuple[str, str]]


def case(seed):
    """Return a cloud, and the hosts that are to be emptied."""
    rng = random.Random(seed)
    kind = rng.choice(('flat', 'alike', 'alike', 'cards', 'cells', 'shared'))
    names = [f'host{number}' for number in range(rng.randint(2, 5))]
    emptied = names[: rng.randint(1, max(1, len(names) - 2))]
    states = [state for name in names for state in _host(rng, name, kind)]
    if kind == 'alike':
        # Rounding and packing decide, so that cuts and patterns are needed.
        emptied, room = names[:1], rng.randint(8, 13)
        states = [
            provider(
                name,
                traits=['COMPUTE_NODE'],
                VCPU=99 if name in emptied else room,
                MEMORY_MB=99 if name in emptied else rng.choice((room, room + 1)),
            )
            for name in names
        ]
    if kind == 'shared':
        states.append(
            pool('nfs', DISK_GB=Inventory(rng.randint(6, 16), max_unit=rng.choice((2, 9))))
        )
    used: Used = Counter()
    consumers: list[Consumer] = []
    snapshot = cloud(states)
    for name in names:
        is_empty = kind == 'alike' and name not in emptied
        most = 7 if kind == 'alike' else 4 if name in emptied else 3
        for number in range(0 if is_empty else rng.randint(1, most)):
            allocations = _allocations(rng, snapshot, name, used, 6 if kind == 'alike' else 3)
            if allocations:
                consumers.append(Consumer(f'{name}-{number}', allocations, 'p', 'u', 1, 'INSTANCE'))
                _enter(used, allocations)
    return cloud(states, consumers), emptied


def _host(rng, name, kind):
    traits = ['COMPUTE_NODE', *(name for name in _TRAITS if rng.random() < 0.3)]
    traits += [DISABLED] if rng.random() < 0.15 else []
    aggregates = [AGGREGATE] if kind == 'shared' and rng.random() < 0.8 else []
    aggregates += ['zone'] if rng.random() < 0.3 else []
    cells = kind == 'cells'
    amounts = (
        {'MEMORY_MB': _inventory(rng, 9)}
        if cells
        else {'VCPU': _inventory(rng, 6), 'MEMORY_MB': _inventory(rng, 9)}
    )
    yield provider(name, traits=traits, aggregates=aggregates, **amounts)
    for number in range(rng.randint(1, 3) if kind == 'cards' or cells else 0):
        marks = [name for name in _TRAITS if rng.random() < 0.2]
        inside = {'VCPU': _inventory(rng, 4)} if cells else {'VGPU': _inventory(rng, 3)}
        yield provider(f'{name}_{number}', name, traits=marks, **inside)


def _inventory(rng, most):
    total = rng.randint(1, most)
    return Inventory(
        total,
        reserved=rng.choice((0, 0, 0, 1)) if total > 1 else 0,
        max_unit=rng.choice((total, total, total, 2)),
        step_size=rng.choice((1, 1, 1, 1, 2)),
        allocation_ratio=rng.choice((1.0, 1.0, 1.5)),
    )


def _allocations(rng, snapshot, host, used, most):
    """Return what a new server gets on a host; nothing if the first try fails."""
    amounts = [('VCPU', rng.randint(1, most)), ('MEMORY_MB', rng.randint(1, most + 1))]
    amounts += [('VGPU', rng.randint(1, 2)) for _ in range(rng.choice((0, 1, 1, 2)))]
    amounts += [('DISK_GB', rng.randint(1, 3))]
    allocations: dict[str, dict[str, int]] = {}
    for name, amount in amounts:
        places = [state for state in _serving(snapshot, host) if name in state.inventories]
        if not places:
            continue
        state = rng.choice(places)
        resources = allocations.setdefault(state.uuid, {})
        resources[name] = resources.get(name, 0) + amount
    has_cpus = any('VCPU' in resources for resources in allocations.values())
    return allocations if has_cpus and _are_granted(snapshot, allocations, used) else {}


def _serving(snapshot, host):
    states = list(snapshot.tree(host))
    is_shared = AGGREGATE in snapshot.providers[host].aggregates
    return [*states, *([snapshot.providers['nfs']] if is_shared else [])]


def _is_granted(state, name, amount, used):
    inventory = state.inventories[name]
    return inventory.admits(amount) and used[state.uuid, name] + amount <= inventory.capacity


def _are_granted(snapshot, allocations, used):
    return all(
        _is_granted(snapshot.providers[uuid], name, amount, used)
        for uuid, resources in allocations.items()
        for name, amount in resources.items()
    )


def _enter(used, allocations, sign=1):
    for uuid, resources in allocations.items():
        for name, amount in resources.items():
            used[uuid, name] += sign * amount


def strict(snapshot, emptied):
    """Return how many servers can move to hosts with all traits and aggregates of their own."""
    used: Used = Counter()
    for consumer in snapshot.consumers.values():
        _enter(used, consumer.allocations)

    def fits(server, image):
        return _are_granted(snapshot, image, used)

    def take(server, image, sign):
        # What is on shared storage appears twice for a while, then once again.
        new = image.keys() - server[1].allocations.keys()
        _enter(used, {uuid: image[uuid] for uuid in new}, sign)

    servers = list(_servers(snapshot, emptied))
    options = [list(_images(snapshot, emptied, *server)) for server in servers]
    return most_placed(servers, options, fits, take)


def most_placed(servers, options, fits, take):
    """Return how many servers can have one of their options at the same time."""

    def best(number):
        if number == len(servers):
            return 0
        server, most = servers[number], best(number + 1)
        for option in options[number]:
            if most < len(servers) - number and fits(server, option):
                take(server, option, 1)
                most = max(most, 1 + best(number + 1))
                take(server, option, -1)
        return most

    return best(0)


def _servers(snapshot, emptied):
    for consumer in snapshot.consumers.values():
        for host in emptied:
            if any(state.uuid in consumer.allocations for state in snapshot.tree(host)):
                yield host, consumer


def _targets(snapshot, emptied):
    return [
        root.uuid
        for root in snapshot.roots()
        if 'COMPUTE_NODE' in root.traits
        and DISABLED not in root.traits
        and root.uuid not in emptied
    ]


def _images(snapshot, emptied, host, consumer):
    old = snapshot.providers[host]
    for target in _targets(snapshot, emptied):
        new = snapshot.providers[target]
        if not (old.traits - {DISABLED} <= new.traits and old.aggregates <= new.aggregates):
            continue
        places = _serving(snapshot, target)
        for chosen in product(places, repeat=len(consumer.allocations)):
            if len({state.uuid for state in chosen}) < len(chosen):
                continue
            pairs = list(zip(consumer.allocations.items(), chosen, strict=True))
            if all(_is_like(snapshot.providers[uuid], part, to) for (uuid, part), to in pairs):
                yield {to.uuid: resources for (_, resources), to in pairs}


def _is_like(before, resources, after):
    return (
        before.traits - {DISABLED} <= after.traits
        and before.aggregates <= after.aggregates
        and resources.keys() <= after.inventories.keys()
    )


def lax(snapshot, emptied):
    """Return how many servers can move if only the sums of a host count."""
    sums = [
        sum(map(Counter, consumer.allocations.values()), Counter[str]())
        for _, consumer in _servers(snapshot, emptied)
    ]
    targets = _targets(snapshot, emptied)
    free: Used = Counter()
    for target in targets:
        for state in snapshot.tree(target):
            for name in state.inventories:
                free[target, name] += max(0, state.free(name))

    def take(amounts, target, sign):
        for name, amount in amounts.items():
            if (target, name) in free:
                free[target, name] -= sign * amount

    def fits(amounts, target):
        return _sums_fit(snapshot, target, amounts, free)

    return most_placed(sums, [targets] * len(sums), fits, take)


def _sums_fit(snapshot, target, needed, free):
    for name, amount in needed.items():
        states = [state for state in _serving(snapshot, target) if name in state.inventories]
        inventories = [state.inventories[name] for state in states]
        if not states or (len(states) == 1 and not inventories[0].admits(amount)):
            return False
        if states[0].uuid == 'nfs':
            # What is on it stays there, but appears twice for a while.
            if states[0].free(name) < amount:
                return False
            continue
        largest = sum(stock.max_unit - stock.max_unit % stock.step_size for stock in inventories)
        if amount > min(free[target, name], largest):
            return False
    return True


def fault(seed):
    """Return in what the answer for a case differs from that of the search; ``None``: it agrees."""
    snapshot, emptied = case(seed)
    decision = decide_drain(DrainCloud(snapshot), emptied)
    total = len(list(_servers(snapshot, emptied)))
    certain, possible = strict(snapshot, emptied), lax(snapshot, emptied)
    expected = DrainVerdict.DEPENDS
    if certain == total:
        expected, possible = DrainVerdict.YES, total
    elif possible < total:
        expected = DrainVerdict.NO
    answer = (
        decision.strict.server_count,
        decision.strict.placed_count,
        decision.bounds[1],
        decision.verdict,
    )
    if answer != (total, certain, possible, expected):
        return f'{answer}, not {(total, certain, possible, str(expected))}'
    return next(_faults(snapshot, emptied, decision), None)


def refusals(snapshot, moves):
    """Go through a plan wave by wave, and return what Placement would refuse.

    :param moves: in the order of their waves
    """
    ledger, under_way, wave = Ledger(snapshot), list[ServerMove](), 0
    holds: dict[str, Allocations] = {}
    for move in moves:
        if move.wave != wave:
            for moved in under_way:
                ledger.add_allocations(moved.before, -1)
            under_way, wave = [], move.wave
        now = holds.get(move.server, snapshot.consumers[move.server].allocations)
        if now != move.before:
            yield f'{move.server} does not hold what it is said to hold'
        if not ledger.can_allocate(move.after):
            yield f'{move.server} has no room in wave {wave}'
        ledger.add_allocations(move.after)
        holds[move.server] = move.after
        under_way.append(move)


def _faults(snapshot, emptied, decision):
    yield from refusals(snapshot, decision.moves)
    if decision.verdict is DrainVerdict.YES:
        moved = {move.server for move in decision.moves}
        if moved != {consumer.uuid for _, consumer in _servers(snapshot, emptied)}:
            yield 'the plan leaves a server'
    packing = decision.strict
    if not packing.is_exact:
        yield f'the most under strict is {packing.placed_count} to {packing.bound}'
