# SPDX-License-Identifier: Apache-2.0
"""Plans and journals that say something of the present that is not so."""

import copy

import pytest

from placementclient.changes.records.changes import encode_change
from placementclient.files.encoding import convert_to_json
from placementclient.model.outcomes import TreeState
from placementclient.runs import engines
from tests.functional import clouds
from tests.unit.runs.test_attacks import (
    OTHER,
    ROOT,
    children,
    edited,
    first_consumer,
    holdings,
    noted,
    root,
)


def false_inventory(tree):
    """Of a class that does not move."""
    for side in ('before', 'after'):
        root(tree, side)['inventories']['VCPU']['total'] = 320


def false_holdings(tree):
    """A consumer holds more, and gets more."""
    consumer = first_consumer(tree)
    for side in ('before', 'after'):
        for resources in holdings(tree, side).values():
            if 'VGPU' in resources:
                resources['VGPU'] = 2
    for row in tree['rows']:
        if row['consumer_uuid'] == consumer:
            row['amount'] = 2


def less_memory(tree):
    """A consumer loses some of what it keeps on the root."""
    for side in ('before', 'after'):
        holdings(tree, side)[ROOT]['MEMORY_MB'] = 1


def another_parent(tree):
    for child in children(tree):
        child['parent_provider_uuid'] = OTHER


@pytest.fixture
def plan(client):
    before = clouds.loaded(client, clouds.cloud(hosts=2, servers=2))
    return clouds.plan_of(before, 2, moved_trait=True)


def altered(plan, mutation, is_in_journal, folder):
    """Return a plan of which a tree was changed, in its file or in its journal."""
    if not is_in_journal:
        return edited(plan, folder / 'plan.json', lambda document: mutation(document['trees'][0]))
    tree = copy.deepcopy(convert_to_json(encode_change(plan.changes[0])))
    mutation(tree)
    noted(plan, folder / 'journal', tree)
    return plan


@pytest.mark.parametrize(
    ('mutation', 'is_in_journal'),
    [(false_inventory, False), (false_holdings, True), (less_memory, False)],
)
def test_false_figures_in_a_plan_or_journal_change_no_allocation(
    client, plan, mutation, is_in_journal, tmp_path
):
    before, path = clouds.captured(client), str(tmp_path / 'journal')
    engines.apply(client, plan, str(tmp_path / 'true'), trees=['compute0'])
    expected = clouds.content(clouds.captured(client))
    engines.rollback(client, plan, str(tmp_path / 'true'))
    assert clouds.content(clouds.captured(client)) == clouds.content(before)
    plan = altered(plan, mutation, is_in_journal, tmp_path)
    (result,) = engines.apply(client, plan, path, trees=['compute0']).trees
    assert result.state is TreeState.APPLIED
    assert result.reason.startswith('planned again, as ')
    assert clouds.content(clouds.captured(client)) == expected


@pytest.mark.parametrize('is_in_journal', [False, True])
def test_an_edited_plan_makes_no_child_in_another_tree(client, plan, is_in_journal, tmp_path):
    before, path = clouds.content(clouds.captured(client)), str(tmp_path / 'journal')
    plan = altered(plan, another_parent, is_in_journal, tmp_path)
    for run, state in (
        (engines.apply, TreeState.LEFT_ALONE), (engines.rollback, TreeState.ALREADY_BACK),
    ):  # fmt: skip
        (result,) = run(client, plan, path, trees=['compute0']).trees
        assert result.state is state
        assert clouds.content(clouds.captured(client)) == before
