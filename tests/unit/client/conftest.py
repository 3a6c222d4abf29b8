# SPDX-License-Identifier: Apache-2.0
"""What the tests of the client share."""

import threading
from contextlib import ExitStack

import pytest

from tests.unit.client.servers import Server


@pytest.fixture
def serve(monkeypatch):
    """Start servers that answer each request by a function."""
    monkeypatch.setenv('NO_PROXY', '*')
    with ExitStack() as stack:

        def start(answer):
            server = stack.enter_context(Server(answer))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.shutdown)
            return server

        yield start
