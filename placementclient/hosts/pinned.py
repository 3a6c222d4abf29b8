# SPDX-License-Identifier: Apache-2.0
"""Servers with dedicated CPUs, by their flavors and images."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from placementclient.basis import errors
from placementclient.hosts.assignments import Results, make_contradiction
from placementclient.model.assignments import AssignmentRow
from placementclient.model.servers import Image, Server, ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.nova.images import Images

SHARED, DEDICATED = 'VCPU', 'PCPU'
_FLAVOR, _IMAGE = 'hw:cpu_policy', 'hw_cpu_policy'
#: The class that each policy asks for.
_CLASSES = {'shared': SHARED, 'dedicated': DEDICATED}
_UNKNOWN_IMAGES = Images()
_MIXED, _VOLUME, _UNKNOWN = 'mixed', 'volume', 'unknown'
#: Why a server with another policy has no row.
_REASONS = {
    _MIXED: 'has the CPU policy "mixed" ({}): some of its VCPU are PCPU, say which',
    _VOLUME: 'boots from a volume, and only the volume says if its image has {}: give --images',
    _UNKNOWN: 'may have an image with {}: give --images',
}


def assign_pinned_servers(
    servers: Mapping[str, Server],
    path: str,
    snapshot: Snapshot,
    migrations: Sequence[ServerMigration] = (),
    images: Images = _UNKNOWN_IMAGES,
) -> Results:
    """Yield assignments of servers, and of their migrations, to PCPU or, for shared CPUs, VCPU.

    Servers whose policy is mixed or unknown get a contradiction instead.

    :param path: the file of servers
    :param servers: by UUID
    :param migrations: of which those under way are assigned, too
    :param images: those of servers, as far as they are known
    :raises errors.BadFile: if the list does not say the extra specs of flavors
    """
    moving = defaultdict[str, list[str]](list)
    for migration in migrations:
        if migration.uuid and not migration.is_over:
            moving[migration.server_uuid].append(migration.uuid)
    for uuid, server in servers.items():
        policy, source = _find_cpu_policy(server, path, images.find_image(server)[0])
        consumers = [(uuid, source)]
        consumers += [(m, f'{source}, migration of server {uuid}') for m in moving[uuid]]
        for consumer_uuid, evidence in consumers:
            if policy in _CLASSES:
                yield from _assign_vcpu(snapshot, consumer_uuid, _CLASSES[policy], evidence)
            elif any(_assign_vcpu(snapshot, consumer_uuid, SHARED, evidence)):
                yield make_contradiction(consumer_uuid, _REASONS[policy].format(evidence), path)


def _find_cpu_policy(server: Server, path: str, image: Image | None) -> tuple[str, str]:
    """Return the CPU policy of a server, and the property or extra spec that says it.

    The policy is a key of :data:`_CLASSES` or of :data:`_REASONS`.

    :param image: ``None``: it is not known
    """
    if not server.flavor:
        raise errors.BadFile(
            path,
            f'server {server.uuid} does not say the extra specs of its flavor: list the servers '
            'at compute API 2.47 or later, as an administrator',
        )
    for values, key in (
        (server.flavor.extra_specs, _FLAVOR),
        (image.properties if image else {}, _IMAGE),
    ):
        if key in values:
            policy = values[key].strip().lower()
            return policy if policy in _CLASSES else _MIXED, f'{key}={values[key]}'
    if image is None:
        return _VOLUME if server.boots_from_volume else _UNKNOWN, _IMAGE
    return 'shared', 'no CPU policy'


def _assign_vcpu(
    snapshot: Snapshot, consumer_uuid: str, resource_class: str, evidence: str
) -> Iterator[AssignmentRow]:
    """Yield an assignment to a class for each provider on which a consumer holds VCPU.

    :param evidence: the reason, for the row
    """
    consumer = snapshot.consumers.get(consumer_uuid)
    for provider_uuid, resources in (consumer.allocations if consumer else {}).items():
        state = snapshot.providers.get(provider_uuid)
        if state is not None and SHARED in resources:
            row = AssignmentRow(consumer_uuid, SHARED, None, state.name, evidence)
            yield replace(row, to_resource_class=resource_class)
