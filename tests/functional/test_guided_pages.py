"""Pages that begin with an empty Placement print what they say, command by command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement


@pytest.mark.parametrize(
    ('page', 'commands'),
    [('declare', 10), ('drain', 10), ('healing', 8), ('review', 6), ('what-if', 5), ('check', 5)],
)
def test_a_page(
    page: str,
    commands: int,
    placement: Placement,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (guide.SOURCE / f'{page}.rst').read_text()
    assert guide.follow(text, placement) >= commands
