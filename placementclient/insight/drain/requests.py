# SPDX-License-Identifier: Apache-2.0
"""The request of a server to its new host, as far as it is known.

Placement knows what a server holds, not what it asked for. So there are two requests: a host that
satisfies the strict one certainly satisfies the server; a host that does not satisfy the lax one
never does.
"""

from collections.abc import Mapping

from placementclient.model.consumers import Allocations, sum_resources
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Pool, Request, RequestPart, split_alternatives


def build_strict_request(
    snapshot: Snapshot, root: ProviderState, allocations: Allocations
) -> Request:
    """Return a request for a host that is like the present one.

    * ``parts``: for each provider with allocations one that grants as much, with all of its traits
      and aggregates; ``apart``: all are different providers.
    * ``subtrees``: a provider with allocations that is above another one is above it again.
    * ``ancestors``: so is a provider without allocations, for the sake of its traits.
    * ``root_required``, ``root_member_of``: its root has all traits and aggregates of ``root``.

    For allocations on ``numa`` (part 0) and ``vgpu`` (part 1) of ``host > numa > gpu > vgpu``,
    the subtrees are ``({0, 1},)``, and the ancestors are ``((traits of gpu, {1}),)``.

    :param root: of the present host
    :param allocations: on providers of the snapshot
    """
    states = [snapshot.providers[uuid] for uuid in allocations]
    numbers = {uuid: number for number, uuid in enumerate(allocations)}
    below = _find_parts_below(snapshot, root.uuid, numbers)
    return Request(
        tuple(
            RequestPart(
                tuple(sorted(allocations[state.uuid].items())),
                split_alternatives(sorted(state.traits - {DISABLED})),
                member_of=split_alternatives(sorted(state.aggregates)),
                group=str(number),
            )
            for number, state in enumerate(states)
        ),
        apart=frozenset(numbers.values()),
        subtrees=tuple(
            frozenset({numbers[above], part})
            for above, parts in below.items()
            if above in numbers
            for part in parts
        ),
        ancestors=tuple(
            (snapshot.providers[above].traits, frozenset(parts))
            for above, parts in below.items()
            if above not in numbers
        ),
        root_required=split_alternatives(sorted(root.traits - {DISABLED})),
        root_forbidden=frozenset({DISABLED}),
        root_member_of=split_alternatives(sorted(root.aggregates)),
        shared=find_shared_amounts(snapshot, allocations),
    )


def _find_parts_below(
    snapshot: Snapshot, root_uuid: str, numbers: Mapping[str, int]
) -> dict[str, list[int]]:
    """Return the numbers of the parts below each provider of a tree, without its root.

    :param numbers: of the parts, by the UUID of the provider
    """
    below: dict[str, list[int]] = {}
    for uuid, number in numbers.items():
        if snapshot.providers[uuid].provider.root_uuid == root_uuid:
            for ancestor in snapshot.ancestors(uuid):
                if ancestor != root_uuid:
                    below.setdefault(ancestor, []).append(number)
    return below


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
            if is_sharing(snapshot.providers[uuid])
            for name, amount in resources.items()
        )
    )
