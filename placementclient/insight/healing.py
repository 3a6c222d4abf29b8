"""The allocations that servers lack, and their owners."""

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

#: Why nothing is written.
LEFT_ALONE, UNKNOWN = 'left alone', 'not known'


@dataclass(frozen=True, slots=True)
class Heal:
    """A server that lacks something in Placement.

    :param lacks: ``'allocations'``, ``'owner'`` or ``'ports'``: resources that its ports require
    :param state: :data:`LEFT_ALONE` or :data:`UNKNOWN` where nothing is to be written, for a reason
    :param consumer: as it should be, where something is to be written
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


def heals(
    snapshot: Snapshot,
    servers: Iterable[Server],
    migrating: Collection[str],
    ports: Ports = MappingProxyType({}),
) -> Iterator[Heal]:
    """Return the servers that lack allocations on their host, their owner, or what ports require.

    As ``nova-manage placement heal_allocations`` (34.0), but without resources whose provider on
    the host is unknown. Old allocations without an owner have a placeholder.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers of which a migration is not over
    """
    for server in servers:
        consumer = snapshot.consumers.get(server.uuid)
        requested = ports.get(server.uuid, ())
        if consumer is None or not consumer.allocations:
            if server.node:
                heal = _judged(snapshot, server, server.node)
                yield _settled(_with_ports(snapshot, heal, requested), migrating)
            continue
        owned = structs.replace(consumer, project_id=server.project_id, user_id=server.user_id)
        if owned != consumer:
            yield _settled(Heal(server, 'owner', consumer=owned), migrating)
        heal = _with_ports(snapshot, Heal(server, 'ports', consumer=owned), requested)
        if heal.consumer != owned:
            yield _settled(heal, migrating)


def _settled(heal: Heal, migrating: Collection[str]) -> Heal:
    """Return a heal, or that its server is left alone at this moment."""
    reason = under_way(heal.server, migrating)
    return Heal(heal.server, heal.lacks, LEFT_ALONE, reason) if reason else heal


def _with_ports(snapshot: Snapshot, heal: Heal, ports: Sequence[Port]) -> Heal:
    """Add the resources of its ports to the desired allocations of a server."""
    consumer, host = heal.consumer, snapshot.named(heal.server.node or '') if ports else None
    if consumer is None or host is None:
        return heal
    tree = list(snapshot.tree(host.provider.root_uuid))
    requested: dict[str, Counter[str]] = {}
    for port in ports:
        for group in port.groups:
            able = _able(tree, port, group)
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


def _able(tree: Iterable[ProviderState], port: Port, group: PortGroup) -> list[ProviderState]:
    """Return Neutron's provider for a group of a port; else all that can serve the group."""
    noted = port.providers.get(group.id)
    return [
        state
        for state in tree
        if state.inventories.keys() >= group.resources.keys()
        and (state.uuid == noted if noted else state.traits >= set(group.required))
    ]


def under_way(server: Server, migrating: Collection[str]) -> str:
    """Return the reason to leave a server alone, or an empty string."""
    return server.under_way or ('a migration is not over' if server.uuid in migrating else '')


def _judged(snapshot: Snapshot, server: Server, node: str) -> Heal:
    def unknown(reason: str) -> Heal:
        return Heal(server, 'allocations', UNKNOWN, reason)

    flavor = server.flavor
    if not flavor:
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
    tree = list(snapshot.tree(host.provider.root_uuid))
    if any(snapshot.unlisted(state.uuid) for state in tree):
        # Allocations from before consumers were recorded, which no request for them shows.
        return unknown(f'{node} has usage that no consumer answers for: it may be its')
    amounts = resources(flavor, boots_from_volume=server.boots_from_volume)
    if not amounts:
        return unknown('its flavor asks for nothing')
    for name in amounts:
        having = [state for state in tree if name in state.inventories]
        if having != [host]:
            several = f'{len(having)} providers of {node} have {name}'
            reason = several if host in having else f'{node} itself has no {name}'
            return replace(unknown(reason), resources=amounts)
    consumer = Consumer(
        server.uuid, {host.uuid: amounts}, server.project_id, server.user_id, type=INSTANCE
    )
    return Heal(server, 'allocations', consumer=consumer, resources=amounts)
