"""Every command prints in a batch what it prints by itself, also what it writes as bytes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from keystoneauth1.session import Session

from placementclient.cli import shell
from placementclient.embedded import Direct

EXAMPLES = Path(__file__).parents[2] / 'doc' / 'source' / 'examples' / 'hosts'
HOST, OTHER = 'gpu1', '42896e0d-205d-4fe3-bd1e-100924931787'
SERVER = '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8'
BEGIN = 'resource provider snapshot restore before.json'
SNAPSHOT = '--snapshot before.json'
FACTS = f'resource provider reshape assignments --host-facts gpu1 --host-facts gpu2 {SNAPSHOT} -o'
PLAN = f'resource provider reshape plan --spec vgpu.yaml {SNAPSHOT} --assignments map.csv -o'
PLANNED = (f'{FACTS} map.csv', f'{PLAN} plan.json')
DEVICES = 'resource provider reshape devices'
APPLY = 'resource provider reshape apply plan.json --yes'
APPLIED = (BEGIN, *PLANNED, APPLY)
#: Of each command that combines several endpoints: what is run before it, and its line.
LINES: list[tuple[tuple[str, ...], str]] = [
    ((BEGIN,), 'allocation candidate explain --resource VCPU=2'),
    ((BEGIN,), 'resource capacity export'),
    ((BEGIN,), 'resource capacity show --fits VCPU=4'),
    ((BEGIN,), f'resource provider aggregate add {HOST} {OTHER}'),
    ((BEGIN,), f'resource provider aggregate remove {HOST} {OTHER}'),
    ((BEGIN,), 'resource provider aggregate sync --aggregates aggregates.json --dry-run'),
    (
        (BEGIN,),
        f'resource provider allocation claim {OTHER} --resource VCPU=1 --project-id p --user-id u',
    ),
    ((), 'resource api check'),
    ((BEGIN,), 'resource provider allocation heal --servers servers.json --dry-run'),
    ((BEGIN,), f'resource provider allocation move {SERVER} --from gpu1 --to gpu2'),
    ((BEGIN,), f'resource provider allocation transfer {SERVER} --to-consumer {OTHER}'),
    ((BEGIN,), 'resource provider audit --servers servers.json --migrations migrations.json'),
    ((BEGIN,), f'resource provider drain plan {HOST}'),
    ((BEGIN,), f'resource provider replace {HOST} --uuid {OTHER} --dry-run'),
    ((BEGIN,), f'resource provider purge {HOST} --dry-run --force'),
    ((BEGIN,), f'resource provider report {SNAPSHOT} -o -'),
    ((BEGIN,), f'{FACTS} -'),
    ((BEGIN,), f'{FACTS} map.csv'),
    ((), 'resource provider reshape collector'),
    ((), f'{DEVICES} --devices pci.csv --device-spec nova.conf {SNAPSHOT} -o -'),
    (PLANNED, f'{PLAN} plan2.json'),
    (PLANNED, f'{PLAN} -'),
    ((BEGIN, *PLANNED), APPLY),
    (APPLIED, 'resource provider reshape status plan.json'),
    (APPLIED, 'resource provider reshape verify plan.json'),
    (APPLIED, 'resource provider reshape rollback plan.json --yes'),
    (PLANNED, 'resource provider reshape show plan.json'),
    ((), 'resource provider reshape schema spec'),
    ((), 'resource provider snapshot diff before.json live'),
    ((), BEGIN),
    ((BEGIN,), 'resource provider snapshot save -'),
    ((), 'resource provider snapshot show before.json'),
    ((BEGIN, 'trait create CUSTOM_A'), f'resource provider trait add {HOST} CUSTOM_A'),
    ((BEGIN,), f'resource provider trait remove {HOST} COMPUTE_NODE'),
    ((), 'resource provider tree apply trees.yaml --dry-run'),
    ((BEGIN,), 'resource provider tree export'),
    ((BEGIN,), 'resource provider tree graph'),
    ((BEGIN,), 'resource provider tree graph --format svg'),
    ((BEGIN,), 'resource provider tree list'),
    ((BEGIN,), f'resource provider tree show {HOST}'),
]
#: Those that have a Placement of their own: a process runs one at a time.
ALONE = {'resource provider reshape demo', 'resource provider reshape rehearse'}
#: What the time of day makes different: dates, durations, and what names a scratch database.
CHANGING = re.compile(
    r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?|\d+(\.\d+)? (s|seconds|ms)\b|/tmp/\S+'
)

Run = Callable[[Session, str], tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a service."""

    def run(session: Session, line: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = shell.main(line.split(), session=session)
        return status, *capsys.readouterr()

    return run


def test_each_command_has_a_line() -> None:
    points = distribution(shell.DISTRIBUTION).entry_points.select(group=shell.COMMANDS)
    names = {point.name.replace('_', ' ') for point in points if point.load().endpoint is None}
    lines = [line for _, line in LINES]
    assert {name for name in names if not any(line.startswith(name) for line in lines)} == ALONE


@pytest.mark.slow
@pytest.mark.parametrize(('before', 'line'), LINES)
def test_a_command_prints_the_same(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: tuple[str, ...], line: str
) -> None:
    printed = []
    for way in ('alone', 'batch'):
        folder = tmp_path / way
        folder.mkdir()
        for path in EXAMPLES.iterdir():
            (folder / path.name).symlink_to(path)
        (folder / 'trees.yaml').write_text('name: compute1')
        for name in ('aggregates', 'servers', 'migrations'):
            (folder / f'{name}.json').write_text('[]')
        monkeypatch.chdir(folder)
        with Direct.scratch() as service:
            session = Session(auth=service)
            for each in before:
                assert run(session, each)[0] == 0, each
            if way == 'alone':
                status, stdout, stderr = run(session, line)
            else:
                content = io.TextIOWrapper(io.BytesIO(line.encode()))
                monkeypatch.setattr('sys.stdin', content)
                said = json.loads(run(session, 'batch --json-lines')[1])
                status, stdout, stderr = said['status'], said['stdout'], said['stderr']
        printed.append((status, CHANGING.sub('', stdout), CHANGING.sub('', stderr)))
    alone, batch = printed
    assert alone[0] in (0, 3)
    assert alone[1] or alone[2]
    assert batch == alone
