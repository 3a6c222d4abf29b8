# SPDX-License-Identifier: Apache-2.0
"""The remaining operations of a change, and the preconditions of an atomic one. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator

from placementclient.changes.atomic_merge import merge_atomic_change
from placementclient.changes.merge import MergeResult, merge
from placementclient.changes.obstacles import make_obstacle
from placementclient.changes.operations import Operation
from placementclient.changes.phases import (
    Phase,
    find_phase,
    is_moved_back,
    is_provider_empty,
    make_preparation,
)
from placementclient.model.findings import Finding
from placementclient.model.plans import Change, ProviderChange
from placementclient.model.snapshots import Snapshot


def merge_change(
    change: Change,
    live: Snapshot,
    sent: Iterable[Operation] | None = None,
    *,
    backward: bool = False,
) -> MergeResult:
    """Return the operations that remain of a change, and the obstacles, as :func:`merge` does.

    An atomic change is one request, after a preparation in steps: new providers, traits and
    aggregates. Once the live inventories show that the request is done, the preparation remains.
    Until then one obstacle stops everything: there are no operations, and only one obstacle is
    returned. Of broken preconditions, an error goes before a warning, which a new plan would take
    into account.

    :param sent: as for :func:`merge`; ignored before the request of an atomic change is done
    :param backward: whether the change is rolled back
    """
    preparation = make_preparation(change)  # None: the change is made in steps
    is_done = is_moved_back(change, live) if backward else find_phase(change, live) is Phase.AFTER
    if preparation is None or is_done:
        part = preparation or change
        return merge(*part.order_snapshots(backward=backward), live, sent, backward=backward)
    merged = merge_atomic_change(
        *change.order_snapshots(backward=backward), live, backward=backward
    )
    broken = (
        _find_newcomer_obstacles(change, live, backward=True)
        if backward
        else _find_broken_preconditions(change, live)
    )
    obstacles = tuple(sorted(broken, key=lambda obstacle: not obstacle.is_error))
    obstacles = (obstacles or merged.obstacles)[:1]
    operations = () if obstacles else merged.operations
    return MergeResult(operations, obstacles, has_pending_request=True)


def _find_broken_preconditions(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield an obstacle for each change of others that the request would overwrite."""
    for provider in change.providers:
        state = live.providers.get(provider.uuid)
        if state is not None and state.name != provider.name:
            # The names that the plan gives may be made of it.
            message = f'{provider.name} is called {state.name} now: plan again'
            yield make_obstacle(provider.name, message)
        elif provider.is_created:
            yield from _find_creation_obstacles(provider, live)
        elif state is None:
            yield make_obstacle(provider.name, f'{provider.name} does not exist any more')
        elif state.inventories != provider.content_before.inventories:
            message = f'the inventories of {provider.name} have changed'
            yield make_obstacle(provider.name, message, is_drift=True)
        yield from _find_tree_obstacles(change, provider, live)
    yield from _find_newcomer_obstacles(change, live)
    yield from _find_consumer_obstacles(change, live)


def _find_creation_obstacles(provider: ProviderChange, live: Snapshot) -> Iterator[Finding]:
    """Yield an obstacle if a provider to create is there, unless it is empty below its parent."""
    name, state = provider.name, live.providers.get(provider.uuid)
    if state is None:
        if namesake := live.find_by_name(name):
            message = f'{name} exists, with the UUID {namesake.uuid}'
            yield make_obstacle(name, message, is_drift=True)
    elif state.provider.parent_provider_uuid != provider.parent_provider_uuid:
        yield make_obstacle(name, f'{name} exists already, below another parent')
    elif not is_provider_empty(live, provider.uuid):
        yield make_obstacle(name, f'{name} exists already, and is not empty')


def _find_newcomer_obstacles(
    change: Change, live: Snapshot, *, backward: bool = False
) -> Iterator[Finding]:
    """Yield an obstacle for each unplanned consumer of a class that moves, or moves back."""
    planned = {consumer.uuid for consumer in change.consumers}.union(change.residents)
    staying = Counter[tuple[str, str, str]]()
    for row in change.reasons:
        if row.from_provider == row.to_provider and row.from_provider is not None:
            staying[row.consumer_uuid, row.from_provider, row.resource_class] += row.amount
    for provider in change.providers:
        shrinking = _list_shrinking_classes(provider, backward=backward)
        if not shrinking:
            continue
        for consumer in live.consumers_on(provider.uuid):
            if consumer.uuid in planned:
                continue
            allocated = consumer.allocations[provider.uuid]
            for name in sorted(shrinking.intersection(allocated)):
                if staying[consumer.uuid, provider.name, name] != allocated[name]:
                    message = f'holds {name} on {provider.name} that it did not'
                    yield _make_consumer_obstacle(consumer.uuid, message)


def _list_shrinking_classes(change: ProviderChange, *, backward: bool) -> set[str]:
    """Return the classes of which the change, or its rollback, leaves less capacity."""
    before, after = change.content_before.inventories, change.content_after.inventories
    if backward:
        before, after = after, before
    return {
        name
        for name, inventory in before.items()
        if name not in after or after[name].capacity < inventory.capacity
    }


def _find_tree_obstacles(
    change: Change, provider: ProviderChange, live: Snapshot
) -> Iterator[Finding]:
    """Yield an obstacle for a provider that is, or would be created, in another tree."""
    state, root_uuid = live.providers.get(provider.uuid), provider.root_provider_uuid
    if state is not None and state.provider.root_uuid != root_uuid:
        yield make_obstacle(
            provider.name,
            f'{provider.name} is now in the tree of {state.provider.root_uuid}',
        )
    parent_uuid = provider.parent_provider_uuid or ''
    is_parent_made = parent_uuid in change.after.providers.keys() - change.before.providers.keys()
    if not provider.is_created or is_parent_made:
        return
    parent = live.providers.get(parent_uuid)
    if parent is None or parent.provider.root_uuid != root_uuid:
        yield make_obstacle(
            provider.name,
            f'{parent_uuid}, below which {provider.name} is to be created, is not in the tree of '
            f'{change.root_provider_name}',
        )


def _find_consumer_obstacles(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield an obstacle for each consumer that has other allocations than when it was planned."""
    for consumer in change.consumers:
        current, planned = live.consumers.get(consumer.uuid), consumer.before.allocations
        allocated = current.allocations if current else {}
        if allocated == planned:
            continue
        names = (
            state.name
            for uuid, state in live.providers.items()
            if allocated.get(uuid) != planned.get(uuid)
        )
        name = next(names, None)
        place = f' on {name}' if name else ''
        message = f'has other allocations{place} than when the plan was made'
        yield _make_consumer_obstacle(consumer.uuid, message)


def _make_consumer_obstacle(uuid: str, message: str) -> Finding:
    """Return the obstacle that others have changed a consumer; apply may plan its tree again."""
    return make_obstacle(f'consumer {uuid}', f'consumer {uuid} {message}', is_drift=True)
