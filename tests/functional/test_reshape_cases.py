# SPDX-License-Identifier: Apache-2.0
"""Plans of the planner's cases on the real service, there and back."""

import pytest

from placementclient.basis.errors import ExitStatus
from placementclient.planner import planner
from placementclient.runs import engines
from tests.functional import clouds
from tests.unit.planner.test_cases import CASES, ONE_WAY, Case


@pytest.mark.parametrize(
    'name',
    [
        'addition-judges-what-stays',
        'entries-of-another-tree',
        'gets-in-two-trees',
        'merge-back',
        'moves-and-gets',
        'numa',
        'pcpu',
        'shared-and-planned',
        'shared-units',
        'two-trees-one-consumer',
        'uuid-in-capitals',
    ],
)
def test_placement_grants_the_plan_of_a_case_and_its_rollback(client, path, name):
    case = Case(CASES[0].parent / f'{name}.yaml')
    clouds.load(client, case.snapshot)
    before = clouds.captured(client)
    plan = planner.plan_reshape(before, case.spec, case.rows, **case.options)
    journal = path
    run = engines.apply(client, plan, journal)
    assert run.exit_status is ExitStatus.DONE, run
    assert engines.verify(client, plan) == []
    if name not in ONE_WAY:
        run = engines.rollback(client, plan, journal)
        assert run.exit_status is ExitStatus.DONE, run
        assert clouds.content(clouds.captured(client)) == clouds.content(before)
