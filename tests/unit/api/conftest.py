"""Calls of the Python API, with all that they send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from keystoneauth1.session import Session

from placementclient.client import microversion
from placementclient.client.http import Client
from tests.unit.conftest import Service
from tests.unit.dialogue import Case, Exchange

Call = Callable[..., Any]


@pytest.fixture
def call(session: Session, service: Service) -> Call:
    """Calls a function with a client, and compares what was sent with the exchanges given."""

    def run(function: Callable[[Client], Any], *exchanges: Exchange, version: str = '1.39') -> Any:
        service.answer(*exchanges)
        try:
            return function(Client(session, microversion.requested(version)))
        finally:
            assert service.requests == Case('', exchanges, version=version).requests()

    return run
