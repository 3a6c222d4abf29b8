# SPDX-License-Identifier: Apache-2.0
"""Checks that a provider and the one that replaces it are of one host. Pure."""

from collections.abc import Iterable, Mapping

from placementclient.basis.wording import format_count
from placementclient.model.providers import make_temporary_name, restore_name
from placementclient.model.servers import is_same_host
from placementclient.model.services import Hypervisor
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.replaced import Irreplaceable, map_replacement


def require_compute_nodes_of_one_host(
    nodes: Iterable[Hypervisor], old_uuid: str, new_uuid: str, name: str, *, is_merge: bool = False
) -> None:
    """Refuse to join two hosts of Nova, and a UUID with which nova-compute would not start.

    By the compute nodes with the two UUIDs:

    ====  ====  ==================================  ======================================
    old   new   further                             verdict
    ====  ====  ==================================  ======================================
    no    no    ``is_merge``                        refused: nothing shows that it is one
    no    no    else                                accepted
    yes   no                                        refused: the new UUID would be a
                                                    duplicate
    yes   yes   the old one is not known to be      refused: it is another host
                down
    any   yes   the new one has another name        refused: check the name
    yes   yes   both have one name and one service  refused: they are in two cells
    any   yes   else                                accepted
    ====  ====  ==================================  ======================================

    :param nodes: all compute nodes of Nova
    :param name: of the new provider after the replacement
    :param is_merge: whether both may be in use, so that Nova has to know the new one
    :raises Irreplaceable: if the compute nodes do not prove that the two are one host
    """
    by_uuid = _index_compute_nodes(nodes)
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


def _index_compute_nodes(nodes: Iterable[Hypervisor]) -> dict[str | None, Hypervisor]:
    """Return compute nodes by UUID; refuse IDs that are numbers: before compute API 2.53."""
    by_uuid = {node.uuid: node for node in nodes}
    if None in by_uuid:
        raise Irreplaceable(
            'The IDs of the hypervisors are numbers, which do not tell hosts apart: list them at '
            'compute API 2.53 or above ("openstack --os-compute-api-version 2.53 hypervisor list '
            '-f json")'
        )
    return by_uuid


def refuse_other_host_in_use(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str) -> None:
    """Refuse a new provider that has consumers of its own and the name of another host.

    :param name: of the new provider after the replacement
    :raises Irreplaceable: counts the consumers
    """
    joined = map_replacement(snapshot, old_uuid, new_uuid, name)
    if new_uuid not in snapshot.providers:
        return
    old, new = joined.states[old_uuid], joined.states[new_uuid]
    if _is_same_host_by_name(new, old, name):
        return
    checked = _find_own_providers(snapshot.tree(new_uuid), old, new, name)
    checked |= {new_uuid, *joined.successors.values()}
    checked -= _find_completed_successors(snapshot, joined.successors, old, new, name)
    of_old = {consumer.uuid for consumer in snapshot.consumers_in(old_uuid)}
    of_new = {consumer.uuid for uuid in checked for consumer in snapshot.consumers_on(uuid)}
    if count := len(of_new - of_old):
        raise Irreplaceable(
            f'{new.name} is in use: {format_count(count, "consumer")} with nothing on {old.name} '
            f'{"has" if count == 1 else "have"} allocations there, and its name is of another '
            'host. Check that both are the same host, then give --merge to join them'
        )


def _find_completed_successors(
    snapshot: Snapshot,
    successors: Mapping[str, str],
    old: ProviderState,
    new: ProviderState,
    final_name: str,
) -> set[str]:
    """Return the UUIDs of the successors that an interrupted replacement has completed.

    A successor is complete once the provider whose place it takes has no inventory and no consumer.
    There is none before ``new`` has its final name, and each provider left in ``old`` a successor.

    :param successors: for each provider that is deleted, the UUID of the one that takes its place
    :param final_name: of the new provider after the replacement
    """
    left = list(snapshot.tree(old.uuid))
    if new.name != final_name or any(state.uuid not in successors for state in left):
        return set()
    return {
        successors[state.uuid]
        for state in left
        if not state.inventories and not snapshot.consumers_on(state.uuid)
    }


def _is_same_host_by_name(new: ProviderState, old: ProviderState, final_name: str) -> bool:
    """Return whether a new provider has the name of the old one's host.

    :param final_name: of the new provider after the replacement
    """
    former = restore_name(old.name, old.uuid)
    if any(is_same_host(restore_name(new.name, uuid), former) for uuid in (old.uuid, new.uuid)):
        return True
    # After an interruption: the old provider was renamed to free this name.
    return new.name == final_name and old.name == make_temporary_name(final_name, old.uuid)


def _find_own_providers(
    tree: Iterable[ProviderState], old: ProviderState, new: ProviderState, final_name: str
) -> set[str]:
    """Return the UUIDs of the children that the new provider had before the replacement began.

    Half way, children of the old one are below it too. They keep their names, or have names that
    begin with ``final_name`` and ``_``.

    :param tree: the new provider and all below it
    """
    of_new = (f'{new.name}:',) if new.name == final_name else (f'{new.name}:', f'{new.name}_')
    of_old = tuple(f'{restore_name(old.name, old.uuid)}{mark}' for mark in ':_')
    return {
        state.uuid
        for state in tree
        if state.name.startswith(of_new) and not state.name.startswith(of_old)
    }
