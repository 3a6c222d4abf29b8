# SPDX-License-Identifier: Apache-2.0
"""The real service, which is asked the same about the same database only once."""

import datetime
import os
import random
import sqlite3
from typing import Any
from unittest import mock

import jsonschema
import requests
from oslo_utils import timeutils

from tests.simulation import faults
from tests.simulation.state import State
from tests.simulation.world import World

#: The pages of a database; equal pages of different databases are one object.
Pages = tuple[bytes, ...]

_PAGE = 4096
#: The bytes of a SQLite file that count its changes, or those of its schema.
_COUNTERS = (24, 40, 92)
#: When other clients write: after every list that an operator has saved.
_LATER = datetime.datetime(2100, 1, 1)
#: The headers on which an answer depends.
HEADERS = ('OpenStack-API-Version', 'Accept')


class RememberingWorld(World):
    """A Placement whose answer and next database follow from its database and the request.

    :ivar content: the present database, which need not be that in the file yet
    """

    def __init__(self) -> None:
        super().__init__()
        # The server checks its own schema at each request.
        jsonschema.Draft202012Validator.check_schema = lambda *_, **__: None  # type: ignore[method-assign]
        self._pages: dict[bytes, bytes] = {}
        self._answers: dict[tuple[object, ...], tuple[requests.Response, Pages]] = {}
        self._states: dict[Pages, State] = {}
        self.content = self._in_file = self._read()

    def send(self, request: requests.PreparedRequest) -> requests.Response:
        headers = (request.headers.get(name) for name in HEADERS)
        key = (self.content, request.method, request.path_url, request.body, *headers)
        if key not in self._answers:
            self._answers[key] = self._sent(request), self._in_file
        answer, self.content = self._answers[key]
        # The product puts its own reader around the body of a response.
        return faults.response(request, answer.status_code, answer.content, answer.headers)

    def call(self, method: str, path: str, body: Any = None, version: str = '1.36') -> Any:
        """Send a request of another client."""
        now = timeutils.utcnow()
        timeutils.set_time_override(_LATER)
        try:
            return super().call(method, path, body, version)
        finally:
            timeutils.set_time_override(now)

    def _sent(self, request: requests.PreparedRequest) -> requests.Response:
        self._write()
        # The chance of the command goes on in the same way if the answer is remembered.
        with mock.patch.object(os, 'urandom', random.Random(request.url).randbytes):
            answer = super().send(request)
        if request.method != 'GET':
            self._in_file = self._read()
        return answer

    def state(self) -> State:
        if self.content not in self._states:
            self._write()
            self._states[self.content] = super().state()
        return self._states[self.content]

    def _read(self) -> Pages:
        content = bytearray(self._database.serialize())
        for place in _COUNTERS:
            content[place : place + 4] = bytes(4)
        starts = range(0, len(content), _PAGE)
        pages = (bytes(content[start : start + _PAGE]) for start in starts)
        return tuple(self._pages.setdefault(page, page) for page in pages)

    def _write(self) -> None:
        """Let the file have the present database."""
        if self._in_file != self.content:
            with sqlite3.connect(':memory:') as copy:
                copy.deserialize(b''.join(self.content))
                self.restore(copy)
            copy.close()
            self._in_file = self.content
