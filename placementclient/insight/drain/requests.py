# SPDX-License-Identifier: Apache-2.0
"""The request of a server to its new host, as far as it is known.

Placement knows what a server holds, not what it asked for. So there are two requests: a host that
satisfies the strict one certainly satisfies the server; a host that does not satisfy the lax one
never does.
"""

from placementclient.model.consumers import Allocations, sum_resources
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Pool, Request, RequestPart, split_alternatives


def build_strict_request(
    snapshot: Snapshot, root: ProviderState, allocations: Allocations
) -> Request:
    """Return a request for the traits, the aggregates and the tree of the present host."""
    states = [snapshot.providers[uuid] for uuid in allocations]
    places = {uuid: place for place, uuid in enumerate(allocations)}
    below: dict[str, set[int]] = {}
    for place, state in enumerate(states):
        if state.provider.root_uuid == root.uuid:
            for ancestor in snapshot.ancestors(state.uuid):
                if ancestor != root.uuid:
                    below.setdefault(ancestor, set()).add(place)
    return Request(
        tuple(
            RequestPart(
                tuple(sorted(allocations[state.uuid].items())),
                split_alternatives(sorted(state.traits - {DISABLED})),
                member_of=split_alternatives(sorted(state.aggregates)),
                group=str(place),
            )
            for place, state in enumerate(states)
        ),
        apart=frozenset(places.values()),
        subtrees=tuple(
            frozenset({places[uuid], place})
            for uuid, parts in below.items()
            if uuid in places
            for place in sorted(parts)
        ),
        ancestors=tuple(
            (snapshot.providers[uuid].traits, frozenset(parts))
            for uuid, parts in below.items()
            if uuid not in places
        ),
        root_required=split_alternatives(sorted(root.traits - {DISABLED})),
        root_forbidden=frozenset({DISABLED}),
        root_member_of=split_alternatives(sorted(root.aggregates)),
        shared=find_shared_amounts(snapshot, allocations),
    )


def build_lax_request(snapshot: Snapshot, allocations: Allocations) -> Request:
    """Return a request for the amounts of a server alone, divided in any way."""
    totals = sum_resources(allocations.values())
    parts = tuple(RequestPart(((name, totals[name]),)) for name in sorted(totals))
    return Request(
        parts,
        root_forbidden=frozenset({DISABLED}),
        shared=find_shared_amounts(snapshot, allocations),
        is_lax=True,
    )


def find_shared_amounts(
    snapshot: Snapshot, allocations: Allocations
) -> tuple[tuple[Pool, int], ...]:
    """Return the allocations on sharing providers, in the order of provider and class."""
    return tuple(
        sorted(
            ((uuid, name), amount)
            for uuid, resources in allocations.items()
            if uuid in snapshot.providers and is_sharing(snapshot.providers[uuid])
            for name, amount in resources.items()
        )
    )
