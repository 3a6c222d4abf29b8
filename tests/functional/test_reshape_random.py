"""Plans of random clouds of two trees, and of some of the planner's cases, on the real service.

``RESHAPE_SEEDS=1000-3000`` tries others than the few of each run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from placementclient.client import errors
from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.planner import planner
from placementclient.reshape import engines
from tests.functional import clouds
from tests.unit.planner.test_cases import CASES, ONE_WAY, Case
from tests.unit.planner.two_trees import instance

FIRST, LAST = map(int, os.environ.get('RESHAPE_SEEDS', '840-856').split('-'))


@pytest.mark.slow
def test_what_is_planned_is_granted(client: Client, tmp_path: Path) -> None:
    planned = 0
    for seed in range(FIRST, LAST):
        case = instance(seed)
        try:
            planner.make(case.snapshot(), case.spec(), allow_inferred=True)
        except errors.Infeasible:
            continue
        planned += 1
        clouds.load(client, case.snapshot())
        before = clouds.captured(client)
        plan = planner.make(before, case.spec(), allow_inferred=True)
        journal = str(tmp_path / f'{seed}.journal')
        run = engines.apply(client, plan, journal)
        assert run.exit_status is ExitStatus.DONE, (seed, run)
        assert engines.verify(client, plan) == [], seed
        clouds.emptied(client)
    assert planned >= (LAST - FIRST) // 4


@pytest.mark.parametrize(
    'name',
    [
        'addition-judges-what-stays',
        'addition-to-one-that-moves',
        'entries-of-another-tree',
        'gets-in-two-trees',
        'lists-of-resources',
        'moves-and-gets',
        'shared-and-planned',
        'shared-order',
        'shared-units',
        'two-trees-one-consumer',
        'units-of-another-tree',
        'uuid-in-capitals',
    ],
)
def test_a_case_is_granted_and_taken_back(client: Client, tmp_path: Path, name: str) -> None:
    case = Case(CASES[0].parent / f'{name}.yaml')
    clouds.load(client, case.snapshot)
    before = clouds.captured(client)
    plan = planner.make(before, case.spec, case.rows, migrations=())
    journal = str(tmp_path / 'plan.journal')
    run = engines.apply(client, plan, journal)
    assert run.exit_status is ExitStatus.DONE, run
    assert engines.verify(client, plan) == []
    if name not in ONE_WAY:
        run = engines.rollback(client, plan, journal)
        assert run.exit_status is ExitStatus.DONE, run
        assert clouds.content(clouds.captured(client)) == clouds.content(before)
