"""The advice about trees that were left alone."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from placementclient.commands.reshapes.reshape_run import StatusReshape
from placementclient.planner.plan.plan import Plan


@pytest.mark.parametrize('number', [2, 300])
def test_many_trees_are_counted_and_the_next_steps_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    plan = Plan(cast(Any, None), ())
    app = cast(Any, SimpleNamespace(formatters=lambda namespace: ()))
    command = StatusReshape(app, None)
    names = [f'gpu{each:03}' for each in range(number)]
    with caplog.at_level(logging.WARNING):
        command.advise(plan, str(tmp_path / 'plan.json'), names)
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
