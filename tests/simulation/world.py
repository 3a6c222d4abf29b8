# SPDX-License-Identifier: Apache-2.0
"""The real service on one database, and the wires on which something happens to requests."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import requests
from keystoneauth1 import noauth
from keystoneauth1.session import Session
from requests.adapters import HTTPAdapter
from sqlalchemy import event, exc

from placementclient.embedded import Direct
from placementclient.embedded.plugin import _Transport
from tests.simulation.state import State

URL = 'http://placement.simulated'
HEADERS = {'X-User-Id': 'admin', 'X-Tenant-Id': 'admin', 'X-Roles': 'admin,service'}


class World:
    """One Placement, which each history finds empty.

    :ivar fails_after: after so many statements the database is gone; ``None``: it is there
    """

    def __init__(self):
        self._direct = Direct.scratch()
        self.transport: Any = self._direct._transport
        service: Any = self._direct.snapshot_reader
        path = Path(self._direct.database.removeprefix('sqlite:///'))
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._empty = self.saved()
        self.fails_after: int | None = None
        event.listen(service._engine, 'before_cursor_execute', self._execute)

    def close(self):
        self._database.close()
        self._direct.close()

    def emptied(self):
        """Forget all that happened."""
        self.fails_after = None
        self.restore(self._empty)

    def saved(self):
        """A copy of all that there is."""
        copy = sqlite3.connect(':memory:', check_same_thread=False)
        self._database.backup(copy)
        return copy

    def restore(self, copy):
        """Let it be as it was."""
        copy.backup(self._database)

    def state(self):
        return State.read(self._database)

    def send(self, request):
        """Have a request answered, at once and truly."""
        request.headers.update(HEADERS)
        answer: requests.Response = self.transport.send(request)
        if answer.ok and request.path_url.startswith('/allocation_candidates'):
            # They come in the order of a set.
            content = answer.json()
            content['allocation_requests'].sort(key=json.dumps)
            answer._content = json.dumps(content).encode()
        return answer

    def call(self, method, path, body=None, version='1.36'):
        """The same by hand: the status and the JSON of the answer."""
        headers = {'OpenStack-API-Version': f'placement {version}', 'Accept': 'application/json'}
        request = requests.Request(method, URL + path, json=body, headers=headers).prepare()
        answer = self.send(request)
        return answer.status_code, answer.json() if answer.content else None

    def _execute(self, _connection, _cursor, statement, *_):
        if self.fails_after is None:
            return
        self.fails_after -= 1
        if self.fails_after < 0 and statement not in ('ROLLBACK', 'COMMIT'):
            lost = sqlite3.OperationalError('unable to open database file')
            raise exc.OperationalError(statement, {}, lost)


class Wire(HTTPAdapter):
    """Carries the requests of an operator over HTTP."""

    def __init__(self, exchange):
        super().__init__()
        self._exchange = exchange

    def send(self, request, *args, **kwargs):
        answer: requests.Response = self._exchange(request)
        return answer


def over_http(exchange):
    """A session whose requests something else answers."""
    session = Session(auth=noauth.NoAuth(endpoint=URL))
    session.session.mount(URL, Wire(exchange))
    # Else it looks for proxies in the environment at each request, which takes a tenth of the time.
    session.session.trust_env = False
    return session


class Embedded(Direct):
    """The embedded service as an operator's own, on the database that all share.

    :param exchange: answers requests
    :param turn: called before something is read from the tables, and around a transaction
    """

    def __init__(self, world, exchange, turn):
        super().__init__()
        self._turn = turn
        self._transport = _Tables(world.transport, exchange, turn)

    @property
    def snapshot_reader(self):
        return self._transport

    @property
    def database(self):
        """What a plan says that it was made of: the same for all operators."""
        return URL

    @contextlib.contextmanager
    def transaction(self):
        with self._turn.transaction(), super().transaction():
            yield


class _Tables(_Transport):
    def __init__(self, transport, exchange, turn):
        super().__init__(transport.get_service)
        self._exchange, self._turn = exchange, turn
        # The world closes the service, not the operator who goes.
        self.get_service = transport.get_service

    def send(self, request, *args, **kwargs):
        answer: requests.Response = self._exchange(request)
        return answer

    def snapshot(self, roots=None, *, types=True):
        self._turn.handover()
        return self.get_service().snapshot(roots, types=types)

    def providers(self, roots):
        self._turn.handover()
        return self.get_service().providers(roots)
