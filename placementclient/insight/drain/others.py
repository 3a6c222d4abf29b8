"""Room that is made by moving servers of other hosts out of the way."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from placementclient.insight.drain.cloud import DrainCloud, MovingServer
from placementclient.insight.drain.exact import EFFORT
from placementclient.insight.drain.fleet import Fleet
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.plan import PACE, DrainDecision, DrainVerdict, Pace, scheduled
from placementclient.insight.drain.rolling import is_never

#: On how many hosts room is made for one server, at most, until it is given up.
MOST_HOSTS = 100


def with_others(
    cloud: DrainCloud,
    emptied: Collection[str],
    decision: DrainDecision,
    pace: Pace = PACE,
    effort: float = EFFORT,
) -> DrainDecision:
    """Say whether hosts can be emptied if servers of other hosts may move, too.

    A *no* is proved for whatever moves there are. A *yes* needs no server to move twice.

    :param decision: the answer if they may not; other arguments as of
        :func:`placementclient.insight.drain.plan.decide`
    """
    if decision.moves or decision.strict.packing.is_complete:
        return decision
    fleet = Fleet(cloud, cloud.hosts)
    fleet.take(emptied)
    trial = fleet.attempt(fleet.servers(emptied))
    moves = list(trial.moves)
    left = []
    for server in sorted(trial.left, key=lambda server: -fleet.size(server)):
        found = _made(fleet, server, {move.server for move in moves})
        moves += found
        if not found:
            left.append(server)
    if not left and (planned := scheduled(cloud, iter(moves), pace)) is not None:
        verdict = DrainVerdict.DEPENDS if decision.unsettled else DrainVerdict.YES
        return replace(decision, verdict=verdict, moves=planned, is_with_others=True)
    verdict = decision.verdict
    if verdict is DrainVerdict.NO and not is_never(cloud, emptied, effort):
        verdict = DrainVerdict.UNDETERMINED
    return replace(decision, verdict=verdict, is_with_others=True)


def _made(fleet: Fleet, server: MovingServer, moved: Collection[str]) -> list[ServerMove]:
    """Return the moves that make room for a server, and its own; none if that fails.

    :param moved: servers that have moved already
    """
    for uuid in fleet.candidates(server)[:MOST_HOSTS]:
        fleet.take([uuid])
        others = sorted(fleet.servers([uuid]), key=fleet.size)
        done: list[ServerMove] = []
        own = None
        for other in others:
            trial = fleet.attempt([other] if other.uuid not in moved else [])
            fleet.commit(trial.moves, is_taken=True)
            done += trial.moves
            own = fleet.place(server, uuid) if trial.moves else None
            if own is not None:
                break
        if own is None:
            fleet.revert(reversed(done))
        fleet.give([uuid])
        if own is not None:
            return [*done, own]
    return []
