"""Servers with dedicated CPUs, by their flavors and images."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from placementclient.hosts.assignments import Assignments, Misfit, Results
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.nova.records import ImageRecord
from placementclient.nova.schema import ListRecord, RecordPlace, Text, Values, decoded

SHARED, DEDICATED = 'VCPU', 'PCPU'
_FLAVOR, _IMAGE = 'hw:cpu_policy', 'hw_cpu_policy'


class _FlavorOfServer(msgspec.Struct):
    extra_specs: Values | None = None


class _PinnedServer(ListRecord):
    key = 'servers'

    id: Text
    flavor: _FlavorOfServer | str = ''
    image: ImageRecord | str = ''


def of_servers(
    document: Any, path: str, snapshot: Snapshot, migrations: Sequence[ServerMigration] = ()
) -> Assignments:
    """Return the rows of servers with dedicated CPUs, and of their migrations.

    :param document: what ``GET /servers/detail`` answers, from compute API 2.47 on
    :param snapshot: has the providers of their VCPU
    :param migrations: all that are under way
    :raises errors.BadFile: if the document is something else, or has a server twice
    """
    moving = defaultdict[str, list[str]](list)
    for migration in migrations:
        if migration.uuid and not migration.is_over:
            moving[migration.server_uuid].append(migration.uuid)

    def results() -> Results:
        for place, record in decoded(document, path, _PinnedServer):
            uuid = record.id.lower()
            policy, source = _policy(record, place)
            if policy == 'mixed':
                reason = (
                    f'has the CPU policy "mixed" ({source}): some of its VCPU are PCPU, say which'
                )
                yield Misfit(uuid, reason, path)
            elif policy == 'dedicated':
                yield from _rows(snapshot, uuid, source)
                evidence = f'{source}, migration of server {uuid}'
                for migration_uuid in moving[uuid]:
                    yield from _rows(snapshot, migration_uuid, evidence)

    return Assignments.of(results())


def _policy(record: _PinnedServer, place: RecordPlace) -> tuple[str, str]:
    """Return the CPU policy of a server, and its source; the flavor counts before the image."""
    specs = record.flavor.extra_specs if isinstance(record.flavor, _FlavorOfServer) else None
    if specs is None:
        raise place.error(
            f'server {record.id.lower()} does not say the extra specs of its flavor: list the '
            'servers at compute API 2.47 or later, as an administrator'
        )
    # Servers have the properties of their images from compute API 2.98 on.
    properties = record.image.properties if isinstance(record.image, ImageRecord) else None
    for values, key in ((specs, _FLAVOR), (properties or {}, _IMAGE)):
        if key in values:
            return str(values[key]), f'{key}={values[key]}'
    return '', ''


def _rows(snapshot: Snapshot, consumer_uuid: str, evidence: str) -> Iterator[AssignmentRow]:
    consumer: Consumer | None = snapshot.consumers.get(consumer_uuid)
    for provider_uuid, resources in (consumer.allocations if consumer else {}).items():
        state = snapshot.providers.get(provider_uuid)
        if state is not None and SHARED in resources:
            yield AssignmentRow(
                consumer_uuid, SHARED, None, state.name, evidence, to_resource_class=DEDICATED
            )
