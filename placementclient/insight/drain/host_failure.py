"""Failures of hosts, and whether the other hosts have room for their servers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.exact import EFFORT
from placementclient.insight.drain.fleet import Fleet
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.plan import DrainVerdict, decide
from placementclient.model.consumers import together

#: The most failures of several hosts that are looked at: the largest ones.
MOST = 10_000
#: The most failures that the packing by best fit leaves open and that are searched.
MOST_SEARCHED = 50


@dataclass(frozen=True, slots=True)
class HostFailure:
    """Hosts that fail together.

    :param servers: how many servers are on them
    :param least: how many of these certainly have a place
    :param most: how many have one at most
    """

    hosts: tuple[str, ...]
    servers: int
    least: int
    most: int
    verdict: DrainVerdict


@dataclass(frozen=True, slots=True)
class HostFailures:
    """The checked failures of a number of hosts.

    :param failures: those after which not every server certainly has a place, the worst first
    :param worst: the largest one, if each leaves a place for every server
    :param checked: how many failures were looked at
    :param possible: how many there are
    """

    failures: list[HostFailure] = field(default_factory=list)
    worst: HostFailure | None = None
    checked: int = 0
    possible: int = 0

    @property
    def verdict(self) -> DrainVerdict:
        """Return whether all servers have a place after every failure."""
        verdicts = {failure.verdict for failure in self.failures}
        for verdict in (DrainVerdict.NO, DrainVerdict.UNDETERMINED):
            if verdict in verdicts:
                return verdict
        if self.checked < self.possible:
            return DrainVerdict.UNDETERMINED
        return DrainVerdict.DEPENDS if verdicts else DrainVerdict.YES


def check(
    cloud: DrainCloud, hosts: Sequence[str], number: int, effort: float = EFFORT
) -> HostFailures:
    """Check for hosts that fail together whether their servers have a place on the others.

    :param hosts: the UUIDs of the roots of those that may fail
    :param number: how many fail together
    :param effort: how long to search for what the packing by best fit does not find, for all
        failures, in seconds
    """
    fleet = Fleet(cloud, hosts)
    free = Counter[str]()
    for state in cloud.snapshot.providers.values():
        for name in state.inventories:
            free[name] += max(0, state.free(name))
    sizes = {uuid: _size(fleet.servers([uuid]), free) for uuid in hosts}
    order = sorted(hosts, key=lambda uuid: (-sizes[uuid], uuid))
    possible = comb(len(order), number)
    checked = list(_largest(order, number, possible))
    homeless = {lost: count for lost in checked if (count := len(fleet.without(lost)))}
    worst_first = sorted(homeless, key=lambda lost: -homeless[lost])
    share = effort / max(1, len(worst_first[:MOST_SEARCHED]))
    failures = []
    for lost in worst_first[:MOST_SEARCHED]:
        decision = decide(cloud, lost, effort=share)
        total, verdict = decision.strict.total, decision.verdict
        failures.append(HostFailure(lost, total, *decision.bounds, verdict))
    for lost in worst_first[MOST_SEARCHED:]:
        count = len(fleet.servers(lost))
        least = count - homeless[lost]
        failures.append(HostFailure(lost, count, least, count, DrainVerdict.UNDETERMINED))
    failures = [failure for failure in failures if failure.verdict is not DrainVerdict.YES]
    failures.sort(key=lambda loss: (loss.most - loss.servers, loss.least - loss.servers))
    worst = None
    if checked and not failures:
        count = len(fleet.servers(checked[0]))
        worst = HostFailure(checked[0], count, count, count, DrainVerdict.YES)
    return HostFailures(failures, worst, len(checked), possible)


def _largest(order: Sequence[str], number: int, possible: int) -> Iterable[tuple[str, ...]]:
    """Return all sets of so many hosts, or the largest ones where there are too many.

    :param order: the hosts, the largest first
    """
    if number == 1 or possible <= MOST:
        return combinations(order, number)
    few = number
    while comb(few + 1, number) <= MOST:
        few += 1
    return islice(combinations(order[:few], number), MOST)


def _size(servers: Iterable[ServerMove], free: Mapping[str, int]) -> float:
    """Return what part of all that is free servers need, of the class that is scarcest for them."""
    needed = together(part for server in servers for part in server.before.values())
    return max((amount / max(1, free[name]) for name, amount in needed.items()), default=0.0)
