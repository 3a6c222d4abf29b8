"""A plan that is pending, one that others changed something of later, and one that is damaged."""

import pytest

from placementclient.model.outcomes import Status
from placementclient.reading.capture import capture
from placementclient.render import runs
from placementclient.reshape import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.unit.reshape.memory import Placement

ROOT = uuid_of('compute0')
#: Kind, verdict, is_damage.
Rows = list[tuple[str, str, bool]]


@pytest.fixture
def placement():
    return Placement(clouds.cloud(servers=4))


@pytest.fixture
def plan(placement):
    return clouds.plan_of(capture(placement.client()), 2, moved_trait=True)


def rows(placement, plan, journal=None):
    found = engines.verify(placement.client(), plan, journal_path=journal)
    return [(each.kind, str(each.verdict), each.is_damage) for each in found]


def status(placement, plan):
    (tree,) = engines.status(placement.client(), plan)
    return tree.status, tree.reason


def resize(placement, provider_uuid, total):
    placement.providers[provider_uuid].inventories['VGPU']['total'] = total
    placement.providers[provider_uuid].generation += 1


PENDING = ('not-applied', 'pending', False)


def test_a_tree_that_was_never_applied_is_pending(placement, plan):
    assert rows(placement, plan) == [PENDING]
    assert status(placement, plan) == (Status.PENDING, '')


def test_one_changed_total_of_it_is_one_row(placement, plan):
    resize(placement, ROOT, 9)
    assert rows(placement, plan) == [PENDING, ('inventory', 'changed later', False)]
    assert status(placement, plan) == (
        Status.DIFFERS,
        'not applied, and the inventory of VGPU on compute0 is not what the plan starts from: '
        'total 9 instead of 8',
    )


def test_what_others_changed_after_it_is_no_damage(placement, plan, tmp_path):
    path = str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    assert rows(placement, plan, path) == []
    child, _ = plan.trees[0].created()
    resize(placement, child.uuid, 5)
    placement.consumers.pop(uuid_of('server0.0'))
    placement.consumers[uuid_of('server0.1')].project = 'another'
    assert sorted(rows(placement, plan, path)) == [
        ('gone', 'changed later', False),
        ('inventory', 'changed later', False),
        ('owner', 'changed later', False),
    ]


def test_what_is_on_both_sides_is_damage(placement, plan, tmp_path):
    path = str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    # As a nova-compute of the old release does.
    inventory = plan.trees[0].providers[0].content_before.inventories['VGPU']
    placement.providers[ROOT].inventories['VGPU'] = inventory.as_fields()
    assert rows(placement, plan, path) == [('inventory', 'damaged', True)]


def test_a_child_that_is_gone_is_damage(placement, plan, tmp_path):
    path = str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    child, _ = plan.trees[0].created()
    held = [uuid for uuid, each in placement.consumers.items() if child.uuid in each.allocations]
    for uuid in held:
        del placement.consumers[uuid]
    del placement.providers[child.uuid]
    assert set(rows(placement, plan, path)) == {
        ('missing', 'damaged', True),
        ('gone', 'changed later', False),
    }


def test_what_was_applied_and_is_undone_is_damage(placement, plan, tmp_path):
    path = str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    engines.rollback(placement.client(), plan, str(tmp_path / 'other'))
    assert rows(placement, plan, path) == [('not-applied', 'damaged', True)]


def test_what_was_taken_back_is_not_overdue(placement, plan, tmp_path):
    path = str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    engines.rollback(placement.client(), plan, path)
    (row,) = engines.verify(placement.client(), plan, journal_path=path)
    assert (row.message, row.verdict, row.is_overdue) == (
        'the plan was taken back',
        'pending',
        False,
    )


def test_the_table_has_the_verdict(placement, plan, tmp_path):
    found = engines.verify(placement.client(), plan)
    columns, table = runs.verification(plan.trees, found)
    assert columns == ('tree', 'kind', 'message', 'is_damage', 'verdict')
    message = 'the plan is not applied to this tree'
    assert list(table) == [('compute0', 'not-applied', message, False, 'pending')]
    engines.apply(placement.client(), plan, str(tmp_path / 'journal'))
    _, table = runs.verification(plan.trees, engines.verify(placement.client(), plan))
    assert list(table) == [('compute0', 'as planned', '', False, 'applied')]


def test_status_of_what_was_applied_names_what_differs(placement, plan, tmp_path):
    engines.apply(placement.client(), plan, str(tmp_path / 'journal'))
    child, _ = plan.trees[0].created()
    resize(placement, child.uuid, 5)
    assert status(placement, plan) == (
        Status.DIFFERS,
        'the inventory of VGPU on compute0_gpu0 is not that of the plan: total 5 instead of 4',
    )
