# SPDX-License-Identifier: Apache-2.0
"""What commands read beside the answers of the service."""

import io

import pytest


@pytest.fixture(autouse=True)
def _stdin(monkeypatch):
    """An empty object, for ``--file -``; not a terminal."""
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{}'))))
