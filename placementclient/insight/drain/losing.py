"""The loss of hosts: whether the others have room for their servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb

from placementclient.insight.drain.cloud import DrainCloud, MovingServer
from placementclient.insight.drain.exact import EFFORT
from placementclient.insight.drain.fleet import Fleet
from placementclient.insight.drain.plan import DrainVerdict, decide
from placementclient.model.consumers import together

#: The most losses of several hosts that are looked at: the largest ones.
MOST = 10_000
#: The most losses that the packing by best fit leaves open and that are searched.
MOST_SEARCHED = 50


@dataclass(frozen=True, slots=True)
class Loss:
    """Hosts that are lost, and their servers.

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
class Losing:
    """The answer.

    :param losses: those after which not every server certainly has a place, the worst first
    :param worst: the largest one, if each leaves a place for every server
    :param checked: how many losses were looked at
    :param possible: how many there are
    """

    losses: list[Loss] = field(default_factory=list)
    worst: Loss | None = None
    checked: int = 0
    possible: int = 0

    @property
    def verdict(self) -> DrainVerdict:
        """Return whether every loss leaves a place for each server."""
        verdicts = {loss.verdict for loss in self.losses}
        for each in (DrainVerdict.NO, DrainVerdict.UNDETERMINED):
            if each in verdicts:
                return each
        if self.checked < self.possible:
            return DrainVerdict.UNDETERMINED
        return DrainVerdict.DEPENDS if verdicts else DrainVerdict.YES


def lose(cloud: DrainCloud, hosts: Sequence[str], number: int, effort: float = EFFORT) -> Losing:
    """Say whether the servers of any hosts have a place if these are lost together.

    :param hosts: the UUIDs of the roots of those that may be lost
    :param number: how many are lost together
    :param effort: how long to search for what the packing by best fit does not find, for all
        losses, in seconds
    """
    fleet = Fleet(cloud, hosts)
    free = Counter[str]()
    for state in cloud.snapshot.providers.values():
        for name in state.inventories:
            free[name] += max(0, state.free(name))
    sizes = {uuid: _size(fleet.servers([uuid]), free) for uuid in hosts}
    order = sorted(hosts, key=lambda uuid: (-sizes[uuid], uuid))
    possible = comb(len(order), number)
    losses = list(_losses(order, number, possible))
    lefts = {loss: len(left) for loss in losses if (left := fleet.without(loss))}
    short = sorted(lefts, key=lambda loss: -lefts[loss])
    each = effort / max(1, len(short[:MOST_SEARCHED]))
    found = []
    for loss in short[:MOST_SEARCHED]:
        decision = decide(cloud, loss, effort=each)
        found.append(Loss(loss, decision.total, *decision.bounds, decision.verdict))
    for loss in short[MOST_SEARCHED:]:
        count = len(fleet.servers(loss))
        found.append(Loss(loss, count, count - lefts[loss], count, DrainVerdict.UNDETERMINED))
    found = [loss for loss in found if loss.verdict is not DrainVerdict.YES]
    found.sort(key=lambda loss: (loss.most - loss.servers, loss.least - loss.servers))
    count = len(fleet.servers(losses[0])) if losses else 0
    worst = Loss(losses[0], count, count, count, DrainVerdict.YES) if losses and not found else None
    return Losing(found, worst, len(losses), possible)


def _losses(order: Sequence[str], number: int, possible: int) -> Iterable[tuple[str, ...]]:
    """Return all losses, or the largest ones where there are too many.

    :param order: the hosts, the largest first
    """
    if number == 1 or possible <= MOST:
        return combinations(order, number)
    few = number
    while comb(few + 1, number) <= MOST:
        few += 1
    return islice(combinations(order[:few], number), MOST)


def _size(servers: Iterable[MovingServer], free: Mapping[str, int]) -> float:
    """Return what part of all that is free servers need, of the class that is scarcest for them."""
    held = together(part for server in servers for part in server.allocations.values())
    return max((amount / max(1, free[name]) for name, amount in held.items()), default=0.0)
