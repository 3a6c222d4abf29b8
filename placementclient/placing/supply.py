# SPDX-License-Identifier: Apache-2.0
"""The sites for equal servers, the sources of each part there, and how many servers fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from placementclient.basis import errors
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.optimize.max_flow import compute_max_flow
from placementclient.placing.options import ProviderSearch
from placementclient.placing.providers import HostProvider, count_grants, make_grant_check
from placementclient.placing.requests import RequestPart, parse_request
from placementclient.placing.shapes import find_serving_providers, has_traits_of_common_group
from placementclient.placing.sites import Choice, Site, Stock, compute_most_servers
from placementclient.placing.topology import Topology

#: How many providers are tried for the parts of one server on one site.
MAX_STEPS = 200_000


class Supply:
    """The trees for equal servers, with the inventory that serves each part of their request.

    :ivar complete_sites: the trees that have inventory for every part, as pairs of name and site
    :param trees: the UUIDs of the only roots that count; ``None``: all
    """

    def __init__(
        self, topology: Topology, request: CandidateRequest, trees: Collection[str] | None = None
    ) -> None:
        self._topology, self._request = topology, parse_request(request)
        #: The parts that take something.
        self._parts = [part for part in self._request.parts if part.resources]
        self._part_names = list(map(_name_part, self._parts))
        self._common = [number for number, part in enumerate(self._parts) if not part.group]
        self._is_tied = self._has_competing_parts()
        self._distinct: dict[object, Site] = {}
        self._counts: dict[Site, int] = {}
        sites = list(self._find_sites(topology.trees if trees is None else trees))
        self.complete_sites = [pair for pair in sites if pair[1].is_complete]
        #: The sites of these trees; without any, those with inventory for some part.
        self._chosen = [site for _, site in self.complete_sites or sites]
        self._pool_counts = self._count_servers_by_pool(site for _, site in sites)

    def count_most_servers(self, sites: Iterable[Site] | None = None) -> tuple[int, dict[str, int]]:
        """Return the most servers that fit on some sites together; by default on all.

        :return: the number; and by class, or group with a suffix, the number if only this part of
            the request counted
        """
        chosen = Counter(self._chosen if sites is None else sites)
        merged = list(map(_multiply_site, chosen, chosen.values()))
        by_class = {
            label: self._count_independent_servers(merged, [part])
            for part, label in enumerate(self._part_names)
        }
        return self._count_servers_on_sites(chosen), by_class

    def _has_competing_parts(self) -> bool:
        """Return True if the request lets a part of a server take what another part needs."""
        classes = Counter(name for part in self._parts for name, _ in part.resources)
        is_isolated = bool(self._request.apart) and len(self._parts) - len(self._common) > 1
        has_shared_class = max(classes.values(), default=0) > 1
        return has_shared_class or is_isolated or bool(self._request.subtrees)

    def _count_servers_by_pool(self, sites: Iterable[Site]) -> dict[tuple[str, int], int]:
        """Return for how many servers a sharing provider serves a part, by UUID and its index."""
        providers = self._topology.snapshot.providers
        return {
            (pool, part): self._count_servers_of_provider(part, providers[pool])
            for site in sites
            for part, pools in enumerate(site.pools)
            for pool in pools
        }

    def _count_servers_on_sites(self, sites: Mapping[Site, int]) -> int:
        """Return the most servers that fit on sites together, by CP-SAT only where it is needed.

        :param sites: each with the number of equal trees that it stands for
        """
        count, together, plain = 0, list[Site](), list[Site]()
        for site, number in sites.items():
            if not site.choices:
                plain.append(_multiply_site(site, number))
            elif site.is_alone:
                if site not in self._counts:
                    self._counts[site] = self._solve_most_servers([site])
                count += number * self._counts[site]
            else:
                together += [site] * number
        if together:
            return count + self._solve_most_servers(together + plain)
        return count + self._count_independent_servers(plain, range(len(self._part_names)))

    def _count_independent_servers(self, sites: Sequence[Site], parts: Sequence[int]) -> int:
        """Return the most servers on sites where no part of a server depends on another.

        :param parts: the indexes of the parts that count
        """
        limits = [min(self._count_servers_of_part(site, part) for part in parts) for site in sites]
        by_part = [self._distribute_part(sites, limits, part) for part in parts]
        best = min(by_part, key=sum)
        # More than the scarcest part allows is impossible. Most often the others allow that too.
        if all(self._distribute_part(sites, best, part) == best for part in parts):
            return sum(best)
        return self._solve_most_servers(sites)

    def _solve_most_servers(self, sites: Iterable[Site]) -> int:
        """Return the most servers that fit on sites together, as CP-SAT of OR-tools finds them."""
        demands = []
        for site in sites:
            if limit := min(
                self._count_servers_of_part(site, part) for part in range(len(self._part_names))
            ):
                demands.append((site if site.choices else self._convert_to_choices(site), limit))
        providers = self._topology.snapshot.providers
        pools: dict[Stock, int] = {
            (uuid, name): max(0, providers[uuid].free(name))
            for uuid in {pool for site, _ in demands for pools in site.pools for pool in pools}
            for name in providers[uuid].inventories
        }
        return compute_most_servers(demands, pools) if demands else 0

    def _convert_to_choices(self, site: Site) -> Site:
        """Return a site with each part as choices: an amount of the tree itself, or of a pool."""
        choices: list[tuple[Choice, ...]] = []
        for number, part in enumerate(self._parts):
            label, pools = self._part_names[number], site.pools[number]
            serving = sorted(pool for pool in pools if self._pool_counts[pool, number])
            uses = (tuple(((pool, name), n) for name, n in part.resources) for pool in serving)
            choices.append(((((0, label), 1),), *uses))
        amounts = tuple(
            ((0, label), n) for label, n in zip(self._part_names, site.local, strict=True)
        )
        return replace(site, choices=tuple(choices), amounts=amounts)

    def _count_servers_of_part(self, site: Site, index: int) -> int:
        """Return for how many servers a site serves a part (by its index) with all of its pools."""
        return site.local[index] + sum(self._pool_counts[pool, index] for pool in site.pools[index])

    def _distribute_part(
        self, sites: Sequence[Site], counts: Sequence[int], part: int
    ) -> list[int]:
        """Return for how many servers each site gets a part; sites compete for sharing providers.

        :param counts: of each site, for how many servers it asks for the part
        :param part: the index of the part
        """
        local = [min(count, site.local[part]) for site, count in zip(sites, counts, strict=True)]
        demands = Counter[frozenset[str]]()
        for site, count, had in zip(sites, counts, local, strict=True):
            demands[site.pools[part]] += count - had
        pools = frozenset[str]().union(*demands)
        left = compute_max_flow({pool: self._pool_counts[pool, part] for pool in pools}, demands)
        granted = []
        for site, count, had in zip(sites, counts, local, strict=True):
            drawn = min(count - had, left[site.pools[part]])
            left[site.pools[part]] -= drawn
            granted.append(had + drawn)
        return granted

    def _find_sites(self, roots: Iterable[str]) -> Iterator[tuple[str, Site]]:
        """Yield the name of each tree that the request does not rule out, and its site.

        A site is a tree with the sharing providers that serve it; equal trees have the same one.

        :param roots: the UUIDs of the roots of the trees
        """
        topology, trees = self._topology, self._request.trees
        by_kind: dict[object, Site | None] = {}
        for root in roots:
            kind = topology.make_tree_key(root, trees)
            if kind not in by_kind:
                by_kind[kind] = self._make_site(root)
            if (site := by_kind[kind]) is not None:
                yield topology.trees[root][0].name, site

    def _make_site(self, root_uuid: str) -> Site | None:
        """Return the site of a tree; ``None`` if the request rules it out."""
        states = self._topology.list_serving_providers(root_uuid)
        providers = self._topology.list_host_providers(root_uuid, self._request.trees)
        suitable = find_serving_providers(
            self._request, providers, lambda number, name, _: name in states[number].inventories
        )
        if suitable is None:
            return None
        numbers = [n for n, part in enumerate(self._request.parts) if part.resources]
        serving = [suitable[number] for number in numbers]
        common = {number for part in self._common for number in serving[part]}
        if not has_traits_of_common_group(self._request, providers, common):
            return None
        is_tied = self._has_dependent_parts(providers, serving)
        options = tuple(self._list_choices_for_one_server(states, providers)) if is_tied else ()
        content = (
            # Other trees use shared inventory of a tree: it is a pool for the tree too.
            tuple(
                sum(self._count_servers_of_provider(part, state) for state in own)
                for part, own in enumerate(_select_own_providers(states, providers, serving))
            ),
            tuple(frozenset(providers[n].pool or '' for n in places) - {''} for places in serving),
            all(serving),
            (options,) if is_tied else (),
            _list_free_amounts(options, states),
        )
        return self._distinct.setdefault(content, Site(*content))

    def _count_servers_of_provider(self, part_index: int, state: ProviderState) -> int:
        """Return for how many servers a provider serves a part."""
        resources = self._parts[part_index].resources
        return min(count_grants(state, name, amount) for name, amount in resources)

    def _has_dependent_parts(
        self, providers: Sequence[HostProvider], serving: Sequence[Sequence[int]]
    ) -> bool:
        """Return True if the choice of a provider for one part limits the choice for another.

        :param serving: by part, the numbers of the providers that can serve it
        :param providers: those that can serve a tree
        """
        return self._is_tied or not all(
            any(
                serving[part]
                and all(not names.isdisjoint(providers[n].traits) for n in serving[part])
                for part in self._common
            )
            for names in self._request.covering
        )

    def _list_choices_for_one_server(
        self, states: Sequence[ProviderState], providers: Sequence[HostProvider]
    ) -> Iterator[Choice]:
        """Yield each set of amounts of inventories that can serve one server as a whole.

        :param states: the providers that can serve a tree
        :param providers: those of ``states`` as a request sees them, in the order of ``states``
        """
        grants = make_grant_check(states)
        suitable = find_serving_providers(self._request, providers, grants) or ()
        search, seen = _ChoiceSearch(self._request, providers, suitable, grants), set[Choice]()
        search.steps_left = MAX_STEPS
        for _ in search.find_ways():
            taken = sorted((place, name, n) for (place, name), n in search.taken.items() if n)
            option = tuple(((providers[at].pool or at, name), n) for at, name, n in taken)
            if option not in seen:
                seen.add(option)
                yield option
        if search.is_cut:
            raise errors.PlacementError(
                'There are too many ways to serve the groups of one server: ask for fewer groups'
            )


def _list_free_amounts(
    options: Iterable[Choice], states: Sequence[ProviderState]
) -> tuple[tuple[Stock, int], ...]:
    """Return the free amount of each inventory of a tree that some choice uses, as pairs."""
    used = {stock for option in options for stock, _ in option}
    return tuple(
        ((number, name), max(0, state.free(name)))
        for number, state in enumerate(states)
        for name in sorted(state.inventories)
        if (number, name) in used
    )


class _ChoiceSearch(ProviderSearch):
    """Finds each set of amounts once: equal groups get providers in ascending order."""

    def _order_providers(self, suitable: Sequence[int], part: RequestPart) -> Sequence[int]:
        """Return the suitable providers that are not before the provider of an equal group."""
        if self._request.subtrees or not part.group:
            return suitable
        others = ((self._request.parts[number], place) for number, place in self._chosen.items())
        twins = [
            place
            for other, place in others
            if other.group and other._replace(group=part.group) == part
        ]
        return [place for place in suitable if place >= max(twins, default=0)]


def _select_own_providers(
    states: Sequence[ProviderState],
    providers: Sequence[HostProvider],
    serving: Sequence[Sequence[int]],
) -> list[list[ProviderState]]:
    """Return for each part the providers of the tree that serve it, without sharing providers.

    :param states: the providers that can serve the tree
    :param serving: by part, the indexes of those that can serve it
    """
    return [
        [states[number] for number in places if not providers[number].pool] for places in serving
    ]


def _name_part(part: RequestPart) -> str:
    """Return the name of a part: its class; of a group with a suffix its classes and the suffix."""
    names = '+'.join(name for name, _ in part.resources)
    return f'{names} (group {part.group})' if part.group else names


def _multiply_site(site: Site, count: int) -> Site:
    """Return one site that stands for several equal sites."""
    # As many servers fit there: dealt out evenly, no tree draws on a pool while another one still
    # has some of its own.
    if count == 1:
        return site
    return replace(site, local=tuple(count * servers for servers in site.local))
