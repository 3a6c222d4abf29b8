"""The pages on the small cloud, in the order of a reader, print what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement

PAGES = ('capacity', 'prometheus', 'audit', 'snapshots')
EXAMPLES = guide.SOURCE / 'examples'


def steps() -> Iterator[tuple[str, str]]:
    """The commands of all console blocks, each with what it prints."""
    text = ''.join(guide.page(each) for each in PAGES)
    blocks = re.findall(r'^\.\. code-block:: console\n\n((?:   .*\n|\n)+)', text, re.MULTILINE)
    for block in blocks:
        text = '\n'.join(line[3:] for line in block.splitlines())
        for step in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition('\n')
            yield command, printed.strip('\n')


def test_the_examples(
    placement: Placement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / 'cloud.json', tmp_path)
    status = 0
    for command, printed in steps():
        program, *argv = shlex.split(command)
        if program == 'echo':
            assert printed == str(status)
        elif program == 'openstack':
            # What Nova says; listed at this moment.
            shutil.copy(EXAMPLES / argv[-1], tmp_path)
            os.utime(argv[-1])
        else:
            result = placement(*argv)
            status = result.status
            assert (result.stdout + result.stderr).strip('\n') == printed, command
