# SPDX-License-Identifier: Apache-2.0
"""The shapes of hosts, and the providers of a shape that can serve each part of a request.

Thousands of hosts have a handful of shapes. So facts about the shape are calculated once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from placementclient.placing.providers import Grants, HostProvider
from placementclient.placing.requests import Pool, Request, RequestPart

#: The free amounts, by sharing provider and class.
Pools = Mapping[Pool, int]


class HostOption(NamedTuple):
    """One way to serve a server on a host.

    :param places: for each part of the request the number of the provider; none for a lax request
    :param local: the amounts that it takes of the host, each with its index into the room
    :param shared: the further amounts that it takes of sharing providers
    """

    places: tuple[int, ...]
    local: tuple[tuple[int, int], ...]
    shared: tuple[tuple[Pool, int], ...] = ()


class Shape:
    """The providers that can serve a host, the root first, without their free amounts.

    The room of a host is a list of free amounts: of each class of each of its own providers; then,
    for lax requests, the total of each class, unless a single provider of the host has it. With
    VCPU on the root (0), VGPU on two children (1 and 2), and DISK_GB on a sharing provider (3)::

        room:   [VCPU of 0, VGPU of 1, VGPU of 2, all VGPU, all DISK_GB]
        rooms:  {(0, 'VCPU'): 0, (1, 'VGPU'): 1, (2, 'VGPU'): 2}
        totals: {'VCPU': 0, 'VGPU': 3, 'DISK_GB': 4}

    :ivar units: of each provider, by class
    :ivar rooms: the index into the room, by the number of the provider and the class
    :ivar totals: the index of all that the host has of a class, by class
    :ivar members: the numbers of the providers that have a class, by class
    :ivar width: the length of the room
    """

    def __init__(self, providers: Sequence[HostProvider]) -> None:
        self.providers = tuple(providers)
        self.units = [dict(provider.units) for provider in providers]
        self.rooms: dict[tuple[int, str], int] = {}
        for number, provider in enumerate(providers):
            for name in self.units[number] if provider.pool is None else ():
                self.rooms[number, name] = len(self.rooms)
        self.totals: dict[str, int] = {}
        self.members: dict[str, list[int]] = {}
        for number, names in enumerate(self.units):
            for name in names:
                self.members.setdefault(name, []).append(number)
        self.width = len(self.rooms)
        for name, numbers in self.members.items():
            if len(numbers) == 1 and (numbers[0], name) in self.rooms:
                self.totals[name] = self.rooms[numbers[0], name]
            else:
                self.totals[name] = self.width
                self.width += 1

    def append_class_totals(self, free: Sequence[int], headroom: Pools) -> list[int]:
        """Return the room of a host: the given free amounts, followed by the totals of classes.

        :param free: of the host's own providers, in the order of :attr:`rooms`
        :param headroom: the most that sharing providers may come to have free
        """
        sums = [*free, *[0] * (self.width - len(free))]
        for name, place in self.totals.items():
            if place >= len(free):
                for number in self.members[name]:
                    pool = self.providers[number].pool
                    local = headroom[pool, name] if pool else free[self.rooms[number, name]]
                    sums[place] += max(0, local)
        return sums

    def build_lax_option(self, request: Request) -> HostOption:
        """Return the option of a lax request: amounts of totals of classes, of no provider by name.

        Present allocations on a sharing provider do not count again, if they can stay there.
        """
        local, shared = [], []
        for name, amount in request.totals.items():
            pools = [self.providers[number].pool for number in self.members[name]]
            held = [n for (pool, kind), n in request.shared if kind == name and pool in pools]
            amount = max(0, amount - sum(held))
            local.append((self.totals[name], amount))
            if len(pools) == 1 and pools[0] is not None and amount > 0:
                shared.append(((pools[0], name), amount))
        return HostOption((), tuple(local), tuple(shared))

    @cached_property
    def pooled_totals(self) -> set[int]:
        """The indexes into the room, as in :attr:`totals`, of classes of sharing providers."""
        return {
            self.totals[name]
            for name, numbers in self.members.items()
            if any(self.providers[number].pool is not None for number in numbers)
        }

    @cached_property
    def twins(self) -> dict[int, int]:
        """The number of the first equal provider, by the number of each; the first has its own.

        Only the host's own providers without children: one with children is known by them, and the
        room of a sharing provider is not the host's to exchange. Two hosts whose ``(gpu_0, gpu_1)``
        have ``(4, 0)`` and ``(0, 4)`` free are alike.
        """
        parents = {provider.parent for provider in self.providers}
        first: dict[HostProvider, int] = {}
        return {
            number: first.setdefault(provider, number)
            for number, provider in enumerate(self.providers)
            if provider.parent is not None and number not in parents and provider.pool is None
        }

    def find_suitable_providers(self, request: Request) -> list[list[int]] | None:
        """Return for each part the numbers of the providers that can serve it, however full.

        :return: ``None`` if no host of this shape can serve the request; no number for a lax one
        """
        if request.is_lax:
            if is_root_suitable(self.providers[0], request) and self._can_divide_amounts(request):
                return [[]] * len(request.parts)
            return None
        suitable = find_serving_providers(request, self.providers, self._can_grant)
        return None if suitable is None or not all(suitable) else suitable

    def _can_divide_amounts(self, request: Request) -> bool:
        """Return True if units let the providers of each class grant together what is requested."""
        for name, amount in request.totals.items():
            units = [self.units[number][name] for number in self.members.get(name, ())]
            if len(units) == 1 and not units[0].admits(amount):
                return False
            most = sum(limits.largest_amount(limits.max_unit) for limits in units)
            if not units or amount > most or amount < min(limits.min_unit for limits in units):
                return False
        return True

    def _can_grant(self, number: int, name: str, amount: int) -> bool:
        """Return True if the units of a provider admit an amount of a class, whatever is free.

        :param number: of the provider
        """
        units = self.units[number]
        return name in units and units[name].admits(amount)


def find_serving_providers(
    request: Request, providers: Sequence[HostProvider], grants: Grants
) -> list[list[int]] | None:
    """Return for each part of a request the numbers of the providers of a host that can serve it.

    :param grants: tells whether a provider, by number, can grant an amount of a class
    :return: ``None`` if the request rules out the host
    """
    if not is_root_suitable(providers[0], request):
        return None
    return [
        [
            number
            for number, provider in enumerate(providers)
            if all(grants(number, name, amount) for name, amount in part.resources)
            and can_serve(provider, part, providers[0])
        ]
        for part in request.parts
    ]


def is_root_suitable(root: HostProvider, request: Request) -> bool:
    """Return True if the root of a host meets the conditions of a request."""
    return (
        root.traits.isdisjoint(request.root_forbidden)
        and has_one_of_each(root.traits, request.root_required)
        and has_one_of_each(root.aggregates, request.root_member_of)
    )


def has_traits_of_common_group(
    request: Request, providers: Sequence[HostProvider], common: Collection[int]
) -> bool:
    """Return True if some providers together have the traits that the common group requires.

    :param providers: of a host
    :param common: the numbers of the providers that are to have the traits
    """
    return all(
        any(not alternatives.isdisjoint(providers[number].traits) for number in common)
        for alternatives in request.covering
    )


def can_serve(provider: HostProvider, part: RequestPart, root: HostProvider) -> bool:
    """Return True if a provider meets the conditions of a part, whatever amounts it has.

    =================== ====================== =================================================
    the condition       a group with a suffix  the common group
    =================== ====================== =================================================
    member_of           the provider is one    the same; for a provider of the tree, or the root
    forbidden_member_of the provider is none   neither the provider nor the root is one
    in_tree             the provider is in it  the provider and the root are in it
    =================== ====================== =================================================

    :param root: of the host: for the common group, all of its tree is in the root's aggregates
    """
    if not (
        provider.traits.isdisjoint(part.forbidden)
        and has_one_of_each(provider.traits, part.required)
    ):
        return False
    if part.in_tree is not None and part.in_tree not in provider.trees:
        return False
    is_member = has_one_of_each(provider.aggregates, part.member_of)
    is_free = provider.aggregates.isdisjoint(part.forbidden_member_of)
    if part.group:
        return is_member and is_free
    # A sharing provider of another tree has to be a member itself.
    if provider.is_inside and not is_member:
        is_member = has_one_of_each(root.aggregates, part.member_of)
    is_free = is_free and root.aggregates.isdisjoint(part.forbidden_member_of)
    return is_member and is_free and (part.in_tree is None or part.in_tree in root.trees)


def has_one_of_each(names: frozenset[str], required: Iterable[frozenset[str]]) -> bool:
    """Return True if a set of names has one of each set of alternatives.

    :param required: the sets of alternatives
    """
    return all(not names.isdisjoint(alternatives) for alternatives in required)
