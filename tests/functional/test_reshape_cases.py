# SPDX-License-Identifier: Apache-2.0
"""Plans of the planner's cases on the real service, there and back."""

import pytest

from placementclient.basis.errors import ExitStatus
from placementclient.model.outcomes import PlanStatus, TreeState
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
    before, plan = planned(client, name)
    run = engines.apply(client, plan, path)
    assert run.exit_status is ExitStatus.DONE, run
    assert engines.verify(client, plan) == []
    if name not in ONE_WAY:
        run = engines.rollback(client, plan, path)
        assert run.exit_status is ExitStatus.DONE, run
        assert clouds.content(clouds.captured(client)) == clouds.content(before)


def planned(client, name):
    """Load the cloud of a case; return it with the plan."""
    case = Case(CASES[0].parent / f'{name}.yaml')
    before = clouds.loaded(client, case.snapshot)
    return before, planner.plan_reshape(before, case.spec, case.rows, **case.options)


def test_trees_that_change_together_are_selected_by_any_of_their_names(client, path):
    _, plan = planned(client, 'shared-and-planned')
    outcome = engines.apply(client, plan, path, trees=['s0'])
    assert outcome.exit_status is ExitStatus.DONE, outcome
    (tree,) = engines.status(client, plan, ['h0'])
    assert tree.status is PlanStatus.APPLIED
    again = engines.apply(client, plan, f'{path}.other', trees=['h0'])
    assert [tree.state for tree in again.trees] == [TreeState.ALREADY_APPLIED]
