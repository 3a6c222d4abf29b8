"""Apply a plan with one process, with two and with four, on a database server.

    PYTHONPATH=. python benchmarks/processes.py
    PYTHONPATH=. python benchmarks/processes.py --database mariadb --processes 2

The hosts are those of ``window.py``: eight VGPU, four consumers, two children. The database is
Debian's PostgreSQL or MariaDB, a server of its own (tests/databases.py). Before each run its rows
are made anew, the same ones. One process is ``reshape apply`` without ``--processes``: it works on
four trees at a time by threads. What is measured is the whole command, from its start to its end;
printed are the medians, and the median of the ratios of each round.

The server has the same processors as the program. ``busy`` is how much of all of them was used, by
whomever: what is left of 100 % with one process is all that more processes can gain.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import sqlalchemy
import window
from paired import Pairs, Spent, clock, environment

from tests import databases
from tests.functional.databases import emptied

PROGRAM = Path(sys.executable).with_name('placement')


class Measured(NamedTuple):
    """What a run took.

    :param busy: the share of the time of all processors that was used, by whomever
    """

    spent: Spent
    busy: float


class Cloud:
    """A database on a server, and a plan for it.

    :param made: a SQLite database with the rows that it begins with
    :param folder: of the plan and its journal
    """

    def __init__(self, url: str, made: Path, folder: Path) -> None:
        self._url, self._made, self._plan = url, made, folder / 'plan.json'
        self.begin()
        spec = folder / 'spec.json'
        spec.write_text(json.dumps(window.specification()))
        self._run('plan', '--spec', spec, '--allow-inferred', '-o', self._plan)

    def begin(self) -> None:
        """Forget all that was done."""
        Path(f'{self._plan}.journal').unlink(missing_ok=True)
        emptied(self._url)
        copy(self._made, self._url)

    def apply(self, processes: int) -> Measured:
        """Apply the plan with so many processes."""
        option = [] if processes == 1 else ['--processes', str(processes)]
        self.begin()
        spent, before = clock(resource.RUSAGE_CHILDREN), idle()
        self._run('apply', self._plan, '--yes', *option)
        taken = spent()
        return Measured(taken, 1 - (idle() - before) / taken.wall / (os.cpu_count() or 1))

    def _run(self, *words: str | Path) -> None:
        cloud = environment(OS_AUTH_TYPE='placement_direct', OS_PLACEMENT_DATABASE=self._url)
        command = [PROGRAM, *window.RESHAPE, *words]
        subprocess.run(command, env=cloud, stdout=subprocess.DEVNULL, check=True)


def idle() -> float:
    """How long the processors have had nothing to do since the machine runs, in seconds, added."""
    _, seconds = Path('/proc/uptime').read_text().split()
    return float(seconds)


def copy(made: Path, url: str) -> None:
    """Put the rows of a SQLite database into one that has the tables, and nothing in them."""
    source, target = sqlalchemy.create_engine(f'sqlite:///{made}'), sqlalchemy.create_engine(url)
    tables = sqlalchemy.MetaData()
    tables.reflect(source)
    with source.connect() as reading, target.begin() as writing:
        if target.name == 'mysql':
            # Else it takes the first class's ID, which is 0, for one that it is to choose.
            writing.exec_driver_sql("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        for table in tables.sorted_tables:
            rows = [row._asdict() for row in reading.execute(table.select())]
            if rows and table.name != 'alembic_version':
                writing.execute(table.insert(), rows)
            if rows and 'id' in table.columns and target.name == 'postgresql':
                last = sqlalchemy.select(sqlalchemy.func.max(table.c.id)).scalar_subquery()
                sequence = sqlalchemy.func.pg_get_serial_sequence(table.name, 'id')
                writing.execute(sqlalchemy.select(sqlalchemy.func.setval(sequence, last)))
    source.dispose()
    target.dispose()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--database', choices=sorted(databases.KINDS), default='postgresql')
    parser.add_argument('--hosts', type=int, default=300)
    parser.add_argument('--processes', type=int, nargs='+', default=[2, 4], metavar='NUMBER')
    parser.add_argument('-n', type=int, default=5, help='rounds; default=5')
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = window.build(PROGRAM, folder / 'made', given.hosts)
        with databases.served(given.database) as url:
            cloud = Cloud(url, made, folder)
            taken = measured(cloud, [1, *given.processes], given.n)
    print(f'{given.database}, {given.hosts} hosts, {os.cpu_count()} processors, n={given.n}')
    for number, runs in taken.items():
        report(number, runs, taken[1])


def measured(cloud: Cloud, numbers: list[int], rounds: int) -> dict[int, list[Measured]]:
    """Each number of processes once in each round."""
    taken: dict[int, list[Measured]] = {number: [] for number in numbers}
    for _ in range(rounds):
        for number, runs in taken.items():
            runs.append(cloud.apply(number))
            spent, busy = runs[-1]
            print(f'{number}: {spent.wall:.2f} s, busy {busy:.0%}', file=sys.stderr)
    return taken


def report(number: int, runs: list[Measured], of_one: list[Measured]) -> None:
    """Print a row."""
    pairs = Pairs([run.spent for run in runs], [run.spent for run in of_one])
    wall, cpu = attrgetter('wall'), attrgetter('cpu')
    print(
        f'processes {number}: {median(map(wall, pairs.ours)):7.2f} s, '
        f'CPU of the program {median(map(cpu, pairs.ours)):7.2f} s, '
        f'busy {median(run.busy for run in runs):4.0%}, ratio {pairs.ratio(wall):.3f}'
    )


if __name__ == '__main__':
    main()
