"""Servers with dedicated CPUs, by their flavors and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from placementclient.hosts.assignments import Assignments, Misfit
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.nova import schema

SHARED, DEDICATED = 'VCPU', 'PCPU'
_FLAVOR, _IMAGE = 'hw:cpu_policy', 'hw_cpu_policy'


def of_servers(
    document: Any, path: str, snapshot: Snapshot, migrations: Sequence[ServerMigration] = ()
) -> Assignments:
    """Return the rows of servers with dedicated CPUs, and of their migrations.

    :param document: what ``GET /servers/detail`` answers, from compute API 2.47 on
    :param path: where it came from
    :param snapshot: has the providers of their VCPU
    :param migrations: all that are under way
    :raises errors.BadFile: if the document is something else, or has a server twice
    """
    outcome = Assignments()
    standing: dict[str, list[str]] = {}
    for migration in migrations:
        if migration.uuid and not migration.is_over:
            standing.setdefault(migration.server_uuid, []).append(migration.uuid)
    for place, record in schema.decoded(
        document, 'servers', path, schema.ServerRecord, lambda r: (r.server_uuid,)
    ):
        uuid = place.required('ID', record.server_uuid)
        policy, source = _policy(record, place)
        if policy == 'mixed':
            reason = f'has the CPU policy "mixed" ({source}): some of its VCPU are PCPU, say which'
            outcome.misfits.append(Misfit(uuid, reason, path))
        elif policy == 'dedicated':
            outcome.rows += _rows(snapshot, uuid, source)
            for migration_uuid in standing.get(uuid, ()):
                evidence = f'{source}, migration of server {uuid}'
                outcome.rows += _rows(snapshot, migration_uuid, evidence)
    return outcome


def _policy(record: schema.ServerRecord, place: schema.RecordPlace) -> tuple[str, str]:
    """The CPU policy of a server, and what says so; the flavor counts before the image."""
    specs = None
    if isinstance(record.flavor, Mapping):
        specs = schema.convert(record.flavor, schema.FlavorRecord, place).extraspecs
    if not isinstance(specs, Mapping):
        raise place.error(
            f'server {record.server_uuid} does not say the extra specs of its flavor: list the '
            'servers at compute API 2.47 or later, as an administrator'
        )
    if _FLAVOR in specs:
        return str(specs[_FLAVOR]), f'{_FLAVOR}={specs[_FLAVOR]}'
    # From compute API 2.98 on.
    properties = record.image.properties if isinstance(record.image, schema.ImageRecord) else None
    if properties and _IMAGE in properties:
        return str(properties[_IMAGE]), f'{_IMAGE}={properties[_IMAGE]}'
    return '', ''


def _rows(snapshot: Snapshot, consumer_uuid: str, evidence: str) -> Iterator[AssignmentRow]:
    consumer: Consumer | None = snapshot.consumers.get(consumer_uuid)
    for provider_uuid, resources in (consumer.allocations if consumer else {}).items():
        state = snapshot.providers.get(provider_uuid)
        if state is not None and SHARED in resources:
            yield AssignmentRow(
                consumer_uuid, SHARED, None, state.name, evidence, to_resource_class=DEDICATED
            )
