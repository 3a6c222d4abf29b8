# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes with files: each message says which file it is, and what to type next."""

import json

import pytest

from placementclient.basis import errors
from placementclient.planner.specification.assignments import parse_assignments
from tests.unit.commands.clouds import save, small


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('trees: {}'.encode('utf-16'), 'UTF-16 text, not UTF-8. To convert it: iconv -f UTF-16'),
        ('name: h\xf6st'.encode('latin-1'), 'perhaps Latin-1. To convert it: iconv -f ISO-8859-1'),
        (b'\x7fELF\x02\x00\xff\xfe', 'tree.yaml: not a text file'),
        (b'name: a\nchildren:\n\t- b\n', 'yaml:3: a tab indents the line, and YAML takes spaces'),
        (b'name: a\n  traits: []\n b: c\n', 'yaml:2: the indentation does not fit the lines above'),
        (b'name: a\ntraits:\n    - A\n  - B\n', 'yaml:4: the indentation does not fit the lines'),
        (b'name: gpu: 1\n', 'yaml:1: a text with ": " in it needs quotes (mapping values are not'),
        (
            b'name: *gpu\n',
            'yaml:1: a text that begins with a special character needs quotes',
        ),
        (b'name: a\ntraits\n', 'yaml:2: the line has no ": " behind a key (while scanning'),
        (b'name: a\n---\nname: b\n', 'the file has several documents, divided by ---: give one'),
        (b'[{"name": "a"} {}]', 'a comma or a bracket is missing (while parsing'),
        (b'[{"name": "a",', 'the file ends too early: copy the whole file again, or close what is'),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_the_way_to_correct_it(
    placement, tmp_path, content, message
):
    (tmp_path / 'tree.yaml').write_bytes(content)
    result = placement(f'resource provider tree apply {tmp_path}/tree.yaml --dry-run')
    assert (result.status, message in result.stderr) == (1, True), result.stderr


OTHER_FILES = {
    '- from_resource_provider: a\n': 'a specification ("placement resource provider reshape plan',
    'moves:\n- from_resource_provider: a\n': 'a specification ("placement resource provider',
    '{"servers": []}': 'a list of servers (--servers takes it)',
    '[{"ID": "x", "Flavor": "m1"}]': 'a list of servers (--servers takes it)',
    'consumer_uuid,resource_class,amount,to_provider\n': 'assignments (--assignments takes them)',
    'SQLite format 3\0': 'a SQLite database (--os-placement-database sqlite:////folder/file',
}


@pytest.mark.parametrize(('text', 'kind'), OTHER_FILES.items())
@pytest.mark.parametrize(
    ('command', 'expected'),
    [('reshape show {}', 'plan'), ('audit --snapshot {}', 'snapshot')],
)
def test_a_file_of_another_kind_is_named_with_what_takes_it(
    placement, tmp_path, text, kind, command, expected
):
    path = tmp_path / 'file'
    path.write_text(text)
    result = placement(f'resource provider {command.format(path)}')
    assert result.status == 1
    assert f'{path}: not a {expected}, but {kind}' in result.stderr


def test_a_list_in_place_of_assignments_is_named():
    with pytest.raises(errors.BadFile, match=r'not assignments, but a list of servers \('):
        parse_assignments('{"servers": []}', 'a.json')


def test_the_beginning_of_a_uuid_of_a_snapshot_is_answered_too(placement, tmp_path):
    live = small()
    file = save(tmp_path, 'cloud.json', live)
    result = placement(f'resource provider tree show hos --snapshot {file}')
    assert 'Did you mean "host' in result.stderr


#: Commands that write a file; {path} stands for its path.
WRITING = (
    'resource provider tree export -o {path}',
    'resource provider tree graph -o {path}',
    'resource provider snapshot save {path}',
    'resource provider drain plan compute1 -o {path}',
    'resource provider report -o {path}',
    'resource capacity export -o {path}',
    'resource provider reshape plan --spec spec.yaml -o {path}',
    'resource provider reshape plan --spec spec.yaml -o plan --write-assignments {path}',
    'resource provider reshape assignments --host-facts facts -o {path}',
    'resource provider reshape devices --devices pci --device-spec nova.conf -o {path}',
    'resource provider purge compute1 --plan {path}',
)


@pytest.mark.parametrize('command', WRITING)
def test_a_file_that_cannot_be_written_is_refused_before_any_request(
    placement, service, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    result = placement(command.format(path='no/where.x'))
    assert (result.status, result.stderr) == (
        1,
        'no/where.x: the folder does not exist: mkdir -p no\n',
    )
    assert service.requests == []


def test_a_path_that_is_no_file_is_refused_with_the_reason(placement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'file').write_text('')
    export = 'resource provider tree export -o'
    assert 'folder: is a folder: add the name' in placement(f'{export} folder').stderr
    assert 'file/x: file is no folder' in placement(f'{export} file/x').stderr
    monkeypatch.setattr('os.access', lambda path, mode: False)
    assert 'x: Permission denied' in placement(f'{export} x').stderr


def test_an_empty_list_of_servers_is_named_with_the_command_that_makes_it(placement, tmp_path):
    snapshot, servers = save(tmp_path, 'cloud.json', small()), save(tmp_path, 'servers.json', [])
    result = placement(f'resource provider audit --snapshot {snapshot} --servers {servers}')
    sentence = f'{servers}: the list of servers is empty. "openstack server list --all-projects '
    assert result.stderr.startswith(sentence)


@pytest.mark.parametrize(
    ('content', 'kind'),
    [
        ('- {from_resource_provider: a, to_resource_provider: b}\n' * 3, 'a specification'),
        ('{"servers": []}', 'a list of servers (--servers takes it)'),
    ],
)
def test_another_kind_of_file_is_named_once(placement, tmp_path, content, kind):
    (tmp_path / 'other').write_text(content)
    result = placement(f'resource provider tree apply {tmp_path}/other --dry-run')
    assert result.stderr.startswith(f'{tmp_path}/other: not the right file, but {kind}')
    assert result.stderr.count('\n') == 1


def test_the_keys_that_a_file_may_have_are_named_once(placement, tmp_path):
    (tmp_path / 'tree.yaml').write_text('- {name: a, add: 1, like: c}\n')
    result = placement(f'resource provider tree apply {tmp_path}/tree.yaml --dry-run')
    assert [line.partition(': unknown key')[2] for line in result.stderr.splitlines()] == [
        ', known are name, uuid, inventories, traits, aggregates, children',
        '',
    ]


def test_a_missing_file_is_answered_with_one_of_a_similar_name(placement, tmp_path):
    (tmp_path / 'vgpu.yaml').write_text('')
    refused = placement(f'resource provider tree apply {tmp_path}/vgpu.yml')
    assert f'No such file or directory. Did you mean "{tmp_path}/vgpu.yaml"?' in refused.stderr


@pytest.mark.parametrize(
    ('command', 'content', 'message'),
    [
        ('snapshot show', '', 'is empty'),
        (
            'snapshot show',
            '{"format": "placementclient/snapshot", "vers',
            'damaged or not complete',
        ),
    ],
)
def test_a_file_without_its_end_is_said_to_be_one(placement, tmp_path, command, content, message):
    (tmp_path / 'file').write_text(content)
    assert message in placement(f'resource provider {command} {tmp_path}/file').stderr


ASSIGNMENTS = 'consumer_uuid,resource_class,amount,to_provider\n'


MOVES = '- from_resource_provider: a\n'


@pytest.mark.parametrize(
    ('command', 'content', 'refusal'),
    [
        (
            'resource provider reshape plan -o p --spec {}',
            ASSIGNMENTS,
            'not the right file, but as',
        ),
        ('resource provider reshape plan -o p --spec {}', 'SQLite format 3\0', 'is a SQLite data'),
        ('batch {}', MOVES, 'not commands, one on each line, but a specification ("placement'),
    ],
)
def test_a_file_that_is_read_as_text_is_named_with_what_takes_it(
    placement, tmp_path, command, content, refusal
):
    path, cloud = tmp_path / 'x', save(tmp_path, 'cloud.json', small())
    path.write_text(content)
    option = '' if command.startswith('batch') else f' --snapshot {cloud}'
    assert f'{path}: {refusal}' in placement(command.format(path) + option).stderr


@pytest.mark.parametrize('content', [ASSIGNMENTS, '{"servers": []}', MOVES])
def test_assumptions_of_another_kind_are_named_with_what_takes_them(placement, tmp_path, content):
    path, cloud = tmp_path / 'x', save(tmp_path, 'cloud.json', small())
    path.write_text(content)
    refused = placement(f'resource provider snapshot show {cloud} --assume {path}')
    assert f'{path}: not the right file, but ' in refused.stderr


@pytest.mark.parametrize(
    'swapped',
    [
        ({'migrations': []}, {'servers': []}),
        ([{'UUID': 'x', 'Source Node': 'a'}], [{'ID': 'y', 'Flavor': 'f'}]),
    ],
)
def test_an_audit_checks_nothing_with_lists_that_are_swapped(placement, tmp_path, swapped):
    cloud = save(tmp_path, 'cloud.json', small())
    servers, migrations = tmp_path / 'a.json', tmp_path / 'b.json'
    for path, document in zip((servers, migrations), swapped, strict=True):
        path.write_text(json.dumps(document))
    command = f'resource provider audit --snapshot {cloud}'
    refused = placement(f'{command} --servers {servers} --migrations {migrations}')
    assert (refused.status, refused.stdout) == (1, '')
    assert refused.stderr == (
        f'{servers}: not a list of servers, but a list of migrations (--migrations takes it)\n'
    )


@pytest.mark.parametrize('word', ['now', 'Current'])
def test_another_word_for_the_live_cloud_is_answered_with_live(placement, tmp_path, word):
    cloud = save(tmp_path, 'cloud.json', small())
    refused = placement(f'resource provider snapshot diff {cloud} {word}')
    assert refused.stderr == f'{word}: No such file. The present cloud is called live\n'
