# SPDX-License-Identifier: Apache-2.0
"""The evidence of a finding, and a finding as a paragraph."""

from placementclient.render import findings
from placementclient.render.facts import Facts, evidence


def test_evidence_says_what_has_no_value():
    """``type , holds`` is no sentence; for a program it stays as it is."""
    facts = {'type': None, 'holds': {'host': {'VCPU': 2}}, 'aggregates': [], 'used': 0}
    shown = Facts(facts, evidence)
    assert shown.human_readable() == 'no type, holds (host (VCPU 2)), no aggregates, used 0'
    assert shown.machine_readable() == facts


def test_a_paragraph_is_as_wide_as_the_terminal_but_for_its_command():
    names = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    command = 'placement resource provider ' + 'word ' * 20 + 'end'
    row = ('orphan', 'error', 's', 'no type, used 9', command, '', 'left to you')
    other = ('doubled', 'error', 't', 'word ' * 20, '', 'look', 'left to you')
    lines = list(findings.paragraphs(names, [row, other], 40))
    assert lines[:6] == [
        'error orphan s',
        '  no type, used 9',
        f'  Run: {command}',
        '  Fix: left to you',
        '',
        'error doubled t',
    ]
    assert lines[-1] == '  Left to you: look'
    assert all(len(line) <= 40 for line in lines if line != lines[2])
