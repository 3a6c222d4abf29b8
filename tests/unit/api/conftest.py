# SPDX-License-Identifier: Apache-2.0
"""Calls of the Python API, with all that they send."""

from collections.abc import Callable
from typing import Any

import pytest

from placementclient.client import microversion
from placementclient.client.http import Client
from tests.unit.dialogue import Case

Call = Callable[..., Any]


@pytest.fixture
def call(session, service):
    """Calls a function with a client, and compares what was sent with the exchanges given."""

    def run(function, *exchanges, version='1.39'):
        service.answer(*exchanges)
        try:
            return function(Client(session, microversion.parse_version_option(version)))
        finally:
            assert service.requests == Case('', exchanges, version=version).requests()

    return run
