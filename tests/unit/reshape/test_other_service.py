"""A plan that is applied to another service than the one that it was made for."""

from dataclasses import replace

import pytest

from placementclient.changes.tree_queue import OtherService
from placementclient.model.outcomes import State
from placementclient.model.snapshots import Origin
from placementclient.reading.capture import capture
from placementclient.reshape import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.unit.reshape.memory import Placement

RUNS = (engines.apply, engines.rollback)


@pytest.fixture
def placement():
    return Placement(clouds.cloud(hosts=2, servers=2))


def planned(placement, service=None):
    """A plan, made of what is there; its file may say that it was made elsewhere."""
    plan = clouds.plan_of(capture(placement.client()), 2, moved_trait=True)
    placement.requests.clear()
    origin = plan.origin or Origin('2026-11-22T00:00:00+00:00')
    return plan if service is None else replace(plan, origin=replace(origin, service=service))


@pytest.mark.parametrize('run', RUNS)
def test_where_none_of_the_trees_is_nothing_is_noted(placement, run, tmp_path):
    plan, path = planned(placement, 'https://right.test/placement'), tmp_path / 'journal'
    wrong = Placement(clouds.Snapshot([clouds.host('another')], []))
    with pytest.raises(OtherService) as caught:
        run(wrong.client(), plan, str(path))
    assert str(caught.value) == (
        f'This is {wrong.client().service}, and none of the trees of the plan exists here. The '
        'plan was made of https://right.test/placement. Nothing was sent. Connect to the service '
        'that the plan is for; if it is this one, give --other-service'
    )
    assert caught.value.exit_status == 1
    assert set(wrong.writes()) <= {'POST /reshaper'}
    assert not path.exists()


def test_one_tree_that_is_gone_is_left_alone(placement, tmp_path):
    """The others are there: this is the service, and the host was removed."""
    plan, path = planned(placement), str(tmp_path / 'journal')
    del placement.providers[uuid_of('compute0')]
    for name in [name for name, each in placement.consumers.items() if not each.allocations.keys()
                 <= placement.providers.keys()]:  # fmt: skip
        del placement.consumers[name]
    outcome = engines.apply(placement.client(), plan, path, trees=['compute0'])
    assert [tree.state for tree in outcome.trees] == [State.LEFT_ALONE]


def test_where_all_is_equal_another_url_is_no_obstacle(placement, tmp_path):
    plan, path = planned(placement, 'https://another.test/placement'), str(tmp_path / 'journal')
    applied = engines.apply(placement.client(), plan, path, limit=1)
    assert [tree.state for tree in applied.trees] == [State.APPLIED, State.NOT_STARTED]
    applied = engines.apply(placement.client(), plan, path)
    assert [tree.state for tree in applied.trees] == [State.ALREADY_APPLIED, State.APPLIED]
    back = engines.rollback(placement.client(), plan, path)
    assert {tree.state for tree in back.trees} == {State.ROLLED_BACK}


def test_where_trees_differ_another_url_is_one(placement, tmp_path):
    plan, path = planned(placement, 'https://another.test/placement'), tmp_path / 'journal'
    there = placement.providers[uuid_of('compute1')]
    there.inventories['VGPU']['total'] = 9
    there.generation += 1
    with pytest.raises(OtherService, match='compute1: the inventories of compute1'):
        engines.apply(placement.client(), plan, str(path))
    with pytest.raises(OtherService, match='compute1: it is neither as it was'):
        engines.rollback(placement.client(), plan, str(path))
    assert (set(placement.writes()), path.exists()) == ({'POST /reshaper'}, False)
    outcome = engines.apply(placement.client(), plan, str(path), other_service=True)
    assert [tree.state for tree in outcome.trees] == [State.APPLIED, State.LEFT_ALONE]


def test_of_the_same_service_a_difference_is_no_more_than_that(placement, tmp_path):
    plan, path = planned(placement, placement.client().service), str(tmp_path / 'journal')
    there = placement.providers[uuid_of('compute1')]
    there.inventories['VGPU']['total'] = 9
    there.generation += 1
    outcome = engines.apply(placement.client(), plan, path)
    assert [tree.state for tree in outcome.trees] == [State.APPLIED, State.LEFT_ALONE]
