"""Checked changes that would make it possible to empty hosts."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from placementclient.insight.drain.cloud import DrainCloud, MovingServer
from placementclient.insight.drain.exact import pack
from placementclient.insight.drain.packing import PackingProblem, fill
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import ProviderState, Snapshot

#: The most hosts that are added, in search for enough.
MOST_HOSTS = 64
#: The classes whose ratio operators change, and the largest ratio that is tried, in tenths.
RATIOS = {'VCPU': 320, 'MEMORY_MB': 30, 'DISK_GB': 50}
#: How long to search for each change, in seconds, and up to how many hosts
#: to search beyond the packing by best fit.
EFFORT, MOST_SEARCHED = 3.0, 1_000
#: How many hosts are tried one by one.
_TRIED = 5


def remedies(
    cloud: DrainCloud,
    servers: Sequence[MovingServer],
    emptied: Collection[str],
    left: Sequence[MovingServer],
) -> list[str]:
    """Return changes with which every server has a place, the simplest first, in words.

    A server has a place under its strict request.

    :param servers: those that are to move
    :param left: the servers that have no place
    """
    search = _RemedySearch(cloud, servers, set(emptied), left)
    return [*search.hosts(), *search.enabled(), *search.ratios(), *search.fewer()]


@dataclass(frozen=True, slots=True)
class _RemedySearch:
    _cloud: DrainCloud
    _servers: Sequence[MovingServer]
    _emptied: set[str]
    _left: Sequence[MovingServer]

    def hosts(self) -> Iterator[str]:
        """Return how many empty hosts would be enough, if they are like those to be emptied."""
        alike: dict[object, list[MovingServer]] = {}
        for server in self._left:
            request = self._cloud.strict(server)
            key = request.root_required, request.root_member_of
            alike.setdefault(key, []).append(server)
        numbers: list[tuple[int, str]] = []
        for servers in alike.values():
            root = Counter(server.host for server in servers).most_common(1)[0][0]
            number = _least(partial(self._spare, servers, self._cloud.hosts, root), 1, MOST_HOSTS)
            if number is None:
                return
            if len(alike) == 1:
                # Beside the others, fewer may do.
                helps = partial(self._spare, self._servers, self._emptied, root)
                number = _least(helps, 1, number) or number
            numbers.append((number, f'like {self._name(root)}'))
        (number, like), *others = numbers
        hosts = 'host' if number == 1 else 'hosts'
        yield ' and '.join([f'{number} empty {hosts} {like}', *(f'{n} {one}' for n, one in others)])

    def _spare(
        self, servers: Sequence[MovingServer], emptied: Collection[str], root: str, number: int
    ) -> bool:
        """Return whether servers fit with so many empty hosts beside those not to be emptied."""
        moving = map(self._cloud.strict, servers)
        return _fits(self._cloud.problem(moving, emptied, spare=[root] * number))

    def enabled(self) -> Iterator[str]:
        """Return a disabled host that would be enough."""
        snapshot = self._cloud.snapshot
        for uuid in self._cloud.hosts:
            root = snapshot.providers[uuid]
            if DISABLED in root.traits and uuid not in self._emptied:
                usable = replace(root, traits=root.traits - {DISABLED})
                if self._suffices(_changed(snapshot, {uuid: usable})):
                    yield (
                        f'{root.name}, which is disabled, as a target (openstack compute service '
                        'set --enable)'
                    )
                    return

    def ratios(self) -> Iterator[str]:
        """Return the least ratio on all other hosts that would be enough, of the first class."""
        classes = {
            name
            for server in self._left
            for resources in server.allocations.values()
            for name in resources
        }
        for name, most in RATIOS.items():
            if name in classes:
                least = _least(partial(self._ratio, name), 11, most)
                if least is not None:
                    yield f'{name} ratio {least / 10:g} on the other hosts'
                    return

    def fewer(self) -> Iterator[str]:
        """Return a host that is enough to leave as it is."""
        hosts = Counter(server.host for server in self._left)
        for root, _ in hosts.most_common(_TRIED if len(self._emptied) > 1 else 0):
            servers = [server for server in self._servers if server.host != root]
            moving = map(self._cloud.strict, servers)
            if _fits(self._cloud.problem(moving, self._emptied - {root})):
                yield f'leave {self._name(root)} out'
                return

    def _ratio(self, name: str, tenths: int) -> bool:
        cloud, states = self._cloud, {}
        for root in set(cloud.hosts) - self._emptied:
            for state in cloud.tree(root):
                inventory = state.inventories.get(name)
                if inventory and inventory.allocation_ratio < tenths / 10:
                    larger = replace(inventory, allocation_ratio=tenths / 10)
                    states[state.uuid] = replace(
                        state, inventories={**state.inventories, name: larger}
                    )
        return bool(states) and self._suffices(_changed(cloud.snapshot, states))

    def _suffices(self, snapshot: Snapshot) -> bool:
        cloud = self._cloud.on(snapshot)
        return _fits(cloud.problem(map(self._cloud.strict, self._servers), self._emptied))

    def _name(self, root: str) -> str:
        return self._cloud.snapshot.providers[root].name


def _changed(snapshot: Snapshot, states: dict[str, ProviderState]) -> Snapshot:
    providers = (snapshot.providers | states).values()
    return Snapshot(providers, snapshot.consumers.values(), snapshot.origin)


def _fits(problem: PackingProblem) -> bool:
    """Return whether every server has a place; not if that takes too long to find out."""
    if len(problem.hosts) <= MOST_SEARCHED:
        return pack(problem, EFFORT).is_complete
    return sum(map(len, fill(problem))) == sum(problem.counts)


def _least(suffices: Callable[[int], bool], first: int, most: int) -> int | None:
    """Return the least number that suffices, if more suffice where fewer do."""
    if not suffices(most):
        return None
    # Small numbers are tried first: a trial takes long.
    step = 1
    while first + step <= most and not suffices(first + step - 1):
        first, step = first + step, 2 * step
    most = min(most, first + step - 1)
    return first + bisect_left(range(first, most), True, key=suffices)
