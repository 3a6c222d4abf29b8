"""Hosts, bare metal nodes and ports of other services."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.model.consumers import Resources

#: The compute service as the source of a list, in place of the path of a file.
COMPUTE_SERVICE = 'the compute service'


@dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute service.

    :param is_enabled: ``None`` where its cell does not answer
    :param is_up: True if Nova has heard of it lately and it is not forced down
    """

    host: str
    is_enabled: bool | None
    is_up: bool


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """A compute node, as nova-compute reported it; ``None`` for missing values.

    :param node: the name of the node, which its provider has too
    :param uuid: of the node and of its provider; ``None`` before compute API 2.53
    :param totals: without ratio, with what is reserved; empty from compute API 2.88 on
    :param used: what nova-compute counts as used, with what is reserved
    :param servers: the number of servers on it
    """

    node: str
    uuid: str | None
    host: str | None
    type: str | None
    totals: Resources
    used: Resources
    servers: int | None


@dataclass(frozen=True, slots=True)
class BaremetalNode:
    """A node of Ironic.

    :param uuid: which the provider has as its name
    :param is_busy: whether Ironic works on it, or has locked it
    :param is_withheld: whether it is in maintenance, retired, or without power control, so that
        nova-compute reserves it
    """

    uuid: str
    name: str | None
    state: str
    resource_class: str | None
    instance_uuid: str | None
    is_busy: bool
    is_withheld: bool


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


class PortGroup(NamedTuple):
    """A group of what a port asks Placement for; its ID is the port's if Neutron has no groups."""

    id: str
    resources: Resources
    required: tuple[str, ...] = ()


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
