"""The answers of other services, as an audit sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from placementclient.model.flavors import Flavor
from placementclient.model.services import BaremetalNode, ComputeService, Hypervisor, Port


class Answers(NamedTuple):
    """Lists of other services; ``None`` for one that is not known.

    :param services: every nova-compute
    :param hypervisors: every compute node
    :param flavors: all flavors, those of single projects too
    :param limits: the names of the resources with a registered limit
    :param nodes: all nodes of Ironic
    :param ports: the ports of servers that are bound and ask for resources
    """

    services: Sequence[ComputeService] | None = None
    hypervisors: Sequence[Hypervisor] | None = None
    flavors: Sequence[Flavor] | None = None
    limits: Sequence[str] | None = None
    nodes: Sequence[BaremetalNode] | None = None
    ports: Sequence[Port] | None = None
