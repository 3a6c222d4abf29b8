# SPDX-License-Identifier: Apache-2.0
"""What Placement does with a reshape, in a few lines."""

from collections import Counter

from msgspec.structs import replace

from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.planner.clouds import with_usages


class NotAccepted(Exception):
    """Placement refuses it."""


def reshaped(snapshot, inventories, allocations):
    """Return a snapshot after a ``POST /reshaper``, of whose rules a few lines are here.

    :raises NotAccepted: if the service refuses the request
    """
    states, consumers = snapshot.providers, snapshot.consumers
    after = {uuid: state.inventories for uuid, state in states.items()} | inventories
    before = allocations_of(snapshot)
    was, used = usages(before), usages(before | allocations)
    for uuid, changed in allocations.items():
        for (provider, name), amount in usages({uuid: changed}).items():
            inventory, now = after.get(provider, {}).get(name), used[provider, name]
            if inventory is None or not inventory.admits(amount):
                raise NotAccepted(f'{amount} {name} at {provider}')
            if now > inventory.capacity and now > was[provider, name]:
                raise NotAccepted(f'{now} {name} at {provider}')
    for provider, name in used:
        if name not in after.get(provider, {}):
            raise NotAccepted(f'{name} of {provider} is in use')
    return with_usages(
        [replace(state, inventories=dict(after[uuid])) for uuid, state in states.items()],
        [
            replace(consumer, allocations=allocations.get(uuid, consumer.allocations))
            for uuid, consumer in consumers.items()
        ],
    )


def carried_out(snapshot, tree):
    """Return a snapshot after the plan of a tree."""
    return reshaped(
        with_empty(snapshot, tree.list_created_providers()),
        {change.uuid: change.content_after.inventories for change in tree.providers},
        {change.uuid: change.after.allocations for change in tree.consumers},
    )


def with_empty(snapshot, providers):
    """Return a snapshot with providers that were just made, unless it has them."""
    states = dict(snapshot.providers)
    for new in providers:
        above = new.parent_provider_uuid, new.root_provider_uuid
        states.setdefault(new.uuid, ProviderState(Provider(new.uuid, new.name, 1, *above)))
    return Snapshot(states.values(), snapshot.consumers.values())


def usages(allocations):
    """Return the used amount of each class of each provider, of consumers by UUID."""
    sums: Counter[tuple[str, str]] = Counter()
    for by_provider in allocations.values():
        for provider_uuid, resources in by_provider.items():
            for name, amount in resources.items():
                sums[provider_uuid, name] += amount
    return sums


def allocations_of(snapshot):
    """Return the allocations of all consumers, by UUID."""
    return {uuid: consumer.allocations for uuid, consumer in snapshot.consumers.items()}
