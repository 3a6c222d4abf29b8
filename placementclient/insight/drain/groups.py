"""Groups of equal hosts, and the patterns that fill a host of a group.

Of a host's room only what the requests can use counts. Many hosts of a cloud are alike then.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from placementclient.insight.drain.packing import PackingProblem, TargetHost
from placementclient.placing.requests import Request
from placementclient.placing.shapes import HostOption, Shape

#: The most options of one request on one host that are counted separately.
MAX_OPTIONS = 60
#: The most patterns of one group.
MAX_PATTERNS = 2_000

#: The number of a kind, and that of an option of it.
Item = tuple[int, int]


@dataclass(slots=True)
class Group:
    """Equal hosts.

    :param room: what each of them has, as far as the requests can use it; behind that how many
        servers more of each server group it may have
    :param options: of each item
    :param needs: what each item takes of the room
    :param is_relaxed: there are too many options of some kind, so that only the sums count for it
    """

    shape: Shape
    room: tuple[int, ...]
    hosts: list[int] = field(default_factory=list)
    options: dict[Item, HostOption] = field(default_factory=dict)
    needs: dict[Item, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    is_relaxed: bool = False

    def most(self, item: Item) -> int:
        """Return how many servers of one kind fit on one host."""
        return min((self.room[at] // n for at, n in self.needs[item] if n), default=1 << 31)


def groups(problem: PackingProblem) -> list[Group]:
    """Return groups of the hosts that have room for at least one request."""
    trimmer = _Trimmer(problem)
    names = sorted({name for request in problem.kinds for name in request.limits})
    alike: dict[object, Group] = {}
    for number, host in enumerate(problem.hosts):
        _order_twins(host)
        room = trimmer.trimmed(host.shape, tuple(host.room))
        room += tuple(problem.limits[name] - host.members[name] for name in names)
        key = id(host.shape), room
        alike.setdefault(key, Group(host.shape, room)).hosts.append(number)
    for group in alike.values():
        places = {name: group.shape.width + at for at, name in enumerate(names)}
        trimmer.add_options(group, places)
    return [group for group in alike.values() if group.options]


def patterns(problem: PackingProblem, group: Group) -> list[Counter[Item]] | None:
    """Return the largest sets of servers that fit together on a host of a group.

    :return: ``None`` if there are too many
    """
    items = list(group.options)
    # No more of an item than there are servers is one room more.
    room = (*group.room, *(problem.counts[kind] for kind, _ in items))
    amounts = [(*group.needs[item], (len(group.room) + at, 1)) for at, item in enumerate(items)]
    full: list[Counter[Item]] = []
    pending: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), room)]
    for _ in range(0 if group.is_relaxed else MAX_PATTERNS * 50):
        chosen, room = pending.pop()
        fitting = [n for n, needed in enumerate(amounts) if all(room[at] >= k for at, k in needed)]
        if not fitting:
            full.append(Counter(items[number] for number in chosen))
        for number in reversed(fitting):
            if number >= max(chosen, default=0):
                left = list(room)
                for at, amount in amounts[number]:
                    left[at] -= amount
                pending.append(((*chosen, number), tuple(left)))
        if not pending or len(full) > MAX_PATTERNS:
            break
    return None if pending or len(full) > MAX_PATTERNS else full


class _Trimmer:
    """Cuts the room of hosts to what the requests can use."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self._kinds = {
            shape: [
                number
                for number, request in enumerate(problem.kinds)
                if problem.counts[number] and problem.suitable(request, shape) is not None
            ]
            for shape in problem.by_shape
        }
        #: What a server takes of each room; ``None`` if that depends on the option.
        self._exact: dict[tuple[Shape, int], Mapping[int, int] | None] = {}
        for shape, kinds in self._kinds.items():
            for kind in kinds:
                request = problem.kinds[kind]
                is_exact = request.is_lax or problem.is_only(request, shape)
                fixed = problem.fixed(request, shape) if is_exact else None
                self._exact[shape, kind] = fixed
        self._needs: dict[str, int] = {}
        for request, number in zip(problem.kinds, problem.counts, strict=True):
            for name, amount in request.totals.items():
                self._needs[name] = self._needs.get(name, 0) + number * amount
        self._trimmed: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}

    def trimmed(self, shape: Shape, room: tuple[int, ...]) -> tuple[int, ...]:
        names = {at: name for (_, name), at in shape.rooms.items()}
        names |= {at: name for name, at in shape.totals.items()}
        capped = tuple(
            max(0, free if at in shape.pooled else min(free, self._needs.get(names[at], 0)))
            for at, free in enumerate(room)
        )
        key = id(shape), capped
        if key not in self._trimmed:
            self._trimmed[key] = self._trim(shape, capped)
        return self._trimmed[key]

    def add_options(self, group: Group, places: Mapping[str, int]) -> None:
        """Add the options of each kind on a host of a group.

        :param places: of server groups in the room
        """
        for kind in self._kinds[group.shape]:
            request = self._problem.kinds[kind]
            limits = tuple((places[name], 1) for name in request.limits)
            if any(group.room[at] < 1 for at, _ in limits):
                continue
            options, is_relaxed = self._options_of(request, group.shape, group.room)
            group.is_relaxed |= is_relaxed
            for number, option in enumerate(options):
                group.options[kind, number] = option
                group.needs[kind, number] = (*option.local, *limits)

    def _options_of(
        self, request: Request, shape: Shape, room: Sequence[int]
    ) -> tuple[list[HostOption], bool]:
        looking = self._problem.option_search(request, shape, room)
        seen: dict[tuple[object, ...], HostOption] = {}
        for option in looking.every():
            seen.setdefault((option.local, option.shared), option)
            if len(seen) > MAX_OPTIONS:
                break
        if len(seen) > MAX_OPTIONS or looking.left < 0:
            # Too many to count separately: only the sums count, which is a weaker condition.
            return [shape.sum_of(request)], True
        return list(seen.values()), False

    def _trim(self, shape: Shape, room: tuple[int, ...]) -> tuple[int, ...]:
        kinds = [kind for kind in self._kinds[shape] if self._fits(shape, kind, room)]
        if not kinds:
            return (0,) * len(room)
        return room if shape.pooled else _bounded(room, [self._exact[shape, k] for k in kinds])

    def _fits(self, shape: Shape, kind: int, room: tuple[int, ...]) -> bool:
        exact = self._exact[shape, kind]
        if exact is not None:
            return all(room[at] >= amount for at, amount in exact.items())
        looking = self._problem.option_search(self._problem.kinds[kind], shape, room)
        return looking.first() is not None or looking.left < 0


def _bounded(room: tuple[int, ...], amounts: Sequence[Mapping[int, int] | None]) -> tuple[int, ...]:
    """Return no more of each room than the servers can take that another room allows."""
    if any(needed is None for needed in amounts):
        return room
    exact = [needed for needed in amounts if needed is not None]
    bounded = list(room)
    for other in range(len(room)):
        if all(needed.get(other) for needed in exact):
            for at in range(len(room)):
                most = max(bounded[other] * needed.get(at, 0) // needed[other] for needed in exact)
                bounded[at] = min(bounded[at], most)
    return tuple(bounded)


def _order_twins(host: TargetHost) -> None:
    """Put providers that differ only in their room in the order of their room."""
    shape = host.shape
    if len(shape.twins) < 2:
        return
    by_first: dict[int, list[int]] = {}
    for number, first in shape.twins.items():
        by_first.setdefault(first, []).append(number)
    providers, room = list(host.providers), list(host.room)
    for numbers in by_first.values():
        names = list(shape.units[numbers[0]])

        def rooms_of(number: int, names: list[str] = names) -> list[int]:
            return [host.room[shape.rooms[number, name]] for name in names]

        for to, number in zip(numbers, sorted(numbers, key=rooms_of), strict=True):
            providers[to] = host.providers[number]
            for name, free in zip(names, rooms_of(number), strict=True):
                room[shape.rooms[to, name]] = free
    host.providers, host.room = tuple(providers), room
