# SPDX-License-Identifier: Apache-2.0
"""Seeds played one after the other, in a process whose pools of threads are none."""

import collections

from tests.simulation import clock

clock.inline_threads()

from tests.simulation import simulation  # noqa: E402

#: How often each command has ended with each status.
Ended = collections.Counter[tuple[str, int | None]]


def played(seeds, only=frozenset()):
    """Play seeds.

    :return: what is to be said, how many have failed, and how the commands have ended
    """
    lines, failed, ended = [], 0, Ended()
    with simulation.world() as world:
        for seed in seeds:
            try:
                history = simulation.play(world, seed, only=only)
            except simulation.Failed as failure:
                failed += 1
                steps = simulation.shrunk(world, failure, only)
                lines.append(f'{failure}\nRepeat it: python -m tests.simulation {seed} {steps}')
            else:
                lines.append(f'{seed} {history.digest}')
                ended += history.ended
    return lines, failed, ended
