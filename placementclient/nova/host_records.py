"""Lists of hosts, nodes, ports and limits, from OpenStackClient or from the services.

As in :mod:`placementclient.nova.records`, each takes a document and where it came from.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    NetworkAgent,
    Port,
    PortGroup,
)
from placementclient.nova import schema
from placementclient.nova.schema import Amount, OptionalText, RecordPlace, Text

#: The power states in which nova-compute reserves a node; Ironic has none for an unknown one.
_POWERLESS = (None, 'error')
#: What decides whether a node should be reserved; a list may leave fields out.
_NEEDED = frozenset({'powerstate', 'resourceclass', 'maintenance'})
#: The owner of the ports of servers is this, with the availability zone behind it.
_SERVERS = 'compute:'


class _ServiceRecord(msgspec.Struct):
    id: Text | int | None = None
    binary: OptionalText = None
    host: OptionalText = None
    status: OptionalText = None
    state: OptionalText = None
    forceddown: bool = False


class _ServiceOfHypervisor(msgspec.Struct):
    host: OptionalText = None


class _HypervisorRecord(msgspec.Struct):
    id: Text | int | None = None
    hypervisorhostname: OptionalText = None
    hypervisortype: OptionalText = None
    service: _ServiceOfHypervisor | None = None
    vcpus: Amount | None = None
    vcpusused: Amount | None = None
    memorymb: Amount | None = None
    memorymbused: Amount | None = None
    localgb: Amount | None = None
    localgbused: Amount | None = None
    runningvms: Amount | None = None


class _LimitRecord(msgspec.Struct):
    id: OptionalText = None
    resourcename: OptionalText = None


class _NodeRecord(msgspec.Struct):
    uuid: OptionalText = None
    name: OptionalText = None
    instanceuuid: OptionalText = None
    provisionstate: OptionalText = None
    provisioningstate: OptionalText = None
    targetprovisionstate: OptionalText = None
    powerstate: OptionalText = None
    maintenance: bool = False
    retired: bool = False
    reservation: OptionalText = None
    resourceclass: OptionalText = None


class _GroupRecord(msgspec.Struct):
    id: str = ''
    resources: dict[Text, Amount] = {}
    required: list[Text] = []


class _RequestRecord(msgspec.Struct):
    request_groups: list[_GroupRecord] | None = None
    resources: dict[Text, Amount] = {}
    required: list[Text] = []
    same_subtree: list[Text] = []


class _AddressRecord(msgspec.Struct):
    subnet_id: OptionalText = None


class _ProfileRecord(msgspec.Struct):
    allocation: dict[str, str] | str | None = None


class _DeviceProfileRecord(msgspec.Struct):
    name: OptionalText = None
    groups: list[dict[str, str]] = []


class _BandwidthRecord(msgspec.Struct):
    egress: Amount | None = None
    ingress: Amount | None = None


class _ConfigurationRecord(msgspec.Struct):
    resource_provider_bandwidths: dict[Text, _BandwidthRecord] | None = None
    resource_provider_hypervisors: dict[Text, Text] = {}


class _AgentRecord(msgspec.Struct):
    id: OptionalText = None
    agenttype: OptionalText = None
    host: OptionalText = None
    resourcessynced: bool | None = None
    configurations: _ConfigurationRecord | None = None


class _PoolRecord(msgspec.Struct):
    start: Text
    end: Text


class _SubnetRecord(msgspec.Struct):
    id: OptionalText = None
    ipversion: int | None = None
    gatewayip: OptionalText = None
    allocationpools: list[_PoolRecord] = []
    networkid: OptionalText = None
    segmentid: OptionalText = None
    aggregates: list[Text] = []


class _PortRecord(msgspec.Struct):
    id: OptionalText = None
    deviceid: OptionalText = None
    deviceowner: OptionalText = None
    bindinghostid: OptionalText = None
    resourcerequest: _RequestRecord | None = None
    bindingprofile: _ProfileRecord | None = None
    bindingvnictype: OptionalText = None
    deviceprofile: OptionalText = None
    networkid: OptionalText = None
    fixedips: list[_AddressRecord] = []


@schema.reader('services', _ServiceRecord, lambda r: (r.id,))
def compute_services(place: RecordPlace, record: _ServiceRecord) -> ComputeService | None:
    """The nova-compute of all hosts: what ``GET /os-services`` answers, or what ``openstack compute
    service list -f json`` prints.
    """
    known = {'enabled': True, 'disabled': False}
    if record.binary not in (None, 'nova-compute'):
        return None
    return ComputeService(
        place.required('Host', record.host),
        known.get((record.status or '').lower()),
        (record.state or '').lower() == 'up' and not record.forceddown,
    )


@schema.reader('hypervisors', _HypervisorRecord, lambda r: (r.id,))
def hypervisors(place: RecordPlace, record: _HypervisorRecord) -> Hypervisor:
    """The compute nodes: what ``GET /os-hypervisors/detail`` answers, or what ``openstack
    hypervisor list --long -f json`` prints.
    """
    return Hypervisor(
        place.required('Hypervisor Hostname', record.hypervisorhostname),
        # A number before compute API 2.53.
        record.id.lower() if isinstance(record.id, str) and '-' in record.id else None,
        record.service.host if record.service else None,
        record.hypervisortype,
        _amounts(VCPU=record.vcpus, MEMORY_MB=record.memorymb, DISK_GB=record.localgb),
        _amounts(VCPU=record.vcpusused, MEMORY_MB=record.memorymbused, DISK_GB=record.localgbused),
        record.runningvms,
    )


def _amounts(**amounts: int | None) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount is not None}


@schema.reader('registered_limits', _LimitRecord, lambda r: (r.id,))
def registered_limits(place: RecordPlace, record: _LimitRecord) -> str:
    """The names of the resources that have a registered limit, in any region: what ``GET
    /v3/registered_limits`` answers, or what ``openstack registered limit list -f json`` prints.
    """
    return place.required('Resource Name', record.resourcename)


def nodes(document: Any, path: str) -> list[BaremetalNode]:
    """Return the nodes of Ironic.

    :param document: what ``GET /v1/nodes/detail`` answers from bare metal API 1.21 on, or what
        ``openstack baremetal node list --long -f json`` prints
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, lacks the resource classes, or has a node twice
    """
    for each in schema.listed(document, 'nodes', path):
        if not {schema.normal(str(name)) for name in each} >= _NEEDED:
            raise RecordPlace(path, 'nodes').error(
                'has no resource classes or no power states: list nodes with --long, or GET '
                '/v1/nodes/detail'
            )
    return [
        BaremetalNode(
            place.required('UUID', record.uuid).lower(),
            record.name,
            (record.provisionstate or record.provisioningstate or '').lower(),
            record.resourceclass,
            record.instanceuuid and record.instanceuuid.lower(),
            bool(record.reservation or record.targetprovisionstate),
            record.maintenance or record.retired or record.powerstate in _POWERLESS,
        )
        for place, record in schema.decoded(
            document, 'nodes', path, _NodeRecord, lambda r: (r.uuid,)
        )
    ]


def ports(document: Any, path: str) -> list[Port]:
    """Return the bound ports of servers that require resources.

    :param document: what ``GET /v2.0/ports`` answers an administrator
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, does not say what ports ask for, or has a port
        twice
    """
    raw = schema.listed(document, 'ports', path)
    if raw and not any('resource_request' in each for each in raw):
        raise RecordPlace(path, 'ports').error(
            'has no resource_request: an administrator gets it, if Neutron has the service '
            'plugin placement'
        )
    return [
        replace(port, groups=groups)
        for place, record in _ports(document, path)
        if record.bindinghostid
        and (record.deviceowner or '').startswith(_SERVERS)
        and (port := _port(place, record)).server_uuid
        and (groups := tuple(group for group in port.groups if any(group.resources.values())))
    ]


@schema.reader('agents', _AgentRecord, lambda r: (r.id,))
def agents(place: RecordPlace, record: _AgentRecord) -> NetworkAgent:
    """Return the agents of Neutron: the answer to ``GET /v2.0/agents`` for an administrator."""
    if record.configurations is None:
        raise place.error('has no configurations: GET /v2.0/agents has them')
    host = place.required('host', record.host)
    devices = record.configurations.resource_provider_bandwidths
    hypervisors = record.configurations.resource_provider_hypervisors
    return NetworkAgent(
        place.required('agent_type', record.agenttype),
        host,
        record.resourcessynced,
        None
        if devices is None
        else {
            (hypervisors.get(device, host), device): _amounts(
                NET_BW_EGR_KILOBIT_PER_SEC=amounts.egress or None,
                NET_BW_IGR_KILOBIT_PER_SEC=amounts.ingress or None,
            )
            for device, amounts in devices.items()
        },
    )


def segment_addresses(document: Any, path: str) -> dict[str, int]:
    """Return the number of IPv4 addresses of each segment of a routed network, by its ID.

    :param document: what ``GET /v2.0/subnets`` answers
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, or has a subnet twice
    """
    totals: dict[str, int] = {}
    for place, record in schema.decoded(
        document, 'subnets', path, _SubnetRecord, lambda r: (r.id,)
    ):
        if record.segmentid is not None and record.ipversion == 4 and record.allocationpools:
            # Neutron counts the gateway too, and reserves it.
            addresses = sum(_size(place, pool) for pool in record.allocationpools)
            segment = record.segmentid.lower()
            totals[segment] = totals.get(segment, 0) + addresses + bool(record.gatewayip)
    return totals


def _size(place: RecordPlace, pool: _PoolRecord) -> int:
    try:
        first, last = map(ipaddress.IPv4Address, (pool.start, pool.end))
    except ValueError:
        raise place.error(f'{pool.start} to {pool.end} are no IPv4 addresses') from None
    return int(last) - int(first) + 1


def requested_ports(document: Any, path: str, server: str | None = None) -> list[Port]:
    """Return the present or future ports of a server, and the resources that they require.

    :param document: what ``GET /v2.0/ports`` answers an administrator
    :param path: where it came from, for the error
    :param server: the UUID of the server; without it all ports are of one server
    :raises errors.BadFile: if it is something else, or has a port twice
    """
    every = [_port(place, record) for place, record in _ports(document, path)]
    return [port for port in every if server in (None, port.server_uuid)]


def _ports(document: Any, path: str) -> Iterator[tuple[RecordPlace, _PortRecord]]:
    return schema.decoded(document, 'ports', path, _PortRecord, lambda r: (r.id,))


def _port(place: RecordPlace, record: _PortRecord) -> Port:
    uuid = place.required('id', record.id)
    request = record.resourcerequest or _RequestRecord()
    allocation = (record.bindingprofile and record.bindingprofile.allocation) or {}
    # Before Neutron had groups, what a port asked for had no ID.
    providers = {uuid: allocation} if isinstance(allocation, str) else allocation
    return Port(
        uuid,
        (record.deviceid or '').lower(),
        tuple(
            PortGroup(group.id or uuid, group.resources, tuple(group.required))
            for group in _groups(request)
        ),
        {group: provider.lower() for group, provider in providers.items()},
        tuple(request.same_subtree),
        record.bindingvnictype or 'normal',
        record.deviceprofile,
        record.networkid,
        next((address.subnet_id for address in record.fixedips), None),
    )


def _groups(request: _RequestRecord) -> list[_GroupRecord]:
    if request.request_groups is not None:
        return request.request_groups
    is_empty = not request.resources and not request.required
    return [] if is_empty else [_GroupRecord('', request.resources, request.required)]


@schema.reader('device_profiles', _DeviceProfileRecord, lambda r: (r.name,))
def _profiles(place: RecordPlace, record: _DeviceProfileRecord) -> tuple[str, list[dict[str, str]]]:
    return place.required('name', record.name), record.groups


def device_profiles(document: Any, path: str) -> dict[str, list[dict[str, str]]]:
    """Return the groups of each device profile by name: ``GET /v2/device_profiles``."""
    return dict(_profiles(document, path))


def segments(document: Any, path: str) -> dict[str, list[list[str]]]:
    """Return the aggregates of each segment, by the ID of its subnet and by that of its network.

    :param document: what ``GET /v2.0/subnets`` answers, with ``aggregates``
    :param path: where it came from, for the error
    :raises errors.BadFile: if it is something else, or has a subnet twice
    """
    found: dict[str, list[list[str]]] = {}
    for place, record in schema.decoded(
        document, 'subnets', path, _SubnetRecord, lambda r: (r.id,)
    ):
        segment = [] if record.segmentid is None else [record.aggregates]
        found[place.required('id', record.id)] = segment
        found.setdefault(place.required('network_id', record.networkid), []).extend(segment)
    return found
