# SPDX-License-Identifier: Apache-2.0
"""Hosts with a new UUID or name: the live one of two providers.

Nova has the nodes ``a.example`` with the UUID 1 and ``b`` with the UUID 2, which are both up. Of
these roots in Placement

========= ==== =========
name      UUID servers
========= ==== =========
a.example 1    on both
a         3    on both
b         4    none
former    5    all on b
========= ==== =========

root 1 is the live one of ``a.example``, and root 3 is a dead one, as its name is similar.
``b`` has no live root: root 4 has its name, and the servers of root 5 show that it may be ``b``.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.insight.owners import is_foreign
from placementclient.model.findings import Finding
from placementclient.model.providers import restore_name
from placementclient.model.repairs import Advice, make_advice
from placementclient.model.servers import Server, is_same_host
from placementclient.model.services import Hypervisor
from placementclient.model.snapshots import ProviderState
from placementclient.placing.providers import is_sharing

_STOP = 'stop nova-compute first, as it knows the provider by its name, and start it afterwards'
_UNKNOWN = 'it is not known if Nova has servers on {}: audit again with --servers. If it has none'
_STILL = (
    'Nova has servers on {}: give nova-compute this name again, with host in its nova.conf. If the '
    'new name is to stay'
)
_FOREIGN = (
    'it is a provider of another service, which calls this host by another name: give that service '
    'the name {}. When no server has allocations on the provider, delete it: placement resource '
    'provider delete {}'
)
_BY_SERVERS = 'only the hosts of its servers show that {} is the same host. If that is true'

States = list[ProviderState]


class NodeRoots(NamedTuple):
    """A compute node of Nova, and the roots in Placement that may be its host.

    :param live: the root with its UUID
    :param dead: the roots that no compute node uses, and whose names are similar
    :param by_servers: the roots that no compute node uses, and whose servers are all on this node
    """

    node: Hypervisor
    live: ProviderState | None
    dead: States
    by_servers: States

    @property
    def former_roots(self) -> States:
        """The roots that the host may have had before, the likeliest first."""
        return [*self.dead, *self.by_servers]


def find_twin_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hosts with two providers, of which nova-compute uses one."""
    for roots in match_nodes_to_roots(cloud):
        node, live = roots.node, roots.live
        if live is None:
            continue
        for other in roots.former_roots:
            facts = {
                'alive': live.uuid,
                'node': node.node,
                'dead': other.uuid,
                'consumers': {root.name: count_consumers(cloud, root) for root in (other, live)},
            }
            advice = make_advice(
                'replace', other.reference, '--with', live.uuid, '--name', node.node
            )
            yield _make_replacement_finding(cloud, roots, other, facts, advice)


def find_renamed_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hosts that came back under another UUID or name than their provider has."""
    for roots in match_nodes_to_roots(cloud):
        node, live = roots.node, roots.live
        facts: dict[str, object] = {'node': node.node, 'uuid': node.uuid}
        if live and live.name != node.node and not roots.dead:
            facts['provider'] = live.name
            remedy = make_advice('set', live.reference, '--name', node.node)
            yield make_finding(live.name, facts, (live.uuid,), remedy, _STOP)
        elif live is None and roots.former_roots:
            other = roots.former_roots[0]
            facts |= {'provider': other.uuid, 'consumers': count_consumers(cloud, other)}
            named = () if _find_original_name(other) == node.node else ('--name', node.node)
            advice = make_advice('replace', other.reference, '--uuid', str(node.uuid), *named)
            yield _make_replacement_finding(cloud, roots, other, facts, advice)


def _make_replacement_finding(
    cloud: Cloud,
    roots: NodeRoots,
    other: ProviderState,
    facts: Mapping[str, object],
    replacement: Advice,
) -> Finding:
    """Return the finding about a former root of a node, with the command that removes it.

    :param other: the former root
    :param replacement: the command, unless the root is to be purged
    """
    node, live = roots.node, roots.live
    uuids = (other.uuid, live.uuid) if live else (other.uuid,)
    if reason := explain_foreign_owner(cloud, other, node.node):
        return make_finding(other.name, facts, uuids, reason=reason)
    if live and not count_consumers(cloud, other):
        return make_finding(other.name, facts, uuids, make_advice('purge', other.reference))
    is_by_servers = other in roots.by_servers
    reason = _explain_needed_check(cloud, node, other, is_by_servers=is_by_servers)
    return make_finding(other.name, facts, uuids, replacement, reason)


def explain_foreign_owner(cloud: Cloud, root: ProviderState, host: str) -> str:
    """Return the reason why the root of another service is not replaced; empty for Nova's own.

    :param host: the name of the node that is to replace it
    """
    if not is_foreign(cloud.snapshot, root):
        return ''
    return _FOREIGN.format(host, root.reference)


def match_nodes_to_roots(cloud: Cloud) -> Iterator[NodeRoots]:
    """Yield the compute nodes that are up, each with its possible roots.

    Nodes of Ironic are left out: a host has many of them, and their names are UUIDs.

    :raises MissingFields: if no hypervisor has a UUID
    """
    hypervisors, nodes = list_nodes_with_uuids(cloud), _find_live_nodes(cloud)
    if not nodes:
        # Every root is looked at below.
        return
    names, uuids = {node.node for node in nodes}, {node.uuid for node in nodes}
    named = {node.uuid: (node.node, node.host) for node in hypervisors}
    by_short_name, by_node_of_servers = _index_unused_roots(cloud, hypervisors, uuids)
    for node in (node for node in nodes if not node.is_of_ironic):
        dead = [
            root
            for root in by_short_name[node.node.partition('.')[0]]
            # Each cell may have a host of one name: those are two.
            if named.get(root.uuid) != (node.node, node.host)
            and _has_name_of_node(root, node.node, names)
        ]
        by_servers = [root for root in by_node_of_servers[node.node] if root not in dead]
        live = cloud.snapshot.providers.get(str(node.uuid))
        yield NodeRoots(node, live, dead, by_servers)


def _find_live_nodes(cloud: Cloud) -> list[Hypervisor]:
    """Return the hypervisors whose nova-compute is not known to be down."""
    down = {service.host for service in cloud.lists.services or () if not service.is_up}
    nodes = list_nodes_with_uuids(cloud)
    return [node for node in nodes if node.host not in down and node.is_up is not False]


def _index_unused_roots(
    cloud: Cloud, hypervisors: Collection[Hypervisor], live_uuids: Collection[str | None]
) -> tuple[Mapping[str, States], Mapping[str | None, States]]:
    """Return the roots that no live node uses: by short name, and by the node of their servers.

    :param live_uuids: of the hypervisors whose nova-compute is up
    :return: two indexes: by the first part of the root's name; and by the name of the node that all
        servers of the root are on, ``None`` if that is not known
    """
    hosts = {str(name): node.node for node in hypervisors for name in (node.node, node.host)}
    known = {node.uuid for node in hypervisors}
    by_short_name = defaultdict[str, States](list)
    by_node_of_servers = defaultdict[str | None, States](list)
    for root in cloud.snapshot.roots():
        if root.uuid not in live_uuids and not is_sharing(root):
            name = _find_original_name(root)
            by_short_name[name.partition('.')[0]].append(root)
            if root.uuid not in known and name not in hosts:
                by_node_of_servers[_find_node_of_servers(cloud, root, hosts)].append(root)
    return by_short_name, by_node_of_servers


def _has_name_of_node(root: ProviderState, node: str, node_names: Collection[str]) -> bool:
    """Return True if a root has the name of a node, or a similar one that no node has."""
    name = _find_original_name(root)
    return name == node or (name not in node_names and is_same_host(name, node))


def list_nodes_with_uuids(cloud: Cloud) -> list[Hypervisor]:
    """Return the hypervisors with UUIDs; raise :class:`MissingFields` if none has one."""
    hypervisors = [node for node in cloud.lists.hypervisors or () if node.uuid]
    if cloud.lists.hypervisors and not hypervisors:
        raise MissingFields('the hypervisors have no UUIDs: list them at compute API 2.53 or above')
    return hypervisors


def _find_original_name(root: ProviderState) -> str:
    """Return the name of a root before an unfinished replacement changed it."""
    return restore_name(root.name, root.uuid)


def _find_node_of_servers(
    cloud: Cloud, root: ProviderState, node_by_host: Mapping[str, str]
) -> str | None:
    """Return the name of the one node that has all servers of a root; ``None``: there is none.

    :param node_by_host: the name of the node, by its own name and that of its host
    """
    nodes = {
        next((node_by_host[name] for name in server.host_names if name in node_by_host), None)
        for server in _find_servers_of_root(cloud, root)
    }
    return nodes.pop() if len(nodes) == 1 else None


def _find_servers_of_root(cloud: Cloud, root: ProviderState) -> Iterator[Server]:
    """Yield the servers that have allocations on a root, and on no other host."""
    for consumer in cloud.snapshot.consumers_on(root.uuid):
        server = cloud.servers.get(consumer.uuid)
        if server and len(cloud.find_providers_by_root(consumer)) == 1:
            yield server


def _explain_needed_check(
    cloud: Cloud, node: Hypervisor, dead: ProviderState, *, is_by_servers: bool
) -> str:
    """Return why the operator has to check first whether a node replaces a root; empty if not so.

    :param is_by_servers: whether its servers, not its name, show that it is of the node
    :param node: the compute node that would take its place
    :param dead: a root that no compute node uses
    """
    if is_by_servers:
        return _BY_SERVERS.format(dead.name)
    if _find_original_name(dead) == node.node:
        return ''
    if not cloud.lists.has_list('servers'):
        return _UNKNOWN.format(_find_original_name(dead))
    is_still = any(
        _find_original_name(dead) in server.host_names
        for server in _find_servers_of_root(cloud, dead)
    )
    return _STILL.format(_find_original_name(dead)) if is_still else ''


def count_consumers(cloud: Cloud, root: ProviderState) -> int:
    """Return the number of consumers with allocations in the tree of a root."""
    return len(cloud.snapshot.consumers_in(root.uuid))
