# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes with files: each message says which file it is, and what to type next."""

import errno
import os
import pwd
import re
from pathlib import Path

import pytest

from placementclient.cli.entry_points import load_command
from placementclient.files import disk
from tests.unit.changes.records.test_plans import SPEC
from tests.unit.commands.clouds import save, small
from tests.unit.commands.test_registry import POINTS
from tests.unit.hosts.test_devices import CSV
from tests.unit.planner.clouds import uuid_of


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        *(
            (
                'name: host'.encode(encoding),
                f'{name} text, not UTF-8. To convert it: iconv -f {name}',
            )
            for name in ('UTF-16', 'UTF-32')
            for encoding in (name, f'{name}LE')
        ),
        ('name: host'.encode('UTF-16BE'), 'UTF-16BE text, not UTF-8. To convert it: iconv'),
        ('name: host'.encode('UTF-32BE'), 'UTF-32BE text, not UTF-8. To convert it: iconv'),
        ('name: h\xf6st'.encode('latin-1'), 'perhaps LATIN1. To convert it: iconv -f LATIN1'),
        (
            'name: “h”'.encode('cp1252'),
            'perhaps WINDOWS-1252. To convert it: iconv -f WINDOWS-1252',
        ),
        ('a: b\nname: hö'.encode()[:-1], 'yaml:2: cut off within a character: copy it again'),
        (
            b'PK\x03\x04name: a',
            'a ZIP archive (unzip unpacks it); <file> needs a tree of providers',
        ),
        (b'\x7fELF\x02\x00\xff\xfe', 'tree.yaml: not a text file'),
        (b'name: a\nchildren:\n\t- b\n', 'yaml:3: a tab indents the line, and YAML takes spaces'),
        (b'name: a\n  traits: []\n b: c\n', 'yaml:2: the indentation does not fit the lines above'),
        (b'name: a\ntraits:\n    - A\n  - B\n', 'yaml:4: the indentation does not fit the lines'),
        (b'- name: a\n   b: []\n', 'the lines above, or a line above lacks ": " (mapping values'),
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


#: The contents of files, by the words for their kind.
FILES = {
    'a snapshot (--snapshot takes it)': '{"version": 2, "format": "placementclient/snapshot"}',
    'a plan ("placement resource provider reshape show FILE" shows it)': (
        '{"format": "placementclient/plan", "version": 1}'
    ),
    'a plan of a drain (--drain takes it)': '{"format": "placementclient/drain-plan"}',
    'a specification of a reshape (--spec takes it)': '# Move them.\n- from_resource_provider: a\n',
    'a file of assignments (--assignments takes it)': 'consumer_uuid,resource_class,amount\n',
    'a tree of providers ("placement resource provider tree apply FILE" takes it)': (
        'name: compute1\ninventories: {}\n'
    ),
    'a configuration file such as nova.conf (--nova-conf takes it)': '[pci]\nalias = {}\n',
    "Nova's table pci_devices (--devices takes it)": 'hypervisor_hostname,address\n',
    'a list of servers (--servers takes it)': '[{"Nets": {"a": []}, "ID": "x", "Flavor": "m1"}]',
    'a list of migrations (--migrations takes it)': '- Source Node: a\n',
    'a list of flavors (--flavors takes it)': '{"flavors": []}',
    'a list of assumptions ("placement resource capacity show --assume FILE" takes it)': (
        '# Ten hosts.\n- name: "c{n}"\n  add: 10\n  like: compute1\n'
    ),
    'a SQLite database ("--os-placement-database sqlite:////folder/file" takes it)': (
        'SQLite format 3\0'
    ),
    'a table (add -f json to the command that printed it)': '+----+\n| ID |\n+----+\n',
    'CSV (add -f json to the command that printed it)': '\n"ID","Name"\n"a","b"\n',
    'rows of a table (add -f json to the command that printed it)': f'{uuid_of("a")} web1 ACTIVE\n',
}
#: The beginnings of long commands.
BEGINNINGS = {
    'audit': 'resource provider audit --snapshot {cloud}',
    'drain': 'resource provider drain plan host1 --snapshot {cloud}',
    'report': 'resource provider report -o x --snapshot {cloud}',
    'plan': 'resource provider reshape plan -o x --snapshot {cloud}',
    'devices': 'resource provider reshape devices -o x',
    'explain': 'allocation candidate explain --snapshot {cloud} --flavors {flavors} --flavor m1',
}
#: Commands whose last option or argument takes a file, and what the file is needed to be.
NEEDED = """
resource provider snapshot show <file>: a snapshot
resource provider snapshot diff <before> {cloud}: a snapshot
resource provider snapshot diff {cloud} <after>: a snapshot
resource provider audit --snapshot: a snapshot
resource provider tree apply <file>: a tree of providers
resource provider tree apply {tree} --previous: a tree of providers
resource provider reshape apply <plan>: a plan
resource provider reshape submit --file: the body of a request to Placement
resource provider reshape assignments -o x --snapshot {cloud} --host-facts: \
a folder or a tar archive that the collector wrote
devices --device-spec x --devices: Nova's table pci_devices
devices --devices {devices} --device-spec host1=: a nova.conf, or its device_spec
batch <file>: commands, one on each line
resource api check --service-conf: a configuration file such as nova.conf
resource capacity export --snapshot {cloud} --quotas: a list of quotas
resource usage list --by project --snapshot {cloud} --projects: a list of projects
resource usage list --by user --snapshot {cloud} --users: a list of users
plan --spec: a specification of a reshape
plan --spec {spec} --assignments: a file of assignments
report --plan: a plan
report --drain: a plan of a drain
drain --cells: a table of hosts and cells
drain --requests: lists of servers, migrations and server groups
explain --aggregates: a list of aggregates
explain --device-profiles: a list of device profiles
explain --image: the answer to GET /v2/images/ID
explain --image {uuid} --images: a list of images
explain --nova-conf: a configuration file such as nova.conf
explain --segments: a list of subnets
audit --assume: a list of assumptions
audit --compute-conf host1=: a configuration file such as nova.conf
audit --gone: UUIDs of consumers
audit --ignore-consumer: UUIDs of consumers
audit --limits: a list of registered limits
audit --agents: a list of agents
audit --flavors: a list of flavors
audit --hypervisors: a list of hypervisors
audit --migrations: a list of migrations
audit --nodes: a list of nodes
audit --ports: a list of ports
audit --servers: a list of servers
audit --services: a list of services
audit --subnets: a list of subnets
"""[1:-1].splitlines()
LISTS = tuple(f'a list of {key}' for key in ('servers', 'migrations', 'flavors'))
#: The beginnings of the other kinds that an option takes.
ACCEPTED = {
    '--spec': ('a plan (', 'a tree of providers'),
    '--assume': ('a tree of providers',),
    '--devices': ('CSV',),
    '--device-spec': ('a configuration file',),
    '--cells': ('a table',),
    '--requests': LISTS,
    '--gone': (*LISTS, 'rows of a table'),
    '--ignore-consumer': (*LISTS, 'rows of a table'),
}


def taker_of(command):
    """The option or the argument that the file of a mistake is for."""
    return re.findall(r'<\w+>|--[\w-]+', command)[-1]


def test_each_option_that_takes_a_file_is_in_the_table():
    options = {option for point in POINTS for option in load_command(point).options}
    named = {o.name for o in options if '<file>' in o.settings.get('metavar', '') and not o.output}
    assert named - {taker_of(line.partition(': ')[0]) for line in NEEDED} == set()


@pytest.fixture
def files(tmp_path):
    """Good files for the options beside the one of a mistake."""
    flavor = {'id': '1', 'name': 'm1', 'ram': 1, 'vcpus': 1, 'disk': 1, 'extra_specs': {}}
    (tmp_path / 'devices').write_text(CSV)
    return {
        'cloud': save(tmp_path, 'cloud.json', small()),
        'spec': save(tmp_path, 'spec.json', SPEC),
        'tree': save(tmp_path, 'tree.json', {'name': 'host1', 'inventories': {}}),
        'flavors': save(tmp_path, 'flavors.json', [flavor]),
        'devices': tmp_path / 'devices',
        'uuid': uuid_of('image'),
    }


@pytest.mark.parametrize('line', NEEDED)
def test_a_file_of_another_kind_is_told_with_what_is_needed(placement, tmp_path, files, line):
    command, _, needed = line.partition(': ')
    first, _, rest = command.partition(' ')
    path, taker = tmp_path / 'mistaken', taker_of(command)
    line = f'{BEGINNINGS.get(first, first)} {rest}'
    line = line.replace(taker, str(path)) if '<' in taker else f'{line} {path}'
    line = line.replace('= ', '=').format_map(files)
    end = placement(line).stderr.partition('; ')[2]  # there is no file yet
    assert end.startswith(f'{taker} needs {needed}')
    points = [point for point in POINTS if line.startswith(point.name.replace('_', ' '))]
    flags = {f for point in points for option in load_command(point).options for f in option.flags}
    for kind, content in FILES.items():
        path.write_text(content)
        own = re.sub(r' \((--\S+) .*', lambda use: use[0] if use[1] in flags else '', kind)
        is_refused = not kind.startswith((f'{needed} (', *ACCEPTED.get(taker, ())))
        refused = placement(line).stderr == f'{path}: {own}; {end}'
        assert refused == is_refused, (own, placement(line).stderr)


@pytest.mark.parametrize(
    ('line', 'first', 'second'),
    [
        ('audit', 'a list of servers', 'a list of migrations'),
        ('plan', 'a specification of a reshape', 'a file of assignments'),
    ],
)
def test_two_files_of_each_others_options_are_called_swapped(
    placement, tmp_path, files, line, first, second
):
    line = BEGINNINGS[line].format_map(files)
    options = {}
    for kind, content in FILES.items():
        name, _, option = kind.partition(' (')
        if name in (first, second):
            options[name] = option.split()[0]
            (tmp_path / options[name]).write_text(content)
    one, other = options[first], options[second]
    refused = placement(f'{line} {one} {tmp_path}/{other} {other} {tmp_path}/{one}').stderr
    assert refused == f'{tmp_path}/{other}: {second}. The files of {one} and {other} are swapped\n'


def test_the_beginning_of_a_uuid_of_a_snapshot_is_answered_too(placement, tmp_path):
    live = small()
    file = save(tmp_path, 'cloud.json', live)
    result = placement(f'resource provider tree show hos --snapshot {file}')
    assert 'Did you mean "host' in result.stderr


#: Commands that write a file, with its kind; {path} stands for its path.
WRITING = {
    'resource provider tree export -o {path}': 'a tree of providers',
    'resource provider tree graph -o {path}': 'a picture',
    'resource provider snapshot save {path}': 'a snapshot',
    'resource provider drain plan compute1 -o {path}': 'a plan of a drain',
    'resource provider report -o {path}': 'a page',
    'resource capacity export -o {path}': 'a file of metrics',
    'resource provider reshape plan --spec spec.yaml -o {path}': 'a plan',
    'resource provider reshape plan --spec spec.yaml -o plan --write-assignments {path}': (
        'a file of assignments'
    ),
    'resource provider reshape assignments --host-facts facts -o {path}': 'a file of assignments',
    'resource provider reshape devices --devices pci --device-spec nova.conf -o {path}': (
        'a specification of a reshape'
    ),
    'resource provider purge compute1 --plan {path}': 'a plan',
}


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


@pytest.mark.parametrize(('command', 'written'), WRITING.items())
def test_a_file_of_another_kind_is_never_overwritten(
    placement, service, tmp_path, monkeypatch, command, written
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / 'file.x'
    for kind, content in FILES.items():
        name = kind.partition(' (')[0]
        if name != written:
            path.write_text(content)
            refused = placement(command.format(path=path)).stderr
            assert refused.startswith(f'{path}: is {name}: give another name for {written}')
            assert path.read_text() == content
    assert service.requests == []


def test_a_file_of_the_same_kind_or_a_damaged_one_may_be_overwritten(tmp_path):
    path = tmp_path / 'file.x'
    for kind, content in FILES.items():
        path.write_text(content)
        disk.refuse_output_path(str(path), kind.partition(' (')[0])
    path.write_bytes(b'\x1f\x8b\x08cut')
    for written in WRITING.values():
        disk.refuse_output_path(str(path), written)


def test_a_damaged_second_file_does_not_hide_the_error_about_the_first(placement, tmp_path, files):
    (tmp_path / 'cut').write_bytes(b'\x1f\x8b\x08cut')
    (tmp_path / 'wrong').write_text(FILES['a list of migrations (--migrations takes it)'])
    line = f'{BEGINNINGS["audit"]} --servers {tmp_path}/wrong --migrations {tmp_path}/cut'
    refused = placement(line.format_map(files)).stderr
    assert refused.startswith(f'{tmp_path}/wrong: a list of migrations (--migrations takes it); ')


def test_a_path_that_is_no_file_is_refused_with_the_reason(placement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'file').write_text('')
    export = 'resource provider tree export -o'
    assert 'folder: is a folder: add the name' in placement(f'{export} folder').stderr
    assert 'file/x: file is no folder' in placement(f'{export} file/x').stderr
    refused = placement(f'{export} /proc/x').stderr
    assert refused.startswith('/proc/x: no file can be made in /proc (No such file or directory): ')
    os.mkfifo('pipe', 0o600)
    monkeypatch.setattr('os.access', lambda path, mode: False)
    assert 'pipe: Permission denied: give' in placement(f'{export} pipe').stderr


@pytest.mark.parametrize(
    ('is_open', 'refused'),
    [(True, 'the file belongs to {}, mode 0640'), (False, '/tmp belongs to')],
)
def test_a_file_that_may_not_be_read_is_told_with_its_owner(
    placement, tmp_path, monkeypatch, is_open, refused
):
    def refuse_to_open(path, *arguments, **options):
        raise PermissionError(errno.EACCES, 'Permission denied', path)

    path, owner = Path(save(tmp_path, 'file', {})), pwd.getpwuid(os.getuid()).pw_name
    path.chmod(0o640)
    monkeypatch.setattr('builtins.open', refuse_to_open)
    monkeypatch.setattr('os.access', lambda path, mode: is_open or path != '/tmp')
    told = placement(f'resource provider snapshot show {path}').stderr
    assert told.startswith(f'{path}: Permission denied: {refused.format(owner)}')
    assert '. Run the command as ' in told


def test_an_empty_list_of_servers_is_named_with_the_command_that_makes_it(placement, tmp_path):
    snapshot, servers = save(tmp_path, 'cloud.json', small()), save(tmp_path, 'servers.json', [])
    result = placement(f'resource provider audit --snapshot {snapshot} --servers {servers}')
    sentence = f'{servers}: the list of servers is empty. "openstack server list --all-projects '
    assert result.stderr.startswith(sentence)


def test_the_keys_that_a_file_may_have_are_named_once(placement, tmp_path):
    (tmp_path / 'tree.yaml').write_text('- {name: a, added: 1, alike: c}\n')
    result = placement(f'resource provider tree apply {tmp_path}/tree.yaml --dry-run')
    assert [line.partition(': unknown key')[2] for line in result.stderr.splitlines()] == [
        ', known are name, uuid, inventories, traits, aggregates, children',
        '',
    ]


def test_a_missing_file_is_answered_with_one_of_a_similar_name(placement, tmp_path):
    (tmp_path / 'vgpu.yaml').write_text('')
    refused = placement(f'resource provider tree apply {tmp_path}/vgpu.yml')
    assert refused.stderr == (
        f'{tmp_path}/vgpu.yml: No such file or directory; <file> needs a tree of providers. Did '
        f'you mean "{tmp_path}/vgpu.yaml"?\n'
    )


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (
            '',
            ' is empty; <file> needs a snapshot. To make one: placement resource provider snapshot',
        ),
        ('# ', ' has comments only; <file> needs a snapshot. To make one: placement resource'),
        (
            '{"format": "placementclient/snapshot", "vers',
            '1: damaged or cut off; <file> needs a snapshot. Copy the file again, or make one: ',
        ),
        ('{"what": 5}', ' a file of an unknown kind; <file> needs a snapshot. To make one: '),
        ('name: a\n', ' text, not JSON; <file> needs a snapshot. To make one: placement'),
    ],
)
def test_a_file_without_its_content_is_told_with_the_way_to_get_it(
    placement, tmp_path, content, message
):
    (tmp_path / 'file').write_text(content)
    refused = placement(f'resource provider snapshot show {tmp_path}/file').stderr
    assert refused.startswith(f'{tmp_path}/file:{message}')


@pytest.mark.parametrize('word', ['now', 'Current'])
def test_another_word_for_the_live_cloud_is_answered_with_live(placement, tmp_path, word):
    cloud = save(tmp_path, 'cloud.json', small())
    refused = placement(f'resource provider snapshot diff {cloud} {word}')
    assert refused.stderr == f'{word}: No such file. The present cloud is called live\n'


def test_a_comparison_without_its_second_side_is_told_how_the_live_cloud_is_called(placement):
    refused = placement('resource provider snapshot diff monday.json').stderr
    assert '<after>. <after>: The second snapshot: a file, or live for the live cloud. ' in refused
