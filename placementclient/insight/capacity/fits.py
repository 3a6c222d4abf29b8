"""The number of servers of a shape that still fit.

A server is granted as the service grants a request for candidates: all of one class of the common
group from one provider, which is in the tree or shares with it; another class from that or from
another provider; a group with a suffix from one provider altogether.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from placementclient.insight.capacity import search
from placementclient.insight.capacity.search import Choice, Choices, Use
from placementclient.insight.capacity.supply import TOGETHER, Site, Supply
from placementclient.insight.capacity.totals import ALL
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.optimize.max_flow import Flow
from placementclient.placing.topology import Topology

Trees = Collection[str] | None


class Fits(msgspec.Struct, frozen=True, gc=False):
    """The number of servers of a shape that fit.

    :param name: the name of a tree's root, the UUID of an aggregate, or ``capacity.ALL``
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

    def named(self, name: str) -> Fits:
        """Return the same number for another tree or aggregate."""
        return Fits(name, self.count, self.by_class, self.runs_out_first)


class FitCounter:
    """Counts the servers that fit on sites."""

    def __init__(self, supply: Supply) -> None:
        self._supply = supply
        self._counts: dict[Any, int] = {}

    def fits(self, name: str, sites: Iterable[Site] | None = None) -> Fits:
        """Return how many servers fit on some sites together; by default on all."""
        chosen = list(_merged(self._supply.sites if sites is None else sites))
        by_class = {label: self._most(chosen, [label]) for label in self._supply.labels}
        return Fits.of(name, self._count(chosen), by_class)

    def by_tree(self) -> list[Fits]:
        """Return for each tree with inventory for all parts how many servers fit there."""
        trees = self._supply.complete
        by_site = {site: self.fits(site.name, [site]) for site in {site for _, site in trees}}
        return [by_site[site].named(name) for name, site in trees]

    def _count(self, sites: Sequence[Site]) -> int:
        alone = [site for site in sites if site.choices and site.is_alone]
        together = [site for site in sites if not (site.choices and site.is_alone)]
        count = sum(self._searched(site) for site in alone)
        if any(site.choices for site in together):
            return count + self._search(together)
        return count + self._most(together, self._supply.labels)

    def _most(self, sites: Sequence[Site], labels: Sequence[str]) -> int:
        """The most on sites where no part of a server depends on another."""
        limits = [min(self._reachable(site, name) for name in labels) for site in sites]
        by_label = [self._granted(sites, limits, name) for name in labels]
        best = min(by_label, key=sum)
        # More than the scarcest part allows is impossible. Most often the others allow that too.
        if all(self._granted(sites, best, name) == best for name in labels):
            return sum(best)
        return self._search(sites)

    def _searched(self, site: Site) -> int:
        """The most at one site that no other has to do with; hosts that are alike have as many."""
        number: dict[object, int] = {}
        amounts = self._supply.amounts
        alike = tuple(
            (
                number.setdefault(choice.provider, len(number)),
                choice.traits,
                *(
                    (number.setdefault(use.stock, len(number)), amounts[use.stock], use[1:])
                    for use in choice.uses
                ),
            )
            for choices in site.choices.values()
            for choice in (None, *choices)
            if choice
        )
        key = tuple(map(len, site.choices.values())), alike
        if key not in self._counts:
            self._counts[key] = self._search([site])
        return self._counts[key]

    def _search(self, sites: Sequence[Site]) -> int:
        supply, labels = self._supply, self._supply.labels
        stock = dict(supply.amounts)
        demands: list[tuple[int, Choices]] = []
        for site in sites:
            limit = min(self._reachable(site, name) for name in labels)
            if limit:
                demands.append((limit, site.choices or self._plain(site, stock)))
        return search.most(demands, stock, supply.rules) if demands else 0

    def _plain(self, site: Site, stock: dict[tuple[str, str], int]) -> dict[str, list[Choice]]:
        """The choices at a site where no part depends on another, so that its own are one."""
        every = frozenset(range(self._supply.rules.traits))
        choices = {}
        for label, pools in site.pools.items():
            sources = {site.name: site.own[label]}
            sources |= {pool: self._supply.stock[label][pool] for pool in sorted(pools)}
            stock |= {(source, label): amount for source, amount in sources.items()}
            choices[label] = [Choice(source, (Use((source, label)),), every) for source in sources]
        return choices

    def _reachable(self, site: Site, name: str) -> int:
        return site.own[name] + sum(self._supply.stock[name][pool] for pool in site.pools[name])

    def _granted(self, sites: Sequence[Site], counts: Sequence[int], name: str) -> list[int]:
        """The most that sites have of one part, if each gets so many servers."""
        local = [min(count, site.own[name]) for site, count in zip(sites, counts, strict=True)]
        lacking = [count - had for count, had in zip(counts, local, strict=True)]
        demands: dict[frozenset[str], int] = {}
        for site, count in zip(sites, lacking, strict=True):
            demands[site.pools[name]] = demands.get(site.pools[name], 0) + count
        left = _drawn(demands, self._supply.stock[name])
        granted = []
        for site, had, count in zip(sites, local, lacking, strict=True):
            drawn = min(count, left[site.pools[name]])
            left[site.pools[name]] -= drawn
            granted.append(had + drawn)
        return granted


def _merged(sites: Iterable[Site]) -> Iterator[Site]:
    """Return the sites of several trees as one site that has as much as all of them.

    As many servers fit there: dealt out evenly, no tree draws on a pool while another one still has
    some of its own.
    """
    for site, number in Counter(sites).items():
        own = {label: number * count for label, count in site.own.items()}
        yield replace(site, own=own)


def _drawn(
    demands: Mapping[frozenset[str], int], pools: Mapping[str, int]
) -> dict[frozenset[str], int]:
    """Return how much of each demand can be had from the pools that it reaches: the most in all."""
    number = {pool: index for index, pool in enumerate(pools)}
    reachable = [[number[pool] for pool in sorted(reached)] for reached in demands]
    flow = Flow(list(pools.values()), reachable)
    return {
        reached: flow.draw(index, amount) for index, (reached, amount) in enumerate(demands.items())
    }


#: The requests of which the candidates of each count.
Requests = Sequence[CandidateRequest]


def by_tree(topology: Topology, requests: Requests, trees: Trees = None) -> list[Fits]:
    """Return for each tree how many servers fit there; the last line is for all trees."""
    tables = []
    for request in requests:
        counter = FitCounter(Supply(topology, request, trees))
        tables.append([*counter.by_tree(), counter.fits(ALL)])
    return functools.reduce(_either, tables)


def _either(first: list[Fits], second: list[Fits]) -> list[Fits]:
    """Return how many servers fit if each may be of either request.

    What both ask for, they share: of that there is not more than for one of them.
    """
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
    own = [sorted(one.by_class.keys() - shared.keys()) for one in (first, second)]
    either = {
        f'{name} or {other}': first.by_class[name] + second.by_class[other]
        for name, other in zip(*own, strict=False)
    }
    count = min((first.count + second.count, *shared.values()))
    return Fits.of(first.name, count, {**either, **shared})


def _total(topology: Topology, requests: Requests, trees: Trees, name: str = ALL) -> Fits:
    if len(requests) == 1:
        return FitCounter(Supply(topology, requests[0], trees)).fits(name)
    return by_tree(topology, requests, trees)[-1].named(name)


def by_aggregate(topology: Topology, requests: Requests, trees: Trees = None) -> list[Fits]:
    """Return for each aggregate how many servers fit in it; the last line is for all trees."""
    results = []
    for aggregate in sorted(topology.members):
        member = CandidateRequest(Filter(member_of=(aggregate,)))
        within = {topology.root_of[state.uuid] for state in topology.members[aggregate]}
        roots = [
            root for root in topology.trees if root in within and (trees is None or root in trees)
        ]
        inside = [request.restricted(member) for request in requests]
        results.append(_total(topology, inside, roots, aggregate))
    return [*results, _total(topology, requests, trees)]


def by_class(topology: Topology, requests: Requests, trees: Trees = None) -> list[Fits]:
    """Return for each class how many servers fit if only this class counts; the last is for all."""
    fits = _total(topology, requests, trees)
    alone = [
        Fits.of(resource_class, count, {resource_class: count})
        for resource_class, count in fits.by_class.items()
    ]
    return [*alone, fits]


#: How the counts are made, by what they are grouped by.
GROUPED: dict[str, Callable[[Topology, Requests, Trees], list[Fits]]] = {
    'tree': by_tree,
    'aggregate': by_aggregate,
    'class': by_class,
}
