# SPDX-License-Identifier: Apache-2.0
"""Random pairs of snapshots, for tests of what leads from one to the other."""

import uuid
from collections import Counter

from msgspec.structs import replace

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

CLASSES = ('VCPU', 'MEMORY_MB', 'VGPU', 'CUSTOM_A', 'CUSTOM_B')
TRAITS = ('HW_CPU_X86_AVX2', 'COMPUTE_NODE', 'CUSTOM_T', 'CUSTOM_U')
NAMES = tuple(f'provider{number}' for number in range(8))


def uuid_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def pair(random):
    """Two snapshots of one cloud: alike, or of which one has little in common with the other."""
    before = snapshot(random)
    return before, snapshot(random, before, keep=random.choice((0.0, 0.3, 0.7, 0.9)))


def snapshot(random, before=None, keep=0.0):
    """A consistent snapshot: each allocation has an inventory, though maybe not enough of it.

    :param keep: how likely each thing is as it was in ``before``
    """
    before = before or Snapshot((), ())
    states = _providers(random, before, keep)
    consumers = list(_consumers(random, before, keep, states))
    used: dict[str, Counter[str]] = {state.uuid: Counter() for state in states}
    for consumer in consumers:
        for provider_uuid, resources in consumer.allocations.items():
            used[provider_uuid].update(resources)
    return Snapshot(
        (
            replace(state, usages={name: used[state.uuid][name] for name in state.inventories})
            for state in states
        ),
        consumers,
    )


def _providers(random, before, keep):
    uuids = [uuid_of(name) for name in NAMES if random.random() < 0.7]
    names = dict(zip(uuids, random.sample(NAMES, len(uuids)), strict=True))
    for provider_uuid in uuids:
        former = before.providers.get(provider_uuid)
        if former and random.random() < keep:
            holder = next((u for u, name in names.items() if name == former.name), None)
            if holder is not None:
                names[holder] = names[provider_uuid]
            names[provider_uuid] = former.name
    states: list[ProviderState] = []
    roots: dict[str, str] = {}
    for provider_uuid in random.sample(uuids, len(uuids)):
        former = before.providers.get(provider_uuid)
        parent = random.choice([None, *roots])
        parent_before = former.provider.parent_provider_uuid if former else None
        if former and random.random() < keep and parent_before in {None, *roots}:
            parent = parent_before
        roots[provider_uuid] = roots[parent] if parent else provider_uuid
        provider = Provider(provider_uuid, names[provider_uuid], 0, parent, roots[provider_uuid])
        states.append(_content(random, provider, former, keep))
    return states


def _content(random, provider, former, keep):
    inventories = {
        name: _inventory(random)
        if former is None or name not in former.inventories or random.random() >= keep
        else former.inventories[name]
        for name in random.sample(CLASSES, random.randint(0, 3))
    }
    if former is not None and random.random() < keep:
        inventories = dict(former.inventories)
    aggregates = [uuid_of(f'aggregate{number}') for number in range(2)]
    return ProviderState(
        provider,
        inventories,
        frozenset(random.sample(TRAITS, random.randint(0, 2))),
        frozenset(random.sample(aggregates, random.randint(0, 2))),
    )


def _inventory(random):
    total = random.randint(1, 16)
    return Inventory(
        total,
        reserved=random.choice((0, 0, 1, total)),
        min_unit=random.choice((1, 1, 2)),
        max_unit=random.choice((total, total, 2, 16)),
        step_size=random.choice((1, 1, 2)),
        allocation_ratio=random.choice((1.0, 1.0, 1.1, 4.0)),
    )


def _consumers(random, before, keep, states):
    places = [(state.uuid, name) for state in states for name in state.inventories]
    for number in range(random.randint(0, 6) if places else 0):
        consumer_uuid = uuid_of(f'consumer{number}')
        former = before.consumers.get(consumer_uuid)
        allocations: dict[str, dict[str, int]] = {}
        for provider_uuid, name in random.sample(places, random.randint(1, min(3, len(places)))):
            allocations.setdefault(provider_uuid, {})[name] = random.randint(1, 5)
        if former and random.random() < keep and _fits(former, places):
            allocations = {u: dict(resources) for u, resources in former.allocations.items()}
        kind = random.choice((None, 'INSTANCE'))
        if former and (random.random() < keep or kind is None):
            kind = former.type
        owner = random.choice(('alice', 'bob'))
        yield Consumer(consumer_uuid, allocations, f'{owner}s', owner, former and 1, kind)


def _fits(consumer, places):
    places_of = {(u, name) for u, resources in consumer.allocations.items() for name in resources}
    return places_of <= set(places)


def content(snapshot):
    """All of a snapshot that a change can lead to: no generations."""
    return (
        {
            uuid: (
                state.name,
                state.provider.parent_provider_uuid,
                state.provider.root_provider_uuid,
                dict(state.inventories),
                state.traits,
                state.aggregates,
                {name: used for name, used in state.usages.items() if used},
            )
            for uuid, state in snapshot.providers.items()
        },
        {
            uuid: (consumer.allocations, consumer.project_id, consumer.user_id, consumer.type)
            for uuid, consumer in snapshot.consumers.items()
        },
    )


def with_types_of(former, desired):
    """A snapshot as it can be had: Placement lets no consumer lose its type."""
    types = {uuid: consumer.type for uuid, consumer in former.consumers.items()}
    consumers = (
        replace(consumer, type=consumer.type or types.get(uuid))
        for uuid, consumer in desired.consumers.items()
    )
    return Snapshot(desired.providers.values(), consumers)
