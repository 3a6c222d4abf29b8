"""``resource provider check``: rules on a snapshot, as it is and as it would be."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from placementclient.changes.plan import plan_of
from placementclient.model.snapshots import Snapshot
from placementclient.reshape import storage
from tests.unit.commands.clouds import changed, save, small
from tests.unit.conftest import Placement, Result, Service

RULES = """\
- {rule: new, hosts: {match: host2}, traits: {required: [CUSTOM_NEW]}}
- {rule: room, fits: {flavor: m1, flavors: flavors.json, count: '>= 3'}}
- {rule: "<odd> & \\u001b", hosts: {with_class: PCPU}, consumers: 0}
"""
FLAVORS = [
    {'id': '1', 'name': 'm1', 'vcpus': 4, 'ram': 0, 'disk': 10, 'swap': 0, 'extra_specs': {}}
    | {'OS-FLV-EXT-DATA:ephemeral': 0, 'os-flavor-access:is_public': True}
]
TABLE = """\
+------+---------+-----------------------------+---------+
| rule | subject | expected                    | found   |
+------+---------+-----------------------------+---------+
| new  | host2   | trait CUSTOM_NEW            | missing |
| room | (all)   | servers of m1 that fit >= 3 | 1       |
+------+---------+-----------------------------+---------+
"""
NOTE = (
    'The rule "<odd> & \\x1b" holds, as it is about nothing: rules.yaml:3:36: '
    '[2].hosts.with_class: no provider has PCPU, did you mean VCPU?\n'
)
CHECK = 'resource provider check rules.yaml --snapshot cloud.json '


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a snapshot, rules, and a plan that gives a host the trait that it lacks."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, 'cloud.json', small())
    save(tmp_path, 'flavors.json', FLAVORS)
    (tmp_path / 'rules.yaml').write_text(RULES)
    after = Snapshot(changed().providers.values(), small().consumers.values())
    plan = plan_of('resource provider trait add', small(), after)
    storage.write_plan('plan.json', plan)
    return tmp_path


def test_broken_rules_are_a_table_and_an_exit_status(
    placement: Placement, service: Service
) -> None:
    assert placement(CHECK) == Result(3, TABLE, NOTE)
    assert service.requests == []


def test_for_a_program_the_rows_are_data(placement: Placement) -> None:
    rows = json.loads(placement(f'{CHECK} -f json').stdout)
    assert rows[1] == {
        'rule': 'room',
        'subject': '(all)',
        'expected': 'servers of m1 that fit >= 3',
        'found': '1',
    }


def test_every_rule_holds(placement: Placement, folder: Path) -> None:
    (folder / 'rules.yaml').write_text('- {rule: a, hosts: all, children: {count: "< 5"}}')
    assert placement(CHECK) == Result(0, '', 'Every rule holds, of 1 rule\n')
    assert placement(f'{CHECK} -f json') == Result(0, '[]\n', '')


def test_rules_hold_for_the_cloud_as_it_would_be(placement: Placement, folder: Path) -> None:
    (folder / 'assume.yaml').write_text('- {match: host2, inventories: {VCPU: {total: 40}}}')
    result = placement(f'{CHECK} --assume assume.yaml --plan plan.json')
    said = f'assuming: assume.yaml\nassuming: plan.json\n{NOTE}Every rule holds, of 3 rules\n'
    assert result == Result(0, '', said)


def test_a_plan_that_does_not_suit_the_cloud(placement: Placement, folder: Path) -> None:
    (folder / 'assume.yaml').write_text('- {without: host2}')
    result = placement(f'{CHECK} --assume assume.yaml --plan plan.json')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith(
        'plan.json: the plan does not suit the cloud any more: host2 is not there any more'
    )


def test_junit_has_a_test_case_for_each_rule(placement: Placement, folder: Path) -> None:
    assert placement(f'{CHECK} --junit check.xml').status == 3
    suite = ElementTree.parse(folder / 'check.xml').getroot()
    assert suite.attrib == {
        'name': 'rules.yaml',
        'tests': '3',
        'failures': '2',
        'errors': '0',
        'skipped': '1',
    }
    new, room, odd = suite
    assert [case.get('name') for case in suite] == ['new', 'room', '<odd> & \\x1b']
    assert {case.get('classname') for case in suite} == {'rules.yaml'}
    assert new[0].attrib == {'message': 'broken in 1 place'}
    assert new[0].text == 'host2: expected trait CUSTOM_NEW, found missing'
    assert room[0].tag == 'failure'
    assert odd[0].tag == 'skipped'


def test_a_strict_rule_about_nothing_is_a_failure(placement: Placement, folder: Path) -> None:
    (folder / 'rules.yaml').write_text('- {rule: odd, hosts: {with_class: PCPU}, consumers: 0}')
    result = placement(f'{CHECK} --strict --junit check.xml -f json')
    [row] = json.loads(result.stdout)
    said = 'rules.yaml:1:23: [0].hosts.with_class: no provider has PCPU, did you mean VCPU?'
    assert (result.status, result.stderr) == (3, '')
    assert row == {'rule': 'odd', 'subject': '(all)', 'expected': 'hosts to check', 'found': said}
    suite = ElementTree.parse(folder / 'check.xml').getroot()
    assert (suite.get('failures'), suite.get('skipped')) == ('1', '0')
    assert suite[0][0].tag == 'failure'
    assert placement(CHECK).status == 0


def test_the_live_cloud_is_not_read_for_rules_that_are_wrong(
    placement: Placement, service: Service, folder: Path
) -> None:
    (folder / 'rules.yaml').write_text('- {rule: a, hosts: all, consumer: 0}')
    assert placement('resource provider check rules.yaml') == Result(
        1, '', 'rules.yaml:1:25: [0].consumer: unknown key, did you mean consumers?\n'
    )
    assert service.requests == []
