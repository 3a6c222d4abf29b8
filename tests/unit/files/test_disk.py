# SPDX-License-Identifier: Apache-2.0
"""Files: what they hold, how they are written, and what can be wrong with them."""

import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from placementclient.basis import errors
from placementclient.files import cursors, disk, kinds, specifications
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from placementclient.runs import storage
from tests.documents import document
from tests.unit.planner.clouds import cloud, uuid_of

ROOT, SERVER = '9cfef3b3-1b47-4ae9-9e30-f2a1f3b9a2d7', '3c1b6b0e-2f0f-4f39-a8a9-6e0c1f2f3a10'


@pytest.fixture
def snapshot():
    root = ProviderState(
        Provider(ROOT, 'Köln-1', 3, None, ROOT),
        {'VGPU': Inventory(4)},
        frozenset({'COMPUTE_NODE'}),
        frozenset(),
        {'VGPU': 1},
    )
    return Snapshot([root], [Consumer(SERVER, {ROOT: {'VGPU': 1}}, 'project', 'user', 1, None)])


@pytest.mark.parametrize('name', ['cloud.json', 'cloud.json.gz'])
def test_a_snapshot_comes_back(tmp_path, snapshot, name):
    path = tmp_path / name
    disk.write_snapshot(str(path), snapshot)
    assert document(disk.read_snapshot(str(path))) == document(snapshot)
    assert (path.read_bytes()[:2] == b'\x1f\x8b') == name.endswith('.gz')
    first = path.read_bytes()
    disk.write_snapshot(str(path), snapshot)
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == [name]


def test_a_failed_write_keeps_the_former_file(tmp_path, snapshot, monkeypatch):
    path = tmp_path / 'cloud.json'
    path.write_text('precious')

    def full(descriptor):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(disk.os, 'fsync', full)
    with pytest.raises(errors.BadFile, match='No space left') as caught:
        disk.write_snapshot(str(path), snapshot)
    assert caught.value.path == str(path)
    assert path.read_text() == 'precious'
    assert os.listdir(tmp_path) == ['cloud.json']


@pytest.mark.parametrize('mode', [0o600, 0o640, 0o644])
def test_an_overwritten_file_keeps_its_permissions(tmp_path, snapshot, mode):
    path = tmp_path / 'text'
    path.write_text('old')
    path.chmod(mode)
    disk.write_text(str(path), 'new', disk.READABLE)
    assert path.stat().st_mode & 0o777 == mode
    disk.write_snapshot(str(path), snapshot)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link_when_its_file_is_written(tmp_path, snapshot):
    (tmp_path / 'link').symlink_to(tmp_path / 'target')
    disk.write_snapshot(str(tmp_path / 'link'), snapshot)
    assert (tmp_path / 'link').is_symlink()
    assert document(disk.read_snapshot(str(tmp_path / 'target'))) == document(snapshot)


def test_a_file_may_be_written_to_a_device(snapshot):
    disk.write_snapshot('/dev/null', snapshot)
    with pytest.raises(errors.BadFile, match='No space left'):
        disk.write_snapshot('/dev/full', snapshot)


def test_a_dash_is_standard_input_or_output(snapshot, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, 'stdout', io.TextIOWrapper(raw))
    disk.write_snapshot('-', snapshot)
    written: Any = io.BytesIO(raw.getvalue())
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BufferedReader(written)))
    assert document(disk.read_snapshot('-')) == document(snapshot)


def test_a_folder_is_no_file(tmp_path, snapshot):
    with pytest.raises(errors.WrongFile, match='is a folder; expected: a snapshot'):
        disk.read_snapshot(str(tmp_path))
    with pytest.raises(errors.BadFile, match='is a folder'):
        disk.write_snapshot(str(tmp_path), snapshot)
    with pytest.raises(errors.BadFile, match='No such file'):
        disk.write_snapshot(str(tmp_path / 'missing' / 'cloud.json'), snapshot)


def test_assignment_files_are_relative_to_the_spec(tmp_path):
    path, elsewhere = tmp_path / 'spec.yaml', tmp_path / 'other' / 'map.csv'
    elsewhere.parent.mkdir()
    for file, amount in ((tmp_path / 'map.csv', 1), (elsewhere, 2)):
        file.write_text(
            'consumer_uuid,resource_class,amount,to_provider\n'
            f'8a8d5b34-1a14-4d4f-8d3c-3a9b6b1b0e01,VGPU,{amount},b\n'
        )
    path.write_text(
        f'assignments: [map.csv, {elsewhere}]\n'
        'moves:\n- from_resource_provider: a\n  to_resource_provider: b\n'
        '  moved_resources: {VGPU: 1}\n'
    )
    spec, rows = storage.read_spec_and_rows(str(path))
    assert spec.assignments == (str(tmp_path / 'map.csv'), str(elsewhere))
    assert [row.amount for row in rows] == [1, 2]


def test_a_plan_stands_for_its_specification_and_its_rows(tmp_path):
    path, rows = tmp_path / 'plan.json', tmp_path / 'map.csv'
    plan = plan_of_one_row()
    storage.write_plan(str(path), plan)
    recipe = plan.recipe
    assert recipe is not None
    assert storage.read_spec_and_rows(str(path)) == (recipe.spec, list(recipe.assignments))
    consumer = uuid_of('a')
    rows.write_text(f'consumer_uuid,resource_class,amount,to_provider\n{consumer},VGPU,,gpu1\n')
    spec, assigned = storage.read_spec_and_rows(str(path), [str(rows)])
    assert (spec, [row.to_provider for row in assigned]) == (recipe.spec, ['gpu1'])


def plan_of_one_row():
    """A plan with what the operator knows in it."""
    live = cloud(
        {'compute1': {'inventories': {'VGPU': {'total': 2}}}}, {'a': {'compute1': {'VGPU': 1}}}
    )
    spec = specifications.parse_specification(
        '- from_resource_provider: compute1\n  to_resource_provider: gpu0\n'
        '  moved_resources: {VGPU: 1}\n'
        '- from_resource_provider: compute1\n  to_resource_provider: gpu1\n'
        '  moved_resources: {VGPU: 1}\n',
        'spec.yaml',
    )
    row = AssignmentRow(uuid_of('a'), 'VGPU', None, 'gpu0', path='map.csv', line=2)
    return planner.plan_reshape(live, spec, [row])


def test_a_link_that_others_may_have_made_is_not_followed(tmp_path, snapshot):
    (tmp_path / 'precious').write_text('precious')
    (tmp_path / 'link').symlink_to(tmp_path / 'precious')
    tmp_path.chmod(0o1777)
    with pytest.raises(errors.BadFile, match='symbolic link, in a folder where others may write'):
        disk.write_snapshot(str(tmp_path / 'link'), snapshot)
    assert (tmp_path / 'precious').read_text() == 'precious'
    disk.write_snapshot(str(tmp_path / 'cloud.json'), snapshot)


#: Texts that YAML folds, refuses, or takes for something else where they are not quoted.
HOSTILE = [
    'a\x85b', '\x85', '\u2028a', '\u2029', '\ufeffa', 'a\ufeff', '\ud800', '\udfffa', ' a',
    'a ', '\t', 'a\nb', 'a\r\nb',
    '\n', '\x00', '\x1b', '\x7f', '\x9f', '\xa0', '\ufffe', '\U0001f600',
    '\U000e0001',
    'yes', 'null', '1e3', '0x1f', '012', '1_0', '1:30', '.inf', '2026-01-01', '=', '~', '<<', '!a',
    '&a', '*a', '# a', 'a #b', 'a: b', '- a', '?', '|', '>', '%a', '@a', '`a', "'", '"', '{a}', ',',
    '\\u0041', 'a  ' * 100, 'a' * 3000,
]  # fmt: skip


@pytest.mark.parametrize('name', ['out.yaml', 'out.json'])
@pytest.mark.parametrize('text', HOSTILE, ids=ascii)
def test_a_document_is_read_back_as_it_was(tmp_path, name, text):
    path = str(tmp_path / name)
    meant = [{'name': text, 'traits': [text], 'key': {'ratio': 1.5, 'total': 1}}]
    disk.write_document(path, meant)
    assert cursors.parse_document(disk.read_text(path, kinds.TREES), path).value == meant


@pytest.mark.parametrize(
    'example', ['cloud.json', 'compute.json', 'hosts/before.json'], ids=lambda name: name
)
def test_a_snapshot_without_usages_is_told(tmp_path, caplog, example):
    path = Path(__file__).parents[3] / 'doc/source/examples' / example
    assert disk.read_snapshot(str(path)).consumers
    assert caplog.messages == []
    document = json.loads(path.read_text())
    for provider in document['providers']:
        provider['usages'] = {}
    without = tmp_path / 'without.json'
    without.write_text(json.dumps(document))
    disk.read_snapshot(str(without))
    (message,) = caplog.messages
    assert message.startswith(f'{without}: no usages of ')


def test_a_file_that_is_too_large_is_not_parsed(tmp_path, snapshot, monkeypatch):
    path = tmp_path / 'cloud.json'
    disk.write_snapshot(str(path), snapshot)
    os.truncate(path, 4_000_000)
    monkeypatch.setattr(disk, 'WRITTEN_LIMIT', 3 << 20)
    monkeypatch.setattr(disk.snapshots, 'decode_snapshot', lambda *arguments: pytest.fail('parsed'))
    with pytest.raises(errors.BadFile, match=r'is larger than 3 MiB$'):
        disk.read_snapshot(str(path))


def test_no_more_of_a_compressed_file_is_unpacked_than_is_read(tmp_path):
    path = tmp_path / 'spec.yaml.gz'
    path.write_bytes(gzip.compress(bytes(70 << 20)))
    with pytest.raises(errors.BadFile, match=r'is larger than 1 MiB$'):
        disk.read_text(str(path), kinds.TREES, most_bytes=1 << 20)


@pytest.mark.parametrize('number', ['010', '-012', '00', '0x10', '1:30', '12:30:45', '007'])
def test_numbers_of_another_base_are_refused_with_their_place(tmp_path, number):
    path = tmp_path / 'tree.yaml'
    path.write_text(f'name: a\ntotal: {number}\n')
    with pytest.raises(errors.BadFile, match=r'tree\.yaml:2: .* is no decimal number'):
        disk.read_document(str(path), kinds.TREES)


@pytest.mark.parametrize('number', ['0', '10', '-1', '0.5', '1_000', '"010"'])
def test_decimal_numbers_are_read(tmp_path, number):
    path = tmp_path / 'tree.yaml'
    path.write_text(f'total: {number}\n')
    assert str(disk.read_document(str(path), kinds.TREES)['total']) == number.replace(
        '_', ''
    ).strip('"')
