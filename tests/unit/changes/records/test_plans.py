# SPDX-License-Identifier: Apache-2.0
"""Plans as bytes: what comes back, what identifies them, and what was edited."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.basis import errors
from placementclient.changes.plan import make_plan
from placementclient.changes.records import plans
from placementclient.files import snapshots, specifications
from placementclient.model.snapshots import Origin
from placementclient.planner import planner
from tests.snapshot_pairs import content as content_of
from tests.snapshot_pairs import pair

CLOUD = Path(__file__).parent / 'cloud.json'
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
def plan():
    snapshot = snapshots.decode_snapshot(CLOUD.read_bytes(), 'cloud.json')
    snapshot.origin = Origin('2026-11-21T14:00:00Z', 'http://placement', 'a program')
    spec = specifications.convert_specification(SPEC, 'spec')
    return planner.plan_reshape(snapshot, spec, skip_infeasible=True, migrations=())


def encoded(plan):
    return b''.join(plans.encode(plan))


def test_a_plan_comes_back_and_is_known_by_its_digest(plan):
    content = encoded(plan)
    read = plans.decode(content, 'plan.json')
    assert read == plan
    assert read.origin is not None
    assert json.loads(content)['digest'] == read.digest == plans.get_plan_digest(plan)
    assert encoded(read) == content


def test_a_plan_has_one_tree_on_each_line(plan):
    lines = encoded(plan).decode().splitlines()
    assert len(lines) == 4
    assert ['Köln-1' in lines[1], 'small' in lines[2]] == [True, True]


@pytest.mark.parametrize('indent', [None, 2])
def test_a_plan_in_another_layout_is_read(plan, indent):
    content = json.loads(encoded(plan))
    laid_out = json.dumps(content, indent=indent, sort_keys=True).encode()
    assert plans.decode(laid_out, 'plan.json').digest == content['digest']


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    'a name': lambda content: content['trees'][0].update(root_provider_name='other'),
    'a generation': lambda content: content['trees'][0]['before']['providers'][0].update(
        generation=9
    ),
    'an option': lambda content: content['recipe']['options'].update(allow_inferred=True),
    'the specification': lambda content: content['recipe']['spec'].update(split=True),
    'a tree less': lambda content: content['trees'].pop(),
    'another order': lambda content: content['trees'].reverse(),
    'the digest': lambda content: content.update(digest='sha256:0'),
}


@pytest.mark.parametrize('edit', EDITS.values(), ids=EDITS)
def test_an_edited_plan_is_refused(plan, edit):
    content = json.loads(encoded(plan))
    edit(content)
    with pytest.raises(errors.BadFile, match=r'^plan.json: was edited'):
        plans.decode(json.dumps(content).encode(), 'plan.json')


def test_a_plan_with_a_second_key_after_its_digest_is_refused(plan):
    content = encoded(plan).rstrip()[:-1] + b',"trees":[]}\n'
    with pytest.raises(errors.BadFile, match="the key 'trees' appears twice"):
        plans.decode(content, 'plan.json')


def test_a_plan_without_its_digest_is_refused(plan):
    content = json.loads(encoded(plan))
    del content['digest']
    with pytest.raises(errors.BadFile, match='missing required field digest'):
        plans.decode(json.dumps(content).encode(), 'plan.json')


def test_a_fault_is_told_with_its_line_and_field(plan):
    content = encoded(plan).replace(b'"total":4,"res', b'"total":"4","res', 1)
    with pytest.raises(errors.BadFile) as caught:
        plans.decode(content, 'plan.json')
    assert str(caught.value) == (
        'plan.json:2: damaged plan: '
        'trees[0].before.providers[0].inventories[...].total: expected int, got str'
    )


def test_a_fault_in_what_providers_have_in_common_is_told_too(plan):
    document = json.loads(encoded(plan))
    document['trees'][1]['after']['providers'][1]['traits'] = None
    with pytest.raises(errors.BadFile) as raised:
        plans.decode(json.dumps(document).encode(), 'plan.json')
    fault = 'trees[1].after.providers[1].traits: expected array, got null'
    assert str(raised.value) == f'plan.json:1: damaged plan: {fault}'


def test_equal_parts_of_a_plan_are_in_memory_once(plan):
    first, second, *_ = plans.decode(encoded(plan), 'plan.json').changes
    ours, theirs = (tree.providers[1].content_after for tree in (first, second))
    assert ours.traits is theirs.traits
    assert ours.aggregates is theirs.aggregates


def test_a_plan_is_shown_with_the_operations_of_its_rollback(plan):
    written, shown = json.loads(encoded(plan)), plans.make_document(plan)
    (root, child), (consumer,) = plan.changes[0].providers, plan.changes[0].consumers
    assert [operation['operation'] for operation in shown['trees'][0]['inverse']] == [
        'reshape',
        'delete-provider',
    ]
    assert shown['trees'][0]['inverse'][0] == {
        'operation': 'reshape',
        'providers': sorted([root.uuid, child.uuid]),
        'consumers': [consumer.uuid],
    }
    for tree in shown['trees']:
        del tree['inverse']
    del written['digest']
    assert shown == written


def a_plan(seed):
    before, after = pair(Random(seed))
    before.origin = Origin('2026-01-02T03:04:05+00:00', 'http://placement', 'placement 1.0')
    return make_plan('resource provider purge', before, after)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_plan_that_was_written_is_read(seed):
    made = a_plan(seed)
    read = plans.decode(encoded(made), 'plan.json')
    assert (read.command, read.origin) == (made.command, made.origin)
    assert plans.get_plan_digest(read) == plans.get_plan_digest(made)
    for one, other in zip(read.changes, made.changes, strict=True):
        assert one.root_provider_name == other.root_provider_name
        assert content_of(one.before) == content_of(other.before)
        assert content_of(one.after) == content_of(other.after)
    assert encoded(replace(read, digest=None)) == encoded(made)


def test_a_plan_whose_parts_contradict_each_other_is_refused():
    made = a_plan(1)
    twice = replace(made, changes=(made.changes[0], made.changes[0]))
    with pytest.raises(errors.BadFile, match='appears twice'):
        plans.decode(encoded(twice), 'plan.json')
    moved = replace(made.changes[0], roots={'another': 'another'})
    with pytest.raises(errors.BadFile, match='changes in two trees'):
        plans.decode(encoded(replace(made, changes=(made.changes[0], moved))), 'plan.json')
