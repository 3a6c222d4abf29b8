"""What servers without allocations should hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from placementclient.model.consumers import Consumer, Resources
from placementclient.model.nova import INSTANCE
from placementclient.model.servers import ServerDetail
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.resource_request import devices, resources

#: The states of a heal.
PLANNED, LEFT_ALONE, UNKNOWN = 'would heal', 'left alone', 'not known'
HEALED, FAILED = 'healed', 'failed'


@dataclass(frozen=True, slots=True)
class Heal:
    """A server that holds nothing.

    :param consumer: with what it should hold; ``None`` where nothing is to be written
    :param state: one of the constants of this module
    :param reason: why it is left alone, or not known, or has failed
    """

    server: ServerDetail
    state: str
    reason: str = ''
    consumer: Consumer | None = None
    resources: Resources = field(default_factory=dict)


def missing(
    snapshot: Snapshot, servers: Iterable[ServerDetail], migrating: Collection[str]
) -> Iterator[Heal]:
    """The servers that hold nothing though they are on a host, and what each should hold.

    As ``nova-manage placement heal_allocations`` (34.0), but that nothing is put on a host of which
    it cannot be known that it is there.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers of which a migration is not over
    """
    for server in servers:
        held = snapshot.consumers.get(server.uuid)
        if server.node is None or (held is not None and held.allocations):
            continue
        reason = _under_way(server, migrating)
        if reason:
            yield Heal(server, LEFT_ALONE, reason)
        else:
            yield _judged(snapshot, server, server.node)


def _under_way(server: ServerDetail, migrating: Collection[str]) -> str:
    if server.task:
        return f'it is under way: {server.task}'
    if server.is_resized:
        return 'a resize waits to be confirmed or reverted'
    return 'a migration is not over' if server.uuid in migrating else ''


def _judged(snapshot: Snapshot, server: ServerDetail, node: str) -> Heal:
    flavor = server.flavor
    if flavor is None:
        return Heal(server, UNKNOWN, 'its flavor with extra specs is not known')
    chosen = devices(flavor)
    if chosen:
        return Heal(server, UNKNOWN, f'which devices it has: {", ".join(chosen)}')
    host = snapshot.named(node)
    if host is None:
        return Heal(server, UNKNOWN, f'there is no resource provider {node}')
    held = resources(flavor, boots_from_volume=server.boots_from_volume)
    if not held:
        return Heal(server, UNKNOWN, 'its flavor asks for nothing')
    for name in held:
        reason = _elsewhere(snapshot, host, name)
        if reason:
            return Heal(server, UNKNOWN, reason, resources=held)
    consumer = Consumer(
        server.uuid, {host.uuid: held}, server.project_id, server.user_id, type=INSTANCE
    )
    return Heal(server, PLANNED, consumer=consumer, resources=held)


def _elsewhere(snapshot: Snapshot, host: ProviderState, resource_class: str) -> str:
    """Why it is not known that a class is held on the host itself."""
    root = host.provider.root_provider_uuid or host.uuid
    having = [state for state in snapshot.tree(root) if resource_class in state.inventories]
    if host not in having:
        return f'{host.name} itself has no {resource_class}'
    if len(having) > 1:
        return f'{len(having)} providers of {host.name} have {resource_class}'
    return ''
