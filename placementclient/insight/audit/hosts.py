# SPDX-License-Identifier: Apache-2.0
"""Checks of hosts, compared with nova-compute and its hypervisors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.model.findings import Finding
from placementclient.model.nova import DISABLED
from placementclient.model.repairs import AddTrait, Remedy, make_advice, make_inventory_advice
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


def find_disabled_mismatches(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hosts whose COMPUTE_STATUS_DISABLED contradicts the status of nova-compute."""
    nodes: dict[str | None, list[Hypervisor]] = {}
    for hypervisor in cloud.lists.hypervisors or ():
        nodes.setdefault(hypervisor.host, []).append(hypervisor)
    for service in cloud.lists.services or ():
        local = nodes.get(service.host, ())
        for root in _find_compute_roots(cloud, service, local) if service.is_up else ():
            has_trait = DISABLED in root.traits
            if service.is_enabled is None or has_trait is not service.is_enabled:
                continue
            remedy: Remedy = AddTrait(root.uuid, root.reference, DISABLED)
            if has_trait:
                remedy = make_advice('trait', 'remove', root.reference, DISABLED)
            status = 'enabled' if service.is_enabled else 'disabled'
            facts = {'host': service.host, 'service': status}
            facts['trait' if has_trait else 'missing'] = DISABLED
            yield cloud.make_finding(root, facts, remedy, _LATER)


def _find_compute_roots(
    cloud: Cloud, service: ComputeService, hypervisors: Sequence[Hypervisor]
) -> list[ProviderState]:
    """Return the roots of the compute nodes of a nova-compute: one, or many with Ironic."""
    if hypervisors:
        return [
            root for hypervisor in hypervisors if (root := _find_hypervisor_root(cloud, hypervisor))
        ]
    return [cloud.snapshot.providers[uuid] for uuid in cloud.find_host_roots([service.host])]


def _find_hypervisor_root(cloud: Cloud, hypervisor: Hypervisor) -> ProviderState | None:
    """Return the root with the UUID of a hypervisor, or else with its name."""
    by_uuid = cloud.snapshot.providers.get(hypervisor.uuid or '')
    return by_uuid or cloud.snapshot.find_by_name(hypervisor.node)


def find_inventory_drift(cloud: Cloud) -> Iterator[Finding]:
    """Yield the inventories of VCPU, MEMORY_MB or DISK_GB that differ from the hypervisor's."""
    hypervisors = cloud.lists.hypervisors or ()
    if hypervisors and not any(hypervisor.totals for hypervisor in hypervisors):
        raise MissingFields(
            'the hypervisors have no amounts: list them at compute API 2.87 or below'
        )
    for hypervisor in hypervisors:
        root = _find_hypervisor_root(cloud, hypervisor)
        # Ironic's nodes have no such amounts.
        if root is not None and not hypervisor.is_of_ironic:
            yield from _compare_with_hypervisor(cloud, hypervisor, root)


def _compare_with_hypervisor(
    cloud: Cloud, hypervisor: Hypervisor, root: ProviderState
) -> Iterator[Finding]:
    """Yield a finding for each amount of a host in which Placement and its hypervisor differ."""
    tree = cloud.topology.trees[root.provider.root_uuid]
    providers = {name: [state for state in tree if name in state.inventories] for name in _COMPARED}
    is_empty = _is_host_empty(cloud, hypervisor, tree)
    for name, reported in sorted(hypervisor.totals.items()):
        inventories = [state.inventories[name] for state in providers[name]]
        if inventories and all(i.reserved >= i.total for i in inventories):
            continue
        total, differences = sum(i.total for i in inventories), dict[str, tuple[int, int]]()
        if not _is_difference_explained(cloud, root, name, reported - total):
            differences['total'] = (total, reported)
        if is_empty and inventories:
            differences |= _compare_reserved(hypervisor, name, sum(i.reserved for i in inventories))
        yield from _make_inventory_findings(root, name, providers[name], differences)


def _make_inventory_findings(
    root: ProviderState,
    name: str,
    providers: Sequence[ProviderState],
    differences: Mapping[str, tuple[int, int]],
) -> Iterator[Finding]:
    """Yield a finding for the fields of a class whose values in Placement and in Nova differ.

    :param differences: by field the value in Placement and the one in the list of hypervisors
    :param name: the class
    :param providers: those of the host that have the class
    """
    for field, (recorded, present) in differences.items():
        facts = {'resource_class': name, field: recorded, 'hypervisor': present}
        remedy, reason = None, _CAUSE
        if len(providers) == 1:
            remedy = make_inventory_advice(providers[0].reference, name, {field: present})
            reason = f'{_CAUSE}. If the host is as Nova says'
        yield make_finding(root.name, facts, (root.uuid,), remedy, reason)


def _is_host_empty(cloud: Cloud, hypervisor: Hypervisor, tree: Iterable[ProviderState]) -> bool:
    """Return True if neither Nova nor Placement has a server on a host.

    Nova's counters include what an evacuation has claimed, but not its server, and no record says
    how old these counters are.
    """
    local = [state for state in tree if not is_sharing(state)]
    if hypervisor.running_vms != 0 or any(cloud.snapshot.consumers_on(s.uuid) for s in local):
        return False
    return any(
        hypervisor.used.get(name, 0)
        <= sum(s.inventories[name].reserved for s in local if name in s.inventories)
        for name in ('VCPU', 'MEMORY_MB')
    )


def _compare_reserved(
    hypervisor: Hypervisor, name: str, reserved: int
) -> dict[str, tuple[int, int]]:
    """Return the reserved amount of an empty host and the amount that Nova counts as used.

    :param name: the resource class
    :return: both by the field ``reserved``; empty if they agree
    """
    # Nova rounds MiB of disk down to GiB, and up for Placement.
    same = (reserved, reserved - (name == 'DISK_GB'))
    counted = hypervisor.used.get(name, reserved)
    # Below zero Nova has subtracted a server twice, and the figure says nothing.
    return {'reserved': (reserved, counted)} if counted >= 0 and counted not in same else {}


def _is_difference_explained(cloud: Cloud, root: ProviderState, name: str, difference: int) -> bool:
    """Return True if nothing differs, or if dedicated CPUs or shared disks explain a difference.

    :param name: the resource class
    :param difference: Nova's total less the total of the inventory
    """
    if not difference:
        return True
    # Some releases count dedicated CPUs among ``vcpus``, and shared disks are no inventory of
    # hosts.
    if name == 'VCPU':
        tree = cloud.topology.trees[root.provider.root_uuid]
        pinned = (s.inventories['PCPU'].total for s in tree if 'PCPU' in s.inventories)
        return difference == sum(pinned)
    return any(
        name in state.inventories for state in cloud.topology.list_sharing_providers(root.uuid)
    )
