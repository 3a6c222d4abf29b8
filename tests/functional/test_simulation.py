# SPDX-License-Identifier: Apache-2.0
"""Some seeds of the simulated cloud, each the same history wherever it is played.

``tox -e simulation`` plays two thousand.
"""

import os
import subprocess
import sys
from importlib.metadata import distribution

import pytest

from placementclient import DISTRIBUTION
from placementclient.cli.entry_points import COMMANDS
from tests.simulation.lines import READING
from tests.simulation.makers import WRITERS

#: Commands that no operator of a simulated cloud types, and why.
NOT_PLAYED = {
    'resource provider reshape assignments': 'reads what was collected on hosts',
    'resource provider reshape demo': 'has a Placement of its own',
    'resource provider reshape devices': 'reads what was collected on hosts',
    'resource provider reshape rehearse': 'has a Placement of its own',
}
SEEDS = 6


def simulated(first, count, hash_seed):
    """Play seeds in a process of their own, whose hashes are others."""
    command = [sys.executable, '-m', 'tests.simulation', str(first), '--count', str(count)]
    played = subprocess.run(
        command,
        env=os.environ | {'PYTHONHASHSEED': str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 0, f'{played.stdout[-8000:]}\n{played.stderr[-4000:]}'
    return played.stdout.splitlines()


@pytest.mark.slow
def test_no_seed_breaks_an_invariant_and_each_is_the_same_history_each_time():
    histories = simulated(1, SEEDS, hash_seed=7)
    assert len(histories) == SEEDS
    assert simulated(3, 1, hash_seed=8) == histories[2:3]


def test_operators_type_every_command():
    points = distribution(DISTRIBUTION).entry_points.select(group=COMMANDS)
    names = {point.name.replace('_', ' ') for point in points}
    assert names - {*WRITERS, *READING} == NOT_PLAYED.keys()
