# SPDX-License-Identifier: Apache-2.0
"""Runs cases/*.yaml. Each is one kind of reshape or one refusal.

``$name`` is the UUID of a consumer or a provider, ``$NAME`` the same in capitals.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from placementclient.basis import errors
from placementclient.changes.diff import list_operations
from placementclient.changes.phases import make_preparation
from placementclient.changes.records import plans
from placementclient.changes.simulation import simulate
from placementclient.changes.tree_merge import merge_change
from placementclient.files import specifications
from placementclient.model.snapshots import Snapshot
from placementclient.planner import infeasibility, invariants, planner, replan
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.planner.specification import assignments
from tests.unit.planner.clouds import applied, cloud, taken_back, uuid_of

CASES = sorted((Path(__file__).parent / 'cases').glob('*.yaml'))
PLANS = [path for path in CASES if 'rows' in yaml.safe_load(path.read_text())['expect']]
#: Their sources have no room for what would come back, or do not admit it or what would be left.
ONE_WAY = (
    'overcommitted-remainder',
    'overcommitted-with-room',
    'addition-to-one-that-moves',
    'two-trees-one-consumer',
)
#: Whose search goes on until its time is over.
TIMED_OUT = 'refused-undetermined'


class Case:
    """One case, with the names of its consumers for a reader."""

    def __init__(self, path):
        text = path.read_text()
        self.names = {uuid_of(name): name for name in re.findall(r'\$(\w+)', text)}
        text = re.sub(r'\$(\w+)', _uuid, text)
        document = yaml.safe_load(text)
        self.expect: dict[str, Any] = document['expect']
        self.snapshot: Snapshot = cloud(document['cloud'], document.get('consumers', {}))
        self.spec = specifications.parse_specification(json.dumps(document['spec']), 'spec.yaml')
        rows = document.get('assignments')
        self.rows = assignments.parse_assignments(rows, 'rows.csv') if rows is not None else []
        self.options: dict[str, Any] = {'migrations': (), **document.get('options', {})}

    def plan(self):
        return planner.plan_reshape(self.snapshot, self.spec, self.rows, **self.options)

    def row(self, row):
        return (
            f'{row.consumer_uuid} {row.amount} {row.resource_class} {row.from_provider} -> '
            f'{row.to_provider} {row.to_resource_class} {row.label}'
        )


#: What a case may expect instead of a plan: the exception, and its attribute with the reasons.
FAILURES: dict[str, tuple[type[errors.PlacementError], str]] = {
    'infeasible': (Infeasible, 'causes'),
    'undetermined': (Undetermined, 'causes'),
    'undecided': (Undecided, 'rows'),
}


@pytest.mark.parametrize(
    'path',
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem == TIMED_OUT else ())
        for path in CASES
    ],
    ids=lambda path: path.stem,
)
def test_each_case_has_the_plan_or_the_error_that_it_states(path):
    if 'error' in (expect := yaml.safe_load(path.read_text())['expect']):
        with pytest.raises(errors.BadFile) as fault:
            Case(path).plan()
        assert str(fault.value) == re.sub(r'\$(\w+)', _uuid, expect['error'])
        return
    case = Case(path)
    for key in expect.keys() & FAILURES:
        kind, attribute = FAILURES[key]
        with pytest.raises(kind) as failure:
            case.plan()
        reasons = getattr(failure.value, attribute)
        assert sorted(map(str, reasons)) == sorted(case.expect[key])
        if attribute == 'causes':
            json.dumps([cause.facts() for cause in reasons])
            takes_time = any(cause.kind == 'undetermined' for cause in reasons)
            assert ('--solver-timeout' in str(failure.value)) == takes_time
        if 'slack' in expect:
            assert list(map(str, failure.value.slack)) == case.expect['slack']
        return
    _expect_plan(case)


def _uuid(match):
    name = match[1]
    return uuid_of(name.lower()).upper() if name.isupper() else uuid_of(name)


def _expect_plan(case):
    plan = case.plan()
    expect = case.expect
    rows = sorted(case.row(row) for tree in plan.changes for row in tree.reasons)
    assert rows == sorted(expect['rows'])
    kinds = [warning.kind for tree in plan.changes for warning in tree.warnings]
    assert kinds == expect.get('warnings', [])
    after = {change.name: change.after for tree in plan.changes for change in tree.providers}
    for name, inventories in expect.get('inventories', {}).items():
        assert after[name].inventories.keys() == inventories.keys()
        for resource_class, fields in inventories.items():
            got = after[name].inventories[resource_class].as_fields()
            assert {field: got[field] for field in fields} == fields
    for name, uuid in expect.get('uuids', {}).items():
        assert {
            change.uuid for tree in plan.changes for change in tree.list_created_providers()
        } == {uuid}, name
    for name, traits in expect.get('traits', {}).items():
        assert sorted(after[name].traits) == traits
    for names in expect.get('joined', []):
        tree = plan.find_change(names[0])
        assert tree is not None
        assert list(tree.roots.values()) == names
    left_out = {
        tree.root_provider_name: [reason.message for reason in tree.reasons]
        for tree in plan.left_out
    }
    assert left_out == expect.get('left_out', {})


@pytest.mark.parametrize('path', PLANS, ids=lambda path: path.stem)
def test_a_plan_without_a_way_back_is_warned_of(path):
    warnings = [notice.kind for tree in Case(path).plan().changes for notice in tree.warnings]
    is_warned = not {'overcommitted', 'no-way-back'}.isdisjoint(warnings)
    assert is_warned is (path.stem in ONE_WAY)


@pytest.mark.parametrize('path', PLANS, ids=lambda path: path.stem)
def test_plans_keep_their_invariants_through_their_file(path):
    case = Case(path)
    plan = case.plan()
    invariants.check_plan(plan)
    content = b''.join(plans.encode(plan))
    assert content == b''.join(plans.encode(case.plan()))
    assert plans.decode(content, 'plan.json') == plan


@pytest.mark.parametrize('path', PLANS, ids=lambda path: path.stem)
def test_operations_of_a_plan_lead_there_and_back(path):
    for tree in Case(path).plan().changes:
        before, after = tree.before, tree.after
        assert _contents(simulate(before, list_operations(tree))) == _contents(after)
        assert _contents(simulate(after, list_operations(tree, backward=True))) == _contents(before)


def _contents(snapshot):
    """What a plan changes."""
    return (
        {
            uuid: (state.inventories, state.traits, state.aggregates, Counter(state.usages))
            for uuid, state in snapshot.providers.items()
        },
        {consumer.uuid: consumer.allocations for consumer in snapshot.consumers.values()},
    )


@pytest.mark.parametrize('path', PLANS, ids=lambda path: path.stem)
def test_an_unchanged_tree_is_planned_again_alike(path):
    case = Case(path)
    plan = case.plan()
    live = case.snapshot
    for tree in plan.changes:
        replanned = replan.replan_tree(live.select_trees(tree.concerned_roots), plan, tree)
        assert replanned.reasons == tree.reasons
        assert _contents(replanned.after)[1] == _contents(tree.after)[1]
        live = applied(live, tree)


@pytest.mark.parametrize(
    'path',
    [path for path in PLANS if path.stem not in ONE_WAY],
    ids=lambda path: path.stem,
)
def test_rollback_is_the_inverse_of_apply(path):
    case = Case(path)
    plan = case.plan()
    live = case.snapshot
    for tree in plan.changes:
        live = applied(live, tree)
    for tree in reversed(plan.changes):
        live = taken_back(live, tree)
        # Then the carrier takes back what is not inventory.
        rest = merge_change(make_preparation(tree), live, backward=True)
        assert rest.obstacles == ()
        live = simulate(live, rest.operations)
    assert _contents(live) == _contents(case.snapshot)


def test_a_filled_in_file_of_assignments_is_read():
    case = Case(CASES[0].parent / 'undecided.yaml')
    with pytest.raises(Undecided) as undecided:
        case.plan()
    text = assignments.format_skeleton(undecided.value.rows)
    assert assignments.parse_assignments(text, 'rows.csv') == []
    filled = text.replace(',1,,', ',1,gpu0,', 1)
    case.rows = assignments.parse_assignments(filled, 'rows.csv')
    labels = sorted(row.label for row in case.plan().changes[0].reasons)
    assert labels == ['forced', 'mapped']


def test_every_cause_of_infeasibility_has_a_case():
    """``refused-<kind>.yaml``; but for what only planning again meets, see test_replan."""

    elsewhere = {'bad-row', 'too-many', infeasibility.ROOM}
    kinds = infeasibility.SENTENCES.keys() - elsewhere
    assert kinds <= {path.stem.removeprefix('refused-') for path in CASES}
    for kind in kinds:
        path = CASES[0].parent / f'refused-{kind}.yaml'
        if 'infeasible' in yaml.safe_load(path.read_text())['expect']:
            with pytest.raises(Infeasible) as infeasible:
                Case(path).plan()
            assert {cause.kind for cause in infeasible.value.causes} == {kind}
