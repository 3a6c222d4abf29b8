"""Hosts that Nova's scheduler does not choose, as they lack the mark of its own providers."""

from __future__ import annotations

from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA, OWNER_PREFIX
from placementclient.model.snapshots import ProviderState, Snapshot


def is_owner_required(snapshot: Snapshot) -> bool:
    """Return True if Nova requires OWNER_NOVA on a host, as far as a snapshot shows that.

    Nova (34.0, ``owner_nova_filter``) requires it on the root once every nova-compute is of 34 or
    later, which no snapshot says. One that has set the trait is; during an upgrade the others
    lack it for a while, though Nova does not require it yet.
    """
    return any(OWNER_NOVA in host.traits for host in _hosts(snapshot))


def unowned(snapshot: Snapshot) -> list[ProviderState]:
    """The roots of hosts without OWNER_NOVA, by name; none where no host has it."""
    if not is_owner_required(snapshot):
        return []
    return [
        host
        for host in _hosts(snapshot)
        if not any(trait.startswith(OWNER_PREFIX) for trait in host.traits)
    ]


def _hosts(snapshot: Snapshot) -> list[ProviderState]:
    return [root for root in snapshot.roots() if COMPUTE_NODE in root.traits]
