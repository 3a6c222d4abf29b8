"""Histories as commands: save, list, stories, forecasts. On files, without any cloud."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from placementclient.model.origin import Origin
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.commands.clouds import changed, save, small
from tests.unit.conftest import Placement, Result, Service
from tests.unit.insight.clouds import cloud, consumer, provider

SNAPSHOT = 'resource provider snapshot'
UUID = '5f6c1d2e-8b0a-4b7e-9d1f-3c2a1b0e4d5c'
FLAVORS = [{'id': '1', 'name': 'm1', 'vcpus': 2, 'ram': 0, 'disk': 0, 'extra_specs': {}}]


def day(number: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(number)).isoformat()


def keep(placement: Placement, folder: Path, snapshots: Sequence[Snapshot]) -> str:
    """Save snapshots of one day after the other in a history."""
    history = folder / 'daily'
    for number, snapshot in enumerate(snapshots):
        snapshot.origin = Origin(day(number), 'http://127.0.0.1/placement', 'tests')
        file = save(folder, f'{number}.json', snapshot)
        result = placement(f'{SNAPSHOT} save --history {history} --snapshot {file}')
        assert (result.status, result.stderr) == (0, '')
    return str(history)


def busy(*used: int, on: str = 'host') -> list[Snapshot]:
    """A host with 100 VCPUs, of which one server uses more and more."""
    states = [provider('host', VCPU=100), provider('other', VCPU=0)]
    return [cloud(states, [consumer(UUID, **{on: {'VCPU': each}})]) for each in used]


def test_saving_prints_the_file_and_sends_nothing_of_a_file(
    placement: Placement, service: Service, tmp_path: Path
) -> None:
    small_cloud = small()
    small_cloud.origin = Origin(day(0))
    file = save(tmp_path, 'cloud.json', small_cloud)
    result = placement(f'{SNAPSHOT} save --history {tmp_path}/a --snapshot {file} -f json')
    assert (result.status, service.requests) == (0, [])
    assert json.loads(result.stdout) == {
        'file': f'{tmp_path}/a/000001-20260101T000000Z.whole',
        'trees': 3,
        'providers': 4,
        'consumers': 1,
    }


def test_it_lists_the_snapshots(placement: Placement, service: Service, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, [small(), changed()])
    rows = json.loads(placement(f'{SNAPSHOT} history {folder} -f json').stdout)
    sizes = [row.pop('bytes') for row in rows]
    assert rows == [
        {
            'at': day(0),
            'providers': 4,
            'consumers': 1,
            'kind': 'whole',
            'file': f'{folder}/000001-20260101T000000Z.whole',
        },
        {
            'at': day(1),
            'providers': 4,
            'consumers': 0,
            'kind': 'difference',
            'file': f'{folder}/000002-20260102T000000Z.difference',
        },
    ]
    assert sizes == [Path(row['file']).stat().st_size for row in rows]
    assert service.requests == []


def test_the_story_of_a_consumer(placement: Placement, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, [*busy(2), *busy(2, 4, on='other'), cloud([])])
    command = f'{SNAPSHOT} history {folder} --consumer {UUID.upper()}'
    rows = json.loads(placement(f'{command} -f json').stdout)
    assert rows[0] == {
        'previous': '',
        'at': day(0),
        'event': 'there',
        'name': UUID,
        'uuid': UUID,
        'field': 'allocations',
        'before': None,
        'after': {'host': {'VCPU': 2}},
    }
    assert [(row['previous'], row['at'], row['event']) for row in rows[1:]] == [
        (day(0), day(1), 'moved'),
        (day(1), day(2), 'grew'),
        (day(2), day(3), 'gone'),
    ]
    table = placement(f'{command} -c event -c before -c after').stdout
    assert '| moved | host (VCPU 2)  | other (VCPU 2) |' in table


def test_the_story_of_a_name_is_that_of_all_who_had_it(
    placement: Placement, tmp_path: Path
) -> None:
    def named(uuid: str) -> Snapshot:
        state = provider(uuid, VCPU=8)
        return cloud([_renamed(state, 'compute1')])

    folder = keep(placement, tmp_path, [named('old'), named('new')])
    rows = json.loads(placement(f'{SNAPSHOT} history {folder} --provider compute1 -f json').stdout)
    assert [(row['uuid'], row['event'], row['before'], row['after']) for row in rows] == [
        ('old', 'there', None, {'VCPU': 8}),
        ('new', 'came', None, {'VCPU': 8}),
        ('old', 'gone', {'VCPU': 8}, None),
    ]
    rows = json.loads(placement(f'{SNAPSHOT} history {folder} --provider new -f json').stdout)
    assert [(row['name'], row['event']) for row in rows] == [('compute1', 'came')]


def _renamed(state: ProviderState, name: str) -> ProviderState:
    return replace(state, provider=state.provider._replace(name=name))


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (f'--consumer {UUID}', f'No snapshot of {{}} has the consumer {UUID}\n'),
        ('--provider x', "No snapshot of {} has a resource provider 'x'\n"),
    ],
)
def test_what_was_never_there_is_an_error(
    placement: Placement, tmp_path: Path, options: str, said: str
) -> None:
    folder = keep(placement, tmp_path, [small()])
    result = placement(f'{SNAPSHOT} history {folder} {options}')
    assert result == Result(1, '', said.format(folder))


@pytest.mark.parametrize(
    'command',
    [
        f'{SNAPSHOT} history . --consumer {UUID} --provider x',
        f'{SNAPSHOT} save',
        f'{SNAPSHOT} save file --history folder',
        f'{SNAPSHOT} save --history folder --tree x',
    ],
)
def test_wrong_usage(placement: Placement, command: str) -> None:
    assert placement(command).status == 2


def test_damage_is_told_once_and_ends_with_status_6(placement: Placement, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, busy(1, 2, 3, 4))
    files = sorted(Path(folder).iterdir())
    files[1].write_bytes(files[1].read_bytes()[:-1])
    result = placement(f'{SNAPSHOT} history {folder} --consumer {UUID} -f value -c event')
    assert result == Result(
        6,
        'there\n',
        f'{files[1]}: damaged or truncated: this snapshot is left out\n'
        f'{files[2]} to {files[3]}: left out, as the snapshot before is missing or damaged, and '
        'these have only the differences from it (2)\n',
    )
    assert placement(f'{SNAPSHOT} history {folder} -f value -c at').status == 6
    result = placement(f'resource capacity forecast {folder} -f value -c verdict')
    assert (result.status, result.stdout) == (6, 'too little data\n')
    for file in files:
        file.write_bytes(b'')
    result = placement(f'{SNAPSHOT} history {folder}')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.endswith(f'{folder}: has no snapshot that can be read\n')


def test_other_commands_take_a_snapshot_of_a_history(placement: Placement, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, [small(), changed()])
    shown = json.loads(placement(f'{SNAPSHOT} show {folder}@2026-01-01 -f json').stdout)
    assert (shown['file'], shown['consumers']) == (f'{folder}@2026-01-01', 1)
    assert json.loads(placement(f'{SNAPSHOT} show {folder} -f json').stdout)['consumers'] == 0
    assert placement(f'{SNAPSHOT} diff {folder}@2026-01-01 {tmp_path}/0.json').status == 0
    assert placement(f'{SNAPSHOT} diff {folder}@2026-01-01 {folder}').status == 3
    capacity = 'resource capacity show --by class -c used -f value --snapshot'
    assert placement(f'{capacity} {folder}@2026-01-01').stdout == '40\n3\n0\n'
    assert placement(f'{SNAPSHOT} show {folder}@2026-12-31 -f value -c consumers') == Result(
        0, '0\n', f'{folder}@2026-12-31: the snapshot of {day(1)}\n'
    )
    assert placement(f'{capacity} {folder}@2025-12-31') == Result(
        1,
        '',
        f'{folder}: has no snapshot of 2025-12-31T23:59:59+00:00 or before: the first is '
        f'{day(0)}\n',
    )


@pytest.mark.parametrize('time', ['garbage', '2026-13', '22-11-2026', '', '2026/01/01', '2026-9-5'])
@pytest.mark.parametrize(
    'command', [f'{SNAPSHOT} show', f'{SNAPSHOT} diff', 'resource capacity show --snapshot']
)
def test_a_time_that_is_none_is_an_error(
    placement: Placement, tmp_path: Path, command: str, time: str
) -> None:
    folder = keep(placement, tmp_path, [small(), changed()])
    other = folder if 'diff' in command else ''
    assert placement(f'{command} {folder}@{time} {other}') == Result(
        1,
        '',
        f"{folder}@{time}: '{time}' is not a time: give YYYY-MM-DD or YYYY-MM-DDTHH:MM[:SS], "
        'with Z or an offset such as +01:00; without one it is UTC\n',
    )


def test_a_time_may_have_an_offset(placement: Placement, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, [small(), changed()])
    show = f'{SNAPSHOT} show -f value -c consumers {folder}@2026-01-02T00:30'
    assert placement(show).stdout == '0\n'
    assert placement(f'{show}+01:00') == Result(
        0, '1\n', f'{folder}@2026-01-02T00:30+01:00: the snapshot of {day(0)}\n'
    )


@pytest.mark.parametrize('cut', ['end', 'middle'])
def test_what_builds_on_damage_is_not_counted(
    placement: Placement, tmp_path: Path, cut: str
) -> None:
    folder = keep(placement, tmp_path, busy(1, 2, 3, 4))
    files = sorted(Path(folder).iterdir())
    content = bytearray(files[1].read_bytes())
    content[-9] ^= 1
    files[1].write_bytes(content[:-1] if cut == 'end' else content)
    told = (
        f'{files[1]}: damaged or truncated: this snapshot is left out\n'
        f'{files[2]} to {files[3]}: left out, as the snapshot before is missing or damaged, and '
        'these have only the differences from it (2)\n'
    )
    listed = placement(f'{SNAPSHOT} history {folder} -f value -c at')
    assert listed == Result(6, f'{day(0)}\n', told)
    forecast = placement(f'resource capacity forecast {folder} -f value -c used -c verdict')
    assert forecast == Result(6, '1 too little data\n', told)
    shown = placement(f'{SNAPSHOT} show {folder}@2026-01-03')
    assert (shown.status, shown.stdout) == (1, '')
    assert shown.stderr.endswith(
        f'{files[2]}: the snapshot of {day(2)} cannot be read: choose another one of resource '
        f'provider snapshot history {folder}\n'
    )


def test_a_name_with_an_at_sign_may_be_a_file_or_a_folder(
    placement: Placement, tmp_path: Path
) -> None:
    folder = keep(placement, tmp_path, [small()])
    shutil.copytree(folder, tmp_path / 'us@er')
    for path in (save(tmp_path, 'daily@2026.json', small()), f'{tmp_path}/us@er'):
        assert placement(f'{SNAPSHOT} show {path} -f value -c consumers') == Result(0, '1\n', '')
    path = f'{tmp_path}/us@er@2026-12-31'
    assert placement(f'{SNAPSHOT} show {path} -f value -c trees').stdout == '3\n'
    assert placement(f'{SNAPSHOT} show {tmp_path}/none@2026').stderr == (
        f'{tmp_path}/none@2026: No such file or directory\n'
    )


def test_a_clock_that_went_back(placement: Placement, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, busy(1, 2))
    result = placement(f'{SNAPSHOT} save --history {folder} --snapshot {tmp_path}/0.json')
    assert result.status == 0
    assert result.stderr == (
        f'the snapshot before was read at {day(1)}, this one at {day(0)}: a clock was wrong. The '
        'history has them in the order in which they were saved\n'
    )
    result = placement(f'resource capacity forecast {folder} -f value -c used')
    assert result == Result(
        0,
        '1\n',
        '1 of 3 snapshots are left out: a clock was wrong, so that their times are not in the '
        'order in which they were saved\n',
    )


def test_a_forecast_of_resource_classes(
    placement: Placement, service: Service, tmp_path: Path
) -> None:
    folder = keep(placement, tmp_path, busy(*range(60, 81)))
    result = placement(f'resource capacity forecast {folder} -f json')
    assert (result.status, result.stderr, service.requests) == (0, '', [])
    assert json.loads(result.stdout) == [
        {
            'resource_class': 'VCPU',
            'capacity': 100,
            'used': 80,
            'left': 20,
            'verdict': 'runs out',
            'runs_out': '2026-02-10',
            'earliest': '2026-02-10',
            'latest': '2026-02-10',
            'per_day': -1.0,
            'error': 0.0,
            'error_days': 5,
        }
    ]


def test_a_forecast_of_flavors(placement: Placement, service: Service, tmp_path: Path) -> None:
    folder = keep(placement, tmp_path, busy(*range(60, 102, 2)))
    flavors = save(tmp_path, 'flavors.json', FLAVORS)
    command = f'resource capacity forecast {folder} --flavors {flavors} -f json'
    result = placement(command)
    assert (result.status, service.requests) == (0, [])
    assert json.loads(result.stdout) == [
        {
            'flavor': 'm1',
            'left': 0,
            'verdict': 'has run out',
            'runs_out': '2026-01-21',
            'earliest': '2026-01-21',
            'latest': '2026-01-21',
            'per_day': -1.0,
            'error': 0.0,
            'error_days': 5,
        }
    ]
    assert placement(f'{command} --flavor m1').stdout == result.stdout
    assert placement(f'{command} --flavor m2') == Result(1, '', 'no flavor has the name m2\n')


def test_a_flavor_of_a_class_that_no_provider_ever_had(
    placement: Placement, tmp_path: Path
) -> None:
    folder = keep(placement, tmp_path, busy(*range(60, 81)))
    extra = [{'resources:CUSTOM_GOLD': '1'}, {'resources1:CUSTOM_GOLD': '1'}]
    flavors = save(
        tmp_path,
        'flavors.json',
        [
            FLAVORS[0] | {'id': str(number), 'name': f'gold{number}', 'extra_specs': specs}
            for number, specs in enumerate(extra)
        ],
    )
    result = placement(f'resource capacity forecast {folder} --flavors {flavors} -f json')
    assert result.status == 0
    rows = json.loads(result.stdout)
    assert [row.pop('flavor') for row in rows] == ['gold0', 'gold1']
    for row in rows:
        assert (row.pop('left'), row.pop('verdict')) == (0, 'no provider has the class')
        assert set(row.values()) == {None}


@pytest.mark.parametrize(
    ('used', 'verdict'),
    [
        (range(60, 70), 'too little data'),
        ([50] * 20, 'not within 19 days'),
        ([*[50] * 13, *range(50, 78, 4)], 'maybe within 19 days'),
    ],
)
def test_the_answer_in_words(
    placement: Placement, tmp_path: Path, used: Sequence[int], verdict: str
) -> None:
    folder = keep(placement, tmp_path, busy(*used))
    result = placement(f'resource capacity forecast {folder} -f json')
    [row] = json.loads(result.stdout)
    assert (row['verdict'], row['latest']) == (verdict, None)
    assert (row['earliest'] is not None) == verdict.startswith('maybe')
