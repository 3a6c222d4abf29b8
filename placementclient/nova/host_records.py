# SPDX-License-Identifier: Apache-2.0
"""Lists of hosts, nodes, ports and limits, as in :mod:`placementclient.nova.records`."""

import ipaddress

from msgspec import UNSET

from placementclient.model.listed import ListRecord, String
from placementclient.model.network import AddressPool, NetworkAgent, Port, Subnet
from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    RegisteredLimit,
)
from placementclient.nova.schema import BadList, MissingField, RecordPlace, decode_records


class DeviceProfileRecord(ListRecord, frozen=True):
    key = 'device_profiles'
    unique = ('name',)

    name: String
    groups: list[dict[str, str]]


def decode_compute_services(document: object, path: str) -> list[ComputeService]:
    """Return the nova-compute services of all hosts: ``GET /os-services``."""
    services = [service for _, service in decode_records(document, path, ComputeService)]
    computes = [service for service in services if service.binary == 'nova-compute']
    if services and not computes:
        raise BadList(
            path,
            f'no nova-compute is in this list of services. "{ComputeService.source}" makes one',
        )
    return computes


def decode_hypervisors(document: object, path: str) -> list[Hypervisor]:
    """Return the compute nodes: ``GET /os-hypervisors/detail``."""
    result = []
    for place, hypervisor in decode_records(document, path, Hypervisor):
        # OpenStack's SDK calls it by its name, as lists of anything do.
        if place.list_missing_fields('hypervisor_hostname') and place.list_missing_fields(
            'hypervisor_type'
        ):
            raise place.make_error(f'has no hypervisor_hostname. "{Hypervisor.source}" has it')
        result.append(hypervisor)
    return result


def decode_registered_limits(document: object, path: str) -> list[str]:
    """Return the resources with a limit in any region: ``GET /v3/registered_limits``."""
    return [limit.resource_name for _, limit in decode_records(document, path, RegisteredLimit)]


def decode_baremetal_nodes(document: object, path: str) -> list[BaremetalNode]:
    """Return the nodes of Ironic: ``GET /v1/nodes/detail``, from bare metal API 1.21 on."""
    result = []
    for place, node in decode_records(document, path, BaremetalNode):
        maintenance = place.find_value('maintenance', 'is_maintenance')
        if maintenance is None or place.list_missing_fields('power_state', 'resource_class'):
            raise place.make_error(
                'has no resource class or no power state: list nodes with --long, or GET '
                '/v1/nodes/detail'
            )
        result.append(node)
    return result


def decode_bound_ports(document: object, path: str) -> list[Port]:
    """Return the ports that are bound to servers and require resources: ``GET /v2.0/ports``."""
    every = decode_server_ports(document, path)
    return [port for port in every if port.is_bound_to_server and port.groups_with_amounts]


def decode_server_ports(document: object, path: str, server: str | None = None) -> list[Port]:
    """Return the ports of a server, bound or not; without its UUID all ports of the list.

    :raises MissingField: if no port has ``resource_request``
    """
    every = [port for _, port in decode_records(document, path, Port)]
    if every and all(port.request is UNSET for port in every):
        raise MissingField(
            path,
            'ports: has no resource_request: an administrator gets it, if Neutron has the service '
            'plugin placement',
        )
    return [port for port in every if server in (None, port.server_uuid)]


def decode_network_agents(document: object, path: str) -> list[NetworkAgent]:
    """Return the agents of Neutron: the answer to ``GET /v2.0/agents`` for an administrator."""
    result = []
    for place, agent in decode_records(document, path, NetworkAgent):
        if agent.configuration is None:
            raise place.make_error('has no configurations: GET /v2.0/agents has them')
        result.append(agent)
    return result


def count_segment_addresses(document: object, path: str) -> dict[str, int]:
    """Return the number of IPv4 addresses of each segment, by its ID: ``GET /v2.0/subnets``."""
    totals: dict[str, int] = {}
    for place, subnet in _decode_subnets(document, path):
        if subnet.segment_id and subnet.ip_version == 4 and subnet.allocation_pools:
            # Neutron counts the gateway too, and reserves it.
            addresses = sum(_count_pool_addresses(place, pool) for pool in subnet.allocation_pools)
            segment = subnet.segment_id.lower()
            totals[segment] = totals.get(segment, 0) + addresses + bool(subnet.gateway_ip)
    return totals


def _decode_subnets(document: object, path: str) -> list[tuple[RecordPlace, Subnet]]:
    """Return the subnets, each with its position in the list.

    :raises MissingField: if none has ``segment_id``
    """
    subnets = list(decode_records(document, path, Subnet))
    if subnets and all(subnet.segment_id is UNSET for _, subnet in subnets):
        raise MissingField(
            path,
            'subnets: has no segment_id, which "openstack subnet list" leaves out: GET '
            '/v2.0/subnets has it',
        )
    return subnets


def _count_pool_addresses(place: RecordPlace, pool: AddressPool) -> int:
    try:
        first, last = map(ipaddress.IPv4Address, (pool.start, pool.end))
    except ValueError:
        raise place.make_error(f'{pool.start} to {pool.end} are no IPv4 addresses') from None
    return int(last) - int(first) + 1


def decode_segments(document: object, path: str) -> dict[str, list[list[str]]]:
    """Return the aggregates of each segment, by the ID of each subnet and of each network.

    A subnet has one segment or none, a network has those of all its subnets.
    """
    result: dict[str, list[list[str]]] = {}
    for place, subnet in _decode_subnets(document, path):
        if subnet.id is None or subnet.network_id is None:
            raise place.make_error("has no 'id' or no 'network_id'")
        segment = [list(subnet.aggregates)] if subnet.segment_id else []
        result[subnet.id] = segment
        result.setdefault(subnet.network_id, []).extend(segment)
    return result


def decode_device_profiles(document: object, path: str) -> dict[str, list[dict[str, str]]]:
    """Return the request groups of each device profile, by name: ``GET /v2/device_profiles``."""
    return {
        record.name: record.groups
        for _, record in decode_records(document, path, DeviceProfileRecord)
    }
