# SPDX-License-Identifier: Apache-2.0
"""Agents, ports and subnets of Neutron."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from placementclient.model.consumers import Resources
from placementclient.model.listed import ListRecord, OptionalString, Quantity, String

#: The owner of the ports of servers is this, with the availability zone behind it.
_SERVERS = 'compute:'


class Bandwidth(msgspec.Struct, frozen=True):
    """The bandwidth of a device, in kbit/s."""

    egress: Quantity | None = None
    ingress: Quantity | None = None

    @property
    def resources(self) -> Resources:
        """The bandwidth as amounts by class, without zeros."""
        amounts = {
            'NET_BW_EGR_KILOBIT_PER_SEC': self.egress,
            'NET_BW_IGR_KILOBIT_PER_SEC': self.ingress,
        }
        return {name: amount for name, amount in amounts.items() if amount}


class AgentConfiguration(msgspec.Struct, frozen=True):
    """The configuration that an agent reports, as far as it is about Placement."""

    resource_provider_bandwidths: dict[String, Bandwidth] | None = None
    resource_provider_hypervisors: dict[String, String] = {}


class NetworkAgent(ListRecord, frozen=True, dict=True):
    """An agent of Neutron.

    :param type: of the agent, as the names of its providers have it
    :param is_synced: whether Neutron has written its bandwidths to Placement; ``None`` if it never
        tried
    :param configuration: ``None`` if the list does not have it
    """

    key = 'agents'
    aliases: ClassVar = {
        'agent_type': 'type',
        'resources_synced': 'is_synced',
        'configurations': 'configuration',
    }
    source = 'GET /v2.0/agents'

    type: String
    host: String
    is_synced: bool | None = None
    configuration: AgentConfiguration | None = None
    id: OptionalString = None

    @cached_property
    def bandwidths(self) -> Mapping[tuple[str, str], Resources] | None:
        """Amounts of bandwidth by (hypervisor, device); ``None`` if the agent reports none."""
        configuration = self.configuration or AgentConfiguration()
        if configuration.resource_provider_bandwidths is None:
            return None
        hypervisors = configuration.resource_provider_hypervisors
        return {
            (hypervisors.get(device, self.host), device): bandwidth.resources
            for device, bandwidth in configuration.resource_provider_bandwidths.items()
        }


class PortGroup(msgspec.Struct, frozen=True):
    """A group of a port's request; its ID is empty if Neutron has no groups."""

    id: str = ''
    resources: dict[String, Quantity] = {}
    required: tuple[String, ...] = ()


class PortRequest(PortGroup, frozen=True):
    """The resource request of a port: its groups are ``request_groups``.

    Before Neutron had several groups, the object itself was the one group.

    :param same_subtree: the IDs of groups that are served below one provider
    """

    request_groups: tuple[PortGroup, ...] | None = None
    same_subtree: tuple[String, ...] = ()


class PortProfile(msgspec.Struct, frozen=True):
    """The binding profile of a port.

    :param allocation: the UUID of the provider that serves each group, by the group's ID; one UUID
        before Neutron had groups
    """

    allocation: dict[str, str] | str | None = None


class FixedAddress(msgspec.Struct, frozen=True):
    subnet_id: OptionalString = None


class Port(ListRecord, frozen=True):
    """A port of Neutron.

    :param server_uuid: empty: it belongs to none
    :param host: on which it is bound
    :param request: what it requires in Placement; ``UNSET`` if the list does not say it
    """

    key = 'ports'
    aliases: ClassVar = {
        'id': 'uuid',
        'device_id': 'server_uuid',
        'device_owner': 'owner',
        'binding:host_id': 'host',
        'binding:profile': 'profile',
        'binding:vnic_type': 'vnic_type',
        'resource_request': 'request',
    }
    unique = ('uuid',)
    lower = ('server_uuid',)
    marks = ('resource_request', 'device_id', 'fixed_ips', 'binding:vnic_type')
    source = 'GET /v2.0/ports'

    uuid: String
    server_uuid: String = ''
    request: PortRequest | UnsetType | None = UNSET
    profile: PortProfile = PortProfile()
    vnic_type: String = 'normal'
    device_profile: OptionalString = None
    network_id: OptionalString = None
    fixed_ips: tuple[FixedAddress, ...] = ()
    owner: String = ''
    host: OptionalString = None

    @property
    def groups(self) -> tuple[PortGroup, ...]:
        """Return the groups of its request, each with an ID."""
        request = self.request or PortRequest()
        groups = request.request_groups
        if groups is None:
            groups = (request,) if request.resources or request.required else ()
        return tuple(PortGroup(g.id or self.uuid, g.resources, g.required) for g in groups)

    @property
    def groups_with_amounts(self) -> tuple[PortGroup, ...]:
        """Return the groups that ask for an amount."""
        return tuple(group for group in self.groups if any(group.resources.values()))

    @property
    def same_subtree(self) -> tuple[str, ...]:
        """Return the IDs of the groups that are served below one provider."""
        return self.request.same_subtree if self.request else ()

    @property
    def providers(self) -> Mapping[str, str]:
        """Return the UUID of the provider that serves each group, by the group's ID."""
        allocation = self.profile.allocation or {}
        by_group = {self.uuid: allocation} if isinstance(allocation, str) else allocation
        return {group: provider.lower() for group, provider in by_group.items()}

    @property
    def subnet_id(self) -> str | None:
        """Return the subnet of its first address, if it has one."""
        return self.fixed_ips[0].subnet_id if self.fixed_ips else None

    @property
    def is_bound_to_server(self) -> bool:
        return bool(self.host and self.owner.startswith(_SERVERS) and self.server_uuid)


class AddressPool(msgspec.Struct, frozen=True):
    """A range of addresses."""

    start: String
    end: String


class Subnet(ListRecord, frozen=True):
    """A subnet; ``UNSET`` for a segment that the list does not say.

    :param aggregates: those of its segment in Placement, where the list has them
    """

    key = 'subnets'
    marks = ('segment_id', 'allocation_pools', 'cidr')
    source = 'GET /v2.0/subnets'

    id: OptionalString = None
    ip_version: int | None = None
    gateway_ip: OptionalString = None
    allocation_pools: tuple[AddressPool, ...] = ()
    network_id: OptionalString = None
    segment_id: OptionalString | UnsetType = UNSET
    aggregates: tuple[String, ...] = ()
