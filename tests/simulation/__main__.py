"""``python -m tests.simulation SEED [--count N] [--only STEP,…]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation import clock

clock.inline_threads()

from tests.simulation import simulation  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.simulation', description=__doc__)
    parser.add_argument('seed', type=int)
    parser.add_argument('--count', type=int, default=1, metavar='N')
    parser.add_argument('--only', metavar='STEP,…', default='')
    arguments = parser.parse_args()
    only = {int(step) for step in arguments.only.split(',') if step}
    failed, began = 0, time.perf_counter()
    ended: Counter[tuple[str, int | None]] = Counter()
    with simulation.world() as world:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            try:
                history = simulation.play(world, seed, only=only)
            except simulation.Failed as failure:
                failed += 1
                print(failure, flush=True)
            else:
                print(seed, history.digest[:16], flush=True)
                ended += history.ended
    for (name, status), number in sorted(ended.items(), key=str):
        print(f'{number:6} {name}: {status}')
    print(f'{time.perf_counter() - began:.1f} s, {failed} failed', file=sys.stderr)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
