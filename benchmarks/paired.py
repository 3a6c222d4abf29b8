"""Two things in turn, and the ratio of their times."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

#: Prepares one run and returns the seconds that it took.
Run = Callable[[], float]


@dataclass
class Pairs:
    """The times of two things that were run in turn: A B A B …

    A pair's two runs meet the same machine, however its speed drifts.
    """

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median of the ratios of each pair."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def report(self, title: str, target: float | None = None) -> None:
        """Print a row."""
        aim = '' if target is None else f'  (at most {target:.2f})'
        a, b = statistics.median(self.ours), statistics.median(self.theirs)
        print(
            f'{title:<48} {a:>9.4f} s {b:>9.4f} s  '
            f'n={len(self.ours):<3} ratio {self.ratio:.3f}{aim}',
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


def command(
    argv: Sequence[object], environment: Mapping[str, str], *, times: int = 1, per: int = 1
) -> Run:
    """Whole processes, from their start to their end.

    :param times: how often the command is run, one after the other
    :param per: how many pieces of work that makes in all; the seconds are those of one
    """
    words = [str(word) for word in argv]

    def run() -> float:
        started = time.perf_counter()
        for _ in range(times):
            subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)
        return (time.perf_counter() - started) / per

    return run


def environment(**settings: str) -> dict[str, str]:
    """The environment without the settings of another cloud."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    return {**plain, 'PYTHONWARNINGS': 'ignore', **settings}


def runs(default: int, description: str | None) -> int:
    """How many pairs the command line asks for."""
    parser = argparse.ArgumentParser(description=(description or '').partition('\n')[0])
    parser.add_argument('-n', type=int, default=default, help=f'pairs of runs; default={default}')
    number: int = parser.parse_args().n
    return number
