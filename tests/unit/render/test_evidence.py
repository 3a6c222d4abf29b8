# SPDX-License-Identifier: Apache-2.0
"""The evidence of a finding, and a finding as a paragraph."""

import re
from pathlib import Path

import pytest

from placementclient.insight import audit
from placementclient.insight.audit.checks import CHECKS
from placementclient.model import services
from placementclient.model.inventories import Inventory
from placementclient.nova import ratios
from placementclient.render import findings
from placementclient.render.audit_checks import find_check_texts
from placementclient.render.evidence import describe_evidence, list_evidence_sentences

FACT_SOURCES = [*Path(audit.__file__).parent.glob('*.py'), Path(services.__file__)]


def test_a_paragraph_is_as_wide_as_the_terminal_but_for_its_command():
    names = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    command = 'placement resource provider ' + 'word ' * 20 + 'end'
    row = ('orphan', 'error', 's', 'It uses 9.', command, '', 'left to you')
    other = ('doubled', 'info', 't', 'word ' * 20, '', 'look', 'left to you')
    # The most severe comes first.
    lines = list(findings.format_findings(names, [other, row], 40, 'placement'))
    [example] = [line for line in lines if line.startswith('Explain')]
    assert example == 'Explain: placement resource provider audit --explain orphan'
    summary = find_check_texts('orphan')['summary']
    assert lines[0] == 'error orphan s'
    assert lines[1] == f'  {summary}'[: len(lines[1])]
    assert lines.index('  It uses 9.') < lines.index(f'  Run: {command}')
    assert '  Fix: left to you' in lines
    assert '  No automatic fix: look' in lines
    assert all(len(line) <= 40 for line in lines if line not in (f'  Run: {command}', example))


def test_a_paragraph_of_a_fixed_finding_has_no_command():
    names = ('id', 'subject', 'command', 'fix')
    fixes = ['done', 'planned', 'left to you', 'left to you', 'failed: x']
    rows = [('orphan', f's{n}', 'cmd', fix) for n, fix in enumerate(fixes)]
    assert [*findings.format_findings(names, rows, 80, 'placement')] == [
        'orphan s0', '  Fix: done', '',
        'orphan s1', '  Fix: planned', '',
        'orphan s2', '  Run: cmd', '  Fix: left to you', '',
        'orphan s3', '  Run: the command of orphan s2 above', '  Fix: left to you', '',
        'orphan s4', '  Run: the command of orphan s2 above', '  Fix: failed: x',
    ]  # fmt: skip


@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.id)
def test_a_template_names_facts_that_the_checks_make(check):
    """A misspelt key would drop its sentence each time."""
    source = ''.join(p.read_text() for p in FACT_SOURCES)
    sentences = list_evidence_sentences(check.id)
    keys = {key for sentence in sentences for key in re.findall(r'\{(\w+)[.:}]', sentence)}
    assert keys
    unknown = {key for key in keys if f"'{key}'" not in source and f'{key}=' not in source}
    assert unknown <= {*Inventory.__struct_fields__, *ratios.OPTIONS}


@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.id)
def test_an_example_has_the_sentences_of_its_check(check):
    """Each begins with its subject, or with a label, and ends with a full stop."""
    patterns = [
        re.sub(r'\\{.+?\\}', '.+', re.escape(sentence)) + r'[.?]'
        for sentence in list_evidence_sentences(check.id)
    ]
    # A sentence may be left out.
    pattern = ''.join(f'(?:{sentence}(?: |$))?' for sentence in patterns)
    assert re.fullmatch(pattern, find_check_texts(check.id)['example'].strip('`'))
    assert all(re.match('[A-Z{]|nova', sentence) for sentence in list_evidence_sentences(check.id))


HOLDS = {'a': {'MEMORY_MB': 4096, 'VCPU': 2}, 'b': {'VGPU': 1}}
RESIZE = [{'uuid': 'm', 'type': 'resize', 'status': 'done'}, {'type': None, 'status': None}]
CAPACITY = {'resource_class': 'VCPU', 'used': 9, 'capacity': 8}
RATIO = {'resource_class': 'VCPU', 'allocation_ratio': 16.0, 'cpu_allocation_ratio': 8.0}
DRIFT = {'resource_class': 'MEMORY_MB', 'total': 65536, 'hypervisor': 65537}


@pytest.mark.parametrize(
    ('check_id', 'facts', 'text'),
    [
        ('over-capacity', CAPACITY, 'The provider has VCPU 9 in use, and a capacity of 8.'),
        (
            'over-capacity',
            CAPACITY | {'total': 10, 'reserved': 2},
            'The provider has VCPU 9 in use, and a capacity of 8. Of the total of 10, 2 are '
            'reserved.',
        ),
        # What no sentence has follows.
        (
            'aggregate-of-one',
            {'provider': 'host', 'other': 1, 'is_so': True, 'names': [], 'text': ''},
            'Its only member is host. other: 1. is_so: true.',
        ),
        ('unsettled', {'used': 1}, 'used: 1.'),
        (
            'consumer-untyped',
            {'type': None, 'typed': 9, 'of': 10},
            'Of 10 consumers, 9 have a type.',
        ),
        # The usual classes come first, with units in which the amounts are whole.
        (
            'orphan',
            {'type': None, 'holds': HOLDS},
            'The consumer holds VCPU 2, MEMORY_MB 4 GiB on a; VGPU 1 on b. Consumer type: not set.',
        ),
        (
            'orphan',
            {'holds': {name: {'VCPU': 2} for name in 'ab'}, 'migrations': RESIZE},
            'The consumer holds VCPU 2 on each of a, b. Its migrations: resize m (done);  (status '
            'not known).',
        ),
        (
            'inventory-drift',
            DRIFT,
            'The total of MEMORY_MB is 64 GiB in Placement, but 65,537 MiB in Nova.',
        ),
        (
            'ratio-differs',
            RATIO,
            'The allocation ratio of VCPU is 16.0. nova.conf has cpu_allocation_ratio 8.0.',
        ),
        (
            'foreign-owner',
            {'project_id': 'p', 'user_id': 'u', 'owner': {'project_id': None, 'user_id': 'v'}},
            'The allocations belong to the project p and to the user u. The server belongs to the '
            'project nothing and to the user v.',
        ),
        (
            'sharing-alone',
            {'resource_classes': [], 'aggregates': ['a1'], 'aggregate_names': {'a1': 'rack'}},
            'The provider shares nothing, and is alone in a1 (rack).',
        ),
        ('flavor-unplaceable', {'nobody_has': ['Did you mean X?']}, 'Did you mean X?'),
        # Braces in a name are no place.
        ('aggregate-of-one', {'provider': '{x}'}, 'Its only member is {x}.'),
    ],
)
def test_evidence_is_printed_in_sentences(check_id, facts, text):
    assert describe_evidence(check_id, facts) == text
