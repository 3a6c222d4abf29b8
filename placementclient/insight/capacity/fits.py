"""The number of servers of a shape that still fit.

A server is granted as the service grants a request for candidates: all of one class of the common
group from one provider, which is in the tree or shares with it; another class from that or from
another provider; a group with a suffix from one provider altogether.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from placementclient.insight.capacity.search import Choice, ShapeDemand, Use, most
from placementclient.insight.capacity.supply import Site, Supply
from placementclient.insight.capacity.totals import ALL
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.optimize.max_flow import Flow
from placementclient.placing.topology import Topology

Trees = Collection[str] | None
#: Stands for a class where all of them have to be in one place.
TOGETHER = '(together)'


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
        self._counts: dict[Site, int] = {}

    def fits(self, name: str, sites: Iterable[Site] | None = None) -> Fits:
        """Return how many servers fit on some sites together; by default on all."""
        chosen = Counter(self._supply.sites if sites is None else sites)
        merged = list(map(_merged, chosen, chosen.values()))
        labels = self._supply.labels
        by_class = {label: self._most(merged, [part]) for part, label in enumerate(labels)}
        return Fits.of(name, self._count(chosen), by_class)

    def by_tree(self) -> list[Fits]:
        """Return for each tree with inventory for all parts how many servers fit there."""
        trees = self._supply.complete
        by_site = {site: self.fits('', [site]) for site in {site for _, site in trees}}
        return [by_site[site].named(name) for name, site in trees]

    def _count(self, sites: Mapping[Site, int]) -> int:
        count, together, plain = 0, list[Site](), list[Site]()
        for site, number in sites.items():
            if not site.choices:
                plain.append(_merged(site, number))
            elif site.is_alone:
                if site not in self._counts:
                    self._counts[site] = self._search([site])
                count += number * self._counts[site]
            else:
                together += [site] * number
        if together:
            return count + self._search(together + plain)
        return count + self._most(plain, range(len(self._supply.labels)))

    def _most(self, sites: Sequence[Site], parts: Sequence[int]) -> int:
        """Return the most on sites where no part of a server depends on another."""
        limits = [min(self._reachable(site, part) for part in parts) for site in sites]
        by_part = [self._granted(sites, limits, part) for part in parts]
        best = min(by_part, key=sum)
        # More than the scarcest part allows is impossible. Most often the others allow that too.
        if all(self._granted(sites, best, part) == best for part in parts):
            return sum(best)
        return self._search(sites)

    def _search(self, sites: Iterable[Site]) -> int:
        supply = self._supply
        demands = []
        for site in sites:
            parts = range(len(supply.labels))
            if limit := min(self._reachable(site, part) for part in parts):
                choices, amounts = site.choices, dict(site.amounts)
                if not choices:
                    amounts = {
                        (0, label): n for label, n in zip(supply.labels, site.local, strict=True)
                    }
                    choices = tuple(self._plain(site, part) for part in parts)
                demands.append(ShapeDemand(limit, choices, amounts))
        return most(demands, supply.stock, supply.rules) if demands else 0

    def _plain(self, site: Site, part: int) -> tuple[Choice, ...]:
        """Return the choices where no part depends on another, so that the tree is one."""
        supply = self._supply
        every, label = frozenset(range(supply.rules.traits)), supply.labels[part]
        sources: list[int | str] = [0, *sorted(site.pools[part])]
        return tuple(Choice(source, (Use((source, label)),), every) for source in sources)

    def _reachable(self, site: Site, part: int) -> int:
        label = self._supply.labels[part]
        return site.local[part] + sum(self._supply.stock[pool, label] for pool in site.pools[part])

    def _granted(self, sites: Sequence[Site], counts: Sequence[int], part: int) -> list[int]:
        """Return the most that sites have of one part, if each gets so many servers."""
        local = [min(count, site.local[part]) for site, count in zip(sites, counts, strict=True)]
        demands = Counter[frozenset[str]]()
        for site, count, had in zip(sites, counts, local, strict=True):
            demands[site.pools[part]] += count - had
        left = self._drawn(demands, self._supply.labels[part])
        granted = []
        for site, count, had in zip(sites, counts, local, strict=True):
            drawn = min(count - had, left[site.pools[part]])
            left[site.pools[part]] -= drawn
            granted.append(had + drawn)
        return granted

    def _drawn(
        self, demands: Mapping[frozenset[str], int], label: str
    ) -> dict[frozenset[str], int]:
        """Return how much of each demand its pools grant: the most in all."""
        pools = sorted(frozenset().union(*demands))
        number = {pool: index for index, pool in enumerate(pools)}
        flow = Flow(
            [self._supply.stock[pool, label] for pool in pools],
            [[number[pool] for pool in sorted(reached)] for reached in demands],
        )
        return {
            reached: flow.draw(index, amount)
            for index, (reached, amount) in enumerate(demands.items())
        }


def _merged(site: Site, number: int) -> Site:
    """Return a site that has as much as several that are alike.

    As many servers fit there: dealt out evenly, no tree draws on a pool while another one still has
    some of its own.
    """
    if number == 1:
        return site
    return replace(site, local=tuple(number * count for count in site.local))


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
