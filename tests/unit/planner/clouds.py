# SPDX-License-Identifier: Apache-2.0
"""Small clouds for the planner's tests, from a notation that reads well."""

import uuid
from collections import Counter, defaultdict

from msgspec.structs import replace

from placementclient.changes.diff import list_operations
from placementclient.changes.obstacles import Obstructed
from placementclient.changes.operations import Reshape
from placementclient.changes.rollback import merge_rollback
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider, is_uuid
from placementclient.model.snapshots import ProviderState, Snapshot

_NAMESPACE = uuid.UUID(int=0)


def uuid_of(name):
    """The UUID of a consumer or a provider of a test."""
    return str(uuid.uuid5(_NAMESPACE, name))


def cloud(trees, consumers):
    """A snapshot.

    :param trees: ``{root: {inventories, traits, aggregates, usages, children}}``
    :param consumers: ``{name or UUID: {provider: {class: amount}, type: …}}``
    """
    people = [_consumer(name, record) for name, record in consumers.items()]
    return Snapshot(_providers(trees, None, None, _used(people)), people)


def _used(consumers):
    """What consumers use of each provider."""
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for consumer in consumers:
        for provider, resources in consumer.allocations.items():
            used[provider].update(resources)
    return used


def _consumer(name, record):
    allocations = {
        uuid_of(provider): value for provider, value in record.items() if provider != 'type'
    }
    consumer_uuid = name if is_uuid(name) else uuid_of(name)
    return Consumer(consumer_uuid, allocations, 'project', 'user', 3, record.get('type'))


def _providers(trees, parent, root, used):
    for name, record in trees.items():
        provider_uuid = uuid_of(name)
        yield ProviderState(
            Provider(provider_uuid, name, 7, parent, root or provider_uuid),
            {key: Inventory(**value) for key, value in record.get('inventories', {}).items()},
            frozenset(record.get('traits', ())),
            frozenset(record.get('aggregates', ())),
            record.get('usages', dict(used[provider_uuid])),
        )
        yield from _providers(
            record.get('children', {}), provider_uuid, root or provider_uuid, used
        )


def applied(snapshot, tree):
    """What a snapshot becomes when the plan of one tree is carried out."""
    return simulate(snapshot, list_operations(tree))


def taken_back(snapshot, tree):
    """Return a snapshot after the way back of a tree; the providers that it made stay."""
    _, merged = merge_rollback(tree, snapshot)
    if merged.obstacles:
        raise Obstructed(merged.obstacles)
    return simulate(snapshot, (op for op in merged.operations if isinstance(op, Reshape)))


def with_usages(states, consumers):
    """Return a snapshot in which the consumers' allocations are the usages."""
    consumers = list(consumers)
    used = _used(consumers)
    return Snapshot((replace(s, usages=dict(used[s.uuid])) for s in states), consumers)
