"""What commands read beside the answers of the service."""

from __future__ import annotations

import io

import pytest


@pytest.fixture(autouse=True)
def _stdin(monkeypatch):
    """An empty object, for ``--file -``; not a terminal."""
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{}'))))
