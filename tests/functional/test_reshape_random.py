"""Plans of random clouds of two trees, carried out on the real service, and back.

``RESHAPE_SEEDS=1000-3000`` tries others than the few of each run.
"""

from __future__ import annotations

import os
from pathlib import Path

from placementclient import errors
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.planner import planner
from placementclient.reshape import executor, verify
from placementclient.snapshot import capture, restore
from tests.functional import clouds
from tests.unit.planner.two_trees import instance

FIRST, LAST = map(int, os.environ.get('RESHAPE_SEEDS', '840-856').split('-'))


def test_what_is_planned_is_granted(client: Client, tmp_path: Path) -> None:
    planned = 0
    for seed in range(FIRST, LAST):
        case = instance(seed)
        try:
            planner.make(case.snapshot(), case.spec(), allow_inferred=True)
        except errors.Infeasible:
            continue
        planned += 1
        restore.load(client, case.snapshot())
        before = capture.capture(client)
        plan = planner.make(before, case.spec(), allow_inferred=True)
        journal = str(tmp_path / f'{seed}.journal')
        run = executor.apply(client, plan, journal)
        assert run.exit_status is ExitStatus.DONE, (seed, run)
        assert verify.verify(client, plan) == [], seed
        clouds.emptied(client)
    assert planned >= (LAST - FIRST) // 4
