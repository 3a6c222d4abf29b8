# SPDX-License-Identifier: Apache-2.0
"""The facts of Nova that a drain counts, and the names of its places among aggregates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from placementclient.insight.drain.departures import Departure, Hindrance, Restriction
from placementclient.model.servers import ServerMigration
from placementclient.placing.requests import Request


def make_zone_alias(name: str) -> str:
    """Return the alias of an availability zone, which stands for it among a host's aggregates."""
    return f'zone {name}'


def make_cell_alias(name: str) -> str:
    """Return the alias of a cell, which stands for it among a host's aggregates."""
    return f'cell {name}'


def make_affinity_group_alias(name: str) -> str:
    """Return the alias of an affinity group, which stands for it among required traits."""
    return f'affinity group {name}'


@dataclass(frozen=True, slots=True)
class NovaFacts:
    """Facts of Nova about servers that Placement does not have.

    :param requests: the requests of servers, by their UUIDs; of the others only their allocations
        are known
    :param least: the requests without uncertain parts, of servers of which they differ
    :param states: the states of servers, in small letters, by their UUIDs
    :param consumers: the UUIDs of all servers; ``None`` if they are not known
    :param zones: the availability zones by the name of the host
    :param limits: how many servers of a server group one host may have, by the UUID of the
        group
    :param groups: the UUIDs of the anti-affinity groups by the UUID of the server
    :param restrictions: why Nova does not live-migrate servers whose flavor is known; ``None``: it
        does
    :param migrations: by the UUID of the consumer that holds the old host; ``None`` if they are
        not known
    :param cells: the cells of Nova by the name of the host; ``None``: all hosts are in one
    :param aggregates: the names of aggregates by UUID
    :param absent: a hindrance for each server that Nova has on a host and for which nothing is
        held there, by the UUID of the host's root
    :param departures: of servers with all allocations on other hosts than the one that Nova has
    """

    requests: Mapping[str, Request] = field(default_factory=dict)
    least: Mapping[str, Request] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    consumers: Collection[str] | None = None
    zones: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    restrictions: Mapping[str, Restriction | None] = field(default_factory=dict)
    migrations: Mapping[str, ServerMigration] | None = None
    cells: Mapping[str, str] | None = None
    aggregates: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, Sequence[Hindrance]] = field(default_factory=dict)
    departures: Mapping[str, Departure] = field(default_factory=dict)

    def make_zone_and_cell_aliases(self, host: str) -> frozenset[str]:
        """Return the aliases of the zone and of the cell of a host."""
        names = [make_zone_alias(self.zones[host])] if host in self.zones else []
        names += [make_cell_alias(self.cells[host])] if self.cells and host in self.cells else []
        return frozenset(names)
