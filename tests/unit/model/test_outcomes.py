# SPDX-License-Identifier: Apache-2.0
"""The exit status of a run is a contract."""

import pytest

from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.model.outcomes import Outcome, TreeResult, TreeState

STOPPED = errors.BadFile('plan.journal', 'No space left on device')


@pytest.mark.parametrize(
    ('states', 'stopped', 'status'),
    [
        ('', None, ExitStatus.DONE),
        ('applied', None, ExitStatus.DONE),
        ('applied, already applied', None, ExitStatus.DONE),
        ('rolled back, not applied', None, ExitStatus.DONE),
        ('applied, not started', None, ExitStatus.DONE),
        ('not started', None, ExitStatus.DONE),
        ('left alone', None, ExitStatus.DIFFERS),
        ('left alone, not started', None, ExitStatus.DIFFERS),
        ('done in part', None, ExitStatus.PARTIAL),
        ('done in part, left alone', None, ExitStatus.PARTIAL),
        ('failed', None, ExitStatus.ERROR),
        ('failed, left alone', None, ExitStatus.ERROR),
        ('applied, left alone', None, ExitStatus.PARTIAL),
        ('already applied, failed', None, ExitStatus.PARTIAL),
        ('rolled back, left alone', None, ExitStatus.PARTIAL),
        ('failed, not started', STOPPED, ExitStatus.ERROR),
        ('not started', STOPPED, ExitStatus.ERROR),
        ('applied, failed, not started', STOPPED, ExitStatus.PARTIAL),
    ],
)
def test_a_run_ends_with_the_status_of_its_trees(states, stopped, status):
    names = [state for state in states.split(', ') if state]
    trees = [TreeResult('uuid', 'name', TreeState(state)) for state in names]
    assert Outcome(trees, stopped).exit_status is status


def test_a_failed_verification_has_the_exit_status_of_differences():
    failed = TreeResult('uuid', 'name', TreeState.FAILED, 'x', errors.Differs('x'))
    assert Outcome([failed]).exit_status is ExitStatus.DIFFERS
