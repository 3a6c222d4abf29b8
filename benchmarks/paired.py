# SPDX-License-Identifier: Apache-2.0
"""Two things in turn, and the ratio of their times."""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple


class Spent(NamedTuple):
    """What a run took, in seconds.

    :param cpu: of processors, by the program and all that it starts, not by a server; ``NaN`` where
        that is not known
    """

    wall: float
    cpu: float = math.nan

    def __truediv__(self, number: int) -> Spent:
        return Spent(self.wall / number, self.cpu / number)


#: Prepares one run and returns what it took.
Run = Callable[[], Spent]


@dataclass
class Pairs:
    """What two things took that were run in turn: A B A B …

    A pair's two runs meet the same machine, however its speed drifts.
    """

    ours: list[Spent] = field(default_factory=list)
    theirs: list[Spent] = field(default_factory=list)

    def ratio(self, of: Callable[[Spent], float]) -> float:
        """The median of the ratios of each pair."""
        return statistics.median(of(a) / of(b) for a, b in zip(self.ours, self.theirs, strict=True))

    def report(self, title: str, target: float | None = None) -> None:
        """Print a row.

        On a machine with other work the ratio of the processors' time says more: it does not count
        who else has had its turn.
        """
        aim = '' if target is None else f'  (at most {target:.2f})'
        a, b = (statistics.median(run.wall for run in runs) for runs in (self.ours, self.theirs))
        wall, cpu = self.ratio(attrgetter('wall')), self.ratio(attrgetter('cpu'))
        of_cpu = '' if math.isnan(cpu) else f', of CPU {cpu:.3f}'
        print(
            f'{title:<48} {a:>9.4f} s {b:>9.4f} s  n={len(self.ours):<3} '
            f'ratio {wall:.3f}{of_cpu}{aim}',
            flush=True,
        )


def paired(ours: Run, theirs: Run, runs: int) -> Pairs:
    """Run both in turn, once each without counting."""
    pairs = Pairs()
    ours(), theirs()
    for _ in range(runs):
        pairs.ours.append(ours())
        pairs.theirs.append(theirs())
    return pairs


def clock(who: int) -> Callable[[], Spent]:
    """What says how much has been spent since: by this process, or by those it started that ended.

    :param who: ``resource.RUSAGE_SELF`` or ``resource.RUSAGE_CHILDREN``
    """
    started, before = time.perf_counter(), _processors(who)
    return lambda: Spent(time.perf_counter() - started, _processors(who) - before)


def _processors(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def command(
    argv: Sequence[object], environment: Mapping[str, str], *, times: int = 1, per: int = 1
) -> Run:
    """Whole processes, from their start to their end.

    :param times: how often the command is run, one after the other
    :param per: how many pieces of work that makes in all; what is spent is that for one
    """
    words = [str(word) for word in argv]

    def run() -> Spent:
        spent = clock(resource.RUSAGE_CHILDREN)
        for _ in range(times):
            subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)
        return spent() / per

    return run


def environment(**settings: str) -> dict[str, str]:
    """The environment without the settings of another cloud, and with bytecode as installed."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    plain.pop('PYTHONDONTWRITEBYTECODE', None)
    return {**plain, 'PYTHONWARNINGS': 'ignore', **settings}


def runs(default: int, description: str | None) -> int:
    """How many pairs the command line asks for."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('-n', type=int, default=default, help=f'pairs of runs; default={default}')
    number: int = parser.parse_args().n
    return number
