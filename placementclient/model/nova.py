# SPDX-License-Identifier: Apache-2.0
"""The names that Nova uses in Placement."""

import re
from collections.abc import Iterable

from placementclient.model.snapshots import ProviderState

#: The types of consumers, from 1.38 on. Nova's own report client sends none.
INSTANCE, MIGRATION = 'INSTANCE', 'MIGRATION'
#: Marks the providers of one service. Nova's scheduler, from 34 on, requires its own on all that it
#: schedules to.
OWNER_PREFIX = 'OWNER_'
OWNER_NOVA = 'OWNER_NOVA'
OWNER_CYBORG = 'OWNER_CYBORG'
#: Marks a device that one server may use; Nova leaves it reserved afterwards.
ONE_TIME_USE = 'HW_PCI_ONE_TIME_USE'
#: Mark the provider of a PCI device that Nova hands to servers, and one that can move with them.
MANAGED_PCI_DEVICE, LIVE_MIGRATABLE = 'COMPUTE_MANAGED_PCI_DEVICE', 'HW_PCI_LIVE_MIGRATABLE'
#: The traits that nova-compute and Nova's API set and take: what a host can do, and its state.
COMPUTE_PREFIX = 'COMPUTE_'
#: Marks the root of a host that runs nova-compute.
COMPUTE_NODE = 'COMPUTE_NODE'
#: Keeps the scheduler, since Train, from a host whose nova-compute an operator has disabled.
DISABLED = 'COMPUTE_STATUS_DISABLED'
#: Allocation candidates multiply from this many providers of one class in a tree on.
MANY_SIBLINGS = 8

#: The ends of the libvirt driver's names, behind the root's name: of a device (or a virtual
#: function) with mdevs, of a PCI device in Placement, and of memory encryption.
_CHILD = re.compile(
    r'_(pci_[0-9a-f]{4,8}_[0-9a-f]{2}_[0-9a-f]{2}_[0-7]'
    r'|[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]'
    r'|amd_sev(_es)?)'
)
#: An example of each.
CHILD_FORMS = ('pci_0000_84_00_0', '0000:84:00.0', 'amd_sev')


def add_compute_traits(stated: Iterable[str], state: ProviderState | None) -> frozenset[str]:
    """Return stated traits together with the ``COMPUTE_`` traits that a provider has already.

    Nova sets and removes those. A stated mark of a disabled host is left out.

    :param state: the provider; ``None`` if it does not exist
    """
    if state is None:
        return frozenset(stated)
    of_nova = (trait for trait in state.traits if trait.startswith(COMPUTE_PREFIX))
    return frozenset(stated) - {DISABLED} | {*of_nova}


def is_spent_device(state: ProviderState, resource_class: str) -> bool:
    """Return whether a one-time-use device was used and must be cleaned."""
    inventory = state.inventories[resource_class]
    is_free = not state.usages.get(resource_class)
    return ONE_TIME_USE in state.traits and inventory.reserved >= inventory.total and is_free


def is_child_name(name: str, root: str) -> bool:
    """Return whether Nova's libvirt driver gives such a name to a provider below this root."""
    return name.startswith(root) and _CHILD.fullmatch(name, len(root)) is not None
