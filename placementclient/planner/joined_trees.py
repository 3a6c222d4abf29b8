# SPDX-License-Identifier: Apache-2.0
"""Trees that must change together: they share a target or a consumer that is written."""

from collections.abc import Iterator, Set
from itertools import chain

from placementclient.model.consumers import Consumer
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.layout.target_state import TargetProvider, TargetState


def find_shared_uuids(
    snapshot: Snapshot, spec: Spec, planned_roots: Set[str], target_state: TargetState
) -> frozenset[str]:
    """Return the UUIDs of the targets and consumers of a tree that other planned trees may change.

    The service judges all that a consumer holds whenever it writes it. So a tree concerns the
    consumers that move in it, and those whose amounts its new units admit or refuse.

    :param planned_roots: of all trees that are planned, by UUID
    :param target_state: of the tree; it has no additions to consumers that do not exist
    """
    (root,) = target_state.roots
    targets = (
        provider.uuid
        for provider in target_state.providers.values()
        if provider.before is not None
        and (provider.root_provider_uuid != root.uuid or SHARING_TRAIT in provider.before.traits)
    )
    sources = dict.fromkeys(key.provider_uuid for key in target_state.targets)
    concerned = chain(
        *(snapshot.consumers_on(source) for source in sources),
        (snapshot.consumers[uuid] for uuid in target_state.additions),
        *(
            _find_rejudged_consumers(snapshot, provider)
            for provider in target_state.providers.values()
        ),
    )
    consumers = (
        consumer.uuid
        for consumer in concerned
        if consumer.uuid in spec.names.added_consumers
        or _is_in_several_planned_trees(snapshot, planned_roots, consumer)
    )
    return frozenset({*targets, *consumers})


def _find_rejudged_consumers(snapshot: Snapshot, provider: TargetProvider) -> Iterator[Consumer]:
    """Yield the consumers with an amount that the changed units of a provider admit or refuse."""
    changed = [
        (name, was, provider.inventories[name])
        for name, was in provider.inventories_before.items()
        if name in provider.inventories and was.units != provider.inventories[name].units
    ]
    if not changed:
        return
    for consumer in snapshot.consumers_on(provider.uuid):
        for name, was, desired in changed:
            amount = consumer.amount(provider.uuid, name)
            if amount and was.admits(amount) != desired.admits(amount):
                yield consumer


def _is_in_several_planned_trees(
    snapshot: Snapshot, planned_roots: Set[str], consumer: Consumer
) -> bool:
    if len(consumer.allocations) == 1:
        return False
    states = map(snapshot.providers.get, consumer.allocations)
    return len(planned_roots & {state.provider.root_uuid for state in states if state}) > 1
