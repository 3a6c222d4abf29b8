# SPDX-License-Identifier: Apache-2.0
"""Faults of bare metal nodes, compared with Ironic."""

from collections.abc import Iterator
from dataclasses import replace

import os_resource_classes

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.servers import by_hand
from placementclient.model.findings import Finding
from placementclient.model.repairs import HealServer, amending
from placementclient.model.services import BaremetalNode
from placementclient.model.snapshots import ProviderState

_HOLDER = (
    'see with openstack server show who holds it: what no server or migration needs is freed by '
    'resource provider allocation delete'
)
_REPORTED = (
    'nova-compute reports the inventory of its nodes itself, at least once a minute: see in its '
    'log why it does not'
)
_NO_SERVER = (
    'no server is known to be on it: if it is not one of Nova, put it in maintenance, or out of '
    'the reach of nova-compute'
)
_UNKNOWN = 'a server may just be built on it: give the list of servers too, with --servers'


def ironic_node(cloud: Cloud) -> Iterator[Finding]:
    """A node of Ironic and its provider disagree."""
    for node in cloud.answers.nodes or ():
        # The provider has the node's UUID as its name, and in newer releases as its UUID too.
        root = cloud.snapshot.named(node.uuid) or cloud.snapshot.providers.get(node.uuid)
        if root is None or node.is_busy:
            continue
        name = {'node': node.name} if node.name else {}
        for finding in (*_class(cloud, node, root), *_state(cloud, node, root)):
            yield replace(finding, facts={**name, 'state': node.state, **finding.facts})


def _class(cloud: Cloud, node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    if not node.resource_class:
        return
    resource_class = os_resource_classes.normalize_name(node.resource_class)
    # Older releases report no inventory at all for a node that cannot be used.
    is_reported = root.inventories or not node.withheld
    if resource_class not in root.inventories and is_reported:
        facts = {'resource_class': resource_class, 'inventories': sorted(root.inventories)}
        yield cloud.finding(root, facts, None, _REPORTED)


def _is_unusable(node: BaremetalNode) -> bool:
    """Return whether nova-compute reserves a node on which no server is."""
    return bool(node.withheld) or node.state not in ('', 'available', 'active')


def _state(cloud: Cloud, node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    holding = [consumer.uuid for consumer in cloud.snapshot.consumers_on(root.uuid)]
    is_free = node.instance_uuid is None
    if holding:
        if is_free and node.state == 'available':
            building = _UNKNOWN
            if cloud.answers.has('servers'):
                building = next(filter(None, map(cloud.passed_over, holding)), '')
            yield cloud.finding(root, {'holds': holding}, None, _HOLDER, building)
    elif is_free and _is_unusable(node):
        yield from _offered(cloud, node, root)
    elif is_free and node.state == 'available':
        yield from _reserved(cloud, root)
    elif node.state == 'active':
        yield from _unallocated(cloud, node.instance_uuid, root)


def _unallocated(cloud: Cloud, server_uuid: str | None, root: ProviderState) -> Iterator[Finding]:
    """Return that Placement offers a node on which a server is."""
    server = server_uuid or ''
    if any(inventory.capacity > 0 for inventory in root.inventories.values()):
        facts: dict[str, object] = {'holds': [], 'instance_uuid': server_uuid}
        reason = by_hand(cloud, server) if server in cloud.servers else _NO_SERVER
        remedy = None if reason else HealServer(server)
        yield cloud.finding(root, facts, remedy, reason, cloud.passed_over(server))


def _reserved(cloud: Cloud, root: ProviderState) -> Iterator[Finding]:
    """Return the reserved classes of a node that servers could use."""
    for name, inventory in sorted(root.inventories.items()):
        if inventory.reserved:
            facts = {'resource_class': name, 'reserved': inventory.reserved}
            remedy = amending(root.reference, name, {'reserved': 0})
            yield cloud.finding(root, facts, remedy, f'{_REPORTED}. If the node can be used')


def _offered(cloud: Cloud, node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    """Return the classes of a node that nobody can use, and that Placement offers."""
    for name, inventory in sorted(root.inventories.items()):
        if root.free(name) > 0:
            facts = {'resource_class': name, 'offered': root.free(name)}
            remedy = amending(root.reference, name, {'reserved': inventory.total})
            yield cloud.finding(
                root, {**facts, **node.withheld}, remedy, f'{_REPORTED}. Until that is fixed'
            )
