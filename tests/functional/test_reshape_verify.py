# SPDX-License-Identifier: Apache-2.0
"""A plan that is pending, one that others changed something of later, and one that is damaged."""

import pytest

from placementclient.model.outcomes import PlanStatus
from placementclient.render import runs
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.test_reshape_drift import resize


@pytest.fixture
def plan(client):
    return clouds.plan_of(clouds.loaded(client, clouds.cloud()), 2, moved_trait=True)


def rows(client, plan, journal=None):
    deviations = engines.verify(client, plan, journal_path=journal)
    return [(it.kind, runs.judge_deviation(it), it.is_error) for it in deviations]


def status(client, plan):
    (tree,) = engines.status(client, plan)
    return tree.status, tree.reason


PENDING = ('not-applied', 'pending', False)


def test_verify_shows_one_row_for_one_changed_total(client, plan):
    resize(9)(client)
    assert rows(client, plan) == [PENDING, ('inventory', 'changed later', False)]
    assert status(client, plan) == (
        PlanStatus.DIFFERS,
        'not applied, and the inventory of VGPU on compute0 is not what the plan starts from: '
        'total 9 instead of 8',
    )


def test_the_table_of_verify_has_the_verdict(client, plan, path):
    columns, table = runs.list_deviations(plan.changes, engines.verify(client, plan))
    assert columns == ('tree', 'kind', 'message', 'is_damage', 'verdict')
    message = 'the plan is not applied to this tree'
    assert list(table) == [('compute0', 'not-applied', message, False, 'pending')]
    engines.apply(client, plan, path)
    _, table = runs.list_deviations(plan.changes, engines.verify(client, plan))
    assert list(table) == [('compute0', 'as planned', '', False, 'applied')]


def test_trees_that_are_pending_or_rolled_back_are_no_damage(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts=3, servers=2)), 1)
    rolled_back = 'the plan was rolled back'
    unapplied = 'the plan is not applied to this tree'

    def deviations(journal=path):
        found = engines.verify(client, plan, journal_path=journal)
        return {
            it.subject: (it.reason, runs.judge_deviation(it), it.is_error_or_warning, it.is_error)
            for it in found
        }

    pending = unapplied, 'pending', True, False
    later = unapplied, 'pending', False, False
    assert deviations(None) == {f'compute{number}': pending for number in range(3)}
    engines.apply(client, plan, path, limit=1)
    assert deviations() == {'compute1': later, 'compute2': later}
    engines.apply(client, plan, path)
    assert deviations() == {}
    engines.rollback(client, plan, f'{path}.other', trees=['compute1'])
    damaged = {'compute1': (unapplied, 'damaged', True, True)}
    assert deviations() == damaged
    engines.rollback(client, plan, path, trees=['compute0'])
    assert deviations() == {'compute0': (rolled_back, 'pending', False, False), **damaged}
