# SPDX-License-Identifier: Apache-2.0
"""Databases of the embedded service."""

import pytest

from placementclient import embedded as direct
from tests.functional.embedded.sessions import connect


@pytest.fixture
def scratch():
    with direct.Direct.scratch() as auth:
        yield connect(auth)


@pytest.fixture
def local(tmp_path):
    """The path of the user's own database, which need not exist."""
    return tmp_path / 'data' / 'placementclient' / 'placement.sqlite'


@pytest.fixture
def database(local):
    """A database with a current schema."""
    connect(direct.Direct()).get('/')
    return local
