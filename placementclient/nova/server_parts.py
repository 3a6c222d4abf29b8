# SPDX-License-Identifier: Apache-2.0
"""A server to schedule, and the lists that its request depends on. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placementclient.basis import errors
from placementclient.model.network import Port
from placementclient.model.servers import Flavor, HostAggregate, Image
from placementclient.model.services import Hypervisor


class Refusal(errors.PlacementError):
    """Nova refuses a server, before its scheduler asks Placement or instead of that."""


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A server to schedule.

    :param image: ``None`` if it is unknown, so that it adds nothing to the request
    :param zone: the availability zone; with ``:HOST`` or ``:HOST:NODE`` behind it a host, too
    :param from_volume: whether its root disk is a volume
    :param hints: the names of the scheduler's hints
    :param unknown: what is not known of the server, each part with the source that is missing
    """

    flavor: Flavor
    image: Image | None = None
    zone: str | None = None
    project: str | None = None
    ports: tuple[Port, ...] = ()
    from_volume: bool = False
    hints: frozenset[str] = frozenset()
    host: str | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The lists that requests depend on; ``None`` for an unknown list.

    :param has_owner_trait: whether every nova-compute is of 34 or later: from then on the scheduler
        requires OWNER_NOVA on the root of a host (``owner_nova_filter``); ``None``: not known
    :param profiles: the groups of each device profile of Cyborg, by its name
    :param segments: by the ID of a network or a subnet, the aggregates of each of its segments
    """

    has_owner_trait: bool | None = False
    aggregates: Sequence[HostAggregate] | None = None
    profiles: Mapping[str, Sequence[Mapping[str, str]]] | None = None
    segments: Mapping[str, Sequence[Sequence[str]]] | None = None
    hypervisors: Sequence[Hypervisor] | None = None
