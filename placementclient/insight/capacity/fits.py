"""How many servers of a shape still fit.

A server is granted as the service grants one unnumbered group of resources, whose traits are of no
concern: all of one class from one provider, which is in the tree or shares with it; another class
from that or from another provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from placementclient.insight.capacity import cpsat
from placementclient.insight.capacity.totals import ALL, slots
from placementclient.insight.topology import Topology, is_sharing
from placementclient.model.consumers import Resources
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.optimize.max_flow import Flow


@dataclass(frozen=True, slots=True)
class Fits:
    """How many servers of a shape fit.

    :param name: the name of a tree's root, the UUID of an aggregate, or ``capacity.ALL``
    :param count: the most that fit together
    :param by_class: how many would fit if one class alone counted
    """

    name: str
    count: int
    by_class: Mapping[str, int]

    @property
    def runs_out_first(self) -> str:
        """The class of which there is the least."""
        return min(self.by_class, key=lambda name: (self.by_class[name], name))


@dataclass(frozen=True, slots=True)
class Site:
    """Where a server can be: a tree, and what reaches it.

    :param own: how many of a shape's amounts the tree grants itself, by class
    :param pools: the sharing providers that have inventory of a class and serve the tree
    :param offers: the classes of which there is inventory at all
    """

    name: str
    own: Mapping[str, int]
    pools: Mapping[str, frozenset[str]]
    offers: frozenset[str]


class Supply:
    """All sites for servers of one shape, and the pools that they share.

    :param shape: what one server takes
    :param aggregate: only what the service grants members of it
    """

    def __init__(self, topology: Topology, shape: Resources, aggregate: str | None = None) -> None:
        self._shape, self._aggregate = shape, aggregate
        #: How many of the shape's amounts each pool has, by class.
        self.stock: dict[str, dict[str, int]] = {name: {} for name in shape}
        roots = topology.trees
        if aggregate is not None:
            members = topology.members[aggregate]
            roots = {topology.root_of[state.uuid]: [] for state in members}
        sites = [self._site(topology, root) for root in roots]
        complete = [site for site in sites if site.offers >= set(shape)]
        #: The sites that have inventory of every class; where there is none, those with some.
        self.sites = complete or sites

    def fits(self, label: str, sites: Iterable[Site] | None = None) -> Fits:
        """How many servers fit on some sites together; on all, if not given."""
        chosen = self.sites if sites is None else list(sites)
        return Fits(
            label,
            self._count(chosen, list(self._shape)),
            {name: self._count(chosen, [name]) for name in self._shape},
        )

    def _site(self, topology: Topology, root_uuid: str) -> Site:
        states = topology.trees[root_uuid]
        within = self._membership(states[0])
        inside = [state for state in states if within(state) or within(states[0])]
        # The service lets a pool in only if it is a member itself, whatever its root is.
        pools = [state for state in topology.reached(root_uuid) if within(state)]
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        pools += [state for state in inside if is_sharing(state)]
        own = {
            name: sum(slots(s, name, amount) for s in inside if not is_sharing(s))
            for name, amount in self._shape.items()
        }
        having = {name: [s for s in pools if name in s.inventories] for name in self._shape}
        for name, amount in self._shape.items():
            for state in having[name]:
                self.stock[name][state.uuid] = slots(state, name, amount)
        return Site(
            states[0].name,
            own,
            {name: frozenset(state.uuid for state in found) for name, found in having.items()},
            frozenset(name for state in (*inside, *pools) for name in state.inventories),
        )

    def _membership(self, root: ProviderState) -> Callable[[ProviderState], bool]:
        aggregate = self._aggregate
        if aggregate is None:
            return lambda state: True
        return lambda state: aggregate in state.aggregates

    def _count(self, sites: list[Site], classes: list[str]) -> int:
        limits = [min(self._reachable(site, name) for name in classes) for site in sites]
        by_class = [self._granted(sites, limits, name) for name in classes]
        best = min(by_class, key=sum)
        # More than the scarcest class allows is impossible. Most often the others allow that too.
        if all(self._granted(sites, best, name) == best for name in classes):
            return sum(best)
        return cpsat.most(sites, limits, {name: self.stock[name] for name in classes})

    def _reachable(self, site: Site, name: str) -> int:
        return site.own[name] + sum(self.stock[name][pool] for pool in site.pools[name])

    def _granted(self, sites: list[Site], wanted: list[int], name: str) -> list[int]:
        """The most that sites have of one class, if each wants so many servers."""
        own = [min(count, site.own[name]) for site, count in zip(sites, wanted, strict=True)]
        lacking = [count - had for count, had in zip(wanted, own, strict=True)]
        demands: dict[frozenset[str], int] = {}
        for site, count in zip(sites, lacking, strict=True):
            demands[site.pools[name]] = demands.get(site.pools[name], 0) + count
        left = _drawn(demands, self.stock[name])
        granted = []
        for site, had, count in zip(sites, own, lacking, strict=True):
            drawn = min(count, left[site.pools[name]])
            left[site.pools[name]] -= drawn
            granted.append(had + drawn)
        return granted


def _drawn(
    demands: Mapping[frozenset[str], int], pools: Mapping[str, int]
) -> dict[frozenset[str], int]:
    """How much of each demand can be had from the pools that it reaches: the most in all."""
    number = {pool: index for index, pool in enumerate(pools)}
    reachable = [[number[pool] for pool in sorted(reached)] for reached in demands]
    flow = Flow(list(pools.values()), reachable)
    return {
        reached: flow.draw(index, amount) for index, (reached, amount) in enumerate(demands.items())
    }


def by_tree(snapshot: Snapshot, shape: Resources) -> list[Fits]:
    """For each tree how many fit there if they all go there; then how many fit in all."""
    supply = Supply(Topology(snapshot), shape)
    trees = [supply.fits(site.name, [site]) for site in supply.sites if site.offers >= set(shape)]
    return [*trees, supply.fits(ALL)]


def by_aggregate(snapshot: Snapshot, shape: Resources) -> list[Fits]:
    """For each aggregate how many fit if a server asks for membership; then how many in all."""
    topology = Topology(snapshot)
    aggregates = [
        Supply(topology, shape, aggregate).fits(aggregate) for aggregate in sorted(topology.members)
    ]
    return [*aggregates, Supply(topology, shape).fits(ALL)]


def by_class(snapshot: Snapshot, shape: Resources) -> list[Fits]:
    """For each class how many fit if it alone counts; then how many fit of the whole shape."""
    fits = Supply(Topology(snapshot), shape).fits(ALL)
    alone = [
        Fits(resource_class, count, {resource_class: count})
        for resource_class, count in fits.by_class.items()
    ]
    return [*alone, fits]


#: How the counts are made, by what they are grouped by.
GROUPED: dict[str, Callable[[Snapshot, Resources], list[Fits]]] = {
    'tree': by_tree,
    'aggregate': by_aggregate,
    'class': by_class,
}
