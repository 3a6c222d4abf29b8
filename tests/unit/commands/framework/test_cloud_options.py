# SPDX-License-Identifier: Apache-2.0
"""``--assume`` of every command that reads: on a snapshot, and on what is now."""

import json

import pytest

from placementclient.cli import connection, shell
from tests.programs import Result
from tests.unit.commands.clouds import save, small

ASSUME = """\
- {match: host2, inventories: {VCPU: {total: 40}}}
- {add: 1, like: host2, name: host3}
- {without: host1}
"""
LOST = 'assume.yaml:3: Lost: 1 consumer on host1: s\n'
ASSUMED = f'assuming: assume.yaml\n{LOST}'
FLAVORS = [
    {'id': '1', 'name': 'm1', 'vcpus': 4, 'ram': 0, 'disk': 10, 'swap': 0, 'extra_specs': {}}
    | {'OS-FLV-EXT-DATA:ephemeral': 0, 'os-flavor-access:is_public': True}
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a snapshot, and what is assumed about it."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, 'cloud.json', small())
    save(tmp_path, 'flavors.json', FLAVORS)
    (tmp_path / 'assume.yaml').write_text(ASSUME)
    return tmp_path


def capacity(placement, *options):
    result = placement(
        f'resource capacity show --by tree --fits VCPU=4 -f json {" ".join(options)}'
    )
    assert (result.status, result.stderr) == (0, ASSUMED)
    return {row['tree']: row['fits'] for row in json.loads(result.stdout)}


def test_assume_changes_the_capacity_table(placement, service):
    options = ('--snapshot', 'cloud.json', '--assume', 'assume.yaml')
    assert capacity(placement, *options) == {'host2': 9, 'host3': 10, '(all)': 19}
    assert service.requests == []


def test_several_files_of_assumptions_are_combined(placement, folder):
    (folder / 'more.yaml').write_text('[{match: host3, inventories: {VCPU: {total: 8}}}]')
    result = placement(
        'resource capacity show --by tree --fits VCPU=4 -f value -c tree -c fits '
        '--snapshot cloud.json --assume assume.yaml --assume more.yaml'
    )
    assert result == Result(
        0, 'host2 9\nhost3 2\n(all) 11\n', f'assuming: assume.yaml\nassuming: more.yaml\n{LOST}'
    )


def test_a_field_of_json_names_the_files(placement):
    for command, status in (
        ('allocation candidate explain --resource VCPU=4', 0),
        ('resource provider tree show host3', 0),
        ('resource provider tree list', 0),
    ):
        result = placement(f'{command} --snapshot cloud.json --assume assume.yaml -f json')
        assert (result.status, result.stderr) == (status, ASSUMED), command
        assert json.loads(result.stdout)['assuming'] == ['assume.yaml'], command
        plain = placement(f'{command} --snapshot cloud.json -f json')
        assert 'assuming' not in plain.stdout, command


def test_assume_changes_snapshot_show(placement):
    result = placement('resource provider snapshot show cloud.json --assume assume.yaml -f json')
    assert (result.status, result.stderr) == (0, ASSUMED)
    shown = json.loads(result.stdout)
    assert (shown['assuming'], shown['trees'], shown['consumers']) == (['assume.yaml'], 3, 1)


def test_assume_changes_the_second_snapshot_of_a_diff(placement):
    command = 'resource provider snapshot diff cloud.json cloud.json --kind provider -f json'
    result = placement(f'{command} --assume assume.yaml')
    changed = {(row['name'], row['field']) for row in json.loads(result.stdout)}
    assert {('host2', 'inventories.VCPU.total'), ('host3', ''), ('host1', '')} <= changed
    assert (result.status, result.stderr) == (3, f'{ASSUMED}{len(changed)} differences (exit 3)\n')


PICTURE = 'resource provider tree graph --format'


@pytest.mark.parametrize(
    ('command', 'mark'),
    [
        (f'{PICTURE} dot', '  label="Resource providers, assuming: assume.yaml";\n'),
        (f'{PICTURE} svg', '>Resource providers, assuming: assume.yaml</text>\n'),
        ('resource capacity export', 'openstack_placement_assuming{file="assume.yaml"} 1.0\n'),
        ('resource provider report', '<dt>Assuming</dt><dd><bdi>assume.yaml</bdi>'),
    ],
)
def test_written_files_name_their_assumptions(placement, command, mark):
    result = placement(f'{command} --snapshot cloud.json --assume assume.yaml')
    assert (result.status, result.stderr) == (0, ASSUMED)
    assert mark in result.stdout
    assert 'assuming' not in placement(f'{command} --snapshot cloud.json').stdout.lower()


SERVERS = [{'ID': 's', 'Name': 's', 'Status': 'ACTIVE', 'Host': 'host1', 'Properties': {}}]


def test_audit_reports_no_server_that_is_assumed_or_lost(placement, folder):
    save(folder, 'servers.json', SERVERS)
    save(folder, 'none.json', [])
    (folder / 'assume.yaml').write_text(
        '- {without: host1}\n- {without: host2}\n- {add: 1, like: nfs, name: other}\n'
        '- servers: {resources: {DISK_GB: 10}, count: 1}\n'
    )
    command = (
        'resource provider audit --snapshot cloud.json --servers servers.json '
        '--migrations none.json --id orphan --id without-allocations --id over-capacity -f json'
    )
    result = placement(f'{command} --assume assume.yaml')
    assert (result.status, json.loads(result.stdout)) == (0, []), result.stderr


def test_audit_prints_no_commands_with_assume(placement, folder):
    (folder / 'assume.yaml').write_text('[{match: host1, inventories: {VCPU: {reserved: 7}}}]')
    command = 'resource provider audit --snapshot cloud.json --id over-capacity -f json'
    result = placement(f'{command} --assume assume.yaml')
    [row] = json.loads(result.stdout)
    assert (result.status, row['subject'], row['command']) == (3, 'host1', '')
    reason = 'found under --assume: audit without --assume for what you can fix now'
    assert row['reason'] == reason


@pytest.mark.parametrize('option', ['--fix', '--plan plan.json', '--dry-run'])
def test_audit_refuses_fix_with_assume(placement, service, option):
    result = placement(f'resource provider audit --assume assume.yaml {option}')
    message = '--assume changes nothing: leave out --fix, --dry-run and --plan\n'
    assert result == Result(2, '', message)
    assert service.requests == []


@pytest.mark.parametrize(
    ('text', 'options'),
    [
        ('- servers: {flavor: m1, flavors: flavors.json, count: 1}', ''),
        ('- servers: {flavor: m1, count: 1}', '--flavors ../flavors.json'),
    ],
)
def test_assumptions_read_flavors_beside_their_file_or_from_the_option(
    placement, folder, monkeypatch, text, options
):
    (folder / 'assume.yaml').write_text(text)
    (folder / 'elsewhere').mkdir()
    monkeypatch.chdir(folder / 'elsewhere')
    result = placement(
        f'resource capacity show --by class -f json --snapshot ../cloud.json {options} '
        '--assume ../assume.yaml'
    )
    assert result.status == 0, result.stderr
    assert 'assuming: ../assume.yaml\n' in result.stderr


def test_assumptions_read_a_plan_beside_their_file(placement, folder):
    (folder / 'sub').mkdir()
    (folder / 'sub' / 'assume.yaml').write_text('- plan: plan.json')
    result = placement('resource provider snapshot show cloud.json --assume sub/assume.yaml')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith('sub/plan.json: No such file or directory; expected: a plan. ')


def test_a_wrong_assumption_is_named_with_line_and_column(placement, folder):
    (folder / 'assume.yaml').write_text('- match: hsot1\n  traits: {add: [CUSTOM_A]}')
    result = placement('resource provider snapshot show cloud.json --assume assume.yaml')
    assert result == Result(
        1, '', 'assume.yaml:1:3: [0].match: "hsot1" matches no provider. Did you mean "host1"?\n'
    )


@pytest.mark.parametrize(
    'command',
    [
        'resource provider tree show hostt1',
        'resource provider tree list --tree hostt1',
        'resource provider tree graph --tree hostt1',
        'resource provider tree export --tree hostt1',
        'resource capacity show --fits VCPU=1 --tree hostt1',
        'resource provider drain plan hostt1',
        'allocation candidate explain --resource VCPU=1 --in-tree hostt1',
    ],
)
def test_a_command_on_a_snapshot_never_asks_for_a_service(monkeypatch, capsys, command):
    unused = property(lambda self: pytest.fail('a session was made'))
    monkeypatch.setattr(connection.Connection, 'placement', unused)
    monkeypatch.setattr(connection.Connection, 'session', unused)
    assert shell.main([*command.split(), '--snapshot', 'cloud.json']) == 1
    line = capsys.readouterr().err
    assert "No resource provider has the name or UUID 'hostt1'" in line
    assert line.endswith('Did you mean "host1"?\n')
    assert line.count('\n') == 1
