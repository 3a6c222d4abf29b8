"""The sites for servers of a shape, the sources of each part there, and how many servers fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Choices, Rules, Site, Stock, Use, most
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.optimize.max_flow import Flow
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider, granting, slots
from placementclient.placing.requests import RequestPart, parsed
from placementclient.placing.shapes import has_each, serving
from placementclient.placing.topology import Topology

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


class Supply:
    """All sites for servers of one shape, with their inventory.

    :param trees: the UUIDs of the roots of the trees to look at; ``None``: all
    """

    def __init__(
        self, topology: Topology, request: CandidateRequest, trees: Collection[str] | None = None
    ) -> None:
        self._topology, self._request = topology, parsed(request)
        #: The parts that take something.
        self._parts = [part for part in self._request.parts if part.resources]
        self._labels = list(map(_label, self._parts))
        classes = Counter(name for part in self._parts for name, _ in part.resources)
        #: The classes that several parts of one server ask for.
        self._contested = {name for name, parts in classes.items() if parts > 1}
        groups = [number for number, part in enumerate(self._parts) if part.group]
        is_isolated = self._request.apart and len(groups) > 1
        self._common = [number for number, part in enumerate(self._parts) if not part.group]
        self._rules = Rules()
        # In subtrees, all parts of a server are one choice.
        if not self._request.subtrees:
            apart = frozenset(groups if is_isolated else ())
            self._rules = Rules(apart, tuple(self._common), len(self._request.covering))
        #: How much there is of each pool, and of how many servers it serves a part, by its label.
        self._stock: dict[Stock, int] = {}
        self._distinct: dict[object, Site] = {}
        self._counts: dict[Site, int] = {}
        sites = list(self._sites(topology.trees if trees is None else trees))
        #: The names of the trees that have inventory for every part, each with its site.
        self._complete = [pair for pair in sites if pair[1].is_complete]
        #: The sites of these trees; where there is none, of those with inventory for some part.
        self._chosen = [site for _, site in self._complete or sites]

    def fits(self, name: str, sites: Iterable[Site] | None = None) -> Fits:
        """Return how many servers fit on some sites together; by default on all."""
        chosen = Counter(self._chosen if sites is None else sites)
        merged = list(map(_merged, chosen, chosen.values()))
        by_class = {label: self._most(merged, [part]) for part, label in enumerate(self._labels)}
        return Fits.of(name, self._count(chosen), by_class)

    def by_tree(self) -> list[Fits]:
        """Return for each tree with inventory for all parts how many servers fit there."""
        by_site = {site: self.fits('', [site]) for site in {site for _, site in self._complete}}
        return [msgspec.structs.replace(by_site[site], name=name) for name, site in self._complete]

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
        return count + self._most(plain, range(len(self._labels)))

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
        demands = []
        for site in sites:
            if limit := min(self._reachable(site, part) for part in range(len(self._labels))):
                demands.append((site if site.choices else self._plain(site), limit))
        return most(demands, self._stock, self._rules) if demands else 0

    def _plain(self, site: Site) -> Site:
        """Return a site with choices where no part depends on another, so that the tree is one."""
        every, choices = frozenset(range(self._rules.traits)), []
        for label, pools in zip(self._labels, site.pools, strict=True):
            sources: list[int | str] = [0, *sorted(pools)]
            choices.append(tuple(Choice((Use((source, label)),), every) for source in sources))
        amounts = tuple(((0, label), n) for label, n in zip(self._labels, site.local, strict=True))
        return replace(site, choices=tuple(choices), amounts=amounts)

    def _reachable(self, site: Site, part: int) -> int:
        label = self._labels[part]
        return site.local[part] + sum(self._stock[pool, label] for pool in site.pools[part])

    def _granted(self, sites: Sequence[Site], counts: Sequence[int], part: int) -> list[int]:
        """Return the most that sites have of one part, if each gets so many servers."""
        local = [min(count, site.local[part]) for site, count in zip(sites, counts, strict=True)]
        demands = Counter[frozenset[str]]()
        for site, count, had in zip(sites, counts, local, strict=True):
            demands[site.pools[part]] += count - had
        left = self._drawn(demands, self._labels[part])
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
            [self._stock[pool, label] for pool in pools],
            [[number[pool] for pool in sorted(reached)] for reached in demands],
        )
        return {
            reached: flow.draw(index, amount)
            for index, (reached, amount) in enumerate(demands.items())
        }

    def _sites(self, roots: Iterable[str]) -> Iterator[tuple[str, Site]]:
        topology, trees = self._topology, self._request.trees
        by_kind: dict[object, Site | None] = {}
        for root in roots:
            kind = topology.kind(root, trees)
            if kind not in by_kind:
                by_kind[kind] = self._site(root)
            if (site := by_kind[kind]) is not None:
                yield topology.trees[root][0].name, site

    def _site(self, root_uuid: str) -> Site | None:
        states = self._topology.serving(root_uuid)
        bins = self._topology.host(root_uuid, self._request.trees)
        suitable = serving(
            self._request, bins, lambda number, name, _: name in states[number].inventories
        )
        if suitable is None:
            return None
        pairs = zip(self._request.parts, suitable, strict=True)
        able = [places for part, places in pairs if part.resources]
        common = {number for part in self._common for number in able[part]}
        traits = frozenset[str]().union(*(bins[number].traits for number in common))
        if not has_each(traits, self._request.covering):
            return None
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        local, amounts = [], dict[Stock, int]()
        for label, part, places in zip(self._labels, self._parts, able, strict=True):
            counts = {number: _servers(states[number], part) for number in places}
            local.append(sum(n for number, n in counts.items() if bins[number].pool is None))
            amounts |= {(bins[n].pool or n, label): count for n, count in counts.items()}
        choices: Choices = ()
        if self._request.subtrees or self._is_uneven(states, able):
            choices = (tuple(self._options(states, bins, amounts)),)
        elif self._depends(bins, able):
            choices = tuple(self._choices(states, bins, able, amounts))
        used = {use.stock for part in choices for choice in part for use in choice.uses}
        self._stock |= {key: amount for key, amount in amounts.items() if isinstance(key[0], str)}
        content = (
            tuple(local),
            tuple(frozenset(bins[n].pool or '' for n in places) - {''} for places in able),
            all(able),
            choices,
            tuple((key, n) for key, n in amounts.items() if key in used - self._stock.keys()),
        )
        return self._distinct.setdefault(content, Site(*content))

    def _options(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        amounts: dict[Stock, int],
    ) -> Iterator[Choice]:
        """Return a choice for each set of amounts that a whole server may take."""
        grants = granting(states)
        suitable = serving(self._request, bins, grants) or ()
        search = PartSearch(self._request, bins, suitable, grants)
        seen = set()
        for _ in search.places():
            taken = sorted((place, name, n) for (place, name), n in search.taken.items() if n)
            uses = tuple(Use((bins[at].pool or at, f'class {name}'), n) for at, name, n in taken)
            if uses not in seen:
                seen.add(uses)
                for (stock, _, _), (place, name, _) in zip(uses, taken, strict=True):
                    amounts[stock] = max(0, states[place].free(name))
                yield Choice(uses)
        if search.left < 0:
            raise errors.PlacementError(
                'There are too many ways to serve the groups of one server: ask for fewer groups'
            )

    def _is_uneven(self, states: Sequence[ProviderState], able: Sequence[Sequence[int]]) -> bool:
        """Return whether parts that differ in size may exceed the max_unit of a provider."""
        for number, state in enumerate(states):
            for resource_class in self._contested & state.inventories.keys():
                sizes = [
                    amount
                    for part, places in zip(self._parts, able, strict=True)
                    for name, amount in part.resources
                    if name == resource_class and number in places
                ]
                if len({*sizes}) > 1 and sum(sizes) > state.inventories[resource_class].max_unit:
                    return True
        return False

    def _depends(self, bins: Sequence[HostProvider], able: Sequence[Sequence[int]]) -> bool:
        """Return whether what serves one part decides what can serve another."""
        if self._contested or self._rules.apart:
            return True
        return not all(
            any(
                able[part] and all(not names.isdisjoint(bins[n].traits) for n in able[part])
                for part in self._rules.covering
            )
            for names in self._request.covering
        )

    def _choices(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        able: Sequence[Sequence[int]],
        amounts: dict[Stock, int],
    ) -> Iterator[tuple[Choice, ...]]:
        """Return the choices of each part.

        They use one of the servers that a provider has room for, and amounts of the classes that
        another part takes too.
        """
        covering = self._request.covering
        for label, part, places in zip(self._labels, self._parts, able, strict=True):
            choices = []
            for number in places:
                source, state = bins[number].pool or number, states[number]
                if not amounts[source, label]:
                    continue
                uses = [Use((source, label))]
                for name, amount in part.resources:
                    if name in self._contested:
                        stock = source, f'class {name}'
                        amounts[stock] = max(0, state.free(name))
                        uses.append(Use(stock, amount, state.inventories[name].max_unit))
                traits = {n for n, names in enumerate(covering) if names & state.traits}
                choices.append(Choice(tuple(uses), frozenset(() if part.group else traits)))
            yield tuple(choices)


def _label(part: RequestPart) -> str:
    """Return the class of a part of the common group; the classes and the suffix of a group."""
    names = '+'.join(name for name, _ in part.resources)
    return f'{names} (group {part.group})' if part.group else names


def _servers(state: ProviderState, part: RequestPart) -> int:
    """Return of how many servers a provider can serve a part."""
    return min(slots(state, name, amount) for name, amount in part.resources)


def _merged(site: Site, number: int) -> Site:
    """Return a site that has as much as several that are alike.

    As many servers fit there: dealt out evenly, no tree draws on a pool while another one still has
    some of its own.
    """
    if number == 1:
        return site
    return replace(site, local=tuple(number * count for count in site.local))
