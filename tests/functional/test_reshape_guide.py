# SPDX-License-Identifier: Apache-2.0
"""The pages of the reshape print what they say, and say what the program prints."""

import ast
import csv
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from keystoneauth1.session import Session

import placementclient
from placementclient.basis.errors import ExitStatus
from placementclient.changes import (
    carrier,
    deviations,
    inspector,
    progress,
    tree_attempts,
    tree_merge,
)
from placementclient.changes.records import plans as codec
from placementclient.cli import shell
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.files import disk, kinds, specifications
from placementclient.model.outcomes import PlanStatus, TreeState
from placementclient.model.specifications import (
    Addition,
    Move,
    ProviderSpec,
    SpecRecord,
    TreeSelection,
)
from placementclient.planner import infeasibility, planner, warnings
from placementclient.planner.specification import assignments
from placementclient.producers import restore
from placementclient.reading import capture
from placementclient.render import runs
from placementclient.runs import storage
from tests.documents import document
from tests.functional import guide
from tests.programs import Result

GUIDE = guide.page('vgpu-reshape')
OFFLINE = guide.page('offline')
KINDS = guide.page('reshape-kinds')
FILES = guide.page('reshape-files')
MESSAGES = guide.page('reshape-messages')
STATUSES = guide.page('exit-statuses')
#: The sections in which each term is a message.
SECTIONS = (
    'Undecided (5)',
    'Undetermined (1)',
    'Infeasible (4)',
    'Warnings',
    'Reasons of a tree that is left alone or has failed',
    'Refusals of the service',
    'Bad files',
)
#: The modules that leave a tree alone.
SAYING = (carrier, inspector, progress, tree_attempts, tree_merge)
RESHAPE = 'resource provider reshape'


@pytest.fixture(autouse=True)
def _folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


# The commands


def test_the_files_of_the_guide_are_shipped(tmp_path):
    guide.written(GUIDE, tmp_path)
    assert Path('vgpu.yaml').read_text() == (guide.HOSTS / 'vgpu.yaml').read_text()


def test_the_offline_page_works_on_the_database_of_the_service(monkeypatch, tmp_path, capsys):
    with Direct() as service:
        restore.load_snapshot(
            http.Client(Session(auth=service), microversion.HIGHEST), guide.hosts()
        )
    database = tmp_path / 'data' / 'placementclient' / 'placement.sqlite'
    conf = tmp_path / 'placement.conf'
    conf.write_text(f'[placement_database]\nconnection = sqlite:///{database}\n')
    for name in ('OS_AUTH_TYPE', 'OS_PLACEMENT_CONF'):
        monkeypatch.setenv(name, 'set by the text')
    guide.written(GUIDE, tmp_path)
    guide.write_map(tmp_path / 'gpu-map.csv')

    def run(*argv):
        capsys.readouterr()
        status = shell.main(list(argv))
        return Result(status, *capsys.readouterr())

    text = OFFLINE.replace('/etc/placement/placement.conf', str(conf))
    assert guide.follow(text, run) >= 5


# The specifications


@pytest.fixture(scope='module')
def others(tmp_path_factory):
    """The hosts of the other kinds of reshape."""
    folder = tmp_path_factory.mktemp('others')
    guide.written(KINDS, folder)
    mapped = {
        path.name: list(dict.fromkeys(row['consumer_uuid'] for row in _rows(path)))
        for path in folder.glob('*-map.csv')
    }
    with Direct.scratch() as service:
        session = Session(auth=service)
        restore.load_snapshot(_client(session), guide.other_hosts(mapped))
        yield session, capture.capture(_client(session))


@pytest.mark.parametrize(
    'name', [str(block.caption) for block in guide.blocks(KINDS) if block.language == 'yaml']
)
def test_each_specification_of_the_page_is_applied_and_rolled_back(name, others, tmp_path, capsys):
    session, before = others
    guide.written(KINDS, tmp_path)
    disk.write_snapshot('cloud.json', before)

    def run(command):
        capsys.readouterr()
        status = shell.main(shlex.split(f'{RESHAPE} {command}'), session=session)
        printed = capsys.readouterr()
        assert status == 0, printed.out + printed.err
        return printed.out

    run(f'plan --spec {name} --snapshot cloud.json -o plan.json')
    assert 'applied' in run('apply plan.json --yes')
    assert 'True' not in run('verify plan.json -f value')
    assert 'rolled back' in run('rollback plan.json --yes')
    concerned = {
        root for change in storage.read_plan('plan.json').changes for root in change.concerned_roots
    }
    after = _content(capture.capture(_client(session), sorted(concerned)))
    assert after
    assert after.items() <= _content(before).items()


@pytest.mark.parametrize('name', ['short.yaml', 'long.yaml', 'trees.yaml'])
def test_both_forms_of_the_specification_on_the_page_make_a_plan(name, tmp_path):
    guide.written(FILES, tmp_path)
    spec = specifications.parse_specification(disk.read_text(name, kinds.SPECIFICATION), name)
    plan = planner.plan_reshape(guide.hosts(), spec, allow_inferred=name.startswith('long'))
    assert plan.changes


def test_the_page_shows_every_key_of_a_specification(tmp_path):
    guide.written(FILES, tmp_path)
    shown = re.findall(r'\b[a-z_]+(?=:)', Path('long.yaml').read_text())
    for kind in SpecRecord, TreeSelection, ProviderSpec, Move, Addition:
        assert {field.encode_name for field in msgspec.structs.fields(kind)} <= set(shown)


def test_all_forms_of_assignments_on_the_page_are_equal(tmp_path):
    guide.written(FILES, tmp_path)
    read = [
        [
            (row.consumer_uuid, row.resource_class, row.to_provider)
            for row in storage.read_assignments(f'map.{form}')
        ]
        for form in ('csv', 'yaml', 'json')
    ]
    assert read[0] == read[1] == read[2]
    assert len(read[0]) == 3


# The files


def test_the_page_explains_every_key_of_a_file(tmp_path):
    guide.written(GUIDE, tmp_path)
    guide.write_map(tmp_path / 'gpu-map.csv')
    snapshot = guide.hosts()
    spec = specifications.parse_specification(
        disk.read_text('vgpu.yaml', kinds.SPECIFICATION), 'vgpu.yaml'
    )
    plan = planner.plan_reshape(snapshot, spec, storage.read_assignments('gpu-map.csv'))
    shown = codec.make_document(plan)
    tree = shown['trees'][0]
    cloud = document(snapshot)
    records: list[Any] = [
        shown,
        shown['recipe'],
        shown['recipe']['options'],
        tree,
        tree['rows'][0],
        tree['moves'][0],
        tree['before'],
        tree['after']['providers'][0],
        next(iter(tree['after']['consumers'].values())),
        cloud,
        cloud['providers'][0],
        next(iter(cloud['consumers'].values())),
        dict.fromkeys(assignments.COLUMNS),
    ]
    for record in records:
        for key in record:
            assert f'``{key}``' in FILES, key


# The messages


def test_every_message_on_the_page_exists():
    package = Path(placementclient.__file__).parent
    printed = '\n'.join(
        text for path in package.rglob('*.py') for text in _literals(path.read_text())
    )
    terms = [term for title in SECTIONS for term in _terms(title)]
    assert len(terms) > 50
    assert not [
        term for term in terms if any(part.strip(' :;') not in printed for part in term.split('…'))
    ]


def test_the_page_explains_every_reason():
    kinds = set(infeasibility.SENTENCES) - {infeasibility.ROOM}
    kinds |= set(warnings.SENTENCES)
    assert len(kinds) > 20
    for kind in kinds:
        assert f'({kind})\n' in MESSAGES, kind


def test_the_page_explains_every_reason_to_leave_a_tree_alone():
    page = ' '.join(MESSAGES.split())
    printed = [text for module in SAYING for text in _raised(module)]
    assert len(printed) > 8
    for text in printed:
        for part in text.split('…'):
            assert part.strip(' :;') in page, text


def test_the_page_explains_every_state_and_exit_status():
    verified = inspect.getsource(deviations)
    kinds = re.findall(r"_make_deviation\(\s*change,\s*'([a-z]+)'", verified)
    assert len(kinds) > 2
    for word in (*TreeState, *PlanStatus, *runs.DeviationVerdict, *kinds):
        assert f'``{word}``' in MESSAGES, word
    for status in ExitStatus:
        assert f'   * - {status.value}\n     - {status.name.lower()}\n' in STATUSES, status


def _terms(title):
    for line in guide.section(MESSAGES, title).splitlines():
        if line.startswith('``'):
            following = re.fullmatch(r'(``[^`]+``(, )?)+( \([a-z-]+\))?', line)
            if following:
                yield from re.findall(r'``([^`]+)``', line)


#: What makes an error or an obstacle, with the message last.
NAMING = ('LeftAlone', 'make_obstacle', '_make_consumer_obstacle')


def _raised(module):
    """What a module says of trees that are left alone: what it raises, and what has changed."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') in NAMING:
            yield from (text for text in _texts(node.args[-1]) if ' ' in text)


def _literals(source):
    """The texts of a module, with ``…`` for what is filled in."""
    for node in ast.walk(ast.parse(source)):
        yield from _texts(node)


def _texts(node):
    if isinstance(node, ast.JoinedStr):
        yield ''.join(
            str(part.value) if isinstance(part, ast.Constant) else '…' for part in node.values
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _rows(path):
    with open(path, newline='') as stream:
        return list(csv.DictReader(stream))


def _client(session):
    return http.Client(session, microversion.HIGHEST)


def _content(snapshot):
    content = document(snapshot)
    providers = {record['uuid']: record for record in content['providers']}
    items = (providers | content['consumers']).items()
    return {uuid: {**record, 'generation': None} for uuid, record in items}
