# SPDX-License-Identifier: Apache-2.0
"""Clouds in a few words."""

from msgspec.structs import replace

from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot

AGGREGATE = 'shared'


def provider(name, parent=None, root=None, traits=(), aggregates=(), **inventories):
    """A provider whose UUID is its name; an inventory that is a number is a total."""
    return ProviderState(
        Provider(name, name, 1, parent, root or parent or name),
        {
            resource_class: Inventory(value) if isinstance(value, int) else value
            for resource_class, value in inventories.items()
        },
        frozenset(traits),
        frozenset(aggregates),
    )


def host(name, *traits, aggregates=(), **inventories):
    """A host with a nova-compute."""
    return provider(name, traits=['COMPUTE_NODE', *traits], aggregates=aggregates, **inventories)


def pool(name, *aggregates, **inventories):
    """A sharing provider."""
    return provider(
        name, traits=[SHARING_TRAIT], aggregates=aggregates or [AGGREGATE], **inventories
    )


def consumer(name, kind='INSTANCE', **allocated):
    """Who holds what, by provider."""
    return Consumer(name, allocated, 'project', 'user', 1, kind)


def detailed(uuid, specs=None, vcpus=2, ram=64, state='active', **more):
    """A server as ``GET /servers/detail`` has it."""
    return {
        'id': uuid, 'tenant_id': 'p', 'user_id': 'u', 'image': {'id': 'i'},
        'OS-EXT-SRV-ATTR:hypervisor_hostname': 'old', 'OS-EXT-STS:task_state': None,
        'OS-EXT-STS:vm_state': state,
        'flavor': {'original_name': 'm', 'vcpus': vcpus, 'ram': ram, 'disk': 0, 'ephemeral': 0,
                   'swap': 0, 'extra_specs': specs or {}},
        **more,
    }  # fmt: skip


def cloud(states, consumers=()):
    """A snapshot in which what is used is what the consumers hold, where it does not say it."""
    consumers = list(consumers)
    used = sum_gains(({}, entry.allocations) for entry in consumers)
    return Snapshot(
        (s if s.usages else replace(s, usages=dict(used[s.uuid])) for s in states), consumers
    )
