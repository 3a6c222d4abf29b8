"""Faults of inventories, and of allocations against them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Fault
from placementclient.model.inventories import Inventory
from placementclient.model.repairs import Administration, AmendInventory, LowerReserved
from placementclient.model.snapshots import ProviderState

#: The classes that a ratio can promise more of than there is; all others are devices and the like.
_SHAREABLE = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def over_capacity(cloud: Cloud) -> Iterator[Fault]:
    """More is used than there is.

    An inventory that is reserved as a whole is no fault: operators do so to keep a device from
    being used again, or a host from being filled.
    """
    for state, resource_class, inventory in _inventories(cloud):
        used = state.used(resource_class)
        unreserved = inventory.total - inventory.reserved
        if unreserved > 0 and inventory.allocation_ratio > 0 and used > inventory.capacity:
            ratio = math.ceil(used / unreserved * 1000) / 1000
            can_share = resource_class in _SHAREABLE
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {
                    'resource_class': resource_class,
                    'used': used,
                    'capacity': inventory.capacity,
                },
                AmendInventory(state.reference, resource_class, {'allocation_ratio': ratio})
                if can_share
                else None,
                ''
                if can_share
                else (
                    f'{resource_class} cannot be shared, so no ratio helps: see who holds it with '
                    f'resource provider allocation list {state.uuid}, and move servers away'
                ),
            )


def unlisted_usage(cloud: Cloud) -> Iterator[Fault]:
    """The service counts more than the consumers hold that it lists."""
    for state in cloud.states():
        if unlisted := cloud.snapshot.unlisted(state.uuid):
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {'unlisted': unlisted},
                Administration.RECORD_CONSUMERS,
            )


def broken_units(cloud: Cloud) -> Iterator[Fault]:
    """Allocations that the service would not grant any more; they are in the way of a reshape."""
    for state in cloud.states():
        for consumer in cloud.snapshot.consumers_on(state.uuid):
            for resource_class, amount in sorted(consumer.allocations[state.uuid].items()):
                inventory = state.inventories.get(resource_class)
                wanted = _admitting(inventory, amount) if inventory else {}
                if wanted:
                    yield Fault(
                        consumer.uuid,
                        (cloud.root_of(state),),
                        {
                            'provider': state.name,
                            'resource_class': resource_class,
                            'amount': amount,
                            **{field: getattr(inventory, field) for field in wanted},
                        },
                        AmendInventory(state.reference, resource_class, wanted),
                        'new servers would be granted such amounts too, and nova-compute may set '
                        'the fields back. If that is no harm',
                    )


def reserved_above_total(cloud: Cloud) -> Iterator[Fault]:
    """More is reserved than there is: capacity is below nothing, and updates are refused."""
    for state, resource_class, inventory in _inventories(cloud):
        if inventory.reserved > inventory.total:
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {
                    'resource_class': resource_class,
                    'reserved': inventory.reserved,
                    'total': inventory.total,
                },
                LowerReserved(state.uuid, state.reference, resource_class, inventory.total),
            )


def ratio_without_room(cloud: Cloud) -> Iterator[Fault]:
    """A ratio of 0 or below: nothing can be allocated, whatever there is."""
    for state, resource_class, inventory in _inventories(cloud):
        if inventory.allocation_ratio <= 0:
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {
                    'resource_class': resource_class,
                    'allocation_ratio': inventory.allocation_ratio,
                    'total': inventory.total,
                },
                AmendInventory(state.reference, resource_class, {'allocation_ratio': 1.0}),
                'the ratio may keep servers away on purpose. If not',
            )


def _inventories(cloud: Cloud) -> Iterator[tuple[ProviderState, str, Inventory]]:
    for state in cloud.states():
        for resource_class, inventory in sorted(state.inventories.items()):
            yield state, resource_class, inventory


def _admitting(inventory: Inventory, amount: int) -> dict[str, int]:
    """The fields that keep an inventory from admitting an amount, as they would admit it."""
    wanted = {}
    if amount < inventory.min_unit:
        wanted['min_unit'] = amount
    if amount > inventory.max_unit:
        wanted['max_unit'] = amount
    if amount % inventory.step_size:
        wanted['step_size'] = math.gcd(amount, inventory.step_size)
    return wanted
