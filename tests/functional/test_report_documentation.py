"""The page on the report prints what it says."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement

PAGE = guide.page('report')


def test_the_examples(
    placement: Placement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(guide.SOURCE / 'examples', tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert guide.written(PAGE, tmp_path) == ['disk.yaml']
    consoles = [block for block in guide.blocks(PAGE) if block.language == 'console']
    for command, printed in (step for block in consoles for step in guide.steps(block)):
        program, *argv = shlex.split(command)
        assert program == 'placement'
        result = placement(*argv)
        assert result.status == 0, command
        assert guide.is_printed(printed, result.stdout), command
    assert 'id="plan"' not in (tmp_path / 'report.html').read_text()
    assert 'id="plan"' in (tmp_path / 'change.html').read_text()
