# SPDX-License-Identifier: Apache-2.0
"""The evidence of a finding, and a finding as a paragraph."""

import re
from pathlib import Path

import pytest

from placementclient.insight import audit
from placementclient.insight.audit.checks import CHECKS
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.nova import ratios
from placementclient.render import findings
from placementclient.render.audit_checks import find_check_texts
from placementclient.render.evidence import describe_evidence, list_evidence_clauses
from placementclient.render.facts import Facts, format_evidence
from placementclient.render.repairs import Invocation


def test_evidence_says_what_has_no_value():
    """``type , holds`` is no sentence; for a program it stays as it is."""
    facts = {'type': None, 'holds': {'host': {'VCPU': 2}}, 'aggregates': [], 'used': 0}
    shown = Facts(facts, format_evidence)
    assert shown.human_readable() == 'no type, holds (host (VCPU 2)), no aggregates, used 0'
    assert shown.machine_readable() == facts


def test_a_paragraph_is_as_wide_as_the_terminal_but_for_its_command():
    names = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    command = 'placement resource provider ' + 'word ' * 20 + 'end'
    row = ('orphan', 'error', 's', 'no type, used 9', command, '', 'left to you')
    other = ('doubled', 'error', 't', 'word ' * 20, '', 'look', 'left to you')
    lines = list(findings.format_findings(names, [row, other], 40, 'placement'))
    [example] = [line for line in lines if line.startswith('Explain')]
    assert example == 'Explain: placement resource provider audit --explain orphan'
    assert lines[0] == 'error orphan s'
    assert lines.index('  no type, used 9') < lines.index(f'  Run: {command}')
    assert '  Fix: left to you' in lines
    assert '  No automatic fix: look' in lines
    assert all(len(line) <= 40 for line in lines if line not in (f'  Run: {command}', example))


def test_paragraphs_begin_with_the_most_severe_finding_and_say_what_its_check_finds():
    names = ('id', 'severity', 'subject')
    rows = [('consumer-untyped', 'info', 's'), ('orphan', 'error', 't')]
    lines = list(findings.format_findings(names, rows, 400, 'placement'))
    orphan, untyped = (
        find_check_texts(id)['summary'].replace('``', '') for id in ('orphan', rows[0][0])
    )
    assert lines[:2] == ['error orphan t', f'  {orphan}']
    assert lines[3:5] == ['info consumer-untyped s', f'  {untyped}']


def test_a_paragraph_has_no_command_that_is_done_or_printed_already():
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


def test_evidence_of_a_consumer_without_a_type_is_a_sentence():
    facts = {'type': None, 'typed': 9, 'of': 10}
    finding = Finding('consumer-untyped', 's', facts, severity=Severity.INFO, reason='x')
    _, [row] = findings.list_findings([finding], Invocation('placement'))
    assert row[3].human_readable() == 'no type, although 9 of 10 consumers have one'
    assert row[3].machine_readable() == facts


@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.id)
def test_a_template_names_facts_that_the_checks_make(check):
    """A misspelt key would drop its clause each time."""
    source = ''.join(p.read_text() for p in Path(audit.__file__).parent.glob('*.py'))
    clauses = list_evidence_clauses(check.id)
    keys = {key for clause in clauses for key in re.findall(r'\{(\w+)[:}]', clause)}
    assert keys
    unknown = {key for key in keys if f"'{key}'" not in source and f'{key}=' not in source}
    assert unknown <= {*Inventory.__struct_fields__, *ratios.OPTIONS}


def test_a_clause_without_all_of_its_facts_is_left_out():
    facts = {'resource_class': 'VCPU', 'used': 9, 'capacity': 8}
    short = 'uses 9 VCPU of a capacity of 8'
    assert describe_evidence('over-capacity', facts) == short
    reserved = facts | {'total': 10, 'reserved': 2}
    whole = f'{short}, as 2 of the total of 10 are reserved'
    assert describe_evidence('over-capacity', reserved) == whole


def test_facts_that_no_clause_has_follow_the_sentence():
    facts = {'provider': 'host', 'other': 1, 'names': []}
    sentence = 'its only member is host, other 1, no names'
    assert describe_evidence('aggregate-of-one', facts) == sentence
    assert describe_evidence('unsettled', {'used': 1}) == 'used 1'


def test_amounts_of_several_providers_are_words():
    facts = {'type': None, 'holds': {'a': {'VCPU': 2, 'MEMORY_MB': 4096}, 'b': {'VGPU': 1}}}
    sentence = 'holds VCPU 2, MEMORY_MB 4096 on a and VGPU 1 on b, its type is not set'
    assert describe_evidence('orphan', facts) == sentence


def test_migrations_are_told_without_brackets():
    facts = {'holds': {'a': {'VCPU': 2}}, 'migrations': [{'type': 'resize', 'status': 'done'}]}
    sentence = 'holds VCPU 2 on a, its migrations: type resize, status done'
    assert describe_evidence('orphan', facts) == sentence


def test_a_ratio_of_nova_conf_is_told_as_such():
    facts = {'resource_class': 'VCPU', 'allocation_ratio': 16.0, 'cpu_allocation_ratio': 8.0}
    sentence = 'the allocation ratio of VCPU is 16.0, nova.conf has cpu_allocation_ratio 8.0'
    assert describe_evidence('ratio-differs', facts) == sentence


def test_braces_in_a_name_are_no_place():
    assert describe_evidence('aggregate-of-one', {'provider': '{x}'}) == 'its only member is {x}'
