"""The README prints what it says, and so does the tour of the first steps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement
from tests.unit.commands.test_registry import POINTS, name, parser_of

README = (Path(__file__).parents[2] / 'README.rst').read_text()
VOLATILE = re.compile(r'(req-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
PARSERS = {name(point): point for point in POINTS}


def test_the_first_steps(
    placement: Placement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = guide.page('first-steps')
    assert guide.written(page, tmp_path) == ['vgpu.yaml']
    consoles = [block for block in guide.blocks(page) if block.language == 'console']
    steps = [step for block in consoles for step in guide.steps(block)]
    assert len(steps) > 10
    for command, printed in steps:
        program, *argv = shlex.split(command)
        assert program == 'placement'
        _, said = guide.shown(placement, argv)
        assert VOLATILE.sub('ID', said) == VOLATILE.sub('ID', printed), command


def test_the_demo_ends_as_shown(placement: Placement) -> None:
    [shown] = [block for block in guide.blocks(README) if block.language == 'text']
    printed = placement('resource', 'provider', 'reshape', 'demo').stdout
    assert len(shown.text.splitlines()) == 10
    assert printed.endswith(shown.text)


def test_the_commands_of_the_table() -> None:
    rows = re.findall(r'^\S.*?  +``(.+?)`` +([a-z-]+)$', README, re.MULTILINE)
    assert len(rows) == 18
    for command, page in rows:
        assert (guide.SOURCE / f'{page}.rst').exists(), page
        typed = shlex.split(command)
        if typed[0] == 'batch':
            continue
        [known] = [each for each in PARSERS if f'{command} '.startswith(f'{each} ')]
        parser_of(PARSERS[known]).parse_args(typed[len(known.split()) :])
        assert known.split()[-1] in guide.page(page), f'{page}: {known}'
