# SPDX-License-Identifier: Apache-2.0
"""What Nova records of a cloud, as its API and OpenStackClient print it, and damages to lists."""

import random
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.worlds.cloud import Cloud, Flavor, Host, Migration, Server

Record = dict[str, Any]
_STATES = {'SHUTOFF': 'stopped', 'SHELVED': 'shelved', 'SHELVED_OFFLOADED': 'shelved_offloaded',
           'SOFT_DELETED': 'soft-delete', 'DELETED': 'deleted', 'PAUSED': 'paused',
           'SUSPENDED': 'suspended', 'ERROR': 'error', 'RESCUE': 'rescued', 'BUILD': 'building',
           'VERIFY_RESIZE': 'resized'}  # fmt: skip
HOST, NODE = 'OS-EXT-SRV-ATTR:host', 'OS-EXT-SRV-ATTR:hypervisor_hostname'
TASK, STATE = 'OS-EXT-STS:task_state', 'OS-EXT-STS:vm_state'


def moment(hours: float) -> str:
    """Return the time so many hours ago, as Nova writes it."""
    now = datetime.now(UTC) - timedelta(hours=hours)
    return now.strftime('%Y-%m-%dT%H:%M:%SZ')


def flavor_record(flavor: Flavor) -> Record:
    return {
        'original_name': flavor.name, 'vcpus': flavor.vcpus, 'ram': flavor.ram,
        'disk': flavor.disk, 'ephemeral': 0, 'swap': 0, 'extra_specs': dict(flavor.specs),
    }  # fmt: skip


def server_record(server: Server, *, is_earlier: bool = False) -> Record:
    """Return the record of ``GET /servers/detail``, to an administrator."""
    now = (server.status, server.task, server.host, server.updated)
    status, task, host, updated = server.earlier or now if is_earlier else now
    return {
        'id': server.uuid, 'name': f's-{server.uuid[:4]}', 'status': status,
        'tenant_id': server.project, 'user_id': 'u' * 32, 'updated': moment(updated),
        'created': moment(2000), HOST: host and host.service, NODE: host and host.name,
        TASK: task, STATE: _STATES.get(status, 'active'), 'OS-EXT-STS:power_state': 1,
        'flavor': flavor_record(server.flavor),
        'image': '' if server.flavor.from_volume else {'id': server.uuid},
    }  # fmt: skip


def deleted_record(server: Server) -> Record:
    # Nova 34 leaves another state on some servers that are gone.
    moment_of_deletion = 20 * 24 if 'live' in server.shown else server.updated
    return server_record(server) | {
        'status': server.stale, STATE: _STATES.get(server.stale, 'active'),
        'updated': moment(moment_of_deletion),
    }  # fmt: skip


def migration_record(migration: Migration, number: int, *, is_earlier: bool = False) -> Record:
    return {
        'id': number, 'uuid': migration.uuid, 'instance_uuid': migration.server.uuid,
        'source_compute': migration.source.service, 'source_node': migration.source.name,
        'dest_compute': migration.dest.service, 'dest_node': migration.dest.name,
        'dest_host': None, 'old_instance_type_id': 1, 'new_instance_type_id': 1,
        'migration_type': migration.type,
        'created_at': moment(migration.updated + migration.duration),
        'status': migration.earlier if is_earlier else migration.status,
        'updated_at': moment(migration.updated + (0.5 if is_earlier else 0)),
    }  # fmt: skip


def hypervisor_record(host: Host) -> Record:
    return {
        'id': host.uuid, 'hypervisor_hostname': host.name, 'hypervisor_type': host.kind,
        'state': 'up', 'status': 'enabled', 'running_vms': 0, 'host_ip': '192.0.2.1',
        'service': {'id': host.uuid, 'host': host.service, 'disabled_reason': None},
        'vcpus': 640, 'vcpus_used': 0, 'memory_mb': 640_000, 'memory_mb_used': 0,
        'local_gb': 64_000, 'local_gb_used': 0,
    }  # fmt: skip


def live_servers(cloud: Cloud) -> list[Server]:
    return [server for server in cloud.servers if 'live' in server.shown]


def deleted_servers(cloud: Cloud) -> list[Server]:
    return [server for server in cloud.servers if 'deleted' in server.shown]


def migrations(cloud: Cloud, *, is_earlier: bool = False) -> list[Record]:
    shown = [m for m in cloud.migrations if m.is_shown and (m.earlier or not is_earlier)]
    return [migration_record(m, n, is_earlier=is_earlier) for n, m in enumerate(shown)]


def node_record(host: Host, cloud: Cloud) -> Record:
    return {
        'uuid': host.uuid, 'name': f'node-{host.uuid[:4]}', 'maintenance': False,
        'power_state': 'power on', 'provision_state': 'active', 'resource_class': 'baremetal.gold',
        'instance_uuid': cloud.kept_nodes.get(host.uuid),
    }  # fmt: skip


#: The columns of OpenStackClient, by the field of the API.
_SERVER_COLUMNS = {'id': 'ID', 'name': 'Name', 'status': 'Status'}
_LONG_COLUMNS = _SERVER_COLUMNS | {TASK: 'Task State', NODE: 'Host'}
_MIGRATION_COLUMNS = {
    'id': 'Id', 'uuid': 'UUID', 'source_node': 'Source Node', 'dest_node': 'Dest Node',
    'source_compute': 'Source Compute', 'dest_compute': 'Dest Compute', 'status': 'Status',
    'instance_uuid': 'Server UUID', 'migration_type': 'Type', 'created_at': 'Created At',
    'updated_at': 'Updated At',
}  # fmt: skip


def _printed(record: Record, columns: Mapping[str, str]) -> Record:
    """Return a record of the API as OpenStackClient prints it."""
    return {column: record[name] for name, column in columns.items() if name in record}


def documents(cloud: Cloud) -> dict[str, Any]:
    """Return the complete lists, by the name of the option, and ``deleted``."""
    flavors = {server.flavor.name: server.flavor for server in cloud.servers}
    return {
        'servers': [*map(server_record, live_servers(cloud))],
        'deleted': [*map(deleted_record, deleted_servers(cloud))],
        'migrations': migrations(cloud),
        'hypervisors': [*map(hypervisor_record, (*cloud.hosts, *cloud.nodes))],
        'flavors': [
            flavor_record(f) | {'id': name, 'name': name, 'os-flavor-access:is_public': True}
            for name, f in sorted(flavors.items())
        ],
    }


class Damaged:
    """The lists of a cloud, with damages.

    :ivar documents: by the name of the option, and ``deleted``
    """

    def __init__(self, cloud: Cloud, damages: Iterable[str], seed: int) -> None:
        self._cloud, self._dice = cloud, random.Random(seed)
        self.documents = documents(cloud)
        for name, damage in DAMAGES.items():
            if name in damages:
                damage(self)

    def drop(self, name: str) -> None:
        self.documents.pop(name, None)

    def cut(self, name: str) -> None:
        records = self.documents.get(name, [])
        self.keep(name, records[: self._dice.randint(0, len(records))].__contains__)

    def page(self, name: str) -> None:
        link = {'rel': 'next', 'href': f'http://nova.example/v2.1/{name}?marker=a'}
        if name in self.documents:
            records = self.documents[name]
            page = records[: self._dice.randint(0, len(records))]
            self.documents[name] = {name: page, f'{name}_links': [link]}

    def keep(self, name: str, is_kept: Callable[[Record], bool]) -> None:
        """Lose records; of a server that is listed as deleted too, the other one stays."""
        both = {server.uuid for server in self._cloud.servers if len(server.shown) > 1}
        if name in self.documents:
            records = self.documents[name]
            self.documents[name] = [r for r in records if is_kept(r) or r.get('id') in both]

    def lose_fields(self, name: str, *fields: str) -> None:
        for record in self.documents.get(name, ()):
            for field in fields:
                record.pop(field, None)

    def shorten(self) -> None:
        for record in self.documents['servers']:
            record[NODE] = record[NODE] and record[NODE].partition('.')[0]

    def repeat(self, *, is_earlier: bool = False) -> None:
        servers = live_servers(self._cloud)
        if servers:
            again = server_record(self._dice.choice(servers), is_earlier=is_earlier)
            self.documents['servers'].append(again)

    def shuffle(self) -> None:
        for records in self.documents.values():
            self._dice.shuffle(records)

    def join(self) -> None:
        # A list that has a server twice is refused.
        if not any(len(server.shown) > 1 for server in self._cloud.servers):
            self.documents['servers'] += self.documents.pop('deleted', [])

    def age(self) -> None:
        known = [server for server in self._cloud.servers if server.shown and server.earlier]
        servers = {server.uuid: server for server in (*live_servers(self._cloud), *known)}
        records = [server_record(server, is_earlier=True) for server in servers.values()]
        self.documents['servers'] = records

    def age_migrations(self) -> None:
        self.documents['migrations'] = migrations(self._cloud, is_earlier=True)

    def number(self) -> None:
        for number, record in enumerate(self.documents.get('hypervisors', ())):
            record['id'] = number

    def print_by_client(self, columns: Mapping[str, str]) -> None:
        columns_of = {'servers': columns, 'deleted': columns, 'migrations': _MIGRATION_COLUMNS}
        for name in columns_of.keys() & self.documents.keys():
            records = [_printed(record, columns_of[name]) for record in self.documents[name]]
            self.documents[name] = list(filter(None, records)) or self.documents[name]


#: By name, in the order in which they are done.
DAMAGES: dict[str, Callable[[Damaged], None]] = {
    'older': Damaged.age,
    'older migrations': Damaged.age_migrations,
    'cut': lambda it: it.cut('servers'),
    'project': lambda it: it.keep('servers', lambda record: record['tenant_id'][:2] != 'p1'),
    'cell': lambda it: it.keep('servers', lambda record: record[HOST] not in ('hv1', 'hv2')),
    'no soft-deleted': lambda it: it.keep('servers', lambda r: r['status'] != 'SOFT_DELETED'),
    'twice': Damaged.repeat,
    'older twice': lambda it: it.repeat(is_earlier=True),
    'short names': Damaged.shorten,
    'no tasks': lambda it: it.lose_fields('servers', TASK, STATE),
    'no moments': lambda it: it.lose_fields('servers', 'updated'),
    'no hosts': lambda it: it.lose_fields('servers', HOST, NODE),
    'few migrations': lambda it: it.keep('migrations', lambda _: it._dice.random() < 0.6),
    'no migration uuids': lambda it: it.lose_fields('migrations', 'uuid'),
    'no migration moments': lambda it: it.lose_fields('migrations', 'updated_at'),
    'no ends': lambda it: it.lose_fields('migrations', 'dest_compute', 'dest_node'),
    'no migrations': lambda it: it.drop('migrations'),
    'few hypervisors': lambda it: it.cut('hypervisors'),
    'numbered hypervisors': Damaged.number,
    'no hypervisors': lambda it: it.drop('hypervisors'),
    'few flavors': lambda it: it.cut('flavors'),
    'no flavors': lambda it: it.drop('flavors'),
    'no deleted': lambda it: it.drop('deleted'),
    'joined': Damaged.join,
    'order': Damaged.shuffle,
    'client': lambda it: it.print_by_client(_LONG_COLUMNS),
    'client short': lambda it: it.print_by_client(_SERVER_COLUMNS),
    'page': lambda it: it.page('servers'),
    'migrations page': lambda it: it.page('migrations'),
    'hypervisors page': lambda it: it.page('hypervisors'),
}
