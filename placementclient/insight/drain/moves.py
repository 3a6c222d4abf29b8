"""Moves of servers, in waves that Placement allows.

As long as a live migration lasts, Placement has what the server holds twice: on the old host, held
by the migration, and on the new one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.insight.drain.packing import TargetHost
from placementclient.model.consumers import Allocations
from placementclient.model.snapshots import Snapshot
from placementclient.placing.requests import Request
from placementclient.placing.shapes import HostOption


class Pace(NamedTuple):
    """The number of servers that move at the same time.

    :param per_host: off a host, and onto a host
    :param parallel: in all
    """

    per_host: int = 2
    parallel: int = 50


#: The pace where none is given.
PACE = Pace()


class ServerMove(NamedTuple):
    """A move of a server from one host to another.

    :param source: the UUID of the root of the old host
    :param target: the UUID of the root of the new host; ``None`` if the server leaves for none
    :param before: what the server holds before the move
    :param after: what it holds after the move
    :param wave: from 1; the moves of a wave may be under way at the same time
    """

    server: str
    source: str
    target: str | None
    before: Allocations
    after: Allocations
    wave: int = 0


def held(request: Request, host: TargetHost, option: HostOption) -> dict[str, dict[str, int]]:
    """Return the allocations of a server by an option."""
    found: dict[str, dict[str, int]] = {}
    for part, place in zip(request.parts, option.places, strict=True):
        resources = found.setdefault(host.providers[place], {})
        for name, amount in part.resources:
            resources[name] = resources.get(name, 0) + amount
    return {uuid: dict(sorted(each.items())) for uuid, each in sorted(found.items()) if each}


class Ledger:
    """The usage of each provider during the moves.

    :param snapshot: the state before the first move
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._used: Counter[tuple[str, str]] = Counter()

    def refusal(self, allocations: Allocations) -> str | None:
        """Return why Placement would refuse an allocation now, or ``None``."""
        for uuid, resources in allocations.items():
            state = self._snapshot.providers[uuid]
            for name, amount in resources.items():
                inventory = state.inventories.get(name)
                if inventory is None or not inventory.admits(amount):
                    return f'{state.name} does not grant {name}={amount}'
                if amount > state.free(name) - self._used[uuid, name]:
                    return f'{state.name} has no room for {name}={amount}'
        return None

    def add(self, allocations: Allocations, sign: int = 1) -> None:
        """Add an allocation, or free it if the sign is -1."""
        for uuid, resources in allocations.items():
            for name, amount in resources.items():
                self._used[uuid, name] += sign * amount


def waves(
    moves: Iterable[ServerMove], ledger: Ledger, pace: Pace = PACE, first: int = 1
) -> list[ServerMove] | None:
    """Return the moves in waves; Placement allows each at any moment of its wave.

    :param ledger: what is used before; it is left as it is after the last wave, and as it was if
        there is none
    :param pace: the most servers of one wave
    :param first: the number of the first wave
    :return: ``None`` if some move finds no room whatever went before it
    """
    # What stays on its storage needs room there for a while only: it goes first.
    ordered = sorted(moves, key=lambda move: not move.before.keys() & move.after.keys())
    pending: dict[str, list[ServerMove]] = {}
    for move in ordered:
        pending.setdefault(move.source, []).append(move)
    scheduled: list[ServerMove] = []
    wave = first
    while pending:
        chosen = list(_wave(pending, ledger, pace))
        if not chosen:
            for move in scheduled:
                ledger.add(move.after, -1)
                ledger.add(move.before)
            return None
        for move in chosen:
            ledger.add(move.before, -1)
            scheduled.append(move._replace(wave=wave))
        taken = {move.server for move in chosen}
        for source in {move.source for move in chosen}:
            pending[source] = [
                waiting for waiting in pending[source] if waiting.server not in taken
            ]
            if not pending[source]:
                del pending[source]
        wave += 1
    return scheduled


def _wave(
    pending: Mapping[str, Sequence[ServerMove]], ledger: Ledger, pace: Pace
) -> Iterator[ServerMove]:
    """Return the moves of the next wave, and enter what they claim."""
    (per_host, left), coming = pace, Counter[str]()
    for source in sorted(pending, key=lambda source: (-len(pending[source]), source)):
        leaving = 0
        for move in pending[source]:
            if leaving == per_host or not left:
                break
            to = move.target or ''
            if coming[to] < per_host and ledger.refusal(move.after) is None:
                ledger.add(move.after)
                coming[to] += bool(to)
                leaving, left = leaving + 1, left - 1
                yield move
