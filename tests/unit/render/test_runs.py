# SPDX-License-Identifier: Apache-2.0
"""The rows of a run's trees: those that need a look come last."""

from types import SimpleNamespace
from typing import Any

import pytest

from placementclient.model.findings import Finding, Severity
from placementclient.model.outcomes import (
    PLAN_ROLLED_BACK,
    Outcome,
    PlanStatus,
    Rehearsal,
    TreeResult,
    TreeState,
    TreeStatus,
)
from placementclient.render import runs

CHANGED = Finding('inventory', 'gpu1', reason='VGPU is 3')
STATUSES = [
    TreeStatus('1', 'gpu1', PlanStatus.DIFFERS, 'changed'),
    TreeStatus('2', 'gpu2', PlanStatus.APPLIED),
    TreeStatus('3', 'gpu3', PlanStatus.PENDING),
]


def test_trees_that_differ_come_last():
    assert runs.list_tree_statuses(STATUSES)[1] == [
        ('gpu2', 'applied', ''),
        ('gpu3', 'pending', ''),
        ('gpu1', 'differs', 'changed'),
    ]


def test_differences_come_after_the_trees_that_are_as_planned():
    trees: list[Any] = [SimpleNamespace(root_provider_name=name) for name in ('gpu1', 'gpu2')]
    _, rows = runs.list_deviations(trees, [CHANGED])
    assert rows == [
        ('gpu2', 'as planned', '', False, 'applied'),
        ('gpu1', 'inventory', 'VGPU is 3', True, 'damaged'),
    ]


def test_the_last_line_of_a_rehearsal_counts_both_ways():
    forward = Outcome(
        [TreeResult('1', 'gpu1', TreeState.APPLIED), TreeResult('2', 'gpu2', TreeState.FAILED)]
    )
    backward = Outcome([TreeResult('1', 'gpu1', TreeState.ROLLED_BACK)])
    rehearsal = Rehearsal(forward, [CHANGED], backward, [])
    assert runs.summarize_rehearsal(rehearsal) == (
        'apply: 1 applied, 1 failed: gpu2; rollback: 1 rolled back; 1 difference'
    )


@pytest.mark.parametrize(
    ('difference', 'state'),
    [
        (Finding('not-applied', 'a', severity=Severity.INFO), '1 not applied'),
        (
            Finding('not-applied', 'a', reason=PLAN_ROLLED_BACK, severity=Severity.INFO),
            '1 rolled back',
        ),
        (Finding('amount', 'a', severity=Severity.INFO), '1 changed later'),
        (Finding('not-applied', 'a', severity=Severity.WARNING), '1 differs: a'),
        (Finding('amount', 'a'), '1 differs: a'),
    ],
)
def test_a_tree_differs_only_if_the_exit_status_is_not_0(difference, state):
    trees: list[Any] = [SimpleNamespace(root_provider_name='a')]
    assert runs.summarize_verification(trees, [difference]) == state
