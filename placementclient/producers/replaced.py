# SPDX-License-Identifier: Apache-2.0
"""A cloud after the replacement of one provider by another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import counted, first
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider, restore_name, temporary_name
from placementclient.model.servers import is_same_host
from placementclient.model.services import Hypervisor
from placementclient.model.shortfalls import check_accounted
from placementclient.model.snapshots import ProviderState, Snapshot


class Irreplaceable(errors.PlacementError):
    """A provider cannot replace another without a loss; nothing was written."""


def replace_provider(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str) -> Snapshot:
    """Return the snapshot with one provider replaced by another.

    The new one has the inventories, traits, aggregates, children and allocations of both; of a
    class that both have, its own inventory. Children whose names begin with the name of the
    provider and ``_`` are renamed with it. If a child of each then has the same name, that of the
    new one replaces the other in the same way.

    :param snapshot: has the whole trees of both, as far as they exist; also of an interrupted
        replacement
    :param new_uuid: of a provider that exists, or that is created in the place of the old one
    :raises errors.BadArgument: if one of the two is below the other
    :raises Irreplaceable: if a consumer has allocations of the same class on both, or an inventory
        of the new one grants less
    :raises Unaccounted: if there is usage that no consumer accounts for
    """
    states, names, successors = _join_trees(snapshot, old_uuid, new_uuid, name)
    check_accounted(snapshot, successors)
    states |= _merge_states(states, successors)
    moved = (
        _move_state(state, names.get(uuid, state.name), successors)
        for uuid, state in states.items()
        if uuid not in successors
    )
    return Snapshot(moved, _move_consumers(snapshot, states, successors), snapshot.origin)


def check_compute_nodes(
    nodes: Iterable[Hypervisor], old_uuid: str, new_uuid: str, name: str, *, is_merge: bool = False
) -> None:
    """Refuse to join two hosts of Nova, and a UUID with which nova-compute would not start.

    :param nodes: all compute nodes of Nova
    :param name: of the new provider after the replacement
    :param is_merge: whether both may be in use, so that Nova has to know the new one
    :raises Irreplaceable: if the compute nodes do not prove that the two are one host
    """
    by_uuid = _index_nodes(nodes)
    old, new = by_uuid.get(old_uuid), by_uuid.get(new_uuid)
    if is_merge and not (old or new):
        raise Irreplaceable(
            f'Nova has no compute node with the UUID {old_uuid} or {new_uuid}: nothing shows that '
            'both are the same host. --compute-node-exists merges them all the same'
        )
    if old and not new:
        raise Irreplaceable(
            f'Nova has the compute node {old.node} with the UUID {old_uuid}: nova-compute does not '
            f'start with another one ("Duplicate compute node record"). Write {old_uuid} into its '
            'file compute_id, and replace nothing. Or take all servers off the host, and delete '
            'the compute node first: openstack compute service delete. --compute-node-exists goes '
            'on all the same'
        )
    if old and old.is_up is not False:
        seen = 'is up' if old.is_up else 'may be up (the list has no state)'
        raise Irreplaceable(
            f'Nova has the compute node {old.node} with the UUID {old_uuid}, which {seen}: it is '
            f'another host than {name}. If it is not, stop the nova-compute of {old.node} first; '
            'Nova says after a minute that it is down'
        )
    if new and new.node != name:
        raise Irreplaceable(
            f'Nova has the UUID {new_uuid} as {new.node}, not as {name}: check that both are the '
            f'same host, then give --name {new.node}'
        )
    if old and new and (old.node, old.host) == (new.node, new.host):
        raise Irreplaceable(
            f'Nova has two compute nodes called {old.node}, {old_uuid} and {new_uuid}: two hosts, '
            'as each cell may have one of this name. If one of them is gone, delete its compute '
            'service first: openstack compute service delete'
        )


def _index_nodes(nodes: Iterable[Hypervisor]) -> dict[str | None, Hypervisor]:
    """Return compute nodes by UUID.

    :raises Irreplaceable: if their IDs are numbers, as before compute API 2.53
    """
    by_uuid = {node.uuid: node for node in nodes}
    if None in by_uuid:
        raise Irreplaceable(
            'The IDs of the hypervisors are numbers, which do not tell hosts apart: list them at '
            'compute API 2.53 or above ("openstack --os-compute-api-version 2.53 hypervisor list '
            '-f json")'
        )
    return by_uuid


def check_same_host(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str) -> None:
    """Refuse a new provider with consumers of its own that has the name of another host.

    :raises Irreplaceable: if so
    """
    states, _, successors = _join_trees(snapshot, old_uuid, new_uuid, name)
    if new_uuid not in snapshot.providers:
        return
    old, new = states[old_uuid], states[new_uuid]
    if _is_same_host_by_name(new, old, name):
        return
    left = list(snapshot.tree(old_uuid))
    retained = {consumer.uuid for consumer in snapshot.consumers_in(old_uuid)}
    joined = {
        new_uuid,
        *successors.values(),
        *_find_own_providers(snapshot.tree(new_uuid), old, new, name),
    }
    # Allocations move last: when the names are right, and only providers with a successor are left.
    if new.name == name and all(state.uuid in successors for state in left):
        joined -= {
            successors[state.uuid]
            for state in left
            if not (state.inventories or snapshot.consumers_on(state.uuid))
        }
    consumers = {consumer.uuid for uuid in joined for consumer in snapshot.consumers_on(uuid)}
    if number := len(consumers - retained):
        raise Irreplaceable(
            f'{new.name} is in use: {counted(number, "consumer")} with nothing on {old.name} '
            f'{"has" if number == 1 else "have"} allocations there, and its name is of another '
            'host. Check that both are the same host, then give --merge to join them'
        )


def _is_same_host_by_name(new: ProviderState, old: ProviderState, final: str) -> bool:
    """Return whether a new provider has the name of the old one's host.

    :param final: the name of the new provider after the replacement
    """
    former = restore_name(old.name, old.uuid)
    if any(is_same_host(restore_name(new.name, uuid), former) for uuid in (old.uuid, new.uuid)):
        return True
    # After an interruption: the old provider was renamed to free this name.
    return new.name == final and old.name == temporary_name(final, old.uuid)


def _find_own_providers(
    tree: Iterable[ProviderState], old: ProviderState, new: ProviderState, final: str
) -> Iterator[str]:
    """Yield the UUIDs of the providers that were below the new one before the replacement began."""
    # Half way, providers of the old one are below it too. Those keep their names, or have names
    # that begin with the final one and "_".
    ours = (f'{new.name}:',) if new.name == final else (f'{new.name}:', f'{new.name}_')
    theirs = tuple(f'{restore_name(old.name, old.uuid)}{mark}' for mark in ':_')
    for state in tree:
        if state.name.startswith(ours) and not state.name.startswith(theirs):
            yield state.uuid


def _join_trees(
    snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str
) -> tuple[dict[str, ProviderState], dict[str, str], dict[str, str]]:
    """Return by UUID all providers, the new names in both trees, and the successors.

    A successor is the provider that takes the place of one that is deleted.
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
    of_old = _list_new_names(old_tree, name)
    # Half way, some of the old one's are below the new one already, by either name.
    of_new = _list_new_names(new_tree, name, restore_name(old.name, old_uuid), name)
    of_new_by_name = {name: uuid for uuid, name in of_new.items()}
    successors = {
        uuid: of_new_by_name[name] for uuid, name in of_old.items() if name in of_new_by_name
    }
    return states, of_old | of_new, successors


def _list_new_names(tree: Sequence[ProviderState], final: str, *others: str) -> dict[str, str]:
    """Return the new names of a provider and of all below it, by UUID.

    :param others: further names that the names of children may begin with
    """
    top, *children = tree
    bases = sorted((restore_name(top.name, top.uuid), *others), key=len, reverse=True)
    names = {top.uuid: final}
    for child in children:
        former = restore_name(child.name, child.uuid)
        base = next((base_name for base_name in bases if former.startswith(f'{base_name}_')), None)
        names[child.uuid] = former if base is None else final + former.removeprefix(base)
    return names


def _merge_states(
    states: Mapping[str, ProviderState], successors: Mapping[str, str]
) -> dict[str, ProviderState]:
    """Return each successor with the parts that it takes over.

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
            f'{first(shown)}: compare capacity, min_unit, max_unit and step_size, and raise them '
            f'first with "placement resource provider inventory class set {new} {name}"'
        )
    return result


def _move_state(state: ProviderState, name: str, successors: Mapping[str, str]) -> ProviderState:
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
            f'{first(sorted(twice))}: it is not known which of the two is right. Take one away '
            'first with "placement resource provider allocation unset CONSUMER --provider PROVIDER"'
        )
    return result
