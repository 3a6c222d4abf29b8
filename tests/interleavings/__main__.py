# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.interleavings [--alone] [--part N/M] [--planted] [--trace TRACE] [COMMAND …]``.

A line for each command, with the numbers of its runs and states. A failure prints the requests of
its shortest trace, and the option that runs it again.
"""

import argparse
import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.pool import Pool
from typing import NamedTuple

from tests.simulation import clock

clock.inline_threads()

from placementclient.embedded import service  # noqa: E402
from tests.interleavings.exploring import Explorer, Findings  # noqa: E402
from tests.interleavings.planted import DEFECTS  # noqa: E402
from tests.interleavings.remembering import RememberingWorld  # noqa: E402
from tests.interleavings.running import Trace, import_all  # noqa: E402
from tests.interleavings.scenarios import scenarios  # noqa: E402

#: A day's part explores one of so many slices of a command's traces.
SLICES = 6


class Task(NamedTuple):
    """A slice of the traces of a scenario, maybe with a defect planted."""

    name: str
    number: int = 0
    count: int = 1
    is_alone: bool = False
    defect: str = ''


def explored(task: Task) -> tuple[str, Findings, float]:
    """Explore a scenario in this process, which serves no other."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        defect = DEFECTS.get(task.defect)
        with defect.planted() if defect else contextlib.nullcontext():
            explorer = Explorer(RememberingWorld(), scenarios()[task.name])
            findings = explorer.explore(
                task.number, task.count, is_alone=task.is_alone, is_quick=defect is not None
            )
        os.chdir('/')
    return task.defect or task.name, findings, time.monotonic() - began


def replayed(trace: Trace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        explorer = Explorer(RememberingWorld(), scenarios()[trace.scenario])
        outcome = explorer.judge(trace)
        os.chdir('/')
    for number, exchange in enumerate(outcome.exchanges):
        print(f'{number:3} {exchange}')
        for written, changed in outcome.writes:
            if written == number:
                print(
                    *(f'      {key} {was} -> {now}' for key, (was, now) in changed.items()),
                    sep='\n',
                )
    print(f'-> {outcome.status}\n{outcome.output}')
    for failure in explorer.findings.failures:
        print(failure.violation)
    return 1 if explorer.findings.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.interleavings', description=__doc__)
    parser.add_argument('scenarios', nargs='*', metavar='COMMAND', help='explore these alone')
    parser.add_argument('--processes', type=int, default=1, metavar='N')
    parser.add_argument('--part', metavar='N/M', help='the part of number N modulo M')
    parser.add_argument('--alone', action='store_true', help='nobody else acts')
    parser.add_argument('--planted', action='store_true', help='plant defects, and find them')
    parser.add_argument('--trace', type=Trace.parsed, help='run one trace')
    parser.add_argument('--list', action='store_true', help='print the commands')
    arguments = parser.parse_args()
    by_name = scenarios()
    if arguments.list:
        print(*by_name, sep='\n')
        return 0
    service.make_empty_database()
    import_all()
    if arguments.trace:
        return replayed(arguments.trace)
    tasks = [Task(name, is_alone=arguments.alone) for name in arguments.scenarios or by_name]
    if arguments.part:
        number, count = map(int, arguments.part.split('/'))
        whole = tasks if arguments.alone else sliced(tasks)
        # The number may be that of a day.
        tasks = whole[number % count :: count]
    context = multiprocessing.get_context('fork')
    if arguments.planted:
        with context.Pool(arguments.processes, maxtasksperchild=1) as pool:
            return find_planted(pool)
    failed = runs = states = 0
    with context.Pool(arguments.processes, maxtasksperchild=1) as pool:
        for name, findings, seconds in pool.imap_unordered(explored, tasks):
            runs, states = runs + findings.runs, states + findings.states
            failed += bool(findings.failures)
            numbers = f'{findings.runs} runs, {findings.states} states, {seconds:.0f} s'
            failures = f', {len(findings.failures)} FAILED' if findings.failures else ''
            print(f'{name}: {numbers}{failures}', flush=True)
            show(findings)
    print(f'{len(tasks)} tasks, {runs} runs, {states} states, {failed} tasks failed')
    return 1 if failed else 0


def find_planted(pool: Pool) -> int:
    """Plant each defect, and print the first trace that shows it."""
    missed = 0
    tasks = [Task(defect.scenario, defect=name) for name, defect in DEFECTS.items()]
    for name, findings, seconds in pool.imap(explored, tasks):
        missed += not findings.failures
        print(f'{name}: {findings.runs} runs, {seconds:.0f} s')
        for failure in findings.failures:
            print(f'  {failure.trace}\n  {failure.violation}', flush=True)
    print(f'{len(tasks)} defects planted, {missed} not found')
    return 1 if missed else 0


def show(findings: Findings) -> None:
    """Print the shortest failing trace of each kind."""
    by_kind = {}
    for failure in sorted(findings.failures, key=lambda failure: failure.size, reverse=True):
        by_kind[failure.violation.kind] = failure
    for failure in by_kind.values():
        print(*failure.requests, failure.output[-1500:], failure.violation, sep='\n')
        print(f"python -m tests.interleavings --trace '{failure.trace}'", flush=True)


def sliced(tasks: Sequence[Task]) -> list[Task]:
    """Return the slices of tasks, such that parts of them are alike."""
    return [task._replace(number=n, count=SLICES) for n in range(SLICES) for task in tasks]


if __name__ == '__main__':
    sys.exit(main())
