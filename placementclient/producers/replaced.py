# SPDX-License-Identifier: Apache-2.0
"""A cloud after the replacement of one provider by another. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import join_first_sentences
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider, restore_name
from placementclient.model.shortfalls import refuse_unaccounted_usage
from placementclient.model.snapshots import ProviderState, Snapshot


class Irreplaceable(errors.PlacementError):
    """A provider cannot replace another without a loss; nothing was written."""


def replace_provider(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str) -> Snapshot:
    """Return the snapshot with one provider replaced by another.

    The new one has the inventories, traits, aggregates, children and allocations of both; of a
    class that both have, its own inventory. Children whose names begin with the name of the
    provider and ``_`` are renamed with it. If a child of each then has the same name, that of the
    new one replaces the other in the same way.

    For example, ``node1.lan`` with the UUID B replaces ``node1`` with the UUID A. Half way, A and
    its replaced children have names that :func:`make_temporary_name` makes::

        before                         half way                       after
        A   node1                      A   node1 (A)                  B   node1
        A1    node1_gpu                A1    node1_gpu (A1)           B1    node1_gpu
        A2    node1_nic                B   node1                      A2    node1_nic
        B   node1.lan                  B1    node1_gpu
        B1    node1.lan_gpu            A2    node1_nic

    :param snapshot: has the whole trees of both, as far as they exist; also of an interrupted
        replacement
    :param new_uuid: of a provider that exists, or that is created in the place of the old one
    :raises errors.BadArgument: if one of the two is below the other
    :raises Irreplaceable: if a consumer has allocations of the same class on both, or an inventory
        of the new one grants less
    :raises UnaccountedUsage: if there is usage that no consumer accounts for
    """
    joined = map_replacement(snapshot, old_uuid, new_uuid, name)
    successors = joined.successors
    refuse_unaccounted_usage(snapshot, successors)
    states = {**joined.states, **_merge_into_successors(joined.states, successors)}
    moved = (
        _rename_and_reparent(state, joined.names.get(uuid, state.name), successors)
        for uuid, state in states.items()
        if uuid not in successors
    )
    return Snapshot(moved, _move_consumers(snapshot, states, successors), snapshot.origin)


class TreeReplacement(NamedTuple):
    """The providers of a snapshot in which one is to replace another; all keys are UUIDs.

    :param states: before the replacement; the new provider is empty if it does not exist
    :param names: the names after it, of all providers of the two trees
    :param successors: for each provider that is deleted, the UUID of the one that takes its place
    """

    states: Mapping[str, ProviderState]
    names: Mapping[str, str]
    successors: Mapping[str, str]


def map_replacement(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str) -> TreeReplacement:
    """Return the providers of a snapshot with the names and successors after a replacement.

    :param name: of the new provider after the replacement
    :raises errors.BadArgument: if one of the two is below the other
    """
    old = snapshot.providers[old_uuid]
    above = old.provider.parent_provider_uuid
    new = snapshot.providers.get(new_uuid) or ProviderState(Provider(new_uuid, '', 0, above))
    states = {**snapshot.providers, new_uuid: new}
    old_tree = list(snapshot.tree(old_uuid))
    new_tree = list(Snapshot(states.values(), ()).tree(new_uuid))
    for upper, lower, tree in ((old, new, old_tree), (new, old, new_tree)):
        if lower in tree:
            raise errors.BadArgument(
                f'{lower.name} is below {upper.name}: {new.name} cannot replace {old.name}. Give '
                'a provider that is neither above nor below it'
            )
    names_in_old = _map_to_new_names(old_tree, name)
    # Half way, children of the old one are below the new one: node1_nic in the example.
    names_in_new = _map_to_new_names(new_tree, name, restore_name(old.name, old_uuid), name)
    new_by_name = {new_name: uuid for uuid, new_name in names_in_new.items()}
    successors = {
        uuid: new_by_name[new_name]
        for uuid, new_name in names_in_old.items()
        if new_name in new_by_name
    }
    return TreeReplacement(states, names_in_old | names_in_new, successors)


def _map_to_new_names(tree: Sequence[ProviderState], final: str, *others: str) -> dict[str, str]:
    """Return the new names of a provider and of all below it, by UUID.

    A child's name that begins with the name of the provider and ``_`` begins with the new one then.

    :param tree: the provider, then all below it
    :param final: the new name of the provider
    :param others: further names of the provider, with which names of its children may begin
    """
    top, *children = tree
    bases = sorted((restore_name(top.name, top.uuid), *others), key=len, reverse=True)
    names = {top.uuid: final}
    for child in children:
        former = restore_name(child.name, child.uuid)
        base = next((name for name in bases if former.startswith(f'{name}_')), None)
        names[child.uuid] = former if base is None else final + former.removeprefix(base)
    return names


def _merge_into_successors(
    states: Mapping[str, ProviderState], successors: Mapping[str, str]
) -> dict[str, ProviderState]:
    """Return each successor with the contents of the provider whose place it takes, by UUID.

    :raises Irreplaceable: if an inventory of a successor grants less
    """
    result: dict[str, ProviderState] = {}
    lacking = []
    for gone, successor in ((states[uuid], states[successors[uuid]]) for uuid in successors):
        lacking += [
            (successor.name, name, gone.name)
            for name in gone.inventories.keys() & successor.inventories.keys()
            if not successor.inventories[name].covers(gone.inventories[name])
        ]
        result[successor.uuid] = replace(
            successor,
            inventories={**gone.inventories, **successor.inventories},
            traits=gone.traits | successor.traits,
            aggregates=gone.aggregates | successor.aggregates,
        )
    if lacking:
        lacking.sort()
        shown = [f'{new} grants less {name} than {old}' for new, name, old in lacking]
        new, name, _ = lacking[0]
        raise Irreplaceable(
            f'{join_first_sentences(shown)}: compare capacity, min_unit, max_unit and '
            'step_size, and raise them first with "placement resource provider inventory class '
            f'set {new} {name}"'
        )
    return result


def _rename_and_reparent(
    state: ProviderState, name: str, successors: Mapping[str, str]
) -> ProviderState:
    """Return a provider with another name, below the successor of its parent."""
    above = state.provider.parent_provider_uuid
    parent = successors.get(above, above) if above else None
    return replace(state, provider=replace(state.provider, name=name, parent_provider_uuid=parent))


def _move_consumers(
    snapshot: Snapshot, states: Mapping[str, ProviderState], successors: Mapping[str, str]
) -> list[Consumer]:
    """Return all consumers, with the successors in place of deleted providers.

    :raises Irreplaceable: if a consumer has allocations of a class on both
    """
    result, twice = [], []
    for consumer in snapshot.consumers.values():
        allocations: dict[str, dict[str, int]] = {
            uuid: dict(resources)
            for uuid, resources in consumer.allocations.items()
            if uuid not in successors
        }
        for uuid in consumer.allocations.keys() & successors.keys():
            successor_resources = allocations.setdefault(successors[uuid], {})
            sides = f'on {states[uuid].name} and on {states[successors[uuid]].name}'
            for name, amount in consumer.allocations[uuid].items():
                if name in successor_resources:
                    twice.append(f'consumer {consumer.uuid} holds {name} {sides}')
                successor_resources[name] = amount
        result.append(replace(consumer, allocations=allocations))
    if twice:
        raise Irreplaceable(
            f'{join_first_sentences(sorted(twice))}: it is not known which of the two is right. '
            'Take one away first with "placement resource provider allocation unset CONSUMER '
            '--provider PROVIDER"'
        )
    return result
