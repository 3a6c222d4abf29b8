"""The request of a server to its new host, as far as it is known.

Placement knows what a server holds, not what it asked for. Two requests are bracketed around it:
a host that satisfies the strict one satisfies the server for certain; a host that does not satisfy
the lax one never does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placementclient.insight.topology import is_sharing
from placementclient.model.consumers import Allocations, Resources, together
from placementclient.model.nova import DISABLED
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState, Snapshot

_NONE: frozenset[str] = frozenset()


class AskedPart(NamedTuple):
    """A part of a request, which one provider serves.

    :param resources: class and amount
    :param required: of each set of traits the provider has one
    :param member_of: of each set of aggregates the provider is in one
    :param group: the suffix of its group; empty for the common group
    """

    resources: tuple[tuple[str, int], ...]
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = _NONE
    member_of: tuple[frozenset[str], ...] = ()
    forbidden_member_of: frozenset[str] = _NONE
    group: str = ''


class Request(NamedTuple):
    """The request of servers of one kind to a host. Servers with equal requests are alike.

    :param covering: the sets of traits of the providers that serve the common group
    :param is_isolated: different providers serve the groups with a suffix
    :param subtrees: sets of parts, by number: one of their providers is above the others
    :param ancestors: traits, and parts by number: a provider with all of the traits, which is not
        the root, is above those of the parts
    :param shared: sharing provider, class and amount that a server holds now
    :param limits: the names of server groups that allow a host only so many of their servers
    :param is_lax: only the amounts count, which may be divided between the providers of a host
    """

    parts: tuple[AskedPart, ...]
    covering: tuple[frozenset[str], ...] = ()
    is_isolated: bool = False
    subtrees: tuple[frozenset[int], ...] = ()
    ancestors: tuple[tuple[frozenset[str], frozenset[int]], ...] = ()
    root_required: tuple[frozenset[str], ...] = ()
    root_forbidden: frozenset[str] = frozenset({DISABLED})
    root_member_of: tuple[frozenset[str], ...] = ()
    shared: tuple[tuple[str, str, int], ...] = ()
    limits: tuple[str, ...] = ()
    is_lax: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """The amounts of all parts together, by class."""
        totals: dict[str, int] = {}
        for part in self.parts:
            for name, amount in part.resources:
                totals[name] = totals.get(name, 0) + amount
        return totals


def strict(snapshot: Snapshot, root: ProviderState, allocations: Allocations) -> Request:
    """Ask for all that the old host has: traits, aggregates, and the same shape of its tree.

    :param root: the root of the old host
    :param allocations: of the server, on the old host and on sharing providers
    """
    states = [snapshot.providers[uuid] for uuid in allocations]
    own = [state for state in states if state.provider.root_uuid == root.uuid]
    places = {state.uuid: number for number, state in enumerate(states)}
    above = {
        uuid: frozenset(places[state.uuid] for state in own if uuid in _above(snapshot, state))
        for uuid in dict.fromkeys(each for state in own for each in _above(snapshot, state))
    }
    parts = tuple(_part_like(state, allocations[state.uuid], states) for state in states)
    return Request(
        parts,
        is_isolated=len(parts) > 1,
        subtrees=tuple(
            frozenset({places[uuid], below})
            for uuid, parts in above.items()
            for below in sorted(parts)
            if uuid in places
        ),
        ancestors=tuple(
            (snapshot.providers[uuid].traits, parts)
            for uuid, parts in above.items()
            if uuid not in places
        ),
        root_required=_each(root.traits - {DISABLED}),
        root_member_of=_each(root.aggregates),
        shared=_shared(snapshot, allocations),
    )


def lax(snapshot: Snapshot, allocations: Allocations) -> Request:
    """Ask for the amounts alone."""
    totals = together(allocations.values())
    parts = tuple(AskedPart(((name, totals[name]),)) for name in sorted(totals))
    return Request(parts, shared=_shared(snapshot, allocations), is_lax=True)


def known(
    snapshot: Snapshot,
    asked: CandidateRequest,
    allocations: Allocations,
    zone: frozenset[str] = _NONE,
    limits: tuple[str, ...] = (),
) -> Request:
    """Ask for what Nova's scheduler asks for.

    :param zone: aggregates of which the host is in one; none: any host
    :param limits: the names of the server groups
    """
    parts = tuple(_parts(asked))
    numbers = {part.group: number for number, part in enumerate(parts)}
    return Request(
        parts,
        covering=_alternatives(asked.common.required),
        is_isolated=asked.group_policy == 'isolate',
        subtrees=tuple(
            frozenset(numbers[suffix] for suffix in suffixes if suffix in numbers)
            for suffixes in asked.same_subtree
        ),
        root_required=_alternatives(asked.root_required),
        root_forbidden=frozenset(asked.root_forbidden),
        root_member_of=(zone,) if zone else (),
        shared=_shared(snapshot, allocations),
        limits=limits,
    )


def _part_like(state: ProviderState, held: Resources, states: list[ProviderState]) -> AskedPart:
    """The part of a strict request that stands for what a server holds on one provider."""
    return AskedPart(
        tuple(sorted(held.items())),
        _each(state.traits - {DISABLED}),
        member_of=_each(state.aggregates),
        group=str(states.index(state)),
    )


def _above(snapshot: Snapshot, state: ProviderState) -> list[str]:
    found = []
    parent = state.provider.parent_provider_uuid
    while parent is not None and parent != state.provider.root_uuid:
        found.append(parent)
        parent = snapshot.providers[parent].provider.parent_provider_uuid
    return found


def _shared(snapshot: Snapshot, allocations: Allocations) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (uuid, name, amount)
        for uuid, resources in sorted(allocations.items())
        if uuid in snapshot.providers and is_sharing(snapshot.providers[uuid])
        for name, amount in sorted(resources.items())
    )


def _parts(asked: CandidateRequest) -> Iterator[AskedPart]:
    for name, amount in sorted(asked.common.resources.items()):
        yield _part({name: amount}, asked.common._replace(required=()), '')
    for suffix, group in asked.groups.items():
        yield _part(group.resources, group, suffix)


def _part(resources: Mapping[str, int], asked: Filter, group: str) -> AskedPart:
    return AskedPart(
        tuple(sorted(resources.items())),
        _alternatives(asked.required),
        frozenset(asked.forbidden),
        _alternatives(asked.member_of),
        frozenset(name for names in asked.forbidden_member_of for name in names.split(',')),
        group,
    )


def _alternatives(names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.split(',')) for each in names)


def _each(names: frozenset[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset({name}) for name in sorted(names))
