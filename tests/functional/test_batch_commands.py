"""Every command prints in a batch what it prints by itself, also what it writes as bytes."""

import io
import json
import re
from pathlib import Path

import pytest
from keystoneauth1.session import Session

from placementclient.cli import shell
from placementclient.embedded import Direct

EXAMPLES = Path(__file__).parents[2] / 'doc' / 'source' / 'examples' / 'hosts'
SNAPSHOT = '--snapshot before.json'
FACTS = f'resource provider reshape assignments --host-facts gpu1 --host-facts gpu2 {SNAPSHOT} -o'
PLAN = f'resource provider reshape plan --spec vgpu.yaml {SNAPSHOT} --assignments map.csv -o'
DEVICES = 'resource provider reshape devices'
#: Commands of each form of output, one after the other on the same service.
LINES = (
    'resource api check',
    'resource provider snapshot restore before.json',
    'allocation candidate explain --resource VCPU=2',
    'resource capacity export',
    'resource provider audit --servers servers.json --migrations migrations.json',
    f'resource provider report {SNAPSHOT} -o -',
    'resource provider reshape collector',
    f'{DEVICES} --devices pci.csv --device-spec nova.conf {SNAPSHOT} -o -',
    f'{FACTS} -',
    f'{FACTS} map.csv',
    f'{PLAN} -',
    f'{PLAN} plan.json',
    'resource provider reshape show plan.json',
    'resource provider reshape apply plan.json --yes',
    'resource provider reshape rollback plan.json --yes',
    'resource provider snapshot diff before.json live',
    'resource provider snapshot save -',
    'resource provider tree export',
    'resource provider tree graph --format svg',
    'resource provider trait add gpu1 HW_CPU_X86_AVX',
)
#: What the time of day makes different: dates, durations, and what names a scratch database.
CHANGING = re.compile(
    r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?|\d+(\.\d+)? (s|seconds|ms)\b|/tmp/\S+'
)


@pytest.fixture
def run(capsys):
    """Runs a command on a service."""

    def run(session, line):
        capsys.readouterr()
        status = shell.main(line.split(), session=session)
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to a new folder with the files of the lines."""

    def enter(name):
        folder = tmp_path / name
        folder.mkdir()
        for path in EXAMPLES.iterdir():
            (folder / path.name).symlink_to(path)
        (folder / 'trees.yaml').write_text('name: compute1')
        for records in ('aggregates', 'servers', 'migrations'):
            (folder / f'{records}.json').write_text('[]')
        monkeypatch.chdir(folder)

    return enter


def steady(status, stdout, stderr):
    return status, CHANGING.sub('', stdout), CHANGING.sub('', stderr)


@pytest.mark.slow
def test_a_command_prints_the_same(run, folder, monkeypatch):
    folder('alone')
    with Direct.scratch() as service:
        session = Session(auth=service)
        alone = [steady(*run(session, line)) for line in LINES]
    folder('batch')
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO('\n'.join(LINES).encode())))
    with Direct.scratch() as service:
        printed = run(Session(auth=service), 'batch --json-lines --keep-going')[1]
    results = [json.loads(line) for line in printed.splitlines()]
    batch = [steady(each['status'], each['stdout'], each['stderr']) for each in results]
    assert len(batch) == len(LINES)
    for line, expected, result in zip(LINES, alone, batch, strict=True):
        assert result == expected, line
        assert result[0] in (0, 3), (line, result)
        assert result[1] or result[2], line
