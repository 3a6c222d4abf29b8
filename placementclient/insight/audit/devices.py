"""Faults of PCI devices in Placement."""

import re
from collections import defaultdict
from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding
from placementclient.model.nova import OWNER_CYBORG, is_burned
from placementclient.model.snapshots import ProviderState

#: At the end of a name, as Nova and Cyborg write it.
_ADDRESS = re.compile(
    r'([0-9a-f]{4,8})[:_]([0-9a-f]{2})[:_]([0-9a-f]{2})[._]([0-7])$', re.IGNORECASE
)
_ONE_OWNER = (
    "take the device out of Nova's [pci]device_spec or out of the configuration of Cyborg, and "
    'restart the service'
)


def burned_device(cloud: Cloud) -> Iterator[Finding]:
    """A device for one-time use was used, and has to be cleaned.

    It has the trait ``HW_PCI_ONE_TIME_USE``, all of it is reserved, and no server holds it. Nova
    reserves such a device when a server gets it, and leaves it reserved when the server is gone.

    Why it matters: no server gets the device before you set ``reserved`` to 0 again.

    Safe to fix: only after you have cleaned the device, which has the data of the last server. Then
    ``resource provider inventory set PROVIDER --amend --resource CLASS:reserved=0``.

    Look yourself: ``openstack resource provider list --required HW_PCI_ONE_TIME_USE`` and
    ``openstack resource provider inventory list PROVIDER``

    Example: ``resource_class CUSTOM_PCI_8086_0B60, total 1, reserved 1, used 0``
    """
    for state in cloud.states():
        for name, inventory in sorted(state.inventories.items()):
            if is_burned(state, name):
                reason = (
                    'clean the device first, then: resource provider inventory set '
                    f'{state.name} --amend --resource {name}:reserved=0'
                )
                totals = {'total': inventory.total, 'reserved': inventory.reserved, 'used': 0}
                facts = {'resource_class': name, **totals}
                yield cloud.finding(state, facts, None, reason)


def doubled_device(cloud: Cloud) -> Iterator[Finding]:
    """One PCI device of a host belongs to Nova and to Cyborg.

    The names of two providers of the host end with the same PCI address, and only one of them has
    the trait ``OWNER_CYBORG``.

    Why it matters: both services give the device to a server, and the second server does not start.

    Safe to fix: decide which service owns the device. Free the other provider only when its servers
    are gone.

    Look yourself: ``openstack resource provider list --in-tree HOST``

    Example: ``address 0000:81:00.0, cyborg compute1_0000:81:00.0, nova compute1_pci_0000_81_00_0``
    """
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
                yield cloud.finding(by_owner['nova'], facts, None, _ONE_OWNER)
