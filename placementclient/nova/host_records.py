# SPDX-License-Identifier: Apache-2.0
"""Lists of hosts, nodes, ports and limits, as in :mod:`placementclient.nova.records`."""

import ipaddress
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from placementclient.model.listed import ListRecord, OptionalString, Quantity, String
from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    NetworkAgent,
    Port,
    PortGroup,
)
from placementclient.nova.schema import BadList, MissingField, RecordPlace, decoded

#: The owner of the ports of servers is this, with the availability zone behind it.
_SERVERS = 'compute:'


class _LimitRecord(ListRecord, frozen=True):
    key = 'registered_limits'
    marks = ('default_limit',)
    source = 'openstack registered limit list -f json'

    resource_name: String
    id: OptionalString = None


class _RequestRecord(PortGroup, frozen=True):
    """The request of a port: one group before Neutron had several."""

    request_groups: list[PortGroup] | None = None
    same_subtree: tuple[String, ...] = ()


class _AddressRecord(msgspec.Struct):
    subnet_id: OptionalString = None


class _ProfileRecord(msgspec.Struct, frozen=True):
    allocation: dict[str, str] | str | None = None


class _PortRecord(ListRecord, frozen=True):
    key = 'ports'
    marks = ('resource_request', 'device_id', 'fixed_ips', 'binding:vnic_type')
    source = 'GET /v2.0/ports'

    id: String
    device_id: String = ''
    device_owner: String = ''
    binding_host_id: OptionalString = None
    resource_request: _RequestRecord = _RequestRecord()
    binding_profile: _ProfileRecord = _ProfileRecord()
    binding_vnic_type: String = 'normal'
    device_profile: OptionalString = None
    network_id: OptionalString = None
    fixed_ips: tuple[_AddressRecord, ...] = ()


class _DeviceProfileRecord(ListRecord, frozen=True):
    key = 'device_profiles'
    unique = ('name',)

    name: String
    groups: list[dict[str, str]]


class _BandwidthRecord(msgspec.Struct):
    egress: Quantity | None = None
    ingress: Quantity | None = None

    @property
    def resources(self) -> dict[str, int]:
        amounts = {
            'NET_BW_EGR_KILOBIT_PER_SEC': self.egress,
            'NET_BW_IGR_KILOBIT_PER_SEC': self.ingress,
        }
        return {name: amount for name, amount in amounts.items() if amount}


class _ConfigurationRecord(msgspec.Struct):
    resource_provider_bandwidths: dict[String, _BandwidthRecord] | None = None
    resource_provider_hypervisors: dict[String, String] = {}


class _AgentRecord(ListRecord, frozen=True):
    key = 'agents'
    aliases: ClassVar = {'configuration': 'configurations'}
    source = 'GET /v2.0/agents'

    agent_type: String
    host: String
    id: OptionalString = None
    resources_synced: bool | None = None
    configurations: _ConfigurationRecord | None = None


class _PoolRecord(msgspec.Struct):
    start: String
    end: String


class _SubnetRecord(ListRecord, frozen=True):
    key = 'subnets'
    marks = ('segment_id', 'allocation_pools', 'cidr')
    source = 'GET /v2.0/subnets'

    id: OptionalString = None
    ip_version: int | None = None
    gateway_ip: OptionalString = None
    allocation_pools: tuple[_PoolRecord, ...] = ()
    network_id: OptionalString = None
    segment_id: OptionalString = None
    aggregates: tuple[String, ...] = ()


def compute_services(document: Any, path: str) -> list[ComputeService]:
    """Return the nova-compute of all hosts: ``GET /os-services``."""
    services = [service for _, service in decoded(document, path, ComputeService)]
    computes = [service for service in services if service.binary == 'nova-compute']
    if services and not computes:
        raise BadList(
            path,
            f'no nova-compute is in this list of services. "{ComputeService.source}" makes one',
        )
    return computes


def hypervisors(document: Any, path: str) -> list[Hypervisor]:
    """Return the compute nodes: ``GET /os-hypervisors/detail``."""
    result = []
    for place, hypervisor in decoded(document, path, Hypervisor):
        # OpenStack's SDK calls it by its name, as lists of anything do.
        if place.lacking('hypervisor_hostname') and place.lacking('hypervisor_type'):
            raise place.error(f'has no hypervisor_hostname. "{Hypervisor.source}" has it')
        result.append(hypervisor)
    return result


def registered_limits(document: Any, path: str) -> list[str]:
    """Return the resources with a limit in any region: ``GET /v3/registered_limits``."""
    return [record.resource_name for _, record in decoded(document, path, _LimitRecord)]


def nodes(document: Any, path: str) -> list[BaremetalNode]:
    """Return the nodes of Ironic: ``GET /v1/nodes/detail``, from bare metal API 1.21 on."""
    result = []
    for place, node in decoded(document, path, BaremetalNode):
        maintenance = place.value('maintenance', 'is_maintenance')
        if maintenance is None or place.lacking('power_state', 'resource_class'):
            raise place.error(
                'has no resource class or no power state: list nodes with --long, or GET '
                '/v1/nodes/detail'
            )
        result.append(node)
    return result


def ports(document: Any, path: str) -> list[Port]:
    """Return the bound ports of servers that require resources: ``GET /v2.0/ports``."""
    result = []
    for record in _ports(document, path):
        if record.binding_host_id and record.device_owner.startswith(_SERVERS) and record.device_id:
            port = _port(record)
            groups = tuple(group for group in port.groups if any(group.resources.values()))
            result += [replace(port, groups=groups)] if groups else []
    return result


def _ports(document: Any, path: str) -> list[_PortRecord]:
    records = list(decoded(document, path, _PortRecord))
    if records and all(place.lacking('resource_request') for place, _ in records):
        raise MissingField(
            path,
            'ports: has no resource_request: an administrator gets it, if Neutron has the service '
            'plugin placement',
        )
    return [record for _, record in records]


def requested_ports(document: Any, path: str, server: str | None = None) -> list[Port]:
    """Return the present or future ports of a server, by its UUID; without it all are its."""
    every = [_port(record) for record in _ports(document, path)]
    return [port for port in every if server in (None, port.server_uuid)]


def _port(record: _PortRecord) -> Port:
    request = record.resource_request
    groups = request.request_groups
    if groups is None:
        groups = [request] if request.resources or request.required else []
    allocation = record.binding_profile.allocation or {}
    # Before Neutron had groups, the request of a port had no ID.
    providers = {record.id: allocation} if isinstance(allocation, str) else allocation
    return Port(
        record.id,
        record.device_id.lower(),
        tuple(PortGroup(g.id or record.id, g.resources, g.required) for g in groups),
        {group: provider.lower() for group, provider in providers.items()},
        tuple(request.same_subtree),
        record.binding_vnic_type,
        record.device_profile,
        record.network_id,
        next((address.subnet_id for address in record.fixed_ips), None),
    )


def agents(document: Any, path: str) -> list[NetworkAgent]:
    """Return the agents of Neutron: the answer to ``GET /v2.0/agents`` for an administrator."""
    result = []
    for place, record in decoded(document, path, _AgentRecord):
        if record.configurations is None:
            raise place.error('has no configurations: GET /v2.0/agents has them')
        devices = record.configurations.resource_provider_bandwidths
        hypervisors = record.configurations.resource_provider_hypervisors
        bandwidths = None
        if devices is not None:
            bandwidths = {
                (hypervisors.get(device, record.host), device): amounts.resources
                for device, amounts in devices.items()
            }
        result.append(
            NetworkAgent(record.agent_type, record.host, record.resources_synced, bandwidths)
        )
    return result


def segment_addresses(document: Any, path: str) -> dict[str, int]:
    """Return the number of IPv4 addresses of each segment, by its ID: ``GET /v2.0/subnets``."""
    totals: dict[str, int] = {}
    for place, record in _subnets(document, path):
        if record.segment_id is not None and record.ip_version == 4 and record.allocation_pools:
            # Neutron counts the gateway too, and reserves it.
            addresses = sum(_size(place, pool) for pool in record.allocation_pools)
            segment = record.segment_id.lower()
            totals[segment] = totals.get(segment, 0) + addresses + bool(record.gateway_ip)
    return totals


def _subnets(document: Any, path: str) -> list[tuple[RecordPlace, _SubnetRecord]]:
    records = list(decoded(document, path, _SubnetRecord))
    if records and all(place.lacking('segment_id') for place, _ in records):
        raise MissingField(
            path,
            'subnets: has no segment_id, which "openstack subnet list" leaves out: GET '
            '/v2.0/subnets has it',
        )
    return records


def _size(place: RecordPlace, pool: _PoolRecord) -> int:
    try:
        first, last = map(ipaddress.IPv4Address, (pool.start, pool.end))
    except ValueError:
        raise place.error(f'{pool.start} to {pool.end} are no IPv4 addresses') from None
    return int(last) - int(first) + 1


def segments(document: Any, path: str) -> dict[str, list[list[str]]]:
    """Return the aggregates of each segment, by the IDs of its subnet and of its network."""
    result: dict[str, list[list[str]]] = {}
    for place, record in _subnets(document, path):
        if record.id is None or record.network_id is None:
            raise place.error("has no 'id' or no 'network_id'")
        segment = [] if record.segment_id is None else [list(record.aggregates)]
        result[record.id] = segment
        result.setdefault(record.network_id, []).extend(segment)
    return result


def device_profiles(document: Any, path: str) -> dict[str, list[dict[str, str]]]:
    """Return the groups of each device profile by name: ``GET /v2/device_profiles``."""
    return {
        record.name: record.groups for _, record in decoded(document, path, _DeviceProfileRecord)
    }
