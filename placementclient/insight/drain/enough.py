"""Changes that would be enough to empty hosts, each of them checked."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

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


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change after which every server has a place, under the strict requests.

    :param kind: stable, for programs: ``hosts``, ``ratio``, ``enable`` or ``leave``
    :param subjects: the name of a host, or a resource class, with the number of hosts, or the ratio
    """

    kind: str
    subjects: tuple[tuple[str, float], ...]

    @property
    def sentence(self) -> str:
        name, amount = self.subjects[0]
        if self.kind == 'hosts':
            parts = [f'{number:g} like {each}' for each, number in self.subjects]
            hosts = 'host' if amount == 1 else 'hosts'
            parts[0] = f'{amount:g} empty {hosts} like {name}'
            return ' and '.join(parts)
        if self.kind == 'ratio':
            return f'{name} ratio {amount:g} on the other hosts'
        if self.kind == 'enable':
            return (
                f'{name}, which is disabled, as a target (openstack compute service set --enable)'
            )
        return f'leave {name} out'


def remedies(
    cloud: DrainCloud,
    servers: Sequence[MovingServer],
    emptied: Collection[str],
    left: Sequence[MovingServer],
) -> list[Remedy]:
    """Return changes that would be enough, the plainest first.

    :param servers: those that are to move
    :param emptied: the UUIDs of the roots of the hosts that are to be emptied
    :param left: the servers that have no place
    """
    search = _RemedySearch(cloud, servers, emptied, left)
    return [*search.hosts(), *search.enabled(), *search.ratios(), *search.fewer()]


class _RemedySearch:
    def __init__(
        self,
        cloud: DrainCloud,
        servers: Sequence[MovingServer],
        emptied: Collection[str],
        left: Sequence[MovingServer],
    ) -> None:
        self._cloud, self._servers = cloud, servers
        self._emptied, self._left = set(emptied), left

    def hosts(self) -> Iterator[Remedy]:
        """Return how many empty hosts, like those that servers are left on, are enough."""
        alike: dict[object, list[MovingServer]] = {}
        for server in self._left:
            asked = self._cloud.strict(server)
            key = asked.root_required, asked.root_member_of
            alike.setdefault(key, []).append(server)
        found: list[tuple[str, float]] = []
        for servers in alike.values():
            root = Counter(server.host for server in servers).most_common(1)[0][0]
            number = _least(partial(self._spare, servers, self._cloud.hosts, root), 1, MOST_HOSTS)
            if number is None:
                return
            if len(alike) == 1:
                # Beside the others, fewer may do.
                helps = partial(self._spare, self._servers, self._emptied, root)
                number = _least(helps, 1, number) or number
            found.append((self._name(root), number))
        yield Remedy('hosts', tuple(found))

    def _spare(
        self, servers: Sequence[MovingServer], emptied: Collection[str], root: str, number: int
    ) -> bool:
        """Return whether servers fit with so many empty hosts beside those not to be emptied."""
        asked = map(self._cloud.strict, servers)
        return _fits(self._cloud.problem(asked, emptied, spare=[root] * number))

    def enabled(self) -> Iterator[Remedy]:
        """Return a disabled host that would be enough."""
        snapshot = self._cloud.snapshot
        for uuid in self._cloud.hosts:
            root = snapshot.providers[uuid]
            if DISABLED in root.traits and uuid not in self._emptied:
                usable = replace(root, traits=root.traits - {DISABLED})
                if self._suffices(_changed(snapshot, {uuid: usable})):
                    yield Remedy('enable', ((root.name, 1),))
                    return

    def ratios(self) -> Iterator[Remedy]:
        """Return the least ratio on all other hosts that would be enough, of the first class."""
        held = {
            name for server in self._left for each in server.allocations.values() for name in each
        }
        for name, most in RATIOS.items():
            if name in held:
                least = _least(partial(self._ratio, name), 11, most)
                if least is not None:
                    yield Remedy('ratio', ((name, least / 10),))
                    return

    def fewer(self) -> Iterator[Remedy]:
        """Return a host that is enough to leave as it is."""
        hosts = Counter(server.host for server in self._left)
        for root, _ in hosts.most_common(_TRIED if len(self._emptied) > 1 else 0):
            servers = [server for server in self._servers if server.host != root]
            asked = map(self._cloud.strict, servers)
            if _fits(self._cloud.problem(asked, self._emptied - {root})):
                yield Remedy('leave', ((self._name(root), 1),))
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
    return sum(map(len, fill(problem))) == sum(problem.wanted)


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
