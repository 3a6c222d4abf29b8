# SPDX-License-Identifier: Apache-2.0
"""Fixtures of pytest: ``pytest_plugins = ['placementclient.testing.fixtures']``."""

from collections.abc import Iterator

import pytest
from keystoneauth1.session import Session

from placementclient.client.http import Client
from placementclient.testing import EmbeddedPlacement


@pytest.fixture
def embedded_placement() -> Iterator[EmbeddedPlacement]:
    """A real Placement, empty, for one test."""
    with EmbeddedPlacement() as service:
        yield service


@pytest.fixture
def placement_session(embedded_placement: EmbeddedPlacement) -> Session:
    """A keystoneauth session that reaches the Placement of :func:`embedded_placement`."""
    return embedded_placement.session


@pytest.fixture
def placement_client(embedded_placement: EmbeddedPlacement) -> Client:
    """A client of :func:`embedded_placement`, for the functions of ``placementclient.api``."""
    return embedded_placement.client
