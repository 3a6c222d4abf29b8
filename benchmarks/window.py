# SPDX-License-Identifier: Apache-2.0
"""The steps of an offline reshape, and what looks at a whole cloud, with two programs in turn.

    python -m benchmarks.window BEFORE/bin/placement NOW/bin/placement --hosts 1000

BEFORE is an environment with an earlier state of the package, NOW one with the present state, both
with the embedded service. For that of commit 1c3ac22:

    git worktree add build/before 1c3ac22
    python -m venv build/before-env
    build/before-env/bin/pip install './build/before[direct]'

Each host has eight VGPU, four consumers that hold two each, and gets two children. Both programs
work on copies of one SQLite database, in turn, step by step. Printed are the medians of the rounds
and the median of the ratios of each round; the ratio of CPU does not count who else had the
processors meanwhile.

A large cloud once, and what it takes against a tenth of it:

    python -m benchmarks.window - NOW/bin/placement --hosts 10000 --also 1000 -n 1
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from benchmarks.paired import Pairs, Spent, clock, environment
from benchmarks.stage import uuid

CONSUMERS, AMOUNT = 4, 2
CHILDREN = ('{root}_pci_0000_84_00_0', '{root}_pci_0000_85_00_0')
TRAITS = ('COMPUTE_NODE', 'HW_CPU_X86_AVX', 'HW_CPU_X86_AVX2', 'OWNER_NOVA')
INVENTORIES = {
    'VCPU': (64, 4.0),
    'MEMORY_MB': (262144, 1.0),
    'VGPU': (CONSUMERS * AMOUNT, 1.0),
}
ALLOCATED = {'VCPU': 4, 'MEMORY_MB': 8192, 'VGPU': AMOUNT}
CREATED = '2026-01-01 00:00:00'
RESHAPE = ('resource', 'provider', 'reshape')
#: What is measured: its name, its words, and the share of the time of before that is its goal.
STEPS: tuple[tuple[str, Sequence[str], float | None], ...] = (
    ('snapshot save', ('resource', 'provider', 'snapshot', 'save', 'cloud.json'), 0.05),
    ('audit', ('resource', 'provider', 'audit'), 0.10),
    ('capacity show', ('resource', 'capacity', 'show'), 0.10),
    ('tree list', ('resource', 'provider', 'tree', 'list'), 0.10),
    (
        'reshape plan',
        (
            *RESHAPE,
            *[
                'plan',
                '--spec',
                'spec.json',
                '--snapshot',
                'cloud.json',
                '--allow-inferred',
                '-o',
                'plan.json',
            ],
        ),
        None,
    ),
    ('reshape apply', (*RESHAPE, 'apply', 'plan.json', '--yes'), 0.35),
    ('reshape status', (*RESHAPE, 'status', 'plan.json'), 0.10),
    ('reshape verify', (*RESHAPE, 'verify', 'plan.json'), 0.10),
    ('reshape rollback', (*RESHAPE, 'rollback', 'plan.json', '--yes'), 0.35),
)
#: The way to the end of the window.
WHOLE = ('snapshot save', 'reshape plan', 'reshape apply', 'reshape verify')
#: Finding something is no failure.
DIFFERS = 3


class Program:
    """One of the two, with a folder and a database of its own.

    :param file: the program ``placement`` of an environment
    """

    def __init__(self, file: Path, folder: Path) -> None:
        self._file, self._folder = file.absolute(), folder
        self._database = folder / 'placement.sqlite'
        folder.mkdir()

    def begin(self, database: Path) -> None:
        """Forget all that was done."""
        for path in self._folder.iterdir():
            path.unlink()
        shutil.copy(database, self._database)
        (self._folder / 'spec.json').write_text(json.dumps(specification()))

    def run(self, words: Sequence[str]) -> Spent:
        """What a command takes, from its start to its end."""
        cloud = environment(
            OS_AUTH_TYPE='placement_direct', OS_PLACEMENT_DATABASE=f'sqlite:///{self._database}'
        )
        spent = clock(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(
            [self._file, *words],
            cwd=self._folder,
            env=cloud,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        taken = spent()
        if ended.returncode not in (0, DIFFERS):
            raise SystemExit(f'{" ".join(words)}: {ended.stderr.decode()}')
        return taken


def specification() -> dict[str, object]:
    """The VGPU of each host go to two children."""
    share = CONSUMERS * AMOUNT // len(CHILDREN)
    return {
        'trees': {'name': ['compute*'], 'class': ['VGPU']},
        'providers': [
            {
                'name': name,
                'inventories': {'VGPU': {'total': share, 'max_unit': share}},
                'traits': ['OWNER_NOVA'],
            }
            for name in CHILDREN
        ],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': name,
                'moved_resources': {'VGPU': share},
            }
            for name in CHILDREN
        ],
    }


def build(program: Path, folder: Path, hosts: int) -> Path:
    """A database with so many hosts; its schema is the program's, its rows are put in directly."""
    cloud = environment(OS_AUTH_TYPE='placement_direct', XDG_DATA_HOME=str(folder))
    words = ('resource', 'provider', 'list')
    subprocess.run([program, *words], env=cloud, stdout=subprocess.DEVNULL, check=True)
    path = folder / 'placementclient' / 'placement.sqlite'
    connection = sqlite3.connect(path)
    with connection:
        fill(connection, hosts)
    connection.close()
    return path


def fill(connection: sqlite3.Connection, hosts: int) -> None:
    """Hosts and their consumers, as the service would have stored them."""
    classes = dict(connection.execute('SELECT name, id FROM resource_classes'))
    traits = dict(connection.execute('SELECT name, id FROM traits'))
    for table, count in (('projects', 20), ('users', 40)):
        rows = [(n, f'{n:032x}', CREATED) for n in range(1, count + 1)]
        _insert(connection, table, 'id, external_id, created_at', rows)
    ids = range(1, hosts + 1)
    _insert(
        connection,
        'resource_providers',
        'id, uuid, name, generation, root_provider_id, created_at',
        ((n, uuid(1, n), f'compute{n:05}', 9, n, CREATED) for n in ids),
    )
    _insert(
        connection,
        'inventories',
        'resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size,'
        'allocation_ratio, created_at',
        (
            (n, classes[name], total, 0, 1, total, 1, ratio, CREATED)
            for n in ids
            for name, (total, ratio) in INVENTORIES.items()
        ),
    )
    _insert(
        connection,
        'resource_provider_traits',
        'resource_provider_id, trait_id, created_at',
        ((n, traits[name], CREATED) for n in ids for name in TRAITS),
    )
    consumers = [(n, n * CONSUMERS + server) for n in ids for server in range(CONSUMERS)]
    _insert(
        connection,
        'consumers',
        'uuid, project_id, user_id, generation, created_at',
        ((uuid(2, c), 1 + c % 20, 1 + c % 40, 1, CREATED) for _, c in consumers),
    )
    _insert(
        connection,
        'allocations',
        'resource_provider_id, consumer_id, resource_class_id, used, created_at',
        (
            (n, uuid(2, c), classes[name], amount, CREATED)
            for n, c in consumers
            for name, amount in ALLOCATED.items()
        ),
    )


def _insert(
    connection: sqlite3.Connection,
    table: str,
    columns: str,
    rows: Iterator[tuple[object, ...]] | Sequence[tuple[object, ...]],
) -> None:
    marks = ', '.join('?' for _ in columns.split(','))
    connection.executemany(f'INSERT INTO {table} ({columns}) VALUES ({marks})', rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('before', type=Path, help='the program of before; - to leave it out')
    parser.add_argument('now', type=Path)
    parser.add_argument('--hosts', type=int, default=200)
    parser.add_argument('--also', type=int, metavar='HOSTS', help='the present state with those')
    parser.add_argument('-n', type=int, default=3, help='rounds; default=3')
    arguments = parser.parse_args()
    taken = compared(arguments.before, arguments.now, arguments.hosts, arguments.n)
    for step, _, goal in STEPS:
        report(step, {side: times[step] for side, times in taken.items()}, arguments.hosts, goal)
    wholes = {side: whole(times) for side, times in taken.items()}
    report('snapshot, plan, apply, verify', wholes, arguments.hosts, None)
    # Of all children: the largest of them, of whichever program.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f'{arguments.hosts} hosts, n={arguments.n}; no process took more than {peak:.0f} MiB')
    if arguments.also:
        few = whole(compared(Path('-'), arguments.now, arguments.also, arguments.n)['now'])
        report('snapshot, plan, apply, verify', {'now': few}, arguments.also, None)
        wall, cpu = (
            statistics.median(map(of, wholes['now'])) / statistics.median(map(of, few))
            for of in (attrgetter('wall'), attrgetter('cpu'))
        )
        pair = f'{arguments.hosts} hosts take {wall:.2f} times what {arguments.also} take'
        print(f'{pair}, of CPU {cpu:.2f}')


def compared(before: Path, now: Path, hosts: int, rounds: int) -> dict[str, dict[str, list[Spent]]]:
    """What each step of each program takes, a value for each round.

    :param before: ``-`` to leave it out
    """
    # Not in /tmp, where it would be held in memory.
    with tempfile.TemporaryDirectory(dir=os.environ.get('TMPDIR', '/var/tmp')) as name:
        folder = Path(name)
        database = build(now, folder / 'made', hosts)
        programs = {'now': Program(now, folder / 'now')}
        if str(before) != '-':
            programs = {'before': Program(before, folder / 'before'), **programs}
        return measured(programs, database, rounds)


def measured(
    programs: dict[str, Program], database: Path, rounds: int
) -> dict[str, dict[str, list[Spent]]]:
    """The steps one after the other, each with one program after the other."""
    taken: dict[str, dict[str, list[Spent]]] = {side: {} for side in programs}
    for number in range(rounds):
        for program in programs.values():
            program.begin(database)
        for step, words, _ in STEPS:
            for side, program in programs.items():
                spent = program.run(words)
                taken[side].setdefault(step, []).append(spent)
                print(
                    f'{number + 1}: {step}, {side}: {spent.wall:.2f} s, CPU {spent.cpu:.2f} s',
                    file=sys.stderr,
                )
    return taken


def whole(taken: dict[str, list[Spent]]) -> list[Spent]:
    """The way to the end of the window, in each round."""
    rounds = zip(*(taken[step] for step in WHOLE), strict=True)
    return [Spent(sum(s.wall for s in steps), sum(s.cpu for s in steps)) for steps in rounds]


def report(step: str, taken: dict[str, list[Spent]], hosts: int, goal: float | None) -> None:
    """Print a row."""
    columns = []
    for side, runs in taken.items():
        wall = statistics.median(run.wall for run in runs)
        columns.append(f'{side} {wall:8.2f} s {wall / hosts * 1000:7.2f} ms a host')
    if 'before' in taken:
        pairs = Pairs(taken['now'], taken['before'])
        wall, cpu = pairs.ratio(attrgetter('wall')), pairs.ratio(attrgetter('cpu'))
        columns.append(f'ratio {wall:.3f}, of CPU {cpu:.3f}')
        columns.append('' if goal is None else f'(at most {goal:.2f})')
    print(f'{step:<30}', *columns, flush=True)


if __name__ == '__main__':
    main()
