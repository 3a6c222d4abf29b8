# SPDX-License-Identifier: Apache-2.0
"""Groups of equal hosts, and the patterns that fill a host of a group.

Only the room that the requests can use counts: then many hosts of a cloud are equal.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from placementclient.insight.drain.numbers import HostNumber, KindNumber, Piece, ShapeNumber
from placementclient.insight.drain.problem import PackingProblem, ShapeFit, TargetHost
from placementclient.placing.shapes import HostOption, Shape

#: The most options of one request on one host that are counted separately.
MAX_OPTIONS = 60
#: The most patterns of one group.
MAX_PATTERNS = 2_000

#: How many of each piece fill a host.
Pattern = Mapping[Piece, int]
#: The free amounts of a host, as its shape counts them.
Amounts = tuple[int, ...]


@dataclass(slots=True)
class AlikeHosts:
    """Hosts of one shape with equal free amounts.

    :param shape: its number
    :param room: the room of each host that the requests can use; then the number of further servers
        of each server group
    :param needs: what each piece takes of the room, as pairs of the index and the amount
    :param is_relaxed: whether a kind has too many options, so that only its totals by class count
    :param options: the option of a server of each piece
    """

    shape: ShapeNumber
    room: Amounts
    hosts: list[HostNumber] = field(default_factory=list)
    options: dict[Piece, HostOption] = field(default_factory=dict)
    needs: dict[Piece, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    is_relaxed: bool = False

    def count_fitting_servers(self, piece: Piece) -> int:
        """Return the number of servers of a piece that fit on one host of the group."""
        return min((self.room[at] // n for at, n in self.needs[piece] if n), default=1 << 31)


def group_alike_hosts(problem: PackingProblem) -> list[AlikeHosts]:
    """Return the hosts that have room for at least one request, in groups of equal ones."""
    kinds = {
        shape: {
            kind: fit for kind in problem.servers if (fit := problem.find_shape_fit(kind, shape))
        }
        for shape in problem.hosts_by_shape
    }

    @cache
    def find_usable_room(shape: ShapeNumber, room: Amounts) -> Amounts:
        return _find_usable_room(problem, kinds[shape], shape, room)

    names = sorted({name for kind in problem.servers for name in problem.requests[kind].limits})
    groups: dict[object, AlikeHosts] = {}
    for number in problem.host_numbers:
        host = problem.hosts[number]
        room = find_usable_room(host.shape, tuple(max(0, free) for free in host.room))
        room += tuple(problem.limits[name] - host.members.get(name, 0) for name in names)
        groups.setdefault((host.shape, room), AlikeHosts(host.shape, room)).hosts.append(number)
    for group in groups.values():
        width = problem.shapes[group.shape].width
        places = {name: width + at for at, name in enumerate(names)}
        for kind, fit in kinds[group.shape].items():
            add_options(problem, group, kind, fit, places)
    return [group for group in groups.values() if group.options]


def find_patterns(problem: PackingProblem, group: AlikeHosts) -> list[Pattern] | None:
    """Return the largest sets of servers that fit together on a host of a group.

    :return: ``None`` if there are too many
    """
    if group.is_relaxed:
        return None
    pieces = list(group.options)
    # The number of servers of each kind limits its pieces like a room.
    room = (*group.room, *(problem.server_counts[kind] for kind, _ in pieces))
    amounts = [(*group.needs[piece], (len(group.room) + at, 1)) for at, piece in enumerate(pieces)]
    full: list[Pattern] = []
    for steps, chosen in enumerate(_list_patterns(amounts, room), 1):
        if chosen is not None:
            full.append(Counter(pieces[number] for number in chosen))
        if len(full) > MAX_PATTERNS or steps > MAX_PATTERNS * 50:
            return None
    return full


def _list_patterns(
    amounts: Sequence[Sequence[tuple[int, int]]], room: Amounts
) -> Iterator[Sequence[int] | None]:
    """Yield each pattern of servers that leaves no room for one more; ``None`` at each other step.

    A pattern is the index in ``amounts`` of the piece of each server.

    :param amounts: of each piece, the amounts that it takes, with their indexes into the room
    :param room: of a host
    """
    pending: list[tuple[Amounts, Amounts]] = [((), room)]
    while pending:
        chosen, room = pending.pop()
        fitting = [n for n, needed in enumerate(amounts) if all(room[at] >= k for at, k in needed)]
        yield None if fitting else chosen
        for number in reversed(fitting):
            if number >= max(chosen, default=0):
                left = list(room)
                for at, amount in amounts[number]:
                    left[at] -= amount
                pending.append(((*chosen, number), tuple(left)))


def add_options(
    problem: PackingProblem,
    group: AlikeHosts,
    kind: KindNumber,
    fit: ShapeFit,
    limit_indexes: Mapping[str, int],
) -> None:
    """Add to a group of hosts each way to serve a server of a kind there.

    :param limit_indexes: by server group the index of its limit in the room of a host
    :param fit: the facts about servers of the kind on hosts of the group's shape
    """
    limits = tuple((limit_indexes[name], 1) for name in problem.requests[kind].limits)
    if any(group.room[at] < 1 for at, _ in limits):
        return
    search = problem.make_option_search(kind, group.shape, group.room)
    options: dict[object, HostOption] = {}
    for option in search.find_options():
        options.setdefault((option.local, option.shared), option)
        if len(options) > MAX_OPTIONS:
            break
    if len(options) > MAX_OPTIONS or search.is_cut:
        # Too many to count separately: only the totals count, which is a weaker condition.
        options, group.is_relaxed = {None: fit.least}, True
    for number, option in enumerate(options.values()):
        piece = Piece(kind, number)
        group.options[piece] = option
        group.needs[piece] = (*option.local, *limits)


def _find_usable_room(
    problem: PackingProblem, kinds: Mapping[KindNumber, ShapeFit], shape: ShapeNumber, room: Amounts
) -> Amounts:
    """Return the free amounts of a host, lowered to the most that servers can use of them.

    :param kinds: those that hosts of the shape can serve
    :param shape: the number of the host's shape
    :param room: the free amounts
    """
    fits = [fit for kind, fit in kinds.items() if _may_have_room(problem, kind, fit, shape, room)]
    if not fits:
        return (0,) * len(room)
    if problem.shapes[shape].pooled_totals or not all(fit.is_fixed for fit in fits):
        return room
    needs, bounded = [fit.fixed for fit in fits], list(room)
    for other in range(len(room)):
        if all(needed.get(other) for needed in needs):
            for at in range(len(room)):
                most = max(bounded[other] * needed.get(at, 0) // needed[other] for needed in needs)
                bounded[at] = min(bounded[at], most)
    return tuple(bounded)


def _may_have_room(
    problem: PackingProblem, kind: KindNumber, fit: ShapeFit, shape: ShapeNumber, room: Amounts
) -> bool:
    """Return False if a host with some free amounts certainly has no room for a server.

    :param kind: of the server
    :param fit: the facts about servers of the kind on hosts of the shape
    :param room: the free amounts of the host
    """
    if fit.is_fixed:
        return all(room[at] >= amount for at, amount in fit.fixed.items())
    search = problem.make_option_search(kind, shape, room)
    return search.find_tightest_option() is not None or search.is_cut


def sort_twin_providers(host: TargetHost, shape: Shape) -> TargetHost:
    """Return a host whose otherwise equal providers are in the order of their free amounts."""
    if not shape.twins:
        return host
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
    return host._replace(providers=tuple(providers), room=tuple(room))
