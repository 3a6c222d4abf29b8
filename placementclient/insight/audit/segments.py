"""Faults of the segments of routed networks, against what Neutron says of their subnets."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding

#: The name of a segment's provider, before the segment's ID.
_NAME = 'Neutron segment id '
_IPV4 = 'IPV4_ADDRESS'
_WRITTEN = (
    'Neutron writes it when a subnet of the segment changes, but only if its section [placement] '
    'and its section [nova] work: see the log of neutron-server'
)
_LEFT = 'if the network is gone, resource provider delete removes it'


def segment_addresses(cloud: Cloud) -> Iterator[Finding]:
    """A segment of a routed network and its provider in Placement disagree.

    The provider has the UUID of the segment. Its ``IPV4_ADDRESS`` are the addresses in the pools of
    the segment's IPv4 subnets, with a gateway for each. It is in the aggregate of the hosts that
    reach the segment. The check finds segments without a provider, with another total, without an
    aggregate, or in an aggregate without hosts. It also finds providers of segments that are gone.

    Why it matters: Nova looks for a host by these aggregates and addresses. Without them a server
    goes to a host that its port cannot be bound on, or finds no valid host.

    Safe to fix: yes, but not by ``--fix``: Neutron and Nova write these providers. ``resource
    provider aggregate sync`` puts the hosts into Nova's aggregate of the segment, and frees
    nothing.

    Look yourself: ``openstack subnet list --long``, ``openstack network segment list`` and
    ``openstack resource provider inventory list SEGMENT``

    Example: ``addresses 252, inventory 126, hosts_in_aggregate 4``
    """
    segments = cloud.answers.subnets or {}
    hosts = [state for state in cloud.snapshot.roots() if not state.name.startswith(_NAME)]
    for uuid, addresses in sorted(segments.items()):
        state = cloud.snapshot.providers.get(uuid)
        inventory = state.inventories.get(_IPV4) if state else None
        members = (
            sum(not host.aggregates.isdisjoint(state.aggregates) for host in hosts) if state else 0
        )
        total = inventory.total if inventory else 0
        if total != addresses or not members:
            facts = {'addresses': addresses, 'inventory': total, 'hosts_in_aggregate': members}
            roots = (uuid,) if state else ()
            yield Finding(state.name if state else f'{_NAME}{uuid}', roots, facts, None, _WRITTEN)
    for state in cloud.snapshot.roots():
        if state.name.startswith(_NAME) and state.uuid not in segments:
            yield cloud.finding(state, {'addresses': 0}, None, _LEFT)
