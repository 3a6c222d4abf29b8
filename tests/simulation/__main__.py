# SPDX-License-Identifier: Apache-2.0
"""Play seeds: ``python -m tests.simulation SEED [--count N] [--processes N] [--only STEP,…]``.

A line for each seed, with the digest of its history. A failure prints the end of the log, the
invariant that does not hold, and the shortest list of steps that still fails: type that line again.
"""

import argparse
import concurrent.futures
import multiprocessing
import sys

from tests.simulation.playing import Ended, played


def chunks(first, count):
    """The seeds in parts, after each of which is said how they ended."""
    for start in range(first, first + count, 10):
        yield range(start, min(start + 10, first + count))


def main():
    parser = argparse.ArgumentParser(prog='python -m tests.simulation', description=__doc__)
    parser.add_argument('seed', type=int)
    parser.add_argument('--count', type=int, default=1, metavar='N')
    parser.add_argument('--processes', type=int, default=1, metavar='N')
    parser.add_argument('--only', metavar='STEP,…', default='', help='play these steps only')
    parser.add_argument('--statistics', action='store_true', help='say how commands have ended')
    arguments = parser.parse_args()
    only = frozenset(int(step) for step in arguments.only.split(',') if step)
    failed, ended = 0, Ended()
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(arguments.processes, context) as pool:
        parts = [
            pool.submit(played, seeds, only) for seeds in chunks(arguments.seed, arguments.count)
        ]
        for part in parts:
            lines, number, some = part.result()
            failed, ended = failed + number, ended + some
            print(*lines, sep='\n', flush=True)
    if arguments.statistics:
        for (name, status), number in sorted(ended.items(), key=str):
            print(f'{number:6} {name}: {status}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
