# SPDX-License-Identifier: Apache-2.0
"""A plan that is applied to another service than the one that it was made for."""

from dataclasses import replace

import pytest

from placementclient.changes.tree_queue import OtherService
from placementclient.files import specifications
from placementclient.model.outcomes import TreeState
from placementclient.model.snapshots import Origin
from placementclient.planner import planner
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.functional.test_reshape_drift import resize

URL = 'https://right.test/placement'


def planned(client, service=URL):
    """A plan, made of what is there; its file says that it was made elsewhere."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts=2, servers=2)), 2)
    return replace(plan, origin=Origin('2026-11-22T00:00:00+00:00', service))


def test_a_plan_of_another_url_is_applied_where_all_trees_are_equal(client, tmp_path):
    plan, path = planned(client), str(tmp_path / 'journal')
    applied = engines.apply(client, plan, path, limit=1)
    assert [tree.state for tree in applied.trees] == [TreeState.APPLIED, TreeState.NOT_STARTED]
    applied = engines.apply(client, plan, path)
    assert [tree.state for tree in applied.trees] == [TreeState.ALREADY_APPLIED, TreeState.APPLIED]
    back = engines.rollback(client, plan, path)
    assert {tree.state for tree in back.trees} == {TreeState.ROLLED_BACK}


def test_a_plan_of_another_url_is_refused_where_trees_differ(client, tmp_path):
    plan, path = planned(client), tmp_path / 'journal'
    resize(9, uuid_of('compute1'))(client)
    with pytest.raises(OtherService, match='compute1: the inventories of compute1'):
        engines.apply(client, plan, str(path))
    with pytest.raises(OtherService, match='compute1: it is neither as before'):
        engines.rollback(client, plan, str(path))
    assert not path.exists()
    outcome = engines.apply(client, plan, str(path), other_service=True)
    assert [tree.state for tree in outcome.trees] == [TreeState.APPLIED, TreeState.LEFT_ALONE]


def test_a_plan_of_additions_alone_is_refused_where_none_of_its_trees_exists(client, tmp_path):
    live = clouds.loaded(client, clouds.cloud())
    nic = "{resource_provider: '{root}_nic', parent: '{root}', inventories: {PGPU: {total: 1}}}"
    spec = specifications.parse_specification(
        f'{{trees: {{name: [compute0]}}, additions: [{nic}]}}', 'spec.yaml'
    )
    plan = planner.plan_reshape(live, spec)
    clouds.emptied(client)
    with pytest.raises(OtherService, match='None of the trees of the plan exists here'):
        engines.apply(client, plan, str(tmp_path / 'journal'))
