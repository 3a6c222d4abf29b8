"""The request of a server to its new host, as far as it is known.

Placement knows what a server holds, not what it asked for. Two requests are bracketed around it:
a host that satisfies the strict one satisfies the server for certain; a host that does not satisfy
the lax one never does.
"""

from placementclient.model.consumers import Allocations, Resources, together
from placementclient.model.nova import DISABLED
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request, RequestPart, alternatives, parsed

_NONE: frozenset[str] = frozenset()


def strict(snapshot: Snapshot, root: ProviderState, allocations: Allocations) -> Request:
    """Return a request for all that the old host has: traits, aggregates, shape of its tree.

    :param root: the root of the old host
    :param allocations: of the server, on the old host and on sharing providers
    """
    states = [snapshot.providers[uuid] for uuid in allocations]
    local = [state for state in states if state.provider.root_uuid == root.uuid]
    places = {state.uuid: number for number, state in enumerate(states)}
    above = {
        uuid: frozenset(places[state.uuid] for state in local if uuid in _above(snapshot, state))
        for uuid in dict.fromkeys(
            ancestor for state in local for ancestor in _above(snapshot, state)
        )
    }
    parts = tuple(_part_like(state, allocations[state.uuid], states) for state in states)
    return Request(
        parts,
        apart=frozenset(range(len(parts))),
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
        root_required=alternatives(sorted(root.traits - {DISABLED})),
        root_forbidden=frozenset({DISABLED}),
        root_member_of=alternatives(sorted(root.aggregates)),
        shared=_shared(snapshot, allocations),
    )


def lax(snapshot: Snapshot, allocations: Allocations) -> Request:
    """Return a request for the amounts alone."""
    totals = together(allocations.values())
    parts = tuple(RequestPart(((name, totals[name]),)) for name in sorted(totals))
    return Request(
        parts,
        root_forbidden=frozenset({DISABLED}),
        shared=_shared(snapshot, allocations),
        is_lax=True,
    )


def known(
    snapshot: Snapshot,
    requested: CandidateRequest,
    allocations: Allocations,
    zone: frozenset[str] = _NONE,
    limits: tuple[str, ...] = (),
) -> Request:
    """Return the request that Nova's scheduler sends.

    :param zone: aggregates of which the host is in one; none: any host
    :param limits: the names of the server groups
    """
    return parsed(requested)._replace(
        root_member_of=(zone,) if zone else (),
        shared=_shared(snapshot, allocations),
        limits=limits,
    )


def _part_like(
    state: ProviderState, resources: Resources, states: list[ProviderState]
) -> RequestPart:
    """The part of a strict request that stands for what a server holds on one provider."""
    return RequestPart(
        tuple(sorted(resources.items())),
        alternatives(sorted(state.traits - {DISABLED})),
        member_of=alternatives(sorted(state.aggregates)),
        group=str(states.index(state)),
    )


def _above(snapshot: Snapshot, state: ProviderState) -> list[str]:
    ancestors = []
    parent = state.provider.parent_provider_uuid
    while parent is not None and parent != state.provider.root_uuid:
        ancestors.append(parent)
        parent = snapshot.providers[parent].provider.parent_provider_uuid
    return ancestors


def _shared(snapshot: Snapshot, allocations: Allocations) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (uuid, name, amount)
        for uuid, resources in sorted(allocations.items())
        if uuid in snapshot.providers and is_sharing(snapshot.providers[uuid])
        for name, amount in sorted(resources.items())
    )
