"""The README prints what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.functional import guide
from tests.functional.conftest import Placement
from tests.unit.commands.test_registry import POINTS, name, parser_of

README = (Path(__file__).parents[2] / 'README.rst').read_text()
PARSERS = {name(point): point for point in POINTS}


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
