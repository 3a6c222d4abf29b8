# SPDX-License-Identifier: Apache-2.0
"""Start-up: our programs against those of osc-placement, whole processes, server and all.

python -m benchmarks.startup
"""

from __future__ import annotations

from benchmarks import stage
from benchmarks.paired import command, environment, paired, runs

LIST = ('resource', 'provider', 'list')


def main() -> None:
    """Print a row for each way to start."""
    number = runs(21, __doc__)
    ours, peer = stage.ours(), stage.peer()
    with stage.service() as url:
        stage.populate(url, 5)
        cloud = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)
        theirs = command([peer / 'openstack', *LIST], cloud)
        for program, target in (('placement', 0.25), ('openstack', 1.00)):
            pairs = paired(command([ours / program, *LIST], cloud), theirs, number)
            pairs.report(f'{program} resource provider list', target)
        for program, words, target in (
            ('placement', (), 0.15),
            ('placement', LIST, 0.15),
            ('openstack', LIST, 1.00),
        ):
            pairs = paired(
                command([ours / program, *words, '--help'], cloud),
                command([peer / 'openstack', *words, '--help'], cloud),
                number,
            )
            pairs.report(' '.join([program, *words, '--help']), target)


if __name__ == '__main__':
    main()
