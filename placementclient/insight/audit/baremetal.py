# SPDX-License-Identifier: Apache-2.0
"""Checks of bare metal nodes, compared with Ironic."""

from collections.abc import Iterator
from dataclasses import replace

import os_resource_classes

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.servers import explain_manual_healing
from placementclient.model.findings import Finding
from placementclient.model.repairs import HealServer, make_inventory_advice
from placementclient.model.services import BaremetalNode
from placementclient.model.snapshots import ProviderState

_HOLDER = (
    'see with openstack server show if a server or a migration needs the allocation. If none does, '
    'free it: placement resource provider allocation delete CONSUMER'
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


def find_node_differences(cloud: Cloud) -> Iterator[Finding]:
    """Yield the differences between each node of Ironic and its provider."""
    for node in cloud.lists.nodes or ():
        # The provider has the node's UUID as its name, and in newer releases as its UUID too.
        root = cloud.snapshot.find_by_name(node.uuid) or cloud.snapshot.providers.get(node.uuid)
        if root is None or node.is_busy:
            continue
        name = {'node': node.name} if node.name else {}
        for finding in (
            *_find_missing_class(cloud, node, root),
            *_find_state_differences(cloud, node, root),
        ):
            yield replace(finding, facts={**name, 'state': node.state, **finding.facts})


def _find_missing_class(
    cloud: Cloud, node: BaremetalNode, root: ProviderState
) -> Iterator[Finding]:
    """Yield a finding if the provider of a node lacks the resource class of the node."""
    if not node.resource_class:
        return
    resource_class = os_resource_classes.normalize_name(node.resource_class)
    # Older releases report no inventory at all for a node that cannot be used.
    is_reported = root.inventories or not node.reserving_fields
    if resource_class not in root.inventories and is_reported:
        facts = {'resource_class': resource_class, 'inventories': sorted(root.inventories)}
        yield cloud.make_finding(root, facts, reason=_REPORTED)


def _find_state_differences(
    cloud: Cloud, node: BaremetalNode, root: ProviderState
) -> Iterator[Finding]:
    """Yield the allocations and reserved amounts of a node that its state in Ironic forbids."""
    holding = [consumer.uuid for consumer in cloud.snapshot.consumers_on(root.uuid)]
    is_free = node.instance_uuid is None
    if holding:
        if is_free and node.state == 'available':
            building = _UNKNOWN
            if cloud.lists.has_list('servers'):
                building = next(filter(None, map(cloud.find_skip_reason, holding)), '')
            yield cloud.make_finding(root, {'holds': holding}, reason=_HOLDER, passed_over=building)
    elif is_free and (node.reserving_fields or node.state not in ('', 'available', 'active')):
        # Nova-compute reserves such a node.
        yield from _find_offered_classes(cloud, node, root)
    elif is_free and node.state == 'available':
        yield from _find_reserved_classes(cloud, root)
    elif node.state == 'active':
        yield from _find_unallocated_server(cloud, node.instance_uuid, root)


def _find_unallocated_server(
    cloud: Cloud, server_uuid: str | None, root: ProviderState
) -> Iterator[Finding]:
    """Yield a finding if Placement offers a node on which a server is.

    :param server_uuid: of the server on the node; ``None``: there is none
    """
    server = server_uuid or ''
    if any(inventory.capacity > 0 for inventory in root.inventories.values()):
        facts: dict[str, object] = {'holds': [], 'instance_uuid': server_uuid}
        reason = explain_manual_healing(cloud, server) if server in cloud.servers else _NO_SERVER
        remedy = None if reason else HealServer(server)
        yield cloud.make_finding(root, facts, remedy, reason, cloud.find_skip_reason(server))


def _find_reserved_classes(cloud: Cloud, root: ProviderState) -> Iterator[Finding]:
    """Yield a finding for each class with a reserved amount, on a node that is free for use."""
    for name, inventory in sorted(root.inventories.items()):
        if inventory.reserved:
            facts = {'resource_class': name, 'reserved': inventory.reserved}
            remedy = make_inventory_advice(root.reference, name, {'reserved': 0})
            yield cloud.make_finding(root, facts, remedy, f'{_REPORTED}. If the node can be used')


def _find_offered_classes(
    cloud: Cloud, node: BaremetalNode, root: ProviderState
) -> Iterator[Finding]:
    """Yield a finding for each class that Placement offers of a node that is out of use."""
    for name, inventory in sorted(root.inventories.items()):
        if root.free(name) > 0:
            facts = {'resource_class': name, 'offered': root.free(name)}
            remedy = make_inventory_advice(root.reference, name, {'reserved': inventory.total})
            yield cloud.make_finding(
                root,
                {**facts, **node.reserving_fields},
                remedy,
                f'{_REPORTED}. Until that is fixed',
            )
