# SPDX-License-Identifier: Apache-2.0
"""The allocations that servers lack, and their owners."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from msgspec import structs

from placementclient.insight.amounts import (
    NO_DEVICES,
    UnknownAmounts,
    compare_amounts,
    correct_amounts,
)
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.network import Port, PortGroup
from placementclient.model.nova import INSTANCE
from placementclient.model.servers import Server
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.server_parts import Refusal
from placementclient.nova.server_request import find_device_requests, sum_flavor_amounts
from placementclient.placing.providers import is_sharing

#: Why nothing is written.
LEFT_ALONE, UNKNOWN = 'left alone', 'not known'


@dataclass(frozen=True, slots=True)
class Heal:
    """A server that lacks something in Placement.

    :param lacks: ``'allocations'``, ``'owner'``, ``'ports'``: resources that its ports require, or
        ``'amounts'``: those of its flavor
    :param state: :data:`LEFT_ALONE` or :data:`UNKNOWN` where nothing is to be written, for a reason
    :param consumer: the consumer as it should be; ``None`` if nothing is to be written
    :param resources: the missing amounts on its host
    """

    server: Server
    lacks: str
    state: str = ''
    reason: str = ''
    consumer: Consumer | None = None
    resources: Resources = field(default_factory=dict)


#: The ports of servers that ask Placement for something, by the UUID of the server.
Ports = Mapping[str, Sequence[Port]]


def find_heals(
    snapshot: Snapshot,
    servers: Iterable[Server],
    migrating: Collection[str],
    ports: Ports = MappingProxyType({}),
    *,
    amounts: bool = False,
    shared_names: Collection[str] = (),
) -> Iterator[Heal]:
    """Yield the servers without allocations on their host, their owner, or their ports' resources.

    As ``nova-manage placement heal_allocations`` (34.0), but without resources whose provider on
    the host is unknown. Old allocations without an owner have a placeholder.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers of which a migration is not over
    :param amounts: whether a server should hold on its host what its flavor asks for
    :param shared_names: the names that several hosts of Nova have, in different cells
    :param ports: by the UUID of the server, its ports that ask for resources
    """
    for server in servers:
        if server.is_deleted:
            continue
        consumer = snapshot.consumers.get(server.uuid)
        requested = ports.get(server.uuid, ())
        if consumer is None or not consumer.allocations:
            if server.node:
                heal = _make_allocations_heal(snapshot, server, server.node)
                if server.node in shared_names:
                    reason = f'Nova has several hosts called {server.node}, in different cells'
                    heal = Heal(server, heal.lacks, UNKNOWN, reason)
                yield _leave_if_moving(_add_port_resources(snapshot, heal, requested), migrating)
            continue
        owned = structs.replace(consumer, project_id=server.project_id, user_id=server.user_id)
        if owned != consumer:
            yield _leave_if_moving(Heal(server, 'owner', consumer=owned), migrating)
        heal = _add_port_resources(snapshot, Heal(server, 'ports', consumer=owned), requested)
        if heal.consumer != owned:
            yield _leave_if_moving(heal, migrating)
        if amounts:
            yield from _find_amounts_heal(snapshot, server, heal.consumer or owned, migrating)


def make_amounts_heal(snapshot: Snapshot, server: Server, consumer: Consumer) -> Heal:
    """Return a server with the amounts that its flavor asks for, or why they are not known."""
    host = snapshot.find_by_name(server.node or '')
    reason = ''
    if not server.is_settled:
        reason = f'its state is {server.state}'
    elif host is None or not _is_on_host(snapshot, host, consumer):
        reason = f'it has allocations on a host that is not its own, {server.node}'
    try:
        after = correct_amounts(snapshot, server, consumer)
    except UnknownAmounts as failure:
        reason = reason or str(failure)
    if reason:
        return Heal(server, 'amounts', UNKNOWN, reason)
    return Heal(server, 'amounts', consumer=after)


def _find_amounts_heal(
    snapshot: Snapshot, server: Server, consumer: Consumer, migrating: Collection[str]
) -> Iterator[Heal]:
    """Yield the heal of a server whose amounts are not known to be those of its flavor.

    :param migrating: the UUIDs of the servers of which a migration is not over
    """
    try:
        is_right = not compare_amounts(server, consumer)
    except UnknownAmounts:
        is_right = False
    if not is_right:
        yield _leave_if_moving(make_amounts_heal(snapshot, server, consumer), migrating)


def _is_on_host(snapshot: Snapshot, host: ProviderState, consumer: Consumer) -> bool:
    """Return True if all allocations of a consumer are on a host and on sharing providers.

    :param host: the root of the host
    """
    states = [snapshot.providers.get(uuid) for uuid in consumer.allocations]
    roots = {s.provider.root_uuid for s in states if s and not is_sharing(s)}
    return None not in states and roots == {host.uuid}


def _leave_if_moving(heal: Heal, migrating: Collection[str]) -> Heal:
    """Return a heal; if its server may be moving now, one that changes nothing.

    :param migrating: the UUIDs of the servers of which a migration is not over
    """
    reason = explain_movement(heal.server, migrating)
    return Heal(heal.server, heal.lacks, LEFT_ALONE, reason) if reason else heal


def _add_port_resources(snapshot: Snapshot, heal: Heal, ports: Sequence[Port]) -> Heal:
    """Return a heal in which the server also gets the resources of its ports.

    :param heal: has the desired allocations so far
    :param ports: of the server
    """
    consumer, host = heal.consumer, snapshot.find_by_name(heal.server.node or '') if ports else None
    if consumer is None or host is None:
        return heal
    tree = list(snapshot.tree(host.provider.root_uuid))
    requested: dict[str, Counter[str]] = {}
    for port in ports:
        for group in port.groups_with_amounts:
            able = _find_able_providers(tree, port, group)
            if len(able) != 1:
                reason = f'{len(able)} providers of {host.name} can serve its port {port.uuid}'
                return Heal(heal.server, heal.lacks, UNKNOWN, reason)
            requested.setdefault(able[0].uuid, Counter()).update(group.resources)
    classes = {name for amounts in requested.values() for name in amounts}
    allocated = {uuid: Counter(resources) for uuid, resources in consumer.allocations.items()}
    for uuid, amounts in allocated.items():
        if foreign := sorted((classes & amounts.keys()) - requested.get(uuid, Counter()).keys()):
            reason = f'it holds {", ".join(foreign)} on {uuid}, which serves no port of it'
            return Heal(heal.server, heal.lacks, UNKNOWN, reason)
    for uuid, amounts in requested.items():
        allocated[uuid] = allocated.get(uuid, Counter()) | amounts
    allocations = {uuid: dict(amounts) for uuid, amounts in allocated.items()}
    return replace(heal, consumer=structs.replace(consumer, allocations=allocations))


def _find_able_providers(
    tree: Iterable[ProviderState], port: Port, group: PortGroup
) -> list[ProviderState]:
    """Return the provider that Neutron recorded for a port's group, or all that can serve it."""
    noted = port.providers.get(group.id)
    return [
        state
        for state in tree
        if state.inventories.keys() >= group.resources.keys()
        and (state.uuid == noted if noted else state.traits >= set(group.required))
    ]


def explain_movement(server: Server, migrating: Collection[str]) -> str:
    """Return the reason why a server may be moving now; empty if it is not.

    :param migrating: the UUIDs of the servers of which a migration is not over
    """
    return server.departure_reason or (
        'a migration is not over' if server.uuid in migrating else ''
    )


def _make_allocations_heal(snapshot: Snapshot, server: Server, node: str) -> Heal:
    """Return a server with the allocations that are due on a node, or why they are not known.

    :param node: the name of the node
    """

    def make_unknown(reason: str) -> Heal:
        return Heal(server, 'allocations', UNKNOWN, reason)

    flavor = server.flavor
    if not flavor:
        return make_unknown('its flavor with extra specs is not known')
    try:
        chosen = find_device_requests(flavor)
    except Refusal as refusal:
        return make_unknown(f'Nova refuses its flavor: {refusal}')
    if chosen:
        return make_unknown(NO_DEVICES.format(', '.join(chosen)))
    host = snapshot.find_by_name(node)
    if host is None:
        return make_unknown(f'there is no resource provider {node}')
    tree = list(snapshot.tree(host.provider.root_uuid))
    if any(snapshot.unlisted_usages(state.uuid) for state in tree):
        # Allocations from before consumers were recorded, which no request for them shows.
        return make_unknown(f'{node} has usage without a consumer, which may be of this server')
    amounts = sum_flavor_amounts(flavor, boots_from_volume=server.boots_from_volume)
    if not amounts:
        return make_unknown('its flavor asks for nothing')
    for name in amounts:
        having = [state for state in tree if name in state.inventories]
        if having != [host]:
            several = f'{len(having)} providers of {node} have {name}'
            reason = several if host in having else f'{node} itself has no {name}'
            return replace(make_unknown(reason), resources=amounts)
    consumer = Consumer(
        server.uuid, {host.uuid: amounts}, server.project_id, server.user_id, type=INSTANCE
    )
    return Heal(server, 'allocations', consumer=consumer, resources=amounts)
