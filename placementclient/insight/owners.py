# SPDX-License-Identifier: Apache-2.0
"""The services that own providers, and the trait that marks Nova's own."""

import re
from collections.abc import Collection
from typing import NamedTuple

from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA, OWNER_PREFIX
from placementclient.model.snapshots import ProviderState, Snapshot


class OwnerService(NamedTuple):
    """A service that creates providers below the hosts of Nova.

    :param name: a pattern of the names of its providers
    :param classes: the beginnings of the resource classes that only this service reports
    :param traits: the beginnings of the traits that only this service sets, beside ``OWNER_…``
    """

    service: str
    name: re.Pattern[str] = re.compile('(?!)')
    classes: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()

    def has_created(self, state: ProviderState, classes: Collection[str]) -> bool:
        """Return True if the service has created a provider.

        :param classes: those of the provider and of all below it
        """
        return bool(
            self.name.fullmatch(state.name)
            or any(trait.startswith(self.traits) for trait in state.traits)
            or (classes and all(name.startswith(self.classes) for name in classes))
        )


#: The names of the providers of Neutron's agents, and of their devices.
NEUTRON_PROVIDER = re.compile('[^:]+:.* agent(:.*)?')
#: Ironic has none: nova-compute reports its nodes, as roots.
OTHERS = (
    OwnerService('Blazar', re.compile('blazar_.+'), ('CUSTOM_RESERVATION_',)),
    OwnerService('Cyborg', classes=('FPGA',), traits=('CUSTOM_FPGA_',)),
    OwnerService('Neutron', NEUTRON_PROVIDER, ('NET_',)),
)


def is_foreign(snapshot: Snapshot, state: ProviderState) -> bool:
    """Return True if a provider below a root of Nova belongs to another service.

    So do all providers below such a one. Names, traits and classes show the service.
    """
    above = snapshot.providers.get(state.provider.parent_provider_uuid or '')
    if above is not None and above.provider.parent_provider_uuid and is_foreign(snapshot, above):
        return True
    if any(trait.startswith(OWNER_PREFIX) and trait != OWNER_NOVA for trait in state.traits):
        return True
    classes = {name for below in snapshot.tree(state.uuid) for name in below.inventories}
    return any(owner.has_created(state, classes) for owner in OTHERS)


def is_owner_trait_needed(snapshot: Snapshot) -> bool:
    """Return True if Nova probably requires OWNER_NOVA on hosts.

    Nova (34.0, ``owner_nova_filter``) requires it on the root once every nova-compute runs 34 or
    later. A snapshot does not have these versions. A nova-compute that has set the trait runs 34;
    during an upgrade the others lack the trait, though Nova does not require it yet.
    """
    return any(OWNER_NOVA in host.traits for host in _list_nova_hosts(snapshot))


def find_unowned_hosts(snapshot: Snapshot) -> list[ProviderState]:
    """Return the roots of hosts without a trait of an owner; none if no host has OWNER_NOVA."""
    if not is_owner_trait_needed(snapshot):
        return []
    return [
        host
        for host in _list_nova_hosts(snapshot)
        if not any(trait.startswith(OWNER_PREFIX) for trait in host.traits)
    ]


def _list_nova_hosts(snapshot: Snapshot) -> list[ProviderState]:
    return [root for root in snapshot.roots() if COMPUTE_NODE in root.traits]
