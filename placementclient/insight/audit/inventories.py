# SPDX-License-Identifier: Apache-2.0
"""Checks of inventories, of allocations against them, and of PCI devices."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from placementclient.insight.audit.cloud import Cloud, make_finding
from placementclient.model.findings import Finding
from placementclient.model.inventories import Inventory
from placementclient.model.nova import OWNER_CYBORG, is_spent_device
from placementclient.model.repairs import RECORD_CONSUMERS, LowerReserved, make_inventory_advice
from placementclient.model.snapshots import ProviderState

#: The classes that a ratio may overcommit; all others are devices and the like.
_SHAREABLE = ('VCPU', 'MEMORY_MB', 'DISK_GB')
_UNSHARED = (
    '{} cannot be shared, so no ratio helps: see who holds it (placement resource provider '
    'allocation list {}), and move servers away'
)
_RATIO = (
    'move servers away, or raise the ratio. Only you know if the host can bear that, and '
    'nova-compute may set the ratio back. If it can'
)
_RESERVED = (
    'without the reserved amount all would fit: move servers away, or find out what it is reserved '
    'for, as nova-compute may set it back. If less will do'
)
_UNITS = (
    'new servers would be granted such amounts too, and nova-compute may set the fields back. If '
    'that is no harm'
)
#: At the end of a name, as Nova and Cyborg write it.
_ADDRESS = re.compile(
    r'([0-9a-f]{4,8})[:_]([0-9a-f]{2})[:_]([0-9a-f]{2})[._]([0-7])$', re.IGNORECASE
)
_ONE_OWNER = (
    "take the device out of Nova's [pci]device_spec or out of the configuration of Cyborg, and "
    'restart the service'
)


def find_usage_above_capacity(cloud: Cloud) -> Iterator[Finding]:
    """Yield the inventories with more usage than capacity, ``(total - reserved) * ratio``.

    Without any capacity it is no finding of this check: others report a reserved amount above the
    total, and a ratio of 0 or less; and Nova reserves all of a one-time-use device that is in use.
    """
    for state, name, inventory in _list_inventories(cloud):
        used = state.used(name)
        unreserved = inventory.total - inventory.reserved
        if unreserved <= 0 or inventory.allocation_ratio <= 0 or used <= inventory.capacity:
            continue
        facts = {'resource_class': name, 'used': used, 'capacity': inventory.capacity}
        if inventory.reserved and used <= replace(inventory, reserved=0).capacity:
            facts |= {'total': inventory.total, 'reserved': inventory.reserved}
            fields = {'reserved': _find_sufficient_reserved(inventory, used)}
            remedy = make_inventory_advice(state.reference, name, fields)
            yield cloud.make_finding(state, facts, remedy, _RESERVED)
        elif name in _SHAREABLE:
            ratio = _find_sufficient_ratio(inventory, used)
            remedy = make_inventory_advice(state.reference, name, {'allocation_ratio': ratio})
            yield cloud.make_finding(state, facts, remedy, _RATIO)
        else:
            yield cloud.make_finding(state, facts, reason=_UNSHARED.format(name, state.uuid))


def _find_sufficient_reserved(inventory: Inventory, used: int) -> int:
    """Return the largest reserved amount that leaves capacity for a usage; 0 or less if none does.

    Placement multiplies in floating point: ``int(330 * 0.7)`` is 230, so 231 need 331.
    """
    reserved = inventory.total - math.floor(used / inventory.allocation_ratio)
    while reserved > 0 and replace(inventory, reserved=reserved).capacity < used:
        reserved -= 1
    return reserved


def _find_sufficient_ratio(inventory: Inventory, used: int) -> float:
    """Return the least ratio, in thousandths, that gives capacity for a usage.

    Placement multiplies in floating point: ``int(100 * 1.16)`` is 115, so 116 need 1.161.
    """
    thousandths = math.ceil(used * 1000 / (inventory.total - inventory.reserved))
    while replace(inventory, allocation_ratio=thousandths / 1000).capacity < used:
        thousandths += 1
    return thousandths / 1000


def find_unlisted_usage(cloud: Cloud) -> Iterator[Finding]:
    """Yield the providers with more usage than the consumers that Placement lists hold."""
    for state, unlisted in cloud.unlisted_usage:
        yield cloud.make_finding(state, {'unlisted': unlisted}, RECORD_CONSUMERS)


def find_broken_units(cloud: Cloud) -> Iterator[Finding]:
    """Yield the allocations against ``min_unit``, ``max_unit`` or ``step_size`` of an inventory."""
    for state, name, inventory in _list_inventories(cloud):
        for consumer in cloud.snapshot.consumers_on(state.uuid):
            amount = consumer.allocations[state.uuid].get(name)
            if amount is None or inventory.admits(amount):
                continue
            fields = _correct_units(inventory, amount)
            facts = {'provider': state.name, 'resource_class': name, 'amount': amount}
            facts |= {field: inventory.as_fields()[field] for field in fields}
            remedy = make_inventory_advice(state.reference, name, fields)
            yield make_finding(consumer.uuid, facts, (state.provider.root_uuid,), remedy, _UNITS)


def find_reserved_above_total(cloud: Cloud) -> Iterator[Finding]:
    """Yield the inventories whose reserved amount exceeds the total."""
    for state, name, inventory in _list_inventories(cloud):
        reserved, total = inventory.reserved, inventory.total
        if reserved > total:
            facts = {'resource_class': name, 'reserved': reserved, 'total': total}
            remedy = LowerReserved(state.uuid, state.reference, name, total)
            yield cloud.make_finding(state, facts, remedy)


def find_ratios_without_room(cloud: Cloud) -> Iterator[Finding]:
    """Yield the inventories with an allocation ratio of 0 or less: nothing can be allocated."""
    for state, name, inventory in _list_inventories(cloud):
        ratio, total = inventory.allocation_ratio, inventory.total
        if ratio <= 0:
            facts = {'resource_class': name, 'allocation_ratio': ratio, 'total': total}
            remedy = make_inventory_advice(state.reference, name, {'allocation_ratio': 1.0})
            reason = 'the ratio may keep servers away on purpose. If not'
            yield cloud.make_finding(state, facts, remedy, reason)


def find_burned_devices(cloud: Cloud) -> Iterator[Finding]:
    """Yield the devices for one-time use that were used, and have to be cleaned."""
    for state, name, inventory in _list_inventories(cloud):
        if is_spent_device(state, name):
            used = state.used(name)
            totals = {'total': inventory.total, 'reserved': inventory.reserved, 'used': used}
            remedy = make_inventory_advice(state.reference, name, {'reserved': 0})
            facts = {'resource_class': name, **totals}
            yield cloud.make_finding(state, facts, remedy, 'clean the device first, then')


def find_doubled_devices(cloud: Cloud) -> Iterator[Finding]:
    """Yield the PCI devices that have a provider of Nova and one of Cyborg."""
    for states in cloud.topology.trees.values():
        owners = defaultdict[str, dict[str, ProviderState]](dict)
        for state in states:
            if match := _ADDRESS.search(state.name):
                owner = 'cyborg' if OWNER_CYBORG in state.traits else 'nova'
                owners[match.expand(r'\1:\2:\3.\4').lower()][owner] = state
        for address, by_owner in sorted(owners.items()):
            if len(by_owner) > 1:
                names = {owner: state.name for owner, state in sorted(by_owner.items())}
                facts = {'address': address, **names}
                yield cloud.make_finding(by_owner['nova'], facts, reason=_ONE_OWNER)


def _list_inventories(cloud: Cloud) -> Iterator[tuple[ProviderState, str, Inventory]]:
    """Yield each provider with each of its resource classes and the inventory of the class."""
    for state in cloud.list_providers():
        for resource_class, inventory in sorted(state.inventories.items()):
            yield state, resource_class, inventory


def _correct_units(inventory: Inventory, amount: int) -> dict[str, int]:
    """Return the units that do not admit an amount, each with a value that admits it."""
    fields = dict.fromkeys(inventory.units.list_violated_limits(amount), amount)
    if 'step_size' in fields:
        fields['step_size'] = math.gcd(amount, inventory.step_size)
    return fields
