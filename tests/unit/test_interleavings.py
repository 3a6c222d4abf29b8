# SPDX-License-Identifier: Apache-2.0
"""The enumeration of all orders of events has every command that writes."""

from tests.interleavings.acts import Act
from tests.interleavings.running import KILLED, Trace
from tests.interleavings.scenarios import scenarios, writing_commands


def test_every_command_that_writes_has_a_scenario():
    lines = [scenario.line for scenario in scenarios().values()]
    missing = {
        name for name in writing_commands() if not any(line.startswith(name) for line in lines)
    }
    assert not missing


def test_a_trace_is_read_as_it_is_printed():
    trace = Trace('purge', 3, Act('trait', 'aaaa'), KILLED)
    assert Trace.parsed(str(trace)) == trace
    assert Trace.parsed(str(trace._replace(act=None))).act is None
