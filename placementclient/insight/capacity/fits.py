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
    """The number of equal servers that fit in a tree, in an aggregate or in all trees.

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
        """Return the fits of a tree, of an aggregate or of all, with the class that runs out first.

        :param count: the number of servers that fit
        :param by_class: the number if only this class, or this group with a suffix, counted
        """
        least, scarcest = min((fits, label) for label, fits in by_class.items())
        return cls(name, count, by_class, scarcest if least == count else TOGETHER)


def count_fits_by_tree(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> list[Fits]:
    """Return the number of servers that fit on each tree; the last line is for all trees.

    :param trees: the UUIDs of the only roots that count; ``None``: all
    """
    supply = Supply(topology, request, trees)
    sites = dict.fromkeys(site for _, site in supply.complete_sites)
    by_site = {site: supply.count_most_servers([site]) for site in sites}
    rows = [Fits.from_counts(name, *by_site[site]) for name, site in supply.complete_sites]
    return [*rows, Fits.from_counts(ALL, *supply.count_most_servers())]


def _count_on_trees(
    topology: Topology, request: CandidateRequest, trees: TreeRoots, name: str = ALL
) -> Fits:
    """Return the number of servers that fit on some trees together.

    :param trees: the UUIDs of their roots; ``None``: all
    :param name: the UUID of the aggregate that they are of, or ``ALL``
    """
    return Fits.from_counts(name, *Supply(topology, request, trees).count_most_servers())


def count_fits_by_aggregate(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> list[Fits]:
    """Return the number of servers that fit in each aggregate; the last line is for all trees.

    :param trees: the UUIDs of the only roots that count; ``None``: all
    """
    results = []
    for aggregate in sorted(topology.members):
        member = CandidateRequest(Filter(member_of=(aggregate,)))
        within = {state.provider.root_uuid for state in topology.members[aggregate]}
        roots = [
            root for root in topology.trees if root in within and (trees is None or root in trees)
        ]
        results.append(_count_on_trees(topology, request.restrict(member), roots, aggregate))
    return [*results, _count_on_trees(topology, request, trees)]


def count_fits_by_class(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> list[Fits]:
    """Return the number of servers that fit if only one class counted, a line for each class.

    The last line is for all classes together.

    :param trees: the UUIDs of the only roots that count; ``None``: all
    """
    fits = _count_on_trees(topology, request, trees)
    alone = [
        Fits.from_counts(resource_class, count, {resource_class: count})
        for resource_class, count in fits.by_class.items()
    ]
    return [*alone, fits]


class FallbackFits(NamedTuple):
    """The number of servers with dedicated CPUs that Placement grants with VCPU in place of PCPU.

    :param servers: the number of servers on all hosts without PCPU
    :param trees: the number of these hosts with room for a server
    """

    servers: int
    trees: int


def count_fallback_fits(
    topology: Topology, request: CandidateRequest, trees: TreeRoots = None
) -> FallbackFits:
    """Return the number of servers that fit on hosts without PCPU, with VCPU in its place.

    :param request: the second request that Nova sends, with VCPU
    :param trees: the UUIDs of the only roots that count; ``None``: all
    """
    pinned = topology.find_roots_with_class('PCPU')
    roots = [root for root in topology.trees if trees is None or root in trees]
    supply = Supply(topology, request, [root for root in roots if root not in pinned])
    rooms = [supply.count_most_servers([site])[0] for _, site in supply.complete_sites]
    return FallbackFits(supply.count_most_servers()[0], sum(map(bool, rooms)))


#: The functions that count, by the name of the group.
GROUPED: dict[str, Callable[[Topology, CandidateRequest, TreeRoots], list[Fits]]] = {
    'tree': count_fits_by_tree,
    'aggregate': count_fits_by_aggregate,
    'class': count_fits_by_class,
}
