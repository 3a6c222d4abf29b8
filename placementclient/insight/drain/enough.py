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
from placementclient.insight.drain.problem import ServersByKind, build_problem, group_by_kind
from placementclient.insight.drain.proof import fill_by_best_fit, pack_servers
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


def find_remedies(cloud: DrainCloud, emptied: Collection[str], packing: Packing) -> list[str]:
    """Return changes after which every server has a place, the simplest first, in words.

    :param emptied: the UUIDs of the hosts to be emptied
    :param packing: the places of their servers; some have none
    """
    search = _RemedySearch(cloud, set(emptied), packing.problem.servers, packing.list_unplaced())
    return [
        *search.describe_added_hosts(),
        *search.describe_host_to_enable(),
        *search.describe_larger_ratio(),
        *search.describe_host_to_leave(),
    ]


@dataclass(frozen=True, slots=True)
class _RemedySearch:
    """Finds changes, in words, after which every server of hosts to be emptied has a place."""

    _cloud: DrainCloud
    _emptied: set[str]
    _kinds: ServersByKind
    _left: Sequence[ServerMove]

    def describe_added_hosts(self) -> Iterator[str]:
        """Yield one text, as ``2 empty hosts like cmp1``, on the fewest new hosts that suffice.

        If no number in :data:`HOSTS` suffices, yield nothing.
        """
        alike: dict[object, list[ServerMove]] = {}
        for server in self._left:
            request = self._cloud.requests[self._cloud.find_kind_by_strict_request(server)]
            key = request.root_required, request.root_member_of
            alike.setdefault(key, []).append(server)
        sentences: list[str] = []
        for servers in alike.values():
            root = Counter(server.source for server in servers).most_common(1)[0][0]
            kinds: ServersByKind = group_by_kind(servers, self._cloud.find_kind_by_strict_request)
            emptied = set(self._cloud.hosts)
            if len(alike) == 1:
                # With the other hosts, fewer may be enough.
                kinds, emptied = self._kinds, self._emptied
            number = _find_least_number(
                partial(self._is_enough_with_hosts, kinds, emptied, root), HOSTS
            )
            if number is None:
                return
            name = self._cloud.snapshot.providers[root].name
            hosts = '' if sentences else ' empty host' if number == 1 else ' empty hosts'
            sentences.append(f'{number}{hosts} like {name}')
        yield ' and '.join(sentences)

    def _is_enough_with_hosts(
        self, kinds: ServersByKind, emptied: set[str], root: str, number: int
    ) -> bool:
        """Return True if servers have places with so many new empty hosts like a present one.

        :param kinds: the servers
        :param emptied: the UUIDs of the hosts that receive none
        :param root: the UUID of the present host
        :param number: of new hosts
        """
        return _can_place_all(self._cloud, kinds, emptied, [root] * number)

    def describe_host_to_enable(self) -> Iterator[str]:
        """Yield one text, on the first disabled host that would be enough if it were enabled."""
        for uuid in self._cloud.hosts:
            root = self._cloud.snapshot.providers[uuid]
            usable = replace(root, traits=root.traits - {DISABLED})
            if usable != root and uuid not in self._emptied and self._is_enough_with([usable]):
                yield (
                    f'{root.name}, which is disabled, as a target (openstack compute service '
                    'set --enable)'
                )
                return

    def describe_larger_ratio(self) -> Iterator[str]:
        """Yield one text, on the least allocation ratio of the other hosts that would be enough."""
        allocations = (part for server in self._left for part in server.before.values())
        classes = set(chain.from_iterable(allocations))
        for name, tenths in RATIOS.items():
            if name in classes:
                least = _find_least_number(partial(self._is_enough_with_ratio, name), tenths)
                if least is not None:
                    yield f'{name} ratio {least / 10:g} on the other hosts'
                    return

    def _is_enough_with_ratio(self, name: str, tenths: int) -> bool:
        """Return True if every server has a place with a larger ratio on the other hosts.

        :param name: the resource class
        :param tenths: the ratio, times ten
        """
        states = []
        for root in set(self._cloud.hosts) - self._emptied:
            for state in self._cloud.topology.trees[root]:
                inventory = state.inventories.get(name)
                if inventory and inventory.allocation_ratio < tenths / 10:
                    larger = replace(inventory, allocation_ratio=tenths / 10)
                    states.append(replace(state, inventories={**state.inventories, name: larger}))
        return bool(states) and self._is_enough_with(states)

    def describe_host_to_leave(self) -> Iterator[str]:
        """Yield one text, or none: the host to leave in use, so that the others can be emptied."""
        hosts = Counter(server.source for server in self._left)
        for root, _ in hosts.most_common(_TRIED if len(self._emptied) > 1 else 0):
            kinds = {
                kind: [server for server in servers if server.source != root]
                for kind, servers in self._kinds.items()
            }
            if _can_place_all(self._cloud, kinds, self._emptied - {root}):
                yield f'leave {self._cloud.snapshot.providers[root].name} out'
                return

    def _is_enough_with(self, changed: Sequence[ProviderState]) -> bool:
        """Return True if every server has a place once some providers are changed."""
        providers = self._cloud.snapshot.providers | {state.uuid: state for state in changed}
        snapshot = Snapshot(providers.values(), self._cloud.snapshot.consumers.values())
        return _can_place_all(self._cloud.with_snapshot(snapshot), self._kinds, self._emptied)


def _can_place_all(
    cloud: DrainCloud, kinds: ServersByKind, emptied: Collection[str], spare: Sequence[str] = ()
) -> bool:
    """Return True if every server has a place; False if that takes too long to find out.

    :param emptied: the UUIDs of the hosts that receive no servers
    :param spare: the UUIDs of hosts, for each of which an empty one like it is added
    """
    problem = build_problem(cloud, kinds, emptied, spare)
    is_searched = len(problem.hosts) <= MOST_SEARCHED
    return (pack_servers(problem, EFFORT) if is_searched else fill_by_best_fit(problem)).is_complete


def _find_least_number(suffices: Callable[[int], bool], numbers: range) -> int | None:
    """Return the least number that suffices, if one does; each larger number does as well."""
    if not suffices(numbers[-1]):
        return None
    return numbers[bisect_left(numbers[:-1], True, key=suffices)]
