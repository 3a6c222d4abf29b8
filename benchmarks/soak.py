"""Minutes of reshape and rollback of fifty trees, beside a writer that claims and frees.

    PYTHONPATH=. python benchmarks/soak.py --minutes 10

The service is that of ``writers.py``: MariaDB under uWSGI with four workers. Snapshots are taken
all the time; in each of them what is there before keeps what it holds, claims are whole, every tree
has as much VGPU as it had, and no provider gives more than it has. After each apply, and at the
end, every tree is where the journal says. Exit status 1, if anything is otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import writers

from tests.functional.soaking import soak


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=10, help='how long; default=10')
    parser.add_argument('--hosts', type=int, default=50, help='how many trees; default=50')
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, started = Path(name), time.perf_counter()
        with writers.service(folder) as url:
            figures = soak(url, folder, given.hosts, 60 * given.minutes)
        seconds = time.perf_counter() - started
    print(f'{given.hosts} trees, {seconds:.0f} s, {figures.rounds} rounds')
    print(', '.join(f'{state}: {times}' for state, times in sorted(figures.ended.items())))
    print(f'{figures.snapshots} snapshots; {figures.unstable} came to no end')
    print(f'{figures.claimed} consumers of the writer at the end')
    for wrong in figures.wrong[:20]:
        print(f'WRONG: {wrong}')
    return 1 if figures.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
