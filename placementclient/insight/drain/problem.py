# SPDX-License-Identifier: Apache-2.0
"""Servers that need a place, and the hosts that may receive them.

Kinds of servers and shapes of hosts have numbers: thousands of hosts have a handful of shapes, and
facts about a kind on a shape are calculated once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.numbers import HostNumber, KindNumber, ShapeNumber
from placementclient.model.consumers import Allocations
from placementclient.model.nova import DISABLED
from placementclient.placing.options import OptionSearch
from placementclient.placing.providers import HostProvider, is_sharing
from placementclient.placing.requests import Pool, Request
from placementclient.placing.shapes import HostOption, Pools, Shape

#: Servers by the number of their kind.
ServersByKind = Mapping[KindNumber, Sequence[ServerMove]]
#: More than any host has.
_UNLIMITED = 1 << 62


class TargetHost(NamedTuple):
    """A host that may receive servers.

    :param shape: the number of its shape
    :param providers: the UUIDs of those that serve it, in the order of the shape
    :param room: the free amounts, in the order of :attr:`Shape.rooms` and :attr:`Shape.totals`
    :param members: the number of servers of each server group
    """

    uuid: str
    shape: ShapeNumber
    providers: tuple[str, ...]
    room: tuple[int, ...]
    members: Mapping[str, int]

    def build_allocations(self, request: Request, option: HostOption) -> Allocations:
        """Return the allocations of a server that is served by an option."""
        allocations: dict[str, dict[str, int]] = {}
        for part, place in zip(request.parts, option.places, strict=True):
            for name, amount in part.resources:
                resources = allocations.setdefault(self.providers[place], {})
                resources[name] = resources.get(name, 0) + amount
        return {uuid: dict(sorted(allocations[uuid].items())) for uuid in sorted(allocations)}


class ServerPlace(NamedTuple):
    """The place of a server: the number of its host, and the option to serve it there."""

    host: HostNumber
    option: HostOption


class ShapeFit(NamedTuple):
    """The facts about servers of a kind on hosts of a shape.

    :param suitable: the providers that can serve each part, by number
    :param only: the only option of such a host; ``None`` if there may be several
    :param fixed: the amounts that a server takes with any option, by index into the room
    :param is_fixed: whether a server takes no other amounts
    :param least: the least that a server takes of the total of each class with any option
    :param surplus: how many traits and aggregates the root has that the request does not name
    """

    suitable: Sequence[Sequence[int]]
    only: HostOption | None
    fixed: Mapping[int, int]
    is_fixed: bool
    least: HostOption
    surplus: int


@dataclass(frozen=True)
class PackingProblem:
    """Servers that need a place, and the hosts that may receive them.

    :param requests: by the number of the kind
    :param servers: by the number of the kind
    :param pools: the free amounts of sharing providers
    :param limits: how many servers of a server group a host may have, by the group's name
    """

    requests: Sequence[Request]
    servers: ServersByKind
    shapes: Sequence[Shape]
    hosts: Sequence[TargetHost]
    pools: Pools
    limits: Mapping[str, int]
    _fits: dict[tuple[KindNumber, ShapeNumber], ShapeFit | None] = field(default_factory=dict)

    @cached_property
    def server_counts(self) -> Mapping[KindNumber, int]:
        """The number of servers of each kind."""
        return {kind: len(servers) for kind, servers in self.servers.items()}

    @cached_property
    def host_numbers(self) -> Sequence[HostNumber]:
        return [HostNumber(number) for number in range(len(self.hosts))]

    @cached_property
    def _numbers_by_uuid(self) -> Mapping[str, HostNumber]:
        return {self.hosts[number].uuid: number for number in self.host_numbers}

    def find_host_numbers(self, hosts: Iterable[str]) -> list[HostNumber]:
        """Return the numbers of hosts with some UUIDs, without those that receive no servers."""
        return [self._numbers_by_uuid[uuid] for uuid in hosts if uuid in self._numbers_by_uuid]

    @cached_property
    def hosts_by_shape(self) -> Mapping[ShapeNumber, Sequence[HostNumber]]:
        numbers = defaultdict[ShapeNumber, list[HostNumber]](list)
        for number in self.host_numbers:
            numbers[self.hosts[number].shape].append(number)
        return numbers

    @cached_property
    def _shapes_by_aggregate(self) -> Mapping[str, Sequence[ShapeNumber]]:
        shapes = defaultdict[str, list[ShapeNumber]](list)
        for shape in self.hosts_by_shape:
            for name in self.shapes[shape].providers[0].aggregates:
                shapes[name].append(shape)
        return shapes

    def find_shape_fits(
        self, kind: KindNumber, shapes: Collection[ShapeNumber]
    ) -> Iterator[tuple[ShapeNumber, ShapeFit]]:
        """Yield the shapes, out of some, that can serve a kind, each with its fit."""
        # Where each rack has an aggregate there are as many shapes as racks.
        members = self.requests[kind].root_member_of
        single = [name for names in members if len(names) == 1 for name in names]
        few: list[Collection[ShapeNumber]] = [
            self._shapes_by_aggregate.get(name, ()) for name in single
        ]
        for shape in min((*few, shapes), key=len):
            if shape in shapes and (fit := self.find_shape_fit(kind, shape)) is not None:
                yield shape, fit

    def find_shape_fit(self, kind: KindNumber, shape: ShapeNumber) -> ShapeFit | None:
        """Return the facts about a kind on hosts of a shape; ``None`` if they cannot serve it."""
        key = kind, shape
        if key not in self._fits:
            self._fits[key] = _make_shape_fit(self.requests[kind], self.shapes[shape])
        return self._fits[key]

    def make_option_search(
        self, kind: KindNumber, shape: ShapeNumber, room: Sequence[int], pools: Pools | None = None
    ) -> OptionSearch:
        """Return a search for the options of a kind on a host of a suitable shape with some room.

        :param pools: by default the free amounts of the problem
        :param room: the free amounts of the host
        """
        fit = self.find_shape_fit(kind, shape)
        assert fit is not None
        free = self.pools if pools is None else pools
        return OptionSearch(self.requests[kind], self.shapes[shape], fit.suitable, room, free)

    def list_local_amounts(
        self, number: HostNumber, allocations: Allocations
    ) -> Iterator[tuple[int, int]]:
        """Yield the amounts that allocations take of a host, by index into its room."""
        host = self.hosts[number]
        shape = self.shapes[host.shape]
        for place, provider in enumerate(host.providers):
            for name, amount in allocations.get(provider, {}).items():
                if (place, name) in shape.rooms:
                    for at in {shape.rooms[place, name], shape.totals[name]}:
                        yield at, amount

    def list_shared_amounts(self, allocations: Allocations) -> list[tuple[Pool, int]]:
        """Return the amounts that allocations take of sharing providers, by provider and class."""
        return [
            ((provider, name), amount)
            for provider, resources in (allocations.items() if self.pools else ())
            for name, amount in resources.items()
            if (provider, name) in self.pools
        ]

    def list_moves(
        self, servers: ServersByKind, places: Mapping[KindNumber, Sequence[ServerPlace]]
    ) -> Iterator[ServerMove]:
        """Yield the move of each server that has a place."""
        for kind, placed in places.items():
            for server, place in zip(servers[kind], placed, strict=False):
                host = self.hosts[place.host]
                after = host.build_allocations(self.requests[kind], place.option)
                yield server._replace(target=host.uuid, after=after)


def group_by_kind(
    servers: Iterable[ServerMove], find_kind: Callable[[ServerMove], KindNumber]
) -> dict[KindNumber, list[ServerMove]]:
    kinds = defaultdict[KindNumber, list[ServerMove]](list)
    for server in servers:
        kinds[find_kind(server)].append(server)
    return dict(kinds)


def _make_shape_fit(request: Request, shape: Shape) -> ShapeFit | None:
    """Return the facts about servers of a request on hosts of a shape; ``None``: they never fit."""
    suitable = shape.find_suitable_providers(request)
    if suitable is None:
        return None
    least, root = shape.build_lax_option(request), shape.providers[0]
    if request.is_lax:
        only = None if shape.pooled_totals else least
        return ShapeFit(suitable, only, dict(least.local), True, least, 0)
    only, fixed = None, dict[int, int]()
    single = [len(places) == 1 and shape.providers[places[0]].pool is None for places in suitable]
    for is_single, places, part in zip(single, suitable, request.parts, strict=True):
        for name, amount in part.resources if is_single else ():
            for at in {shape.rooms[places[0], name], shape.totals[name]}:
                fixed[at] = fixed.get(at, 0) + amount
    if all(single):
        only = OptionSearch(
            request, shape, suitable, [_UNLIMITED] * shape.width, {}
        ).find_tightest_option()
        if only is None:
            return None
    named = frozenset().union(*request.root_required, *request.root_member_of)
    # A flavor may forbid them: a server prefers a host like its own.
    surplus = len(root.traits - named) + len(root.aggregates - named)
    return ShapeFit(suitable, only, fixed, only is not None, least, surplus)


def build_problem(
    cloud: DrainCloud,
    servers: ServersByKind,
    emptied: Collection[str],
    spare: Sequence[str] = (),
) -> PackingProblem:
    """Return the problem to place servers on all hosts but those to be emptied.

    :param servers: by the number of their kind
    :param spare: hosts, for each of which an empty one like it is added
    :param emptied: the UUIDs of the hosts that receive no servers
    """
    out = set(emptied)
    targets = [uuid for uuid in cloud.hosts if uuid not in out]
    requests = [cloud.requests[kind] for kind in servers]
    is_lax = any(request.is_lax for request in requests)
    pools = _find_free_pools(cloud, targets, servers if is_lax else {})
    trees = {tree for request in requests for tree in request.trees}
    # With lax requests, hosts that differ in other traits and aggregates are alike.
    named = frozenset({DISABLED}).union(*(r.named_conditions for r in requests)) if is_lax else None
    numbers: dict[tuple[HostProvider, ...], ShapeNumber] = {}
    shapes: list[Shape] = []
    hosts = []
    for uuid, is_new in (*((uuid, False) for uuid in targets), *((uuid, True) for uuid in spare)):
        providers = tuple(_list_host_providers(cloud, uuid, trees, named, is_new=is_new))
        if providers not in numbers:
            numbers[providers] = ShapeNumber(len(shapes))
            shapes.append(Shape(providers))
        host = _build_host(cloud, uuid, is_new=is_new)
        room = tuple(shapes[numbers[providers]].append_class_totals(host.room, pools))
        hosts.append(host._replace(shape=numbers[providers], room=room))
    return PackingProblem(cloud.requests, servers, shapes, hosts, pools, cloud.nova_facts.limits)


def _build_host(cloud: DrainCloud, root_uuid: str, *, is_new: bool) -> TargetHost:
    """Return a host without a shape, with the free amounts of its own providers.

    :param is_new: whether it is a new host, without usage
    """
    own = [state for state in cloud.topology.trees[root_uuid] if not is_sharing(state)]
    room = tuple(free for state in own for free in cloud.list_free_amounts(state, is_new=is_new))
    groups = {} if is_new else cloud.nova_facts.groups
    consumers = cloud.snapshot.consumers_in(root_uuid) if groups else ()
    members = Counter(name for consumer in consumers for name in groups.get(consumer.uuid, ()))
    serving = tuple(state.uuid for state in cloud.topology.list_serving_providers(root_uuid))
    return TargetHost(root_uuid, ShapeNumber(0), serving, room, members)


def _find_free_pools(
    cloud: DrainCloud, targets: Iterable[str], leaving: ServersByKind
) -> dict[Pool, int]:
    """Return the free amounts of sharing providers, by their UUID and class.

    :param leaving: servers whose allocations on sharing providers count as free if other providers
        that serve targets have the class
    :param targets: the UUIDs of the hosts that may receive servers
    """
    pools = {
        (state.uuid, name): state.free(name)
        for state in cloud.snapshot.providers.values()
        if is_sharing(state)
        for name in state.inventories
    }
    freed = [
        (pool, amount * len(servers))
        for kind, servers in leaving.items()
        for pool, amount in cloud.requests[kind].shared
        if pool in pools
    ]
    serving = defaultdict[str, set[str]](set)
    for root in targets if freed else ():
        for state in cloud.topology.list_serving_providers(root):
            for name in state.inventories:
                serving[name].add(state.uuid)
    for (uuid, name), amount in freed:
        if serving[name] - {uuid}:
            pools[uuid, name] += amount
    return pools


def _list_host_providers(
    cloud: DrainCloud,
    root_uuid: str,
    trees: Collection[str],
    named: frozenset[str] | None,
    *,
    is_new: bool,
) -> Iterator[HostProvider]:
    """Yield the providers that can serve a host, or a new one like it, the root first.

    :param trees: the UUIDs of the trees that requests name
    :param named: the only traits and aggregates that count; ``None``: all
    :param is_new: whether the host is new, and so not disabled
    """
    root, *others = cloud.topology.list_host_providers(root_uuid, trees)
    if places := cloud.nova_facts.make_zone_and_cell_aliases(
        cloud.snapshot.providers[root_uuid].name
    ):
        root = root._replace(aggregates=root.aggregates | places)
    if is_new:
        root = root._replace(traits=root.traits - {DISABLED})
    for provider in (root, *others):
        yield (
            provider
            if named is None
            else provider._replace(
                traits=provider.traits & named, aggregates=provider.aggregates & named
            )
        )
