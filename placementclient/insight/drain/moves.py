# SPDX-License-Identifier: Apache-2.0
"""Moves of servers, in waves that Placement allows.

During a live migration, Placement has the allocations of the server twice: on the old host under
the migration, and on the new one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.model.consumers import Allocations
from placementclient.model.snapshots import Snapshot


class Pace(NamedTuple):
    """The number of servers that move at the same time: off and onto a host, and in all."""

    per_host: int = 2
    parallel: int = 50


PACE = Pace()


class ServerMove(NamedTuple):
    """A server that moves off its host.

    :param source: the UUID of the root of the old host
    :param target: the UUID of the root of the new host; ``None`` if there is none (yet)
    :param after: the allocations on the new host; empty without one
    :param wave: from 1; the moves of a wave may be under way at the same time
    """

    server: str
    source: str
    before: Allocations
    after: Allocations
    target: str | None = None
    wave: int = 0


class Ledger:
    """The usage of each provider during moves that begin in the state of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._used: Counter[tuple[str, str]] = Counter()

    def can_allocate(self, allocations: Allocations) -> bool:
        """Return True if Placement would accept allocations now."""
        for uuid, resources in allocations.items():
            state = self._snapshot.providers[uuid]
            for name, amount in resources.items():
                inventory = state.inventories.get(name)
                if inventory is None or not inventory.admits(amount):
                    return False
                if amount > state.free(name) - self._used[uuid, name]:
                    return False
        return True

    def add_allocations(self, allocations: Allocations, sign: int = 1) -> None:
        """Count allocations as used; with the sign -1, count them as free again."""
        for uuid, resources in allocations.items():
            for name, amount in resources.items():
                self._used[uuid, name] += sign * amount


def schedule_waves(
    moves: Iterable[ServerMove], ledger: Ledger, pace: Pace = PACE, first: int = 1
) -> list[ServerMove] | None:
    """Return the moves in waves; Placement allows each at any moment of its wave.

    :param ledger: the usage before; afterwards with the moves, if there is an order for them
    :param first: the number of the first wave
    :param pace: how many servers move at the same time
    :return: ``None`` if some move has no room in any order
    """
    # A server that stays on its storage needs room there only for a while: it moves first.
    ordered = sorted(moves, key=lambda move: not move.before.keys() & move.after.keys())
    pending: dict[str, list[ServerMove]] = {}
    for move in ordered:
        pending.setdefault(move.source, []).append(move)
    scheduled: list[ServerMove] = []
    wave = first
    while pending:
        chosen = list(_choose_wave(pending, ledger, pace))
        if not chosen:
            for move in scheduled:
                ledger.add_allocations(move.after, -1)
                ledger.add_allocations(move.before)
            return None
        for move in chosen:
            ledger.add_allocations(move.before, -1)
            scheduled.append(move._replace(wave=wave))
        taken = {move.server for move in chosen}
        pending = {
            source: left
            for source, moves in pending.items()
            if (left := [move for move in moves if move.server not in taken])
        }
        wave += 1
    return scheduled


def _choose_wave(
    pending: Mapping[str, Sequence[ServerMove]], ledger: Ledger, pace: Pace
) -> Iterator[ServerMove]:
    """Yield the moves of the next wave, and add their new allocations to the ledger.

    :param pending: the moves of this and later waves, by the UUID of the old host
    """
    (per_host, left), coming = pace, Counter[str]()
    for source in sorted(pending, key=lambda source: (-len(pending[source]), source)):
        leaving = 0
        for move in pending[source]:
            if leaving == per_host or not left:
                break
            to = move.target or ''
            if coming[to] < per_host and ledger.can_allocate(move.after):
                ledger.add_allocations(move.after)
                coming[to] += bool(to)
                leaving, left = leaving + 1, left - 1
                yield move
