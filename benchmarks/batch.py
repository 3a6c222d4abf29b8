# SPDX-License-Identifier: Apache-2.0
"""One command in a batch of 200, server and all, against two things in turn.

    python -m benchmarks.batch

First against one in a loop with osc-placement. Then a command that takes three requests against
these same requests, recorded and sent again from one bare connection, one after the other: what the
service needs. So are the commands with one worker; by default some run beside each other.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import stage
from benchmarks.paired import Run, command, environment, paired, runs
from benchmarks.recording import recorder, replay

LINES, LOOP = 200, 5
SHOW = ('resource', 'provider', 'show', stage.uuid(1, 0))
#: It asks who has the name, then for the inventories, then for what is used of them.
INVENTORY = ('resource', 'provider', 'inventory', 'list', 'compute0')


def main() -> None:
    """Print a row for each."""
    number = runs(11, __doc__)
    ours, peer = stage.ours(), stage.peer()
    with stage.service() as url, tempfile.TemporaryDirectory() as name:
        stage.populate(url, 5)
        cloud, folder = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url), Path(name)
        pairs = paired(
            command(_batch(ours, folder, SHOW), cloud, per=LINES),
            command([peer / 'openstack', *SHOW], cloud, times=LOOP, per=LOOP),
            number,
        )
        pairs.report(f'one of {LINES} commands in a batch', 0.02)
        batch = _batch(ours, folder, INVENTORY)
        with recorder(url) as (proxy, requests):
            command(batch, {**cloud, 'OS_ENDPOINT': proxy})()
        print(f'{len(requests)} requests for {LINES} commands')
        bare = replay(url, requests, [], 1)
        for title, options, target in (
            ('one of three requests, against the requests', (), 1.15),
            ('the same with --workers 1', ('--workers', '1'), None),
        ):
            run = command([*batch, *options], cloud, per=LINES)
            paired(run, _per_line(bare), number).report(title, target)


def _batch(programs: Path, folder: Path, words: tuple[str, ...]) -> list[object]:
    """A command line with which so many commands of a kind are run."""
    lines = folder / words[-1]
    lines.write_text(f'{" ".join(words)}\n' * LINES)
    return [programs / 'placement', 'batch', lines]


def _per_line(run: Run) -> Run:
    """The seconds of one line."""
    return lambda: run() / LINES


if __name__ == '__main__':
    main()
