# SPDX-License-Identifier: Apache-2.0
"""A snapshot after some operations. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from placementclient.changes import operations as ops
from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


def simulate(snapshot: Snapshot, operations: Iterable[ops.Operation]) -> Snapshot:
    """Return a snapshot after some operations; generations stay as read.

    It does not check whether Placement would accept the operations.
    """
    states, consumers = dict(snapshot.providers), dict(snapshot.consumers)
    for operation in operations:
        _perform_operation(operation, states, consumers)
    changes = ((snapshot.consumers.get(uuid), consumer) for uuid, consumer in consumers.items())
    gains = sum_gains(
        (before.allocations if before else {}, after.allocations)
        for before, after in changes
        if after is not before
    )
    return Snapshot(
        (_complete_provider(state, states, gains[state.uuid]) for state in states.values()),
        (consumer for consumer in consumers.values() if consumer.allocations),
        snapshot.origin,
    )


def _complete_provider(
    state: ProviderState, states: Mapping[str, ProviderState], gains: Counter[str]
) -> ProviderState:
    """Return a provider with its root and its usages after the operations.

    :param states: all providers after the operations, by UUID
    :param gains: the amounts by which the operations raise its usages, by class
    """
    used = Counter(state.usages)
    used.update(gains)
    usages = {name: used[name] for name in {**state.inventories, **used} if used[name]}
    usages |= {name: 0 for name in state.inventories if not used[name] and name in state.usages}
    root = state
    while (parent := states.get(root.provider.parent_provider_uuid or '')) is not None:
        root = parent
    root_uuid = root.provider.parent_provider_uuid or root.uuid
    provider = replace(state.provider, root_provider_uuid=root_uuid)
    return replace(state, provider=provider, usages=usages)


def _perform_operation(
    operation: ops.Operation, states: dict[str, ProviderState], consumers: dict[str, Consumer]
) -> None:
    match operation:
        case ops.EnsureClass() | ops.EnsureTrait():
            pass  # a snapshot has classes and traits only where providers have them
        case ops.CreateProvider(uuid, name, parent):
            states[uuid] = ProviderState(Provider(uuid, name, 0, parent, uuid))
        case ops.UpdateProvider(uuid, _, (name, parent)):
            moved = replace(states[uuid].provider, name=name, parent_provider_uuid=parent)
            states[uuid] = replace(states[uuid], provider=moved)
        case ops.DeleteProvider(uuid):
            states.pop(uuid, None)
        case ops.SetTraits(uuid, _, value) | ops.SetAggregates(uuid, _, value):
            facet = 'traits' if isinstance(operation, ops.SetTraits) else 'aggregates'
            states[uuid] = replace(states[uuid], **{facet: value})
        case ops.SetInventories(uuid, _, inventories):
            states[uuid] = replace(states[uuid], inventories=inventories)
        case ops.SetAllocations(_, allocated):
            consumers.update((consumer.uuid, consumer) for consumer in allocated)
        case ops.Reshape(changes, moves):
            for change in changes:
                _perform_operation(change, states, consumers)
            consumers.update((change.uuid, change.after) for change in moves)
