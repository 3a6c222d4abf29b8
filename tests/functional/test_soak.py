"""The short form of what ``benchmarks/soak.py`` does for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional import stopping
from tests.functional.soaking import soak

pytestmark = pytest.mark.slow


def test_there_and_back_beside_a_writer(tmp_path: Path) -> None:
    with stopping.running(tmp_path) as service:
        figures = soak(service.url, tmp_path, hosts=3, seconds=5)
    assert figures.wrong == []
    assert figures.rounds
    assert figures.snapshots
    assert figures.ended['applied'] >= figures.ended['rolled back'] > 0
