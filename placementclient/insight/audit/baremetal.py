"""Faults of bare metal nodes, compared with Ironic."""

from collections.abc import Iterator

import os_resource_classes

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding
from placementclient.model.repairs import HealServer, Remedy, amending
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
    """A node of Ironic and its provider disagree.

    A node is available, but it has an allocation or is reserved. A node is active, but it has no
    allocation and is not reserved. Or its inventory is of another resource class than the node's.
    The check skips nodes that Ironic works on or has locked, and nodes on which a server is being
    built. Nodes that are in maintenance, retired, or without power control are rightly reserved.

    Why it matters: an available node that is allocated or reserved gets no server, though it is
    idle. Placement offers an active node without an allocation to the next server, which fails.
    Flavors ask for a class by name: a node with another class is never found.

    Safe to fix: nova-compute writes the inventory itself, so the cause of a wrong class or of a
    reserved node is in its log. Free an allocation only after you have seen that its server does
    not exist.

    Look yourself: ``openstack baremetal node show NODE --fields provision_state instance_uuid
    resource_class maintenance`` and ``openstack resource provider show --allocations NODE``

    Example: ``state available, holds (7a1e…)``
    """
    for node in cloud.answers.nodes or ():
        # The provider has the node's UUID as its name, and in newer releases as its UUID too.
        root = cloud.snapshot.named(node.uuid) or cloud.snapshot.providers.get(node.uuid)
        if root is not None and not node.is_busy:
            yield from _class(node, root)
            if node.state == 'available' and node.instance_uuid is None:
                yield from _available(cloud, node, root)
            elif node.state == 'active':
                yield from _active(cloud, node, root)


def _class(node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    if not node.resource_class:
        return
    resource_class = os_resource_classes.normalize_name(node.resource_class)
    # Older releases report no inventory at all for a node that cannot be used.
    is_reported = root.inventories or not node.is_withheld
    if resource_class not in root.inventories and is_reported:
        facts = {'resource_class': resource_class, 'inventories': sorted(root.inventories)}
        yield _fault(node, root, facts, None, _REPORTED)


def _available(cloud: Cloud, node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    holding = [consumer.uuid for consumer in cloud.snapshot.consumers_on(root.uuid)]
    if holding:
        building = _UNKNOWN
        if cloud.has('servers'):
            present = (cloud.servers[uuid] for uuid in holding if uuid in cloud.servers)
            building = next(filter(None, map(cloud.passed_over, present)), '')
        yield _fault(node, root, {'holds': holding}, None, _HOLDER, building)
        return
    for name, inventory in sorted(root.inventories.items()):
        if inventory.reserved and not node.is_withheld:
            remedy = amending(root.reference, name, {'reserved': 0})
            facts = {'resource_class': name, 'reserved': inventory.reserved}
            yield _fault(node, root, facts, remedy, f'{_REPORTED}. If the node can be used')


def _active(cloud: Cloud, node: BaremetalNode, root: ProviderState) -> Iterator[Finding]:
    is_free = any(inventory.capacity > 0 for inventory in root.inventories.values())
    if not is_free or cloud.snapshot.consumers_on(root.uuid):
        return
    facts: dict[str, object] = {'holds': [], 'instance_uuid': node.instance_uuid}
    if server := cloud.servers.get(node.instance_uuid or ''):
        yield _fault(node, root, facts, HealServer(server.uuid), '', cloud.passed_over(server))
    else:
        yield _fault(node, root, facts, None, _NO_SERVER)


def _fault(
    node: BaremetalNode,
    root: ProviderState,
    facts: dict[str, object],
    remedy: Remedy | None,
    reason: str,
    passed_over: str = '',
) -> Finding:
    name = {'node': node.name} if node.name else {}
    facts = {**name, 'state': node.state, **facts}
    return Finding(root.name, (root.uuid,), facts, remedy, reason, passed_over)
