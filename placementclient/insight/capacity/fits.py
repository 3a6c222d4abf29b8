# SPDX-License-Identifier: Apache-2.0
"""The number of servers of a shape that still fit, by tree, aggregate or class.

A server is granted as the service grants a request for candidates: all of one class of the common
group from one provider, which is in the tree or shares with it; another class from that or from
another provider; a group with a suffix from one provider altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import msgspec

from placementclient.insight.capacity.totals import ALL
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.supply import Supply
from placementclient.placing.topology import Topology

TreeRoots = Collection[str] | None
#: In place of a class, if all classes have to be in one place.
TOGETHER = '(together)'


class Fits(msgspec.Struct, frozen=True, gc=False):
    """The number of servers of a shape that fit.

    :param name: the name of a tree's root, the UUID of an aggregate, or ``ALL``
    :param by_class: the number if only one class, or one group with a suffix, counted
    :param runs_out_first: the class that limits the number; ``TOGETHER`` if no single class does
    """

    name: str
    count: int
    by_class: Mapping[str, int]
    runs_out_first: str

    @classmethod
    def from_counts(cls, name: str, count: int, by_class: Mapping[str, int]) -> Fits:
        """Return a number of servers with the class that runs out first."""
        least, scarcest = min((fits, label) for label, fits in by_class.items())
        return cls(name, count, by_class, scarcest if least == count else TOGETHER)


def by_tree(topology: Topology, request: CandidateRequest, trees: TreeRoots = None) -> list[Fits]:
    """Return for each tree how many servers fit there; the last line is for all trees."""
    supply = Supply(topology, request, trees)
    sites = dict.fromkeys(site for _, site in supply.complete)
    by_site = {site: supply.most_servers([site]) for site in sites}
    rows = [Fits.from_counts(name, *by_site[site]) for name, site in supply.complete]
    return [*rows, Fits.from_counts(ALL, *supply.most_servers())]


def _total(
    topology: Topology, request: CandidateRequest, trees: TreeRoots, name: str = ALL
) -> Fits:
    return Fits.from_counts(name, *Supply(topology, request, trees).most_servers())


def by_aggregate(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> list[Fits]:
    """Return for each aggregate how many servers fit in it; the last line is for all trees."""
    results = []
    for aggregate in sorted(topology.members):
        member = CandidateRequest(Filter(member_of=(aggregate,)))
        within = {state.provider.root_uuid for state in topology.members[aggregate]}
        roots = [
            root for root in topology.trees if root in within and (trees is None or root in trees)
        ]
        results.append(_total(topology, request.restricted(member), roots, aggregate))
    return [*results, _total(topology, request, trees)]


def by_class(topology: Topology, request: CandidateRequest, trees: TreeRoots = None) -> list[Fits]:
    """Return for each class how many servers fit if only this class counts; the last is for all."""
    fits = _total(topology, request, trees)
    alone = [
        Fits.from_counts(resource_class, count, {resource_class: count})
        for resource_class, count in fits.by_class.items()
    ]
    return [*alone, fits]


class FallbackFits(NamedTuple):
    """The number of servers with dedicated CPUs that Placement grants with VCPU in place of PCPU.

    :param servers: in all, on hosts without PCPU
    :param trees: the number of these hosts with room for one
    """

    servers: int
    trees: int


def by_fallback(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> FallbackFits:
    """Return how many servers fit on hosts without PCPU; no others may start such a server.

    :param request: the second one of Nova, with VCPU
    """
    pinned = topology.find_roots_with('PCPU')
    roots = [root for root in topology.trees if trees is None or root in trees]
    supply = Supply(topology, request, [root for root in roots if root not in pinned])
    rooms = [supply.most_servers([site])[0] for _, site in supply.complete]
    return FallbackFits(supply.most_servers()[0], sum(map(bool, rooms)))


#: The functions that count, by the name of the group.
GROUPED: dict[str, Callable[[Topology, CandidateRequest, TreeRoots], list[Fits]]] = {
    'tree': by_tree,
    'aggregate': by_aggregate,
    'class': by_class,
}
