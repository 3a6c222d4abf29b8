# SPDX-License-Identifier: Apache-2.0
"""The options to serve a request on a host: the provider of each part."""

from collections.abc import Collection, Iterator, Sequence

from placementclient.placing.providers import Grants, HostProvider, list_lineage
from placementclient.placing.requests import Request, RequestPart
from placementclient.placing.shapes import HostOption, Pools, Shape, has_traits_of_common_group

#: How many providers are tried for the parts of one server on one host.
MAX_STEPS = 20_000


class ProviderSearch:
    """Searches for providers of a host that together serve all parts of a request.

    :ivar taken: the amounts that are taken of each provider and class
    :ivar steps_left: how many providers may still be tried
    :param suitable_by_part: by part of the request, the numbers of the providers that can serve it
    :param grants: tells whether a provider, by number, can grant an amount of a class
    """

    def __init__(
        self,
        request: Request,
        providers: Sequence[HostProvider],
        suitable_by_part: Sequence[Sequence[int]],
        grants: Grants,
    ) -> None:
        self._request, self._providers = request, providers
        self._suitable, self._grants = suitable_by_part, grants
        self.steps_left = MAX_STEPS
        #: The provider of each part, by number.
        self._chosen: dict[int, int] = {}
        self.taken: dict[tuple[int, str], int] = {}
        # The part with the least choice first.
        self._order = sorted(
            range(len(suitable_by_part)), key=lambda part: len(suitable_by_part[part])
        )

    @property
    def is_cut(self) -> bool:
        """True if the search ended too early, so that there may be more ways."""
        return self.steps_left < 0

    def find_ways(self) -> Iterator[tuple[int, ...]]:
        """Yield the ways to serve all parts: the number of the provider for each part, in order."""
        chosen = self._chosen
        if len(chosen) == len(self._order):
            if self._meets_joint_conditions():
                yield tuple(chosen[number] for number in range(len(chosen)))
            return
        number = self._order[len(chosen)]
        part = self._request.parts[number]
        excluded = self._request.find_excluded_parts(number)
        separate = {chosen[other] for other in excluded & chosen.keys()}
        for place in self._order_providers(self._suitable[number], part):
            self.steps_left -= 1
            if self.is_cut:
                return
            if place not in separate and self._has_room(place, part):
                for name, amount in part.resources:
                    self.taken[place, name] = self.taken.get((place, name), 0) + amount
                chosen[number] = place
                yield from self.find_ways()
                del chosen[number]
                for name, amount in part.resources:
                    self.taken[place, name] -= amount

    def _order_providers(self, suitable: Sequence[int], part: RequestPart) -> Sequence[int]:
        """Return the numbers of the providers to try for a part, in the order to try them.

        :param suitable: the numbers of those that can serve the part
        """
        return suitable

    def _has_room(self, number: int, part: RequestPart) -> bool:
        """Return True if a provider can grant a part beside the parts that it has already.

        :param number: of the provider
        """
        return all(
            self._grants(number, name, amount + self.taken.get((number, name), 0))
            for name, amount in part.resources
        )

    def _meets_joint_conditions(self) -> bool:
        """Return True if the chosen providers meet the conditions on several parts together."""
        request, chosen, providers = self._request, self._chosen, self._providers
        common = [chosen[number] for number, part in enumerate(request.parts) if not part.group]
        if not has_traits_of_common_group(request, providers, common):
            return False
        for numbers in request.subtrees:
            together = {chosen[number] for number in numbers}
            if self._find_common_ancestors(together).isdisjoint(together):
                return False
        for traits, numbers in request.ancestors:
            together = {chosen[number] for number in numbers}
            if not any(
                traits <= providers[place].traits and providers[place].parent is not None
                for place in self._find_common_ancestors(together) - together
            ):
                return False
        return True

    def _find_common_ancestors(self, numbers: Collection[int]) -> set[int]:
        """Return the numbers of the providers that each of some providers is, or is below."""
        return set.intersection(*(set(list_lineage(self._providers, one)) for one in numbers))


class OptionSearch(ProviderSearch):
    """Searches for options to serve a request on a host, given its shape and free amounts.

    :param room: the free amounts of the host's own providers, as the shape orders them
    :param pools: those of sharing providers
    """

    def __init__(
        self,
        request: Request,
        shape: Shape,
        suitable: Sequence[Sequence[int]],
        room: Sequence[int],
        pools: Pools,
    ) -> None:
        super().__init__(request, shape.providers, suitable, self._is_granted)
        self._shape, self._room, self._pools = shape, room, pools
        self._shared = dict(request.shared)
        self._are_twins_skipped = False

    def find_tightest_option(self) -> HostOption | None:
        """Return the option that uses the providers with the least free amounts, or None."""
        # Providers that differ in nothing lead to the same option, or to none.
        self._are_twins_skipped = True
        return next(self.find_options(), None)

    def find_options(self) -> Iterator[HostOption]:
        """Yield all options, without duplicates."""
        if not self._request.is_lax:
            yield from map(self._make_option, self.find_ways())
            return
        option, totals = self._shape.build_lax_option(self._request), self._shape.totals
        needed = self._request.totals.items()
        if all(self._room[totals[name]] >= amount for name, amount in needed) and all(
            self._pools.get(pool, 0) >= amount for pool, amount in option.shared
        ):
            yield option

    def _order_providers(self, suitable: Sequence[int], part: RequestPart) -> Sequence[int]:
        """Return the numbers of the providers for a part, those with the least free amount first.

        :param suitable: the numbers of those that can serve the part
        """
        if len(suitable) == 1:
            return suitable
        name = part.resources[0][0] if part.resources else ''
        shape, seen, distinct = self._shape, set(), []
        used = set(self._chosen.values())
        for place in sorted(suitable, key=lambda place: (self._rank_provider(place, name), place)):
            if self._are_twins_skipped and place in shape.twins and place not in used:
                left = (
                    self._room[shape.rooms[place, resource_class]]
                    for resource_class in shape.units[place]
                )
                key = (shape.twins[place], *left)
                if key in seen:
                    continue
                seen.add(key)
            distinct.append(place)
        return distinct

    def _rank_provider(self, number: int, name: str) -> int:
        """Return a key that sorts the providers for a part: by their free amount of a class.

        :param number: of the provider
        :param name: the class; empty: only sharing providers are ranked
        """
        pool = self._providers[number].pool
        if any(uuid == pool for uuid, _ in self._shared):
            # A server that uses it already stays, so that no data are copied.
            return -1
        return self._find_free_amount(number, name) if name or pool else 0

    def _find_free_amount(self, number: int, name: str) -> int:
        """Return the amount of a class that a provider had free before the search."""
        pool = self._providers[number].pool
        if pool is not None:
            return self._pools.get((pool, name), 0)
        return self._room[self._shape.rooms[number, name]]

    def _is_granted(self, number: int, name: str, amount: int) -> bool:
        """Return True if a provider has an amount of a class free, and its units allow it."""
        units = self._shape.units[number][name]
        return units.admits(amount) and amount <= self._find_free_amount(number, name)

    def _make_option(self, places: tuple[int, ...]) -> HostOption:
        """Return the option with the amounts that are taken at this step of the search.

        :param places: the number of the provider of each part
        """
        shape = self._shape
        local, shared = [], []
        for (place, name), amount in sorted(self.taken.items()):
            pool = self._providers[place].pool
            if pool is not None:
                more = amount - self._shared.get((pool, name), 0)
                if more > 0:
                    shared.append(((pool, name), more))
            elif amount:
                room = shape.rooms[place, name]
                local += [(at, amount) for at in dict.fromkeys((room, shape.totals[name]))]
        return HostOption(places, tuple(local), tuple(shared))
