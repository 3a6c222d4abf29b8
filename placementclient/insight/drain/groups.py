# SPDX-License-Identifier: Apache-2.0
"""Groups of equal hosts, and the patterns that fill a host of a group.

Only the room that the requests can use counts: then many hosts of a cloud are equal.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from placementclient.insight.drain.packing import PackingProblem, TargetHost
from placementclient.placing.shapes import HostOption, Shape

#: The most options of one request on one host that are counted separately.
MAX_OPTIONS = 60
#: The most patterns of one group.
MAX_PATTERNS = 2_000

#: The number of a kind, and that of an option of it.
Piece = tuple[int, int]
#: How many of each piece fill a host.
Pattern = Mapping[Piece, int]
Room = tuple[int, ...]


@dataclass(slots=True)
class Group:
    """Equal hosts.

    :param room: the room of each host that the requests can use; then the number of further servers
        of each server group
    :param needs: what each piece takes of the room
    :param is_relaxed: there are too many options of some kind, so that only the sums count for it
    """

    shape: Shape
    room: Room
    hosts: list[int] = field(default_factory=list)
    options: dict[Piece, HostOption] = field(default_factory=dict)
    needs: dict[Piece, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    is_relaxed: bool = False

    def most(self, piece: Piece) -> int:
        """Return how many servers of one kind fit on one host."""
        return min((self.room[at] // n for at, n in self.needs[piece] if n), default=1 << 31)


def groups(problem: PackingProblem) -> list[Group]:
    """Return groups of the hosts that have room for at least one request."""
    trimmer = _Trimmer(problem)
    names = sorted({name for request in problem.kinds for name in request.limits})
    alike: dict[object, Group] = {}
    for number, host in enumerate(problem.hosts):
        _order_twins(host)
        room = trimmer.trimmed(host.shape, tuple(max(0, free) for free in host.room))
        room += tuple(problem.limits[name] - host.members[name] for name in names)
        key = host.shape, room
        alike.setdefault(key, Group(host.shape, room)).hosts.append(number)
    for group in alike.values():
        places = {name: group.shape.width + at for at, name in enumerate(names)}
        for kind in trimmer.kinds[group.shape]:
            _add_options(problem, group, kind, places)
    return [group for group in alike.values() if group.options]


def patterns(problem: PackingProblem, group: Group) -> list[Pattern] | None:
    """Return the largest sets of servers that fit together on a host of a group.

    :return: ``None`` if there are too many
    """
    pieces = list(group.options)
    # The number of servers of each kind limits its pieces like a room.
    room = (*group.room, *(problem.counts[kind] for kind, _ in pieces))
    amounts = [(*group.needs[piece], (len(group.room) + at, 1)) for at, piece in enumerate(pieces)]
    full: list[Pattern] = []
    pending: list[tuple[Room, Room]] = [((), room)]
    for _ in range(0 if group.is_relaxed else MAX_PATTERNS * 50):
        chosen, room = pending.pop()
        fitting = [n for n, needed in enumerate(amounts) if all(room[at] >= k for at, k in needed)]
        if not fitting:
            full.append(Counter(pieces[number] for number in chosen))
        for number in reversed(fitting):
            if number >= max(chosen, default=0):
                left = list(room)
                for at, amount in amounts[number]:
                    left[at] -= amount
                pending.append(((*chosen, number), tuple(left)))
        if not pending or len(full) > MAX_PATTERNS:
            break
    return None if pending or len(full) > MAX_PATTERNS else full


def _add_options(
    problem: PackingProblem, group: Group, kind: int, places: Mapping[str, int]
) -> None:
    """Add the options of a kind on a host of a group; server groups have places in the room."""
    request = problem.kinds[kind]
    limits = tuple((places[name], 1) for name in request.limits)
    if any(group.room[at] < 1 for at, _ in limits):
        return
    search = problem.option_search(request, group.shape, group.room)
    options: dict[object, HostOption] = {}
    for option in search.every():
        options.setdefault((option.local, option.shared), option)
        if len(options) > MAX_OPTIONS:
            break
    if len(options) > MAX_OPTIONS or search.left < 0:
        # Too many to count separately: only the sums count, which is a weaker condition.
        options, group.is_relaxed = {None: group.shape.sum_of(request)}, True
    for number, option in enumerate(options.values()):
        group.options[kind, number] = option
        group.needs[kind, number] = (*option.local, *limits)


class _Trimmer:
    """Cuts the room of hosts to the amounts that the requests can use."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        #: The kinds of servers that the hosts of a shape can serve.
        self.kinds = {
            shape: [
                number
                for number, request in enumerate(problem.kinds)
                if problem.counts[number] and problem.suitable(request, shape) is not None
            ]
            for shape in problem.by_shape
        }
        self.trimmed = cache(self._trim)
        self._fixed = cache(self._amounts)

    def _amounts(self, shape: Shape, kind: int) -> Mapping[int, int] | None:
        """Return the amount of each room for a server; ``None`` if it depends on the option."""
        problem, request = self._problem, self._problem.kinds[kind]
        is_fixed = request.is_lax or problem.is_only(request, shape)
        return problem.fixed(request, shape) if is_fixed else None

    def _trim(self, shape: Shape, room: Room) -> Room:
        """Return no more of each room than the servers can take that another room allows."""
        kinds = [kind for kind in self.kinds[shape] if self._fits(shape, kind, room)]
        if not kinds:
            return (0,) * len(room)
        fixed = [needed for kind in kinds if (needed := self._fixed(shape, kind)) is not None]
        if shape.pooled or len(fixed) < len(kinds):
            return room
        bounded = list(room)
        for other in range(len(room)):
            if all(needed.get(other) for needed in fixed):
                for at in range(len(room)):
                    most = max(
                        bounded[other] * needed.get(at, 0) // needed[other] for needed in fixed
                    )
                    bounded[at] = min(bounded[at], most)
        return tuple(bounded)

    def _fits(self, shape: Shape, kind: int, room: Room) -> bool:
        fixed = self._fixed(shape, kind)
        if fixed is not None:
            return all(room[at] >= amount for at, amount in fixed.items())
        search = self._problem.option_search(self._problem.kinds[kind], shape, room)
        return search.first() is not None or search.left < 0


def _order_twins(host: TargetHost) -> None:
    """Put providers that differ only in their room in the order of their room."""
    shape = host.shape
    if not shape.twins:
        return
    twins: dict[int, list[int]] = {}
    for number, first in shape.twins.items():
        twins.setdefault(first, []).append(number)
    providers, room = list(host.providers), list(host.room)
    for numbers in twins.values():
        rooms = [[shape.rooms[number, name] for name in shape.units[number]] for number in numbers]
        order = sorted(([host.room[at] for at in places], n) for n, places in enumerate(rooms))
        for to, (frees, old) in enumerate(order):
            providers[numbers[to]] = host.providers[numbers[old]]
            for at, free in zip(rooms[to], frees, strict=True):
                room[at] = free
    host.providers, host.room = tuple(providers), room
