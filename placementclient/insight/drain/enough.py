# SPDX-License-Identifier: Apache-2.0
"""Checked changes that would make it possible to empty hosts."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from msgspec.structs import replace

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import ServersByKind, build_problem, by_kind
from placementclient.insight.drain.proof import fill, pack
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import ProviderState, Snapshot

#: The numbers of hosts that are added, in search for enough.
HOSTS = range(1, 65)
#: The classes whose ratio operators change, and the ratios that are tried, in tenths.
RATIOS = {'VCPU': range(11, 321), 'MEMORY_MB': range(11, 31), 'DISK_GB': range(11, 51)}
#: How long to search for each change, in seconds, and up to how many hosts
#: to search beyond the packing by best fit.
EFFORT, MOST_SEARCHED = 3.0, 1_000
#: How many hosts are tried one by one.
_TRIED = 5


def remedies(cloud: DrainCloud, emptied: Collection[str], packing: Packing) -> list[str]:
    """Return changes with which every server has a place, the simplest first, in words."""
    search = _RemedySearch(cloud, set(emptied), packing.problem.servers, packing.without_place())
    return [*search.hosts(), *search.enabled(), *search.ratios(), *search.fewer()]


@dataclass(frozen=True, slots=True)
class _RemedySearch:
    _cloud: DrainCloud
    _emptied: set[str]
    _kinds: ServersByKind
    _left: Sequence[ServerMove]

    def hosts(self) -> Iterator[str]:
        """Return how many empty hosts would be enough, if they are like those to be emptied."""
        alike: dict[object, list[ServerMove]] = {}
        for server in self._left:
            request = self._cloud.requests[self._cloud.strict(server)]
            key = request.root_required, request.root_member_of
            alike.setdefault(key, []).append(server)
        sentences: list[str] = []
        for servers in alike.values():
            root = Counter(server.source for server in servers).most_common(1)[0][0]
            kinds: ServersByKind = by_kind(servers, self._cloud.strict)
            emptied = set(self._cloud.hosts)
            if len(alike) == 1:
                # With the other hosts, fewer may be enough.
                kinds, emptied = self._kinds, self._emptied
            number = _least(partial(self._spare, kinds, emptied, root), HOSTS)
            if number is None:
                return
            hosts = '' if sentences else ' empty host' if number == 1 else ' empty hosts'
            sentences.append(f'{number}{hosts} like {self._name(root)}')
        yield ' and '.join(sentences)

    def _spare(self, kinds: ServersByKind, emptied: set[str], root: str, number: int) -> bool:
        """Return whether servers fit with so many empty hosts beside those not to be emptied."""
        return _fits(self._cloud, kinds, emptied, [root] * number)

    def enabled(self) -> Iterator[str]:
        """Return a disabled host that would be enough."""
        for uuid in self._cloud.hosts:
            root = self._cloud.snapshot.providers[uuid]
            usable = replace(root, traits=root.traits - {DISABLED})
            if usable != root and uuid not in self._emptied and self._suffices([usable]):
                yield (
                    f'{root.name}, which is disabled, as a target (openstack compute service '
                    'set --enable)'
                )
                return

    def ratios(self) -> Iterator[str]:
        """Return the least ratio on all other hosts that would be enough, of the first class."""
        allocations = (part for server in self._left for part in server.before.values())
        classes = set(chain.from_iterable(allocations))
        for name, tenths in RATIOS.items():
            if name in classes:
                least = _least(partial(self._ratio, name), tenths)
                if least is not None:
                    yield f'{name} ratio {least / 10:g} on the other hosts'
                    return

    def _ratio(self, name: str, tenths: int) -> bool:
        states = []
        for root in set(self._cloud.hosts) - self._emptied:
            for state in self._cloud.tree(root):
                inventory = state.inventories.get(name)
                if inventory and inventory.allocation_ratio < tenths / 10:
                    larger = replace(inventory, allocation_ratio=tenths / 10)
                    states.append(replace(state, inventories={**state.inventories, name: larger}))
        return bool(states) and self._suffices(states)

    def fewer(self) -> Iterator[str]:
        """Return a host that is enough to leave as it is."""
        hosts = Counter(server.source for server in self._left)
        for root, _ in hosts.most_common(_TRIED if len(self._emptied) > 1 else 0):
            kinds = {
                kind: [server for server in servers if server.source != root]
                for kind, servers in self._kinds.items()
            }
            if _fits(self._cloud, kinds, self._emptied - {root}):
                yield f'leave {self._name(root)} out'
                return

    def _suffices(self, changed: Sequence[ProviderState]) -> bool:
        providers = self._cloud.snapshot.providers | {state.uuid: state for state in changed}
        snapshot = Snapshot(providers.values(), self._cloud.snapshot.consumers.values())
        return _fits(self._cloud.on(snapshot), self._kinds, self._emptied)

    def _name(self, root: str) -> str:
        return self._cloud.snapshot.providers[root].name


def _fits(
    cloud: DrainCloud, kinds: ServersByKind, emptied: Collection[str], spare: Sequence[str] = ()
) -> bool:
    """Return whether every server has a place; not if that takes too long to find out."""
    problem = build_problem(cloud, kinds, emptied, spare)
    is_searched = len(problem.hosts) <= MOST_SEARCHED
    return (pack(problem, EFFORT) if is_searched else fill(problem)).is_complete


def _least(suffices: Callable[[int], bool], numbers: range) -> int | None:
    """Return the least number that suffices, if more suffice where fewer do."""
    if not suffices(numbers[-1]):
        return None
    return numbers[bisect_left(numbers[:-1], True, key=suffices)]
