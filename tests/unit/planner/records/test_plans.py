"""Plans as bytes: what comes back, what identifies them, and what was edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placementclient.client import errors
from placementclient.codec import snapshots
from placementclient.model.origin import Origin
from placementclient.planner import planner
from placementclient.planner.plan.plan import Plan
from placementclient.planner.records import plans
from placementclient.planner.records.trees import tree_plan
from placementclient.planner.spec import specification
from placementclient.reshape import journal

#: What the program wrote before it wrote typed records: the inverse and another digest.
BEFORE = Path(__file__).parent / 'before'
SPEC = {
    'trees': {'class': ['VGPU']},
    'providers': [
        {'name': '{root}_gpu', 'traits': ['CUSTOM_A40'], 'inventories': {'VGPU': {'total': 4}}}
    ],
    'moves': [
        {
            'from_resource_provider': '{root}',
            'to_resource_provider': '{root}_gpu',
            'moved_resources': {'VGPU': 'all'},
        }
    ],
}


@pytest.fixture
def plan() -> Plan:
    snapshot = snapshots.decode((BEFORE / 'cloud.json').read_bytes(), 'cloud.json')
    snapshot.origin = Origin('2026-11-21T14:00:00Z', 'http://placement', 'a program')
    spec = specification.from_document(SPEC, 'spec')
    plan = planner.make(snapshot, spec, skip_infeasible=True, migrations=())
    # The files are older than the warning of names that Nova would not use.
    trees = (
        replace(tree, warnings=tuple(it for it in tree.warnings if it.kind != 'foreign-name'))
        for tree in plan.trees
    )
    return replace(plan, trees=tuple(trees))


def encoded(plan: Plan) -> bytes:
    return b''.join(plans.encode(plan))


def test_a_plan_comes_back_and_is_known_by_its_digest(plan: Plan) -> None:
    content = encoded(plan)
    read = plans.decode(content, 'plan.json')
    assert read == plan
    assert read.origin is not None
    assert json.loads(content)['digest'] == read.digest == plans.identity(plan)
    assert encoded(read) == content


def test_one_tree_to_a_line(plan: Plan) -> None:
    lines = encoded(plan).decode().splitlines()
    assert len(lines) == 4
    assert ['Köln-1' in lines[1], 'small' in lines[2]] == [True, True]


def test_files_of_before_are_read_and_verified(plan: Plan) -> None:
    content = (BEFORE / 'plan.json').read_bytes()
    read = plans.decode(content, 'plan.json')
    assert read == replace(plan, origin=None)
    assert read.digest == json.loads(content)['digest'] != plans.identity(plan)
    [(root, record)] = journal.read(str(BEFORE / 'plan.json.journal'), read).items()
    assert (root, record.ended) == (read.trees[0].root_provider_uuid, 'left alone')
    assert tree_plan(record.plan) == read.trees[0]


@pytest.mark.parametrize('indent', [None, 2])
def test_the_layout_may_be_another(plan: Plan, indent: int | None) -> None:
    for content in (encoded(plan), (BEFORE / 'plan.json').read_bytes()):
        laid_out = json.dumps(json.loads(content), indent=indent, sort_keys=True).encode()
        read = plans.decode(laid_out, 'plan.json')
        assert read.digest == json.loads(content)['digest']


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    'a name': lambda content: content['trees'][0].update(root_provider_name='other'),
    'a generation': lambda content: content['trees'][0]['providers'][0]['before'].update(
        generation=9
    ),
    'an option': lambda content: content['options'].update(allow_inferred=True),
    'the specification': lambda content: content['spec'].update(split=True),
    'a tree less': lambda content: content['trees'].pop(),
    'another order': lambda content: content['trees'].reverse(),
    'the digest': lambda content: content.update(digest='sha256:0'),
}


@pytest.mark.parametrize('edit', EDITS.values(), ids=EDITS)
@pytest.mark.parametrize('is_old', [False, True])
def test_an_edited_plan_is_refused(
    plan: Plan, edit: Callable[[dict[str, Any]], Any], is_old: bool
) -> None:
    content = json.loads((BEFORE / 'plan.json').read_bytes() if is_old else encoded(plan))
    edit(content)
    with pytest.raises(errors.BadFile, match=r'^plan.json: was edited'):
        plans.decode(json.dumps(content).encode(), 'plan.json')


def test_what_follows_the_digest_is_no_part_of_it(plan: Plan) -> None:
    content = encoded(plan).rstrip()[:-1] + b',"trees":[]}\n'
    with pytest.raises(errors.BadFile, match='was edited'):
        plans.decode(content, 'plan.json')


def test_a_plan_without_its_digest_is_refused(plan: Plan) -> None:
    content = json.loads(encoded(plan))
    del content['digest']
    with pytest.raises(errors.BadFile, match='missing required field digest'):
        plans.decode(json.dumps(content).encode(), 'plan.json')


def test_a_fault_is_told_with_its_line_and_field(plan: Plan) -> None:
    content = encoded(plan).replace(b'"total":4,"res', b'"total":"4","res', 1)
    with pytest.raises(errors.BadFile) as caught:
        plans.decode(content, 'plan.json')
    assert str(caught.value) == (
        'plan.json:2: damaged plan: '
        'trees[0].providers[0].before.inventories[...].total: expected int, got str'
    )


@pytest.mark.parametrize(
    ('member', 'value', 'fault'),
    [
        ('after', None, 'after: expected object, got null'),
        ('before', 4, 'before: expected object | null, got int'),
        ('usages', {'VGPU': 'x'}, 'usages[...]: expected int, got str'),
    ],
)
def test_a_fault_in_what_providers_have_in_common_is_told_too(
    plan: Plan, member: str, value: Any, fault: str
) -> None:
    document = json.loads(encoded(plan))
    document['trees'][1]['providers'][1][member] = value
    with pytest.raises(errors.BadFile) as raised:
        plans.decode(json.dumps(document).encode(), 'plan.json')
    assert str(raised.value) == f'plan.json:1: damaged plan: trees[1].providers[1].{fault}'


def test_what_is_equal_is_in_memory_once(plan: Plan) -> None:
    first, second, *_ = plans.decode(encoded(plan), 'plan.json').trees
    assert first.providers[1].usages is second.providers[1].usages
    consumer, row = first.consumers[0], first.rows[0]
    assert row.consumer_uuid is consumer.uuid
    assert first.providers[0].uuid is next(iter(consumer.before))


def test_a_program_gets_the_inverse_too(plan: Plan) -> None:
    """As it was in the file before."""
    before = json.loads((BEFORE / 'plan.json').read_bytes())
    shown = plans.document(plan)
    del before['digest'], shown['origin']
    assert shown == before
    assert list(shown) == list(before)
    assert [list(tree) for tree in shown['trees']] == [list(tree) for tree in before['trees']]
