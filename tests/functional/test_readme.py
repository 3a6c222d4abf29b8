"""The tour in the README prints what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement

README = Path(__file__).parents[2] / 'README.rst'
VOLATILE = re.compile(r'(req-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def tour() -> list[tuple[str, str]]:
    """The commands of all console blocks, each with what it prints."""
    blocks = re.findall(
        r'^\.\. code-block:: console\n\n((?:   .*\n|\n)+)', README.read_text(), re.MULTILINE
    )
    lines = [line[3:] for block in blocks for line in block.splitlines() if line.strip()]
    steps: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith('$ '):
            steps.append((line[2:], ''))
        else:
            command, printed = steps[-1]
            steps[-1] = (command, f'{printed}{line}\n')
    return steps


def test_the_tour(placement: Placement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = tour()
    assert len(steps) > 10
    for command, printed in steps:
        program, *argv = shlex.split(command)
        if program == 'cat':
            Path(argv[0]).write_text(printed)
            continue
        _, said = guide.shown(placement, argv)
        assert VOLATILE.sub('ID', said) == VOLATILE.sub('ID', printed), command
