"""Rules about what is really there, and about what a plan would make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placementclient.client.http import Client
from placementclient.snapshot import capture
from tests.functional import clouds
from tests.functional.conftest import Placement

#: Two rules that the cloud below breaks, and one that a plan for it would break.
RULES = """\
- {rule: ratio, hosts: all, inventories: {VCPU: {allocation_ratio: 4.0}}}
- {rule: room, fits: {resources: {VGPU: 1}, count: '>= 13'}}
- {rule: servers, hosts: all, consumers: '<= 3'}
- {rule: enabled, hosts: all, traits: {forbidden: [COMPUTE_STATUS_DISABLED]}}
"""
CHECK = 'resource provider check rules.yaml -f json'


@pytest.fixture(autouse=True)
def cloud(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts with three consumers each, and rules in a file."""
    monkeypatch.chdir(tmp_path)
    clouds.loaded(client, clouds.cloud(2, 2))
    Path('rules.yaml').write_text(RULES)


def broken(placement: Placement, options: str = '') -> list[tuple[str, str]]:
    result = placement(f'{CHECK} {options}')
    rows = json.loads(result.stdout)
    assert result.status == (3 if rows else 0), result
    return [(row['rule'], row['subject']) for row in rows]


def test_rules_are_checked_live_and_on_a_snapshot(client: Client, placement: Placement) -> None:
    before = clouds.content(capture.capture(client))
    found = [('ratio', 'compute0'), ('ratio', 'compute1'), ('room', '(all)')]
    assert broken(placement) == found
    assert placement('resource provider snapshot save cloud.json').status == 0
    assert broken(placement, '--snapshot cloud.json') == found
    assert clouds.content(capture.capture(client)) == before


def test_a_rule_about_nothing_breaks_a_strict_check(placement: Placement) -> None:
    Path('rules.yaml').write_text('- {rule: gone, hosts: {match: gone*}, consumers: 0}')
    assert broken(placement) == []
    assert broken(placement, '--strict') == [('gone', '(all)')]


@pytest.mark.parametrize(
    'text',
    [
        '[]',
        '- {rule: a, hosts: {member_of: notauuid}, consumers: 0}',
        '- {rule: a, hosts: {with_trait: NOPE}, consumers: 0}',
    ],
)
def test_rules_that_cannot_be_meant_are_refused(placement: Placement, text: str) -> None:
    Path('rules.yaml').write_text(text)
    result = placement(CHECK)
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith('rules.yaml:1:')


def test_a_plan_is_checked_before_it_is_applied(placement: Placement) -> None:
    edit = 'resource provider inventory set --match * --with-class VCPU --amend'
    plan = f'{edit} --resource VCPU:allocation_ratio=4.0 --plan plan.json'
    assert placement(*plan.split()).status == 0
    as_it_would_be = broken(placement, '--plan plan.json')
    assert as_it_would_be == [('room', '(all)')]
    assert placement('resource provider reshape apply plan.json --yes').status == 0
    assert broken(placement) == as_it_would_be


def test_what_is_assumed_may_break_a_rule(placement: Placement) -> None:
    Path('assume.yaml').write_text(
        '- {match: compute1, traits: {add: [COMPUTE_STATUS_DISABLED]}}\n'
        '- {add: 1, like: compute0, name: compute2}\n'
        '- servers: {resources: {VGPU: 2}, count: 1, on: compute0}\n'
    )
    assert broken(placement, '--assume assume.yaml') == [
        *[('ratio', f'compute{number}') for number in range(3)],
        ('servers', 'compute0'),
        ('enabled', 'compute1'),
    ]
