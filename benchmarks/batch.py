"""One command in a batch of 200 against one in a loop with osc-placement, server and all.

python benchmarks/batch.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import stage
from paired import command, environment, paired, runs

LINES, LOOP = 200, 5
SHOW = ('resource', 'provider', 'show', stage.uuid(1, 0))


def main() -> None:
    """Print a row."""
    number = runs(11, __doc__)
    ours, peer = stage.ours(), stage.peer()
    with stage.service() as url, tempfile.TemporaryDirectory() as folder:
        stage.populate(url, 5)
        cloud = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)
        lines = Path(folder, 'commands')
        lines.write_text(f'{" ".join(SHOW)}\n' * LINES)
        pairs = paired(
            command([ours / 'placement', 'batch', lines], cloud, per=LINES),
            command([peer / 'openstack', *SHOW], cloud, times=LOOP, per=LOOP),
            number,
        )
        pairs.report(f'one of {LINES} commands in a batch', 0.02)


if __name__ == '__main__':
    main()
