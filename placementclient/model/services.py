# SPDX-License-Identifier: Apache-2.0
"""Hosts, bare metal nodes, projects and limits of other services."""

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from placementclient.model.consumers import Resources
from placementclient.model.listed import (
    Balance,
    Limit,
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
        """Return if the service is enabled; ``None`` if its cell does not answer."""
        return {'enabled': True, 'disabled': False}.get(self.status)

    @property
    def is_cell_down(self) -> bool:
        """Return True if its cell does not answer, so that no list has its hosts and servers."""
        return self.status == 'unknown'

    @property
    def is_up(self) -> bool:
        """Return True if Nova has heard of it lately and it is not forced down."""
        return self.state == 'up' and not self.forced_down


def find_hosts_of_cells_down(services: Iterable[ComputeService]) -> list[str]:
    return sorted({service.host for service in services if service.is_cell_down})


class HypervisorService(msgspec.Struct, frozen=True):
    """The nova-compute service of a hypervisor, as its record has it."""

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
    is_never_empty = True
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
        """Return the UUID of the node and of its provider, if the list says it."""
        return self.id if isinstance(self.id, str) and not self.id.isdigit() else None

    @property
    def is_up(self) -> bool | None:
        """Return whether its nova-compute is up; ``None`` if the list does not say it."""
        return {'up': True, 'down': False}.get(self.state or '')

    @property
    def is_of_ironic(self) -> bool:
        return (self.type or '').lower() == 'ironic'

    @property
    def host(self) -> str | None:
        """Return the host of its nova-compute, if the list says it."""
        return self.service.host

    @property
    def totals(self) -> Resources:
        """Return the total amounts by class, without ratios; none from compute API 2.88 on."""
        return _make_resources(VCPU=self.vcpus, MEMORY_MB=self.memory_mb, DISK_GB=self.local_gb)

    @property
    def used(self) -> Resources:
        """Return the used amounts by class, as nova-compute counts them, with the reserved ones."""
        used = self.vcpus_used, self.memory_mb_used, self.local_gb_used
        return _make_resources(VCPU=used[0], MEMORY_MB=used[1], DISK_GB=used[2])


def _make_resources(**amounts: int | None) -> dict[str, int]:
    """Return amounts by class, without those that are ``None``."""
    return {name: amount for name, amount in amounts.items() if amount is not None}


def find_names_of_several_hosts(hypervisors: Iterable[Hypervisor]) -> set[str]:
    """Return the names that several hosts have, in different cells."""
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
    def reserving_fields(self) -> dict[str, object]:
        """The fields, with their values, that make nova-compute reserve a node without a server."""
        fields: dict[str, object] = {}
        if self.maintenance:
            fields['maintenance'] = True
        if self.retired:
            fields['retired'] = True
        if self.power_state in _POWERLESS:
            fields['power_state'] = self.power_state
        return fields


class RegisteredLimit(ListRecord, frozen=True):
    """A limit that Keystone has for a resource in all projects."""

    key = 'registered_limits'
    marks = ('default_limit',)
    source = 'openstack registered limit list -f json'

    resource_name: String
    id: OptionalString = None


class Project(ListRecord, frozen=True):
    key = 'projects'
    aliases: ClassVar = {'uuid': 'id'}
    marks = ('is_domain',)
    others = ('domain_id', 'description', 'enabled')
    source = 'openstack project list -f json'

    id: String
    name: String


class User(ListRecord, frozen=True):
    key = 'users'
    aliases: ClassVar = {'uuid': 'id'}
    marks = ('password_expires_at',)
    others = ('domain', 'domain_id', 'project', 'description', 'email', 'enabled')
    source = 'openstack user list -f json'

    id: String
    name: String


class Quota(ListRecord, frozen=True):
    """A quota of Nova for a project; -1 means no limit.

    :param ram: in MiB
    """

    key = 'quotas'
    aliases: ClassVar = {'project_id': 'id'}
    marks = ('cores',)
    source = 'openstack quota list --compute -f json'

    id: String
    cores: Limit | UnsetType | None = UNSET
    ram: Limit | UnsetType | None = UNSET

    @property
    def limits(self) -> dict[str, int]:
        """Return the known limits of ``CPUS`` and ``MEMORY_MB``."""
        limits = {'CPUS': self.cores, 'MEMORY_MB': self.ram}
        return {name: limit for name, limit in limits.items() if isinstance(limit, int)}
