"""The allocations that servers lack, and their owners."""

import enum
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from msgspec import structs

from placementclient.model.consumers import Consumer, Resources
from placementclient.model.nova import INSTANCE
from placementclient.model.servers import Server
from placementclient.model.services import Port, PortGroup
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.server_parts import Refusal
from placementclient.nova.server_request import devices, resources


class HealState(enum.StrEnum):
    PLANNED = 'would heal'
    LEFT_ALONE = 'left alone'
    UNKNOWN = 'not known'


@dataclass(frozen=True, slots=True)
class Heal:
    """A server without allocations, or with another owner in Placement.

    :param reason: why it is left alone, or not known; of what is to be healed, what
        is wrong, if not that it holds nothing
    :param consumer: as it should be; ``None`` where nothing is to be written
    :param resources: what it should hold and does not, on its host
    """

    server: Server
    state: HealState
    reason: str = ''
    consumer: Consumer | None = None
    resources: Resources = field(default_factory=dict)


#: The ports of servers that ask Placement for something, by the UUID of the server.
Ports = Mapping[str, Sequence[Port]]


def missing(
    snapshot: Snapshot,
    servers: Iterable[Server],
    migrating: Collection[str],
    ports: Ports = MappingProxyType({}),
) -> Iterator[Heal]:
    """Return the servers on a host without allocations, and the allocations that each should have.

    As ``nova-manage placement heal_allocations`` (34.0), but that nothing is put on a host of which
    it cannot be known that it is there.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers of which a migration is not over
    :param ports: what they ask for is added, where it is known which provider serves it
    """
    for server in servers:
        consumer = snapshot.consumers.get(server.uuid)
        if server.node is None or (consumer is not None and consumer.allocations):
            continue
        yield _left_alone(server, migrating) or _with_ports(
            snapshot, _judged(snapshot, server, server.node), ports.get(server.uuid, ())
        )


def short_of_ports(
    snapshot: Snapshot,
    servers: Iterable[Server],
    migrating: Collection[str],
    ports: Ports,
) -> Iterator[Heal]:
    """Return the servers that lack resources which their ports require.

    Arguments as of :func:`missing`. The owner is the server's.
    """
    for server in servers:
        consumer = snapshot.consumers.get(server.uuid)
        requested = ports.get(server.uuid)
        if not requested or server.node is None or consumer is None or not consumer.allocations:
            continue
        owned = _owned(consumer, server)
        heal = _left_alone(server, migrating) or _with_ports(
            snapshot, Heal(server, HealState.PLANNED, consumer=owned), requested
        )
        if heal.consumer != owned:
            yield heal


def _with_ports(snapshot: Snapshot, heal: Heal, ports: Sequence[Port]) -> Heal:
    """Add to what a server should hold what its ports ask for."""
    consumer, host = heal.consumer, snapshot.named(heal.server.node or '')
    if not ports or consumer is None or host is None:
        return heal
    tree = list(snapshot.tree(host.provider.root_uuid))
    requested: dict[str, Counter[str]] = {}
    for port in ports:
        for group in port.groups:
            able = _able(tree, port, group)
            if len(able) != 1:
                reason = f'{len(able)} providers of {host.name} can serve its port {port.uuid}'
                return Heal(heal.server, HealState.UNKNOWN, reason)
            requested.setdefault(able[0].uuid, Counter()).update(group.resources)
    classes = {name for amounts in requested.values() for name in amounts}
    allocated = {uuid: Counter(resources) for uuid, resources in consumer.allocations.items()}
    for uuid, amounts in allocated.items():
        if foreign := sorted((classes & amounts.keys()) - requested.get(uuid, Counter()).keys()):
            reason = f'it holds {", ".join(foreign)} on {uuid}, which serves no port of it'
            return Heal(heal.server, HealState.UNKNOWN, reason)
    for uuid, amounts in requested.items():
        allocated[uuid] = allocated.get(uuid, Counter()) | amounts
    allocations = {uuid: dict(amounts) for uuid, amounts in allocated.items()}
    return replace(heal, consumer=structs.replace(consumer, allocations=allocations))


def _able(tree: Iterable[ProviderState], port: Port, group: PortGroup) -> list[ProviderState]:
    """The provider that Neutron has noted for a group of a port; else all that can serve it."""
    noted = port.providers.get(group.id)
    return [
        state
        for state in tree
        if state.inventories.keys() >= group.resources.keys()
        and (state.uuid == noted if noted else state.traits >= set(group.required))
    ]


def disowned(
    snapshot: Snapshot, servers: Iterable[Server], migrating: Collection[str]
) -> Iterator[Heal]:
    """Return the servers whose allocations belong to another project or user.

    This includes old allocations without an owner: the service gave them a placeholder. The rule
    is that of ``nova-manage placement heal_allocations`` (34.0). For the arguments see
    :func:`missing`.
    """
    for server in servers:
        consumer = snapshot.consumers.get(server.uuid)
        owner = server.project_id, server.user_id
        if (
            consumer is None
            or not consumer.allocations
            or (consumer.project_id, consumer.user_id) == owner
        ):
            continue
        belongs = f'it belongs to project {consumer.project_id}, user {consumer.user_id}'
        yield _left_alone(server, migrating) or Heal(
            server, HealState.PLANNED, belongs, _owned(consumer, server)
        )


def _owned(consumer: Consumer, server: Server) -> Consumer:
    return structs.replace(consumer, project_id=server.project_id, user_id=server.user_id)


def _left_alone(server: Server, migrating: Collection[str]) -> Heal | None:
    reason = under_way(server, migrating)
    return Heal(server, HealState.LEFT_ALONE, reason) if reason else None


def under_way(server: Server, migrating: Collection[str]) -> str:
    """Return the reason to leave a server alone, or an empty string.

    :param migrating: as of :func:`missing`
    """
    if server.task:
        return f'it is under way: {server.task}'
    if server.is_resized:
        return 'a resize waits to be confirmed or reverted'
    return 'a migration is not over' if server.uuid in migrating else ''


def _judged(snapshot: Snapshot, server: Server, node: str) -> Heal:
    def unknown(reason: str) -> Heal:
        return Heal(server, HealState.UNKNOWN, reason)

    flavor = server.flavor
    if flavor is None:
        return unknown('its flavor with extra specs is not known')
    try:
        chosen = devices(flavor)
    except Refusal as refusal:
        return unknown(f'Nova refuses its flavor: {refusal}')
    if chosen:
        return unknown(f'which devices it has: {", ".join(chosen)}')
    host = snapshot.named(node)
    if host is None:
        return unknown(f'there is no resource provider {node}')
    if any(snapshot.unlisted(state.uuid) for state in snapshot.tree(host.provider.root_uuid)):
        # Allocations from before consumers were recorded, which no request for them shows.
        return unknown(f'{node} has usage that no consumer answers for: it may be its')
    amounts = resources(flavor, boots_from_volume=server.boots_from_volume)
    if not amounts:
        return unknown('its flavor asks for nothing')
    for name in amounts:
        if reason := _elsewhere(snapshot, host, name):
            return replace(unknown(reason), resources=amounts)
    consumer = Consumer(
        server.uuid, {host.uuid: amounts}, server.project_id, server.user_id, type=INSTANCE
    )
    return Heal(server, HealState.PLANNED, consumer=consumer, resources=amounts)


def _elsewhere(snapshot: Snapshot, host: ProviderState, resource_class: str) -> str:
    """Return the reason why the host itself may not be the provider of a class."""
    having = [
        state
        for state in snapshot.tree(host.provider.root_uuid)
        if resource_class in state.inventories
    ]
    if host not in having:
        return f'{host.name} itself has no {resource_class}'
    if len(having) > 1:
        return f'{len(having)} providers of {host.name} have {resource_class}'
    return ''
