"""The page on the checks of an audit prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement


def test_the_page(placement: Placement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (guide.SOURCE / 'audit-checks.rst').read_text()
    assert guide.follow(page, placement) == 4
