# SPDX-License-Identifier: Apache-2.0
"""A compute service that answers about a cloud, and lies in the ways that a real one does."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from requests import PreparedRequest
from requests.adapters import HTTPAdapter

from placementclient.embedded import Direct
from tests.simulation import faults
from tests.worlds import lists
from tests.worlds.cloud import Cloud, Server
from tests.worlds.lists import Record

URL = 'http://nova.worlds.example/v2.1'
#: What it may do wrong; ``pages`` and ``unmapped`` are no lies.
LIES = (
    'knows nothing', 'finds nobody', 'cell down', 'drops filters', 'drops uuid', 'drops deleted',
    'drops soft-deleted', 'no migrations', 'pages', 'unmapped', 'forbids', 'fails', 'is late',
)  # fmt: skip
_PAGE = 3
_UNKNOWN = 404, {'itemNotFound': {'code': 404, 'message': 'Not found'}}
_FAILED = 500, {'computeFault': {'code': 500, 'message': 'Unexpected API Error'}}
_FORBIDDEN = 403, {'forbidden': {'code': 403, 'message': 'Policy does not allow it'}}

Answer = tuple[int, Any]


class LyingNova(HTTPAdapter):
    """A compute service, with an Ironic beside it.

    :ivar asked: called before each request
    """

    def __init__(self, cloud: Cloud, lies: Iterable[str]) -> None:
        super().__init__()
        self._cloud, self._lies = cloud, frozenset(lies)
        self.asked: Callable[[], object] = bool
        self.requests: list[str] = []

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Any:
        self.asked()
        self.requests.append(f'{request.method} {request.path_url}')
        parts = urlsplit(request.url)
        version = request.headers.get('OpenStack-API-Version', 'compute 2.1').split()[-1]
        minor = 999 if version == 'latest' else int(version.partition('.')[2])
        path = str(parts.path).removeprefix('/v2.1')
        status, body = self.answer(path, dict(parse_qsl(str(parts.query))), minor)
        return faults.response(request, status, json.dumps(body).encode(), {})

    def _lies_by(self, lie: str) -> bool:
        return lie in self._lies

    def answer(self, path: str, query: dict[str, str], minor: int) -> Answer:
        cloud = self._cloud
        if path == '/nodes/detail':
            return 200, {'nodes': [lists.node_record(node, cloud) for node in cloud.nodes]}
        if self._lies_by('fails'):
            return _FAILED
        if self._lies_by('forbids') and 'detail' not in path:
            return _FORBIDDEN
        if match := re.fullmatch(r'/servers/([\w-]{36})', path):
            return self._server(match[1], minor)
        listing = {
            '/servers/detail': lambda: self._servers(query, minor),
            '/os-migrations': lambda: self._migrations(query),
            '/os-hypervisors/detail': self._hypervisors,
            '/os-services': lambda: self._services(minor),
            '/flavors/detail': lambda: lists.documents(cloud)['flavors'],
        }.get(path)
        key = path.split('/')[1].removeprefix('os-')
        return self._page(path, key, listing(), query) if listing else _UNKNOWN

    def _hypervisors(self) -> list[Record]:
        hosts = [] if self._lies_by('knows nothing') else [*self._cloud.hosts, *self._cloud.nodes]
        return [lists.hypervisor_record(host) for host in hosts if self._answers(host.cell)]

    def _answers(self, cell: str) -> bool:
        return not (self._lies_by('cell down') and cell == 'c1')

    def _servers(self, query: dict[str, str], minor: int) -> list[Record]:
        if self._lies_by('knows nothing'):
            return []
        dropped = self._lies_by('drops filters')
        is_deleted = query.get('deleted', '').lower() in ('true', '1')
        if is_deleted and not dropped and not self._lies_by('drops deleted'):
            records = [*map(lists.deleted_record, self._up(lists.deleted_servers(self._cloud)))]
        else:
            is_soft = 'soft_deleted' in query
            is_soft = is_soft and not (dropped or self._lies_by('drops soft-deleted'))
            servers = [
                server
                for server in self._up(lists.live_servers(self._cloud))
                if is_soft or server.status != 'SOFT_DELETED'
            ]
            late = self._lies_by('is late')
            records = [lists.server_record(server, is_earlier=late) for server in servers]
            # With a filter, or a limit, a cell that is down is passed over without a sign.
            if minor >= 69 and not query.keys() & {'soft_deleted', 'limit', 'marker', 'uuid'}:
                live = lists.live_servers(self._cloud)
                records += [*map(_partial, (s for s in live if s not in servers))]
        uuid = query.get('uuid')
        if uuid and not dropped and not self._lies_by('drops uuid'):
            records = [record for record in records if record['id'] == uuid]
        return records

    def _up(self, servers: Iterable[Server]) -> list[Server]:
        return [server for server in servers if self._answers(server.cell)]

    def _server(self, uuid: str, minor: int) -> Answer:
        if self._lies_by('knows nothing') or self._lies_by('finds nobody'):
            return _UNKNOWN
        live = {server.uuid: server for server in lists.live_servers(self._cloud)}
        server = live.get(uuid)
        if server is None or (server.is_unmapped and self._lies_by('unmapped')):
            return _UNKNOWN
        if not self._answers(server.cell):
            if minor < 69:
                return _FAILED
            return _UNKNOWN if server.status == 'SOFT_DELETED' else (
                200, {'server': _partial(server)}
            )  # fmt: skip
        return 200, {'server': lists.server_record(server)}

    def _migrations(self, query: dict[str, str]) -> list[Record]:
        if self._lies_by('no migrations') or self._lies_by('knows nothing'):
            return []
        late = self._lies_by('is late')
        cells = {m.uuid: m.server.cell for m in self._cloud.migrations}
        records = lists.migrations(self._cloud, is_earlier=late)
        server = query.get('instance_uuid')
        return [
            record
            for record in records
            if self._answers(cells[record['uuid']]) and server in (None, record['instance_uuid'])
        ]

    def _services(self, minor: int) -> list[Record]:
        hosts = {host.service: host for host in (*self._cloud.hosts, *self._cloud.nodes)}
        return [
            {'binary': 'nova-compute', 'host': name, 'state': 'up', 'status': 'enabled',
             'zone': 'nova', 'id': name}
            if self._answers(host.cell)
            else {'binary': 'nova-compute', 'host': name, 'status': 'UNKNOWN'}
            for name, host in hosts.items()
            if minor >= 69 or self._answers(host.cell)
        ]  # fmt: skip

    def _page(self, path: str, key: str, records: list[Record], query: dict[str, str]) -> Answer:
        if not self._lies_by('pages'):
            return 200, {key: records}
        markers = [record.get('uuid') or record['id'] for record in records]
        marker = query.get('marker')
        place = markers.index(marker) + 1 if marker in markers else 0
        page = records[place : place + _PAGE]
        if place + _PAGE >= len(records):
            return 200, {key: page}
        following = urlencode(query | {'marker': markers[place + _PAGE - 1]})
        return 200, {
            key: page, f'{key}_links': [{'rel': 'next', 'href': f'{URL}{path}?{following}'}],
        }  # fmt: skip


def _partial(server: Server) -> Record:
    """Return all that Nova says of a server whose cell is down."""
    return {'id': server.uuid, 'status': 'UNKNOWN', 'tenant_id': server.project,
            'created': lists.moment(2000), 'links': []}  # fmt: skip


class CatalogDirect(Direct):
    """An embedded Placement beside a compute service, both in the catalog of a Keystone."""

    def __init__(self, placement: Direct) -> None:
        super().__init__()
        self._transport = placement._transport

    def get_access(self, session: Any) -> None:
        """Exist, as plugins of Keystone alone have it."""

    def get_endpoint(self, session: Any, **kwargs: Any) -> str | None:
        kind = kwargs.get('service_type', 'placement')
        if kind in ('compute', 'baremetal'):
            return URL
        return super().get_endpoint(session, **kwargs) if kind == 'placement' else None
