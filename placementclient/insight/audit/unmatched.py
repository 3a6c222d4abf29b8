# SPDX-License-Identifier: Apache-2.0
"""Hosts of Nova without a provider, and providers without a host."""

from collections import defaultdict
from collections.abc import Iterator

from placementclient.insight.audit import identities
from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.model.findings import Finding
from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA
from placementclient.model.repairs import make_advice
from placementclient.model.services import Hypervisor
from placementclient.model.snapshots import ProviderState
from placementclient.placing.providers import is_sharing

#: What a host has, and no provider of another service.
_CLASSES, _TRAITS = {'VCPU', 'PCPU', 'MEMORY_MB'}, {COMPUTE_NODE, OWNER_NOVA}
_CELL_DOWN = 'a cell of Nova does not answer, and its hosts are in no list'
_USED = (
    'it is a removed host, or one of another Nova that shares this Placement: see whose the '
    'consumers are: placement resource provider tree show {} --allocations'
)
_SAME = '{} may be the same host under another name: compare the UUIDs'
_LOG = 'nova-compute makes its provider at its start, and tries again each minute: see its log'
_CELLS = (
    'another host of this name has it: names have to be unique in all cells that share a '
    'Placement, so change host in the nova.conf of one'
)


def find_unmatched_providers(cloud: Cloud) -> Iterator[Finding]:
    """Yield the providers that look like hosts, and that neither Nova nor Ironic has."""
    if cloud.hosts_of_cells_down:
        raise MissingFields(_CELL_DOWN)
    by_label = defaultdict[str, list[str]](list)
    for hypervisor in identities.list_nodes_with_uuids(cloud):
        by_label[_shorten_name(hypervisor.node)].append(hypervisor.node)
    for root in _find_roots_without_host(cloud):
        number, likely = identities.count_consumers(cloud, root), by_label[_shorten_name(root.name)]
        is_used = number or any(any(s.usages.values()) for s in cloud.topology.trees[root.uuid])
        facts: dict[str, object] = {'uuid': root.uuid, 'consumers': number}
        reason = _USED.format(root.reference) if is_used else ''
        if likely:
            facts['likely'] = likely
            reason = _SAME.format(', '.join(likely)) + ('' if is_used else '. If not')
        remedy = None if is_used else make_advice('purge', root.reference, '--dry-run')
        yield cloud.make_finding(root, facts, remedy, reason)


def _find_roots_without_host(cloud: Cloud) -> Iterator[ProviderState]:
    """Yield the roots like hosts that Nova and Ironic lack, unless other checks report them."""
    hypervisors = identities.list_nodes_with_uuids(cloud)
    known = {name for hypervisor in hypervisors for name in (hypervisor.uuid, hypervisor.node)}
    known |= {node.uuid for node in cloud.lists.nodes or ()} | _find_reported_uuids(cloud)
    for root in cloud.snapshot.roots():
        is_host = _CLASSES & root.inventories.keys() or _TRAITS & root.traits
        if is_host and not is_sharing(root) and known.isdisjoint((root.uuid, root.name)):
            yield root


def find_unmatched_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hypervisors that are up, and that have no provider in Placement."""
    known = {hypervisor.uuid for hypervisor in identities.list_nodes_with_uuids(cloud)}
    by_label = defaultdict[str, list[ProviderState]](list)
    for root in cloud.snapshot.roots():
        if root.uuid not in known:
            by_label[_shorten_name(root.name)].append(root)
    for hypervisor in _find_hypervisors_without_root(cloud):
        facts: dict[str, object] = {'uuid': hypervisor.uuid}
        if hypervisor.host:
            facts['host'] = hypervisor.host
        likely, reason = by_label[_shorten_name(hypervisor.node)], _LOG
        if named := cloud.snapshot.find_by_name(hypervisor.node):
            likely, reason = [named], _CELLS
            facts['provider'] = named.uuid
        elif likely:
            facts['likely'] = names = [root.name for root in likely]
            reason = _SAME.format(', '.join(names))
        yield make_finding(
            hypervisor.node, facts, tuple(root.uuid for root in likely), reason=reason
        )


def _find_hypervisors_without_root(cloud: Cloud) -> Iterator[Hypervisor]:
    """Yield the hypervisors that are up without a root, unless other checks report them."""
    hypervisors, reported = identities.list_nodes_with_uuids(cloud), _find_reported_uuids(cloud)
    up = {service.host for service in cloud.lists.services or () if service.is_up}
    known = {hypervisor.uuid for hypervisor in hypervisors}
    for hypervisor in hypervisors:
        named = cloud.snapshot.find_by_name(hypervisor.node)
        is_up = hypervisor.host in up if hypervisor.is_up is None else hypervisor.is_up
        # Another root of this name is what "renamed" reports; one of another hypervisor is not.
        has_root = hypervisor.uuid in cloud.snapshot.providers or (
            named and named.uuid not in known
        )
        if is_up and not (has_root or hypervisor.is_of_ironic or hypervisor.uuid in reported):
            yield hypervisor


def _find_reported_uuids(cloud: Cloud) -> set[str | None]:
    """Return the UUIDs of roots and hypervisors that the checks ``twin`` and ``renamed`` report."""
    pairs = [
        (node, other)
        for node, _, dead, by_servers in identities.match_nodes_to_roots(cloud)
        for other in (*dead, *by_servers)
    ]
    return {uuid for node, other in pairs for uuid in (node.uuid, other.uuid)}


def _shorten_name(name: str) -> str:
    """Return the name of a host without its domain and without capitals."""
    return name.partition('.')[0].casefold()
