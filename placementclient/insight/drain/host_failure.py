# SPDX-License-Identifier: Apache-2.0
"""Failures of hosts, and whether the other hosts have room for their servers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

from placementclient.insight.capacity import totals
from placementclient.insight.drain.cloud import ABSENT, DrainCloud
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.insight.drain.problem import build_problem, group_by_kind
from placementclient.insight.drain.proof import EFFORT
from placementclient.model.consumers import sum_resources
from placementclient.model.findings import Finding

#: The most failures of several hosts that are checked: the largest ones.
MOST = 10_000
#: The most failures that the packing by best fit leaves open and that are searched.
MOST_SEARCHED = 50


class HostFailure(NamedTuple):
    """Hosts that fail together, and bounds for the servers that have a place then.

    :param hosts: the UUIDs of their roots
    :param servers: the number of servers on them
    :param least: of these, how many certainly have a place
    :param most: how many may have one
    """

    hosts: tuple[str, ...]
    servers: int
    least: int
    most: int
    verdict: DrainVerdict


@dataclass(frozen=True, slots=True)
class HostFailures:
    """The checked failures of so many hosts at once.

    :param failures: those after which not every server certainly has a place, the worst first
    :param worst: the first of these; the largest failure, if each leaves a place for every server
    :param uncounted: findings on servers that Nova has on the hosts and that hold nothing there
    """

    failures: Sequence[HostFailure]
    worst: HostFailure
    checked: int
    possible: int
    uncounted: Sequence[Finding] = ()

    @property
    def verdict(self) -> DrainVerdict:
        """The answer to the question if all servers have a place after every failure."""
        verdicts = [failure.verdict for failure in (self.worst, *self.failures)]
        if self.checked < self.possible:
            verdicts.append(DrainVerdict.UNDETERMINED)
        if self.uncounted:
            verdicts.append(DrainVerdict.DEPENDS)
        return min(verdicts, key=list(DrainVerdict).index)


def check_host_failures(
    cloud: DrainCloud, hosts: Sequence[str], number: int, effort: float = EFFORT
) -> HostFailures:
    """Return the failures of so many hosts together after which servers may lack a place.

    :param number: how many fail together; at most all
    :param effort: how long to search for what the packing by best fit does not find, for all
        failures, in seconds
    :param hosts: the UUIDs of their roots
    """
    by_host = cloud.find_servers_by_host(hosts)
    order = _sort_hosts_by_load(cloud, by_host)
    possible = comb(len(order), number)
    if number > 1:
        few = max(n for n in range(number, len(order) + 1) if comb(n, number) <= MOST)
        order = order[:few]
    checked = list(combinations(order, number))
    unplaced = _count_unplaced_servers(cloud, by_host, checked)
    worst_first = sorted(unplaced, key=lambda lost: -unplaced[lost])
    share = effort / max(1, len(worst_first[:MOST_SEARCHED]))
    failures = []
    for place, lost in enumerate(worst_first):
        total, verdict = sum(len(by_host[host]) for host in lost), DrainVerdict.UNDETERMINED
        bounds = total - unplaced[lost], total
        if place < MOST_SEARCHED:
            decision = decide_drain(cloud, lost, effort=share)
            bounds, verdict = decision.bounds, decision.verdict
        if verdict is not DrainVerdict.YES:
            failures.append(HostFailure(lost, total, *bounds, verdict))
    failures.sort(key=lambda loss: (loss.most - loss.servers, loss.least - loss.servers))
    total = sum(len(by_host[host]) for host in checked[0])
    largest = HostFailure(checked[0], total, total, total, DrainVerdict.YES)
    uncounted = [f for f in cloud.find_occupants(hosts).unsettled if f.kind == ABSENT]
    return HostFailures(failures, [*failures, largest][0], len(checked), possible, uncounted)


def _count_unplaced_servers(
    cloud: DrainCloud,
    by_host: Mapping[str, Sequence[ServerMove]],
    failures: Iterable[tuple[str, ...]],
) -> dict[tuple[str, ...], int]:
    """Return the number of servers without a place by best fit, by failure, without zeros.

    :param by_host: the servers of each host
    :param failures: each the UUIDs of the hosts that fail together
    """
    servers = [server for servers in by_host.values() for server in servers]
    packing = Packing(
        build_problem(cloud, group_by_kind(servers, cloud.find_kind_by_strict_request), ())
    )
    packing.rank_hosts(packing.problem.host_numbers, packing.problem.servers)
    unplaced = {}
    for lost in failures:
        servers = [server for host in lost for server in by_host[host]]
        counts = Counter(map(cloud.find_kind_by_strict_request, servers))
        places = packing.find_places(counts, lost)
        if missing := len(servers) - sum(map(len, places.values())):
            unplaced[lost] = missing
    return unplaced


def _sort_hosts_by_load(
    cloud: DrainCloud, by_host: Mapping[str, Sequence[ServerMove]]
) -> list[str]:
    """Return hosts, first those whose servers need the most of the cloud's free amounts.

    :param by_host: the servers of each host, by UUID
    """
    free = {line.resource_class: line.free for line in totals.sum_by_class(cloud.snapshot)}
    sizes = {}
    for uuid, servers in by_host.items():
        needed = sum_resources(part for server in servers for part in server.before.values())
        sizes[uuid] = max(
            (n / max(1, free.get(name, 0)) for name, n in needed.items()), default=0.0
        )
    return sorted(by_host, key=lambda uuid: (-sizes[uuid], uuid))
