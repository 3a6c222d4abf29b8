"""The advice about trees that were left alone."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from placementclient.commands.reshapes.reshape_run import StatusReshape
from placementclient.model.outcomes import State, TreeResult
from placementclient.planner.plan.plan import Plan
from placementclient.render import runs


@pytest.mark.parametrize('number', [2, 300])
def test_many_trees_are_counted_and_the_next_steps_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    plan = Plan(cast(Any, None), ())
    app = cast(Any, SimpleNamespace(formatters=lambda namespace: ()))
    command = StatusReshape(app, None)
    names = [f'gpu{each:03}' for each in range(number)]
    trees = [TreeResult(name, name, State.LEFT_ALONE, 'a server came') for name in names]
    with caplog.at_level(logging.WARNING):
        command.advise(plan, str(tmp_path / 'plan.json'), trees)
    *counted, again, decide = caplog.messages
    assert counted == (
        [f'Left alone: 300 trees: {", ".join(names[:10])} and 290 more'] if number > 10 else []
    )
    assert again.count('--tree ') == number
    assert decide == (
        'If rows are undecided then, run "resource provider reshape collector" on the hosts and '
        'give its answers to "resource provider reshape assignments"; or fill in the file of '
        '--write-assignments'
    )


def test_a_tree_that_has_no_plan_needs_a_change_first() -> None:
    reasons = {
        'gpu0': 'a server came, and a new plan is impossible: Undecided rows: 1: …',
        'gpu1': 'a server came, and a new plan is impossible: Infeasible: gpu1: no room',
    }
    trees = [TreeResult(name, name, State.LEFT_ALONE, reasons[name]) for name in reasons]
    plan = Plan(cast(Any, None), ())
    assert list(runs.planning_anew(plan, 'plan.json', trees, 'plan-2.json', 'placement')) == [
        'Plan again for the trees that were left alone: placement resource provider reshape plan '
        '--spec plan.json --tree gpu0 -o plan-2.json',
        'Some trees cannot be planned as they are now. Change in the cloud what their reasons '
        'name, or give another specification as --spec. Then plan them again: placement resource '
        'provider reshape plan --spec plan.json --tree gpu1 -o plan-2.json',
    ]
