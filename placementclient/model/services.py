# SPDX-License-Identifier: Apache-2.0
"""Hosts, bare metal nodes and ports of other services."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from placementclient.model.consumers import Resources
from placementclient.model.listed import (
    Balance,
    ListRecord,
    OptionalString,
    Quantity,
    String,
)

#: The power states in which nova-compute reserves a node; Ironic has none for an unknown one.
_POWERLESS = (None, 'error')


class ComputeService(ListRecord, frozen=True):
    """A nova-compute service."""

    key = 'services'
    aliases: ClassVar = {'is_forced_down': 'forced_down'}
    lower = ('status', 'state')
    marks = ('state', 'forced_down', 'is_forced_down', 'zone')
    source = 'openstack compute service list -f json'

    host: String
    status: String = ''
    state: String = ''
    forced_down: bool = False
    binary: String = 'nova-compute'
    id: String | int | None = None

    @property
    def is_enabled(self) -> bool | None:
        """Return ``None`` if its cell does not answer."""
        return {'enabled': True, 'disabled': False}.get(self.status)

    @property
    def is_cell_down(self) -> bool:
        """Return True if its cell does not answer, so that no list has its hosts and servers."""
        return self.status == 'unknown'

    @property
    def is_up(self) -> bool:
        """Return True if Nova has heard of it lately and it is not forced down."""
        return self.state == 'up' and not self.forced_down


def hosts_of_cells_down(services: Iterable[ComputeService]) -> list[str]:
    """Return the names of the hosts whose cells do not answer Nova."""
    return sorted({service.host for service in services if service.is_cell_down})


class HypervisorService(msgspec.Struct, frozen=True):
    host: OptionalString = None


class Hypervisor(ListRecord, frozen=True):
    """A compute node, as nova-compute reported it; ``None`` for missing values.

    :param node: the name of the node, which its provider has too
    :param id: a number before compute API 2.53
    :param state: of its compute service: ``up`` or ``down``
    :param running_vms: the number of servers on it
    """

    key = 'hypervisors'
    aliases: ClassVar = {
        'name': 'node',
        'hypervisor_hostname': 'node',
        'hypervisor_type': 'type',
        'service_details': 'service',
        'memory_size': 'memory_mb',
        'memory_used': 'memory_mb_used',
        'local_disk_size': 'local_gb',
        'local_disk_used': 'local_gb_used',
    }
    lower = ('id', 'state', 'status')
    marks = ('hypervisor_hostname', 'hypervisor_type')
    source = 'GET /os-hypervisors/detail'

    node: String
    id: String | int | None = None
    type: OptionalString = None
    service: HypervisorService = HypervisorService()
    vcpus: Quantity | None = None
    vcpus_used: Balance | None = None
    memory_mb: Quantity | None = None
    memory_mb_used: Balance | None = None
    local_gb: Quantity | None = None
    local_gb_used: Balance | None = None
    running_vms: Balance | None = None
    state: OptionalString = None
    status: OptionalString = None

    @property
    def uuid(self) -> str | None:
        """Return the UUID of the node and of its provider."""
        return self.id if isinstance(self.id, str) and not self.id.isdigit() else None

    @property
    def is_up(self) -> bool | None:
        """Return whether its nova-compute is up; ``None`` if the list does not say it."""
        return {'up': True, 'down': False}.get(self.state or '')

    @property
    def host(self) -> str | None:
        """Return the host of its nova-compute."""
        return self.service.host

    @property
    def totals(self) -> Resources:
        """Return the amounts without ratio, with the reserved ones; none from API 2.88 on."""
        return _amounts(VCPU=self.vcpus, MEMORY_MB=self.memory_mb, DISK_GB=self.local_gb)

    @property
    def used(self) -> Resources:
        """Return the amounts that nova-compute counts as used, with the reserved ones."""
        used = self.vcpus_used, self.memory_mb_used, self.local_gb_used
        return _amounts(VCPU=used[0], MEMORY_MB=used[1], DISK_GB=used[2])


def _amounts(**amounts: int | None) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount is not None}


def names_of_several_hosts(hypervisors: Iterable[Hypervisor]) -> set[str]:
    """Return the names that several hosts have, as each cell may have one of a name."""
    names = Counter(hypervisor.node for hypervisor in hypervisors)
    return {name for name, number in names.items() if number > 1}


class BaremetalNode(ListRecord, frozen=True):
    """A node of Ironic.

    :param uuid: which the provider has as its name
    """

    key = 'nodes'
    aliases: ClassVar = {
        'id': 'uuid',
        'provision_state': 'state',
        'provisioning_state': 'state',
        'instance_id': 'instance_uuid',
        'is_maintenance': 'maintenance',
        'is_retired': 'retired',
    }
    unique = ('uuid',)
    lower = ('uuid', 'state', 'instance_uuid')
    source = 'GET /v1/nodes/detail'

    uuid: String
    name: OptionalString = None
    state: String = ''
    resource_class: OptionalString = None
    instance_uuid: OptionalString = None
    target_provision_state: OptionalString = None
    reservation: OptionalString = None
    power_state: OptionalString = None
    maintenance: bool = False
    retired: bool = False

    @property
    def is_busy(self) -> bool:
        """Return whether Ironic works on it, or has locked it."""
        return bool(self.reservation or self.target_provision_state)

    @property
    def withheld(self) -> dict[str, Any]:
        """Return the fields for which nova-compute reserves it, though no server is on it."""
        fields: dict[str, Any] = {}
        if self.maintenance:
            fields['maintenance'] = True
        if self.retired:
            fields['retired'] = True
        if self.power_state in _POWERLESS:
            fields['power_state'] = self.power_state
        return fields


@dataclass(frozen=True, slots=True)
class NetworkAgent:
    """An agent of Neutron.

    :param type: of the agent, as the names of its providers have it
    :param is_synced: whether Neutron has written its bandwidths to Placement; ``None`` if it never
        tried
    :param bandwidths: the amounts by class of each device, by the names of hypervisor and device;
        ``None`` where the agent reports none
    """

    type: str
    host: str
    is_synced: bool | None
    bandwidths: Mapping[tuple[str, str], Resources] | None


class PortGroup(msgspec.Struct, frozen=True):
    """A group of a port's request; its ID is the port's if Neutron has no groups."""

    id: str = ''
    resources: dict[String, Quantity] = {}
    required: tuple[String, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """A port of Neutron that requires resources in Placement.

    :param server_uuid: empty: it belongs to none
    :param providers: the UUID of the provider that serves each group, by the group's ID
    :param same_subtree: the IDs of groups that are served below one provider
    :param subnet_id: of its first address
    """

    uuid: str
    server_uuid: str = ''
    groups: tuple[PortGroup, ...] = ()
    providers: Mapping[str, str] = field(default_factory=dict)
    same_subtree: tuple[str, ...] = ()
    vnic_type: str = 'normal'
    device_profile: str | None = None
    network_id: str | None = None
    subnet_id: str | None = None
