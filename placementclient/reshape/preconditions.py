"""The state of a tree that a reshape may start from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from placementclient.api import aggregate, allocation, trait
from placementclient.changes.comparison import LeftAlone
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer
from placementclient.model.plans import ProviderChange, TreeChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reshape.comparison import TreeState


class Drifted(LeftAlone):
    """The tree has changed since the plan, and a new plan may fit."""


def check_places(tree: TreeChange, listed: Mapping[str, Provider]) -> None:
    """Check that every provider of a plan is, or will be, in its planned tree.

    Otherwise a provider would be made below one of another tree, from which no way leads back.

    :param listed: all providers of the trees that the plan concerns, by UUID
    :raises LeftAlone: if one is not
    """
    made = {change.uuid for change in tree.created()}
    for change in tree.providers:
        there = listed.get(change.uuid)
        if there is not None and there.root_provider_uuid not in (None, change.root_provider_uuid):
            raise LeftAlone(f'{change.name} is now in the tree of {there.root_provider_uuid}')
        parent = listed.get(change.parent_provider_uuid or '')
        if not change.is_created or change.parent_provider_uuid in made:
            continue
        if parent is None or parent.root_provider_uuid not in (None, change.root_provider_uuid):
            raise LeftAlone(
                f'{change.parent_provider_uuid}, below which {change.name} is to be made, is not '
                f'in the tree of {tree.root_provider_name}'
            )


def starting_point(client: Client, tree_state: TreeState) -> Snapshot:
    """Return the state that the change starts from, if no relevant value has changed.

    :return: the providers and consumers as they are, with the traits and aggregates that come
    :raises Drifted: if something has changed
    :raises LeftAlone: if it is something that no other plan could take into account
    """
    by_name = {provider.name: provider for provider in tree_state.listed.values()}
    for change in tree_state.tree.providers:
        state = tree_state.live.providers.get(change.uuid)
        if state is None:
            if not change.is_created:
                raise LeftAlone(f'{change.name} does not exist any more')
            if change.name in by_name:
                raise Drifted(f'{change.name} exists, with the UUID {by_name[change.name].uuid}')
            continue
        if state.name != change.name:
            # The names that the plan gives may be made of it.
            raise LeftAlone(f'{change.name} is called {state.name} now: plan again')
        if change.is_created:
            _check_empty(tree_state, change)
        elif state.inventories != change.content_before.inventories:
            raise Drifted(f'the inventories of {change.name} have changed')
        _check_newcomers(tree_state, change)
    check_places(tree_state.tree, tree_state.listed)
    consumers = list(_consumers(client, tree_state))
    return Snapshot(_states(client, tree_state), consumers)


def _check_empty(tree_state: TreeState, change: ProviderChange) -> None:
    provider = tree_state.live.providers[change.uuid].provider
    if provider.parent_provider_uuid != change.parent_provider_uuid:
        raise LeftAlone(f'{change.name} exists already, below another parent')
    if not tree_state.is_empty(change.uuid):
        raise LeftAlone(f'{change.name} exists already, and is not empty')


def _shrinking_classes(change: ProviderChange) -> set[str]:
    """The classes of which there is less on a provider afterwards: who holds them matters."""
    before, after = change.content_before.inventories, change.content_after.inventories
    return {
        name
        for name, inventory in before.items()
        if name not in after or after[name].capacity < inventory.capacity
    }


def _check_newcomers(tree_state: TreeState, change: ProviderChange) -> None:
    """Refuse a consumer that holds a class that moves away in a way that the plan does not know.

    Those whose allocations are to change are looked at elsewhere.
    """
    tree = tree_state.tree
    known = {consumer.uuid for consumer in tree.consumers}.union(tree.residents)
    staying: dict[tuple[str, str], int] = {}
    for row in tree.rows:
        if row.from_provider == change.name:
            key = (row.consumer_uuid, row.resource_class)
            staying[key] = staying.get(key, 0) + row.amount
    moving = _shrinking_classes(change)
    for consumer in tree_state.live.consumers_on(change.uuid):
        held = consumer.allocations[change.uuid]
        for name in () if consumer.uuid in known else moving.intersection(held):
            if staying.get((consumer.uuid, name)) != held[name]:
                raise Drifted(
                    f'consumer {consumer.uuid} holds {name} on {change.name} that it did not'
                )


def _consumers(client: Client, tree_state: TreeState) -> Iterator[Consumer]:
    """Return the consumers as they are; refuse one that holds something else than it did."""
    for consumer in tree_state.tree.consumers:
        current = tree_state.live.consumers.get(consumer.uuid)
        moved = current is not None and current.generation != consumer.before.generation
        for uuid, state in tree_state.providers.items():
            held = tree_state.held(consumer.uuid, uuid)
            if held != consumer.before.allocations.get(uuid, {}):
                raise Drifted(f'consumer {consumer.uuid} does not hold on {state.name} what it did')
        if not tree_state.is_whole or current is None:
            is_needed = moved or tree_state.is_whole
            current = allocation.show(client, consumer.uuid).value if is_needed else None
        if current is None:
            current = consumer.before
        elif current.allocations != consumer.before.allocations:
            raise Drifted(f'consumer {consumer.uuid} does not hold what it did')
        yield current


def _states(client: Client, tree_state: TreeState) -> Iterator[ProviderState]:
    """Read the traits and aggregates that are to change, so that those of others are kept.

    The generation stays the one of the look, so that a conflict shows if the provider has moved.
    """
    is_reshaped = bool(tree_state.tree.consumers) or tree_state.tree.changes_inventories
    for change in tree_state.tree.providers:
        state = tree_state.live.providers.get(change.uuid)
        if state is None:
            continue
        if tree_state.is_whole:
            yield state
            continue
        before, after = change.content_before, change.content_after
        state = replace(state, traits=before.traits, aggregates=before.aggregates)
        # Traits that only go are read when they go: after the reshape, if there is one.
        if not after.traits <= before.traits or (after.traits != before.traits and not is_reshaped):
            traits = trait.list_of_provider(client, change.uuid).value
            state = replace(state, traits=frozenset(traits))
        if before.aggregates != after.aggregates:
            aggregates = aggregate.list(client, change.uuid).value
            state = replace(state, aggregates=frozenset(aggregates))
        yield state
