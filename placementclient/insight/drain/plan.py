"""The result of a drain: the new host of every server, or the proof that some have none."""

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from placementclient.insight.drain.cloud import DrainCloud, MovingServer
from placementclient.insight.drain.exact import EFFORT, Packing, pack
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, held, waves
from placementclient.insight.drain.packing import Placed, TargetHost
from placementclient.model.findings import Finding
from placementclient.placing.requests import Request
from placementclient.placing.shapes import HostOption


class DrainVerdict(enum.StrEnum):
    YES = 'yes'
    #: Proved: the amounts alone do not fit.
    NO = 'no'
    #: It depends on what some servers ask for.
    DEPENDS = 'depends'
    #: Neither a plan nor a proof was found in time.
    UNDETERMINED = 'undetermined'


def moved(
    server: MovingServer, request: Request, host: TargetHost, option: HostOption
) -> ServerMove:
    after = held(request, host, option)
    return ServerMove(server.uuid, server.host, host.uuid, server.allocations, after)


def offloaded(cloud: DrainCloud, hosts: Iterable[str]) -> list[ServerMove]:
    """Return the moves of the servers that leave their host without a new one."""
    return [
        ServerMove(server.uuid, server.host, None, server.allocations, {})
        for server in cloud.shelved(hosts)
    ]


@dataclass(frozen=True, slots=True)
class Packed:
    """Servers and their places.

    :param requests: of the servers, in their order
    """

    servers: Sequence[MovingServer]
    requests: Sequence[Request]
    packing: Packing

    def moves(self) -> Iterator[ServerMove]:
        """Return the move of each server that has a place."""
        hosts = self.packing.problem.hosts
        for server, request, place in self._places():
            if place is not None:
                yield moved(server, request, hosts[place.host], place.option)

    def left(self) -> list[tuple[MovingServer, Request]]:
        """Return the servers that have no place."""
        return [(server, request) for server, request, place in self._places() if place is None]

    def _places(self) -> Iterator[tuple[MovingServer, Request, Placed | None]]:
        kinds = zip(self.packing.problem.kinds, self.packing.placed, strict=True)
        places = {id(kind): iter(placed) for kind, placed in kinds}
        for server, request in zip(self.servers, self.requests, strict=True):
            yield server, request, next(places[id(request)], None)


@dataclass(frozen=True, slots=True)
class DrainDecision:
    """The result of a drain.

    :param moves: of all servers, in the order of their waves; none unless the answer is yes
    :param strict: the places of the servers if each asks for all that its old host has
    :param lax: the same if each asks for amounts alone; ``None``: that makes no difference
    :param unsettled: what no plan can move
    """

    verdict: DrainVerdict
    moves: Sequence[ServerMove]
    strict: Packed
    lax: Packed | None
    unsettled: Sequence[Finding]

    @property
    def total(self) -> int:
        return len(self.strict.servers)

    @property
    def bounds(self) -> tuple[int, int]:
        """Return a lower and an upper bound for the number of servers that can move."""
        return self.strict.packing.count, (self.lax or self.strict).packing.bound


def packed(
    cloud: DrainCloud,
    servers: Sequence[MovingServer],
    emptied: Collection[str],
    effort: float = EFFORT,
    *,
    is_lax: bool = False,
) -> Packed:
    """Place the servers of the hosts to empty on the others.

    :param is_lax: whether to ask for the amounts alone where no more is known
    """
    moving = [(cloud.lax if is_lax else cloud.strict)(server) for server in servers]
    return Packed(servers, moving, pack(cloud.problem(moving, emptied), effort))


def decide(
    cloud: DrainCloud,
    emptied: Collection[str],
    pace: Pace = PACE,
    effort: float = EFFORT,
    *,
    is_certain: bool = False,
) -> DrainDecision:
    """Decide whether hosts can be emptied, and where their servers go.

    :param is_certain: whether the servers ask for no less than the strict requests
    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    servers, unsettled = cloud.servers(emptied)
    strict = packed(cloud, servers, emptied, effort)
    lax: Packed | None = None
    if strict.packing.is_complete:
        leaving = [*offloaded(cloud, emptied), *strict.moves()]
        moves = waves(leaving, Ledger(cloud.snapshot), pace)
        verdict = DrainVerdict.UNDETERMINED if moves is None else DrainVerdict.YES
        if moves is not None and unsettled:
            verdict = DrainVerdict.DEPENDS
        return DrainDecision(verdict, moves or (), strict, lax, unsettled)
    if not is_certain and any(cloud.lax(s) is not cloud.strict(s) for s in servers):
        lax = packed(cloud, servers, emptied, effort, is_lax=True)
    return DrainDecision(
        _verdict(strict.packing, (lax or strict).packing), (), strict, lax, unsettled
    )


def _verdict(strict: Packing, lax: Packing) -> DrainVerdict:
    if lax.bound < sum(lax.problem.counts):
        return DrainVerdict.NO
    if lax is not strict and strict.bound < sum(strict.problem.counts) and lax.is_complete:
        return DrainVerdict.DEPENDS
    return DrainVerdict.UNDETERMINED
