"""Which servers have CPUs of their own, by their flavors and images in the compute API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from placementclient import errors
from placementclient.hosts.assignments import Assigned, Assignments, Misfit
from placementclient.model.consumers import Consumer
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot

SHARED, DEDICATED = 'VCPU', 'PCPU'
_FLAVOR, _IMAGE = 'hw:cpu_policy', 'hw_cpu_policy'


def of_servers(
    document: Any, path: str, snapshot: Snapshot, migrations: Sequence[ServerMigration] = ()
) -> Assignments:
    """The rows of pinned servers, and of the migrations that stand for such servers.

    :param document: what ``GET /servers/detail`` answers, from compute API 2.47 on
    :param path: where it came from
    :param snapshot: tells where they hold VCPU
    :param migrations: all that are under way
    :raises errors.BadFile: if the document is something else
    """
    outcome = Assignments()
    for record in _records(document, path):
        uuid = str(record.get('id') or record.get('ID') or '').lower()
        if not uuid:
            raise errors.BadFile(path, 'a server has no id')
        policy, source = _policy(record, path)
        if policy == 'mixed':
            reason = f'has the CPU policy "mixed" ({source}): some of its VCPU are PCPU, say which'
            outcome.misfits.append(Misfit(uuid, reason, path))
        elif policy == 'dedicated':
            own = [m.uuid for m in migrations if m.server_uuid == uuid and not m.is_over and m.uuid]
            for consumer_uuid in (uuid, *own):
                standing = '' if consumer_uuid == uuid else f', migration of server {uuid}'
                outcome.rows += _rows(snapshot, consumer_uuid, f'{source}{standing}')
    return outcome


def _records(document: Any, path: str) -> Iterable[Mapping[str, Any]]:
    if isinstance(document, Mapping):
        document = document.get('servers')
    if not isinstance(document, list) or not all(isinstance(r, Mapping) for r in document):
        raise errors.BadFile(path, 'not a list of servers')
    return document


def _policy(record: Mapping[str, Any], path: str) -> tuple[str, str]:
    """The CPU policy of a server, and what says so; the flavor counts before the image."""
    flavor = record.get('flavor')
    specs = flavor.get('extra_specs') if isinstance(flavor, Mapping) else None
    if not isinstance(specs, Mapping):
        raise errors.BadFile(
            path,
            f'server {record.get("id")} does not say the extra specs of its flavor: list the '
            'servers at compute API 2.47 or later, as an administrator',
        )
    if _FLAVOR in specs:
        return str(specs[_FLAVOR]), f'{_FLAVOR}={specs[_FLAVOR]}'
    image = record.get('image')
    # From compute API 2.98 on.
    properties = image.get('properties') if isinstance(image, Mapping) else None
    if isinstance(properties, Mapping) and _IMAGE in properties:
        return str(properties[_IMAGE]), f'{_IMAGE}={properties[_IMAGE]}'
    return '', ''


def _rows(snapshot: Snapshot, consumer_uuid: str, evidence: str) -> Iterator[Assigned]:
    consumer: Consumer | None = snapshot.consumers.get(consumer_uuid)
    for provider_uuid, resources in (consumer.allocations if consumer else {}).items():
        state = snapshot.providers.get(provider_uuid)
        if state is not None and SHARED in resources:
            yield Assigned(consumer_uuid, SHARED, None, state.name, evidence, DEDICATED)
