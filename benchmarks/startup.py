# SPDX-License-Identifier: Apache-2.0
"""Start-up: our programs against those of osc-placement, whole processes, server and all.

python -m benchmarks.startup
"""

from __future__ import annotations

from benchmarks import stage
from benchmarks.paired import command, environment, paired, runs

LIST = ('resource', 'provider', 'list')
#: Programs, their arguments, and the most that they may take of openstack with osc-placement.
STARTS = (
    ('placement', LIST, 0.25),
    ('placement', (*LIST, '--help'), 0.15),
    ('placement', ('--help',), 0.15),
    ('placement', ('--version',), 0.15),
    ('openstack', LIST, 1.02),
    ('openstack', (*LIST, '--help'), 1.02),
    ('openstack', ('--help',), 1.05),
    ('openstack', ('--version',), 1.02),
)


def main() -> None:
    """Print a row for each way to start."""
    number = runs(21, __doc__)
    ours, peer = stage.ours(), stage.peer()
    with stage.service() as url:
        stage.populate(url, 5)
        cloud = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)
        for program, words, target in STARTS:
            pairs = paired(
                command([ours / program, *words], cloud),
                command([peer / 'openstack', *words], cloud),
                number,
            )
            pairs.report(' '.join([program, *words]), target)


if __name__ == '__main__':
    main()
