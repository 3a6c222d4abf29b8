# SPDX-License-Identifier: Apache-2.0
"""A plan of changes: one command writes it, another applies it after a review. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.changes.diff import diff
from placementclient.changes.simulation import simulate
from placementclient.changes.transfers import find_successors
from placementclient.model.connected import group_connected_keys
from placementclient.model.plans import (
    Change,
    ConsumerChange,
    Plan,
    find_changed_consumers,
    find_changed_providers,
)
from placementclient.model.shortfalls import find_shortfalls
from placementclient.model.snapshots import ProviderState, Snapshot


def make_plan(command: str, before: Snapshot, after: Snapshot) -> Plan:
    """Return a plan with the changes from one snapshot to another.

    :param command: the command that makes it, without the program
    """
    # With the roots and usages that follow from the operations.
    after = simulate(before, diff(before, after))
    groups = list(_group_trees(before, after))
    owners = {uuid: group for group in groups for uuid in group.changed}
    changes = [_make_change_of_trees(before, after, group, owners) for group in groups]
    changes.sort(key=lambda change: (change.root_provider_name, change.root_provider_uuid))
    return Plan(tuple(changes), command, origin=before.origin)


class _JoinedTrees(NamedTuple):
    """Trees that change together.

    :param roots: the UUIDs of their roots
    :param changed: the UUIDs of their providers that change
    :param used: the UUIDs of all providers on which their consumers hold something
    """

    roots: Sequence[str]
    changed: Sequence[str]
    used: Sequence[str]
    consumer_uuids: Sequence[str]


class _Part(NamedTuple):
    """A part of a change that is made as a whole.

    :param kind: ``provider``, ``consumer``, or ``name`` for a name that goes to another provider
    :param uuid: of the provider or consumer; of the provider that loses the name
    :param successor: the UUID of the provider that gets the name
    """

    kind: str
    uuid: str
    successor: str = ''


def _group_trees(before: Snapshot, after: Snapshot) -> Iterator[_JoinedTrees]:
    """Yield the trees that change, grouped by the parts that concern several of them."""
    pairs = {pair.uuid: pair for pair in find_changed_consumers(before, after)}
    roots = dict(_find_concerned_roots(before, after, pairs))
    for parts in group_connected_keys(roots):
        consumers = [part.uuid for part in parts if part.kind == 'consumer']
        yield _JoinedTrees(
            list(dict.fromkeys(root for part in parts for root in roots[part])),
            [part.uuid for part in parts if part.kind == 'provider'],
            [used for uuid in consumers for used in sorted(pairs[uuid].provider_uuids)],
            consumers,
        )


def _find_concerned_roots(
    before: Snapshot, after: Snapshot, pairs: Mapping[str, ConsumerChange]
) -> Iterator[tuple[_Part, Sequence[str]]]:
    """Yield each part that changes, with the UUIDs of the roots of its trees."""

    def find_roots_of_providers(uuids: Iterable[str]) -> list[str]:
        states = {uuid: _find_states(uuid, before, after) for uuid in uuids}
        roots = {state.provider.root_uuid for sides in states.values() for state in sides}
        return sorted(roots.union(uuid for uuid, sides in states.items() if not sides))

    for uuid in find_changed_providers(before, after):
        yield _Part('provider', uuid), find_roots_of_providers([uuid])
    for uuid, pair in pairs.items():
        changing = {provider_uuid for provider_uuid, _, gain in pair.gains() if gain}
        # Placement judges all that it holds: those that refuse it get temporary inventory.
        changing.update(_find_refusing_providers(before, pair))
        # Only its owner changes: any of its trees will do.
        roots = find_roots_of_providers(changing or pair.provider_uuids)
        yield _Part('consumer', uuid), roots if changing else roots[:1]
    successions = set(find_successors(before, after))
    for uuid, state in after.providers.items():
        holder = before.find_by_name(state.name)
        if holder is not None and holder.uuid != uuid:
            successions.add((holder.uuid, uuid))
    for old, new in sorted(successions):
        yield _Part('name', old, new), find_roots_of_providers([old, new])


def _find_refusing_providers(snapshot: Snapshot, pair: ConsumerChange) -> Iterator[str]:
    """Yield the UUIDs of providers whose units refuse what a consumer gets or keeps there."""
    for uuid, resources in pair.after.allocations.items():
        state = snapshot.providers.get(uuid)
        inventories = state.inventories if state else {}
        for name, amount in resources.items():
            if name in inventories and not inventories[name].admits(amount):
                yield uuid


def _find_states(uuid: str, *sides: Snapshot) -> list[ProviderState]:
    """Return the states of a provider in those snapshots that have it."""
    return [side.providers[uuid] for side in sides if uuid in side.providers]


def _make_change_of_trees(
    before: Snapshot,
    after: Snapshot,
    trees: _JoinedTrees,
    trees_by_provider: Mapping[str, _JoinedTrees],
) -> Change:
    surroundings = _list_with_ancestors(before, after, [*trees.changed, *trees.used])
    # Each provider that changes is in one change.
    uuids = [uuid for uuid in surroundings if trees_by_provider.get(uuid, trees) is trees]
    sides = _cut_snapshot(before, trees, uuids), _cut_snapshot(after, trees, uuids)
    warnings = find_shortfalls(*(side.providers for side in sides))
    names = {state.uuid: state.name for side in reversed(sides) for state in side.roots()}
    roots = [root for root in trees.roots if root in names] or trees.roots
    root = min(roots, key=lambda uuid: names.get(uuid, uuid))
    return Change({root: names.get(root, root)}, *sides, warnings=tuple(warnings))


def _cut_snapshot(snapshot: Snapshot, trees: _JoinedTrees, uuids: Iterable[str]) -> Snapshot:
    """Return the part of a snapshot with some providers, and the consumers of some trees."""
    states = (snapshot.providers.get(uuid) for uuid in uuids)
    consumers = (snapshot.consumers.get(uuid) for uuid in trees.consumer_uuids)
    return Snapshot(filter(None, states), filter(None, consumers))


def _list_with_ancestors(before: Snapshot, after: Snapshot, uuids: Iterable[str]) -> list[str]:
    """Return the UUIDs of providers and of their ancestors, before and after the change."""
    pending, surroundings = list(uuids), dict[str, None]()
    while pending:
        uuid = pending.pop()
        if uuid not in surroundings:
            surroundings[uuid] = None
            parents = (s.provider.parent_provider_uuid for s in _find_states(uuid, before, after))
            pending += filter(None, parents)
    return list(surroundings)
