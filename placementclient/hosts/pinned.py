"""Servers with dedicated CPUs, by their flavors and images."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from placementclient.client import errors
from placementclient.hosts.assignments import Results, misfit
from placementclient.model.assignments import AssignmentRow
from placementclient.model.servers import Server, ServerMigration
from placementclient.model.snapshots import Snapshot

SHARED, DEDICATED = 'VCPU', 'PCPU'
_FLAVOR, _IMAGE = 'hw:cpu_policy', 'hw_cpu_policy'


def of_servers(
    servers: Mapping[str, Server],
    path: str,
    snapshot: Snapshot,
    migrations: Sequence[ServerMigration] = (),
) -> Results:
    """Return the rows of servers with dedicated CPUs, and of their migrations.

    :raises errors.BadFile: if the list does not say the extra specs of flavors
    """
    moving = defaultdict[str, list[str]](list)
    for migration in migrations:
        if migration.uuid and not migration.is_over:
            moving[migration.server_uuid].append(migration.uuid)
    for uuid, server in servers.items():
        policy, source = _policy(server, path)
        if policy == 'mixed':
            reason = f'has the CPU policy "mixed" ({source}): some of its VCPU are PCPU, say which'
            yield misfit(uuid, reason, path)
        elif policy == 'dedicated':
            yield from _rows(snapshot, uuid, source)
            evidence = f'{source}, migration of server {uuid}'
            for migration_uuid in moving[uuid]:
                yield from _rows(snapshot, migration_uuid, evidence)


def _policy(server: Server, path: str) -> tuple[str, str]:
    """Return the CPU policy of a server, and its source; the flavor counts before the image."""
    if server.flavor is None:
        raise errors.BadFile(
            path,
            f'server {server.uuid} does not say the extra specs of its flavor: list the servers '
            'at compute API 2.47 or later, as an administrator',
        )
    # Servers have the properties of their images from compute API 2.98 on.
    for values, key in (
        (server.flavor.extra_specs, _FLAVOR),
        (server.image_properties or {}, _IMAGE),
    ):
        if key in values:
            return values[key], f'{key}={values[key]}'
    return '', ''


def _rows(snapshot: Snapshot, consumer_uuid: str, evidence: str) -> Iterator[AssignmentRow]:
    consumer = snapshot.consumers.get(consumer_uuid)
    for provider_uuid, resources in (consumer.allocations if consumer else {}).items():
        state = snapshot.providers.get(provider_uuid)
        if state is not None and SHARED in resources:
            yield AssignmentRow(
                consumer_uuid, SHARED, None, state.name, evidence, to_resource_class=DEDICATED
            )
