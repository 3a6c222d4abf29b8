# SPDX-License-Identifier: Apache-2.0
"""Every command that writes, killed or without an answer at each of its requests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interleavings.acts import Act
from tests.interleavings.running import KILLED, Trace
from tests.interleavings.scenarios import scenarios, writing_commands
from tests.numbers import few_quick

SCENARIOS = scenarios()
PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'lost-answers.rst'
#: Those that write once, and plans; the others write more often, and take longer.
QUICK = [name for name in SCENARIOS if name.startswith(('resource ', 'trait ', 'apply '))]
SLOW = [name for name in SCENARIOS if name not in QUICK]


@pytest.mark.parametrize(
    'names', few_quick([QUICK[::2], QUICK[1::2], SLOW[::2], SLOW[1::2]], quick=2)
)
def test_a_command_that_is_killed_or_gets_no_answer_tells_what_it_did_and_goes_on(names):
    """Each in a process of its own, on the real service: ``python -m tests.interleavings``."""
    command = [sys.executable, '-m', 'tests.interleavings', '--alone', *names]
    explored = subprocess.run(command, capture_output=True, text=True, check=False)
    assert explored.returncode == 0, f'{explored.stdout[-8000:]}\n{explored.stderr[-4000:]}'


def test_every_command_that_writes_is_tried_and_is_on_the_page_of_lost_answers():
    lines = [f'{scenario.line} ' for scenario in SCENARIOS.values()]
    writing = writing_commands()
    assert {name for name in writing if not any(it.startswith(f'{name} ') for it in lines)} == set()
    rows = re.findall(r'^   \* - (``.*?)\n     - ', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert {name for row in rows for name in re.findall('``(.+?)``', row)} == writing


def test_a_printed_trace_can_be_run_again():
    trace = Trace('purge', 3, Act('trait', 'aaaa'), KILLED)
    assert Trace.parsed(str(trace)) == trace
    assert Trace.parsed(str(trace._replace(act=None))).act is None
