# SPDX-License-Identifier: Apache-2.0
"""Faults of hosts, compared with nova-compute and its hypervisors."""

from collections.abc import Iterator, Sequence

from placementclient.insight.audit.cloud import Cloud, MissingFields, fault
from placementclient.model.findings import Finding
from placementclient.model.nova import DISABLED
from placementclient.model.repairs import AddTrait, Remedy, advice, amending
from placementclient.model.services import ComputeService, Hypervisor
from placementclient.model.snapshots import ProviderState
from placementclient.placing.providers import is_sharing

_LATER = (
    'nova-compute sets the trait itself, at least once a minute: see in its log why it does not. '
    'Until that is fixed'
)
_CAUSE = (
    'nova-compute sets the inventory itself, at least once a minute: see in its log why it does not'
)
#: The classes that the list of hypervisors has.
_COMPARED = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def disabled_mismatch(cloud: Cloud) -> Iterator[Finding]:
    """A nova-compute is disabled and its host lacks COMPUTE_STATUS_DISABLED, or the reverse."""
    nodes: dict[str | None, list[Hypervisor]] = {}
    for hypervisor in cloud.answers.hypervisors or ():
        nodes.setdefault(hypervisor.host, []).append(hypervisor)
    for service in cloud.answers.services or ():
        local = nodes.get(service.host, ())
        for root in _roots(cloud, service, local) if service.is_up else ():
            has_trait = DISABLED in root.traits
            if service.is_enabled is None or has_trait is not service.is_enabled:
                continue
            remedy: Remedy = AddTrait(root.uuid, root.reference, DISABLED)
            if has_trait:
                remedy = advice('trait', 'remove', root.reference, DISABLED)
            status = 'enabled' if service.is_enabled else 'disabled'
            facts = {'host': service.host, 'service': status}
            facts['trait' if has_trait else 'missing'] = DISABLED
            yield cloud.finding(root, facts, remedy, _LATER)


def _roots(
    cloud: Cloud, service: ComputeService, hypervisors: Sequence[Hypervisor]
) -> list[ProviderState]:
    """Return the roots of the compute nodes of a nova-compute: one, or many with Ironic."""
    if hypervisors:
        return [root for hypervisor in hypervisors if (root := _root(cloud, hypervisor))]
    return [cloud.snapshot.providers[uuid] for uuid in cloud.host_roots([service.host])]


def _root(cloud: Cloud, hypervisor: Hypervisor) -> ProviderState | None:
    """The root of a compute node: it has its UUID or else its name."""
    by_uuid = cloud.snapshot.providers.get(hypervisor.uuid or '')
    return by_uuid or cloud.snapshot.named(hypervisor.node)


def inventory_drift(cloud: Cloud) -> Iterator[Finding]:
    """The inventory of VCPU, MEMORY_MB or DISK_GB differs from the hypervisor's."""
    hypervisors = cloud.answers.hypervisors or ()
    if hypervisors and not any(hypervisor.totals for hypervisor in hypervisors):
        raise MissingFields(
            'the hypervisors have no amounts: list them at compute API 2.87 or below'
        )
    for hypervisor in hypervisors:
        root = _root(cloud, hypervisor)
        # Ironic's nodes have no such amounts.
        if root is not None and (hypervisor.type or '').lower() != 'ironic':
            yield from _compared(cloud, hypervisor, root)


def _compared(cloud: Cloud, hypervisor: Hypervisor, root: ProviderState) -> Iterator[Finding]:
    tree, used = cloud.topology.trees[root.provider.root_uuid], hypervisor.used
    having = {name: [state for state in tree if name in state.inventories] for name in _COMPARED}
    reserved = {
        name: sum(state.inventories[name].reserved for state in states)
        for name, states in having.items()
    }
    # Nova counts what an evacuation has claimed, and not the server; no record says how old it is.
    counts_a_server = all(used.get(name, 0) > reserved[name] for name in ('VCPU', 'MEMORY_MB'))
    is_empty = (
        hypervisor.running_vms == 0
        and not counts_a_server
        and not any(cloud.snapshot.consumers_on(s.uuid) for s in tree if not is_sharing(s))
    )
    for name, reported in sorted(hypervisor.totals.items()):
        inventories = [state.inventories[name] for state in having[name]]
        if inventories and all(i.reserved >= i.total for i in inventories):
            continue
        total = sum(i.total for i in inventories)
        differences = []
        if total != reported and not _is_explained(cloud, root, name, reported - total):
            differences.append(('total', total, reported))
        # Nova rounds MiB of disk down to GiB, and up for Placement.
        same = (reserved[name], reserved[name] - (name == 'DISK_GB'))
        counted = used.get(name, same[0])
        # Below zero Nova has subtracted a server twice, and the figure says nothing.
        if is_empty and inventories and counted >= 0 and counted not in same:
            differences.append(('reserved', reserved[name], counted))
        for field, recorded, present in differences:
            facts = {'resource_class': name, field: recorded, 'hypervisor': present}
            remedy, reason = None, _CAUSE
            if len(inventories) == 1:
                remedy = amending(having[name][0].reference, name, {field: present})
                reason = f'{_CAUSE}. If the host is as Nova says'
            yield fault(root.name, facts, (root.uuid,), remedy, reason)


def _is_explained(cloud: Cloud, root: ProviderState, name: str, lacking: int) -> bool:
    """Return True if a total may differ from that of the hypervisor."""
    # Some releases count dedicated CPUs among ``vcpus``, and shared disks are no inventory of
    # hosts.
    if name == 'VCPU':
        tree = cloud.topology.trees[root.provider.root_uuid]
        return lacking == sum(s.inventories['PCPU'].total for s in tree if 'PCPU' in s.inventories)
    return any(name in state.inventories for state in cloud.topology.reached(root.uuid))
