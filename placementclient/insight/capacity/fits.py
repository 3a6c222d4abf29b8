"""The number of servers of a shape that still fit, by tree, aggregate or class.

A server is granted as the service grants a request for candidates: all of one class of the common
group from one provider, which is in the tree or shares with it; another class from that or from
another provider; a group with a suffix from one provider altogether.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from placementclient.insight.capacity.totals import ALL
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.supply import Supply
from placementclient.placing.topology import Topology

TreeRoots = Collection[str] | None
#: The requests of which the candidates of each count.
Requests = Sequence[CandidateRequest]
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
    def of(cls, name: str, count: int, by_class: Mapping[str, int]) -> Fits:
        """Return a number of servers with the class that runs out first."""
        least, scarcest = min((fits, label) for label, fits in by_class.items())
        return cls(name, count, by_class, scarcest if least == count else TOGETHER)


def by_tree(topology: Topology, requests: Requests, trees: TreeRoots = None) -> list[Fits]:
    """Return for each tree how many servers fit there; the last line is for all trees."""
    tables = []
    for request in requests:
        supply = Supply(topology, request, trees)
        sites = dict.fromkeys(site for _, site in supply.complete)
        by_site = {site: supply.most_servers([site]) for site in sites}
        rows = [Fits.of(name, *by_site[site]) for name, site in supply.complete]
        tables.append([*rows, Fits.of(ALL, *supply.most_servers())])
    return functools.reduce(_either, tables)


def _either(first: list[Fits], second: list[Fits]) -> list[Fits]:
    """Return how many servers fit if each may be of either request."""
    # Both kinds of servers need the classes that both requests have: these limit the sum.
    *trees, one = first
    *others, other = second
    rows = {row.name: row for row in trees}
    for row in others:
        rows[row.name] = _together(rows[row.name], row) if row.name in rows else row
    total = _together(one, other)
    most = min(total.count, sum(row.count for row in rows.values()))
    return [*rows.values(), Fits.of(total.name, most, total.by_class)]


def _together(first: Fits, second: Fits) -> Fits:
    shared = {name: n for name, n in first.by_class.items() if name in second.by_class}
    single = [sorted(fits.by_class.keys() - shared.keys()) for fits in (first, second)]
    either = {
        f'{name} or {other}': first.by_class[name] + second.by_class[other]
        for name, other in zip(*single, strict=False)
    }
    count = min((first.count + second.count, *shared.values()))
    return Fits.of(first.name, count, {**either, **shared})


def _total(topology: Topology, requests: Requests, trees: TreeRoots, name: str = ALL) -> Fits:
    if len(requests) == 1:
        return Fits.of(name, *Supply(topology, requests[0], trees).most_servers())
    return msgspec.structs.replace(by_tree(topology, requests, trees)[-1], name=name)


def by_aggregate(topology: Topology, requests: Requests, trees: TreeRoots = None) -> list[Fits]:
    """Return for each aggregate how many servers fit in it; the last line is for all trees."""
    results = []
    for aggregate in sorted(topology.members):
        member = CandidateRequest(Filter(member_of=(aggregate,)))
        within = {state.provider.root_uuid for state in topology.members[aggregate]}
        roots = [
            root for root in topology.trees if root in within and (trees is None or root in trees)
        ]
        inside = [request.restricted(member) for request in requests]
        results.append(_total(topology, inside, roots, aggregate))
    return [*results, _total(topology, requests, trees)]


def by_class(topology: Topology, requests: Requests, trees: TreeRoots = None) -> list[Fits]:
    """Return for each class how many servers fit if only this class counts; the last is for all."""
    fits = _total(topology, requests, trees)
    alone = [
        Fits.of(resource_class, count, {resource_class: count})
        for resource_class, count in fits.by_class.items()
    ]
    return [*alone, fits]


#: The functions that count, by the name of the group.
GROUPED: dict[str, Callable[[Topology, Requests, TreeRoots], list[Fits]]] = {
    'tree': by_tree,
    'aggregate': by_aggregate,
    'class': by_class,
}
