"""Plans and journals that somebody has edited, with a digest or a checksum that is right."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from placementclient.changes.records import journals
from placementclient.changes.records.changes import ChangeRecord, record
from placementclient.client import errors
from placementclient.files.encoding import builtins
from placementclient.model.outcomes import State
from placementclient.planner.records import plans
from placementclient.reading.capture import capture
from placementclient.reshape import engines, storage
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.unit.reshape.memory import Placement

ROOT, OTHER = uuid_of('compute0'), uuid_of('compute1')
#: Changes the record of a tree.
Mutation = Callable[[dict[str, Any]], None]


def vgpus(tree, side='after'):
    """The inventories of VGPU that the plan has on one side."""
    contents = tree[side]['providers']
    return [each['inventories']['VGPU'] for each in contents if 'VGPU' in each['inventories']]


def children(tree):
    known = {provider['uuid'] for provider in tree['before']['providers']}
    return [each for each in tree['after']['providers'] if each['uuid'] not in known]


def root(tree, side='after'):
    return next(each for each in tree[side]['providers'] if each['uuid'] == ROOT)


def holdings(tree, side):
    """All that the first consumer holds on one side."""
    held: dict[str, Any] = tree[side]['consumers'][first_consumer(tree)]['allocations']
    return held


def more_totals(tree):
    for each in vgpus(tree):
        each |= {'total': each['total'] * 100, 'max_unit': each['total'] * 100}


def more_totals_and_moves(tree):
    more_totals(tree)
    for move in tree['moves']:
        move['amount'] *= 100


def more_of_everything(tree):
    more_totals_and_moves(tree)
    for each in vgpus(tree, 'before'):
        each['total'] *= 100


def more_moves(tree):
    tree['moves'][0]['amount'] += 1


def no_moves(tree):
    tree['moves'] = []


def moves_elsewhere(tree):
    for move in tree['moves']:
        move['to_provider'] = children(tree)[0]['name']


def other_ratio(tree):
    for each in vgpus(tree):
        each['allocation_ratio'] = 16.0


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


def first_consumer(tree):
    return min(tree['before']['consumers'])


def another_place(tree):
    """A consumer goes to another child than the one that it is known to be on."""
    consumer = first_consumer(tree)
    one, other = children(tree)
    names = {one['name']: other['name'], other['name']: one['name']}
    uuids = {one['uuid']: other['uuid'], other['uuid']: one['uuid']}
    after = holdings(tree, 'after')
    tree['after']['consumers'][consumer]['allocations'] = {
        uuids.get(uuid, uuid): resources for uuid, resources in after.items()
    }
    for row in tree['rows']:
        if row['consumer_uuid'] == consumer:
            row['to_provider'] = names[row['to_provider']]


def a_guess(tree):
    for row in tree['rows']:
        row['label'] = 'inferred'


def another_parent(tree):
    for child in children(tree):
        child['parent_provider_uuid'] = OTHER


def a_child_less(tree):
    gone = children(tree)[1]
    tree['after']['providers'].remove(gone)


def a_provider_gone(tree):
    tree['after']['providers'].remove(root(tree))


def another_root(tree):
    tree['root_provider_uuid'] = OTHER


def another_name(tree):
    tree['root_provider_name'] = 'compute1'


def fewer_traits(tree):
    children(tree)[0]['traits'].remove('CUSTOM_GPU')


def traits_kept(tree):
    root(tree)['traits'] = root(tree, 'before')['traits']


def another_tree(tree):
    tree['joined'] = {uuid_of('compute1'): 'compute1'}


def another_owner(tree):
    tree['after']['consumers'][first_consumer(tree)]['project_id'] = 'another'


#: What ``tests/unit/planner/test_invariants.py`` changes of a plan is refused in the same way.
MUTATIONS = (
    more_totals, more_totals_and_moves, more_of_everything, more_moves, no_moves, moves_elsewhere,
    other_ratio, another_place, a_guess, another_parent, another_root, another_name, fewer_traits,
    traits_kept, a_child_less, a_provider_gone, another_owner,
)  # fmt: skip
#: These say something of the present that is not so: the tree is planned again.
FALSEHOODS = (false_inventory, false_holdings, less_memory)


@pytest.fixture
def placement():
    return Placement(clouds.cloud(hosts=2, servers=2))


@pytest.fixture
def plan(placement):
    made = clouds.plan_of(capture(placement.client()), 2, moved_trait=True)
    placement.requests.clear()
    return made


def edited(plan, path, mutate):
    """A plan that was edited in its file, whose digest is right again."""
    document = json.loads(b''.join(plans.encode(plan)))
    mutate(document)
    del document['digest']
    trees = ',\n'.join(json.dumps(tree) for tree in document.pop('trees'))
    content = f'{json.dumps(document)[:-1]},"trees":[{trees}'.encode()
    digest = f'],"digest":"sha256:{hashlib.sha256(content).hexdigest()}"}}\n'
    path.write_bytes(content + digest.encode())
    return storage.read_plan(str(path))


def noted(plan, path, record, key=ROOT):
    """A journal of the plan that says what one tree was planned to become instead."""
    first = journals.JournalEntry(
        journal=journals.FORMAT, version=1, at='2026-11-22T00:00:00+00:00',
        plan=plans.identity(plan),
    )  # fmt: skip
    line = journals.JournalEntry(
        at='2026-11-22T00:00:00+00:00', tree=key, plan=msgspec.convert(record, ChangeRecord)
    )
    path.write_bytes(journals.encode(first) + journals.encode(line))
    return str(path)


def assert_refused(placement, plan, path):
    """Neither the way there nor the way back sends anything for the first tree."""
    before = clouds.content(capture(placement.client()))
    for run in (engines.apply, engines.rollback):
        try:
            first, *_ = run(placement.client(), plan, path, trees=['compute0']).trees
        except errors.PlacementError:
            pass
        else:
            assert first.state in (State.LEFT_ALONE, State.ALREADY_BACK), (run, first)
        # The question whether a reshape is allowed has no body.
        assert set(placement.writes()) <= {'POST /reshaper'}
        assert clouds.content(capture(placement.client())) == before


def test_what_is_as_it_was_is_applied(placement, plan, tmp_path):
    same = edited(plan, tmp_path / 'plan.json', lambda document: None)
    path = noted(same, tmp_path / 'journal', builtins(record(same.trees[0])))
    outcome = engines.apply(placement.client(), same, path)
    assert [tree.state for tree in outcome.trees] == [State.APPLIED, State.APPLIED]


@pytest.mark.parametrize('mutation', [*MUTATIONS, another_tree], ids=lambda each: each.__name__)
def test_an_edited_plan_is_refused(placement, plan, mutation, tmp_path):
    if mutation in (another_root, another_tree):
        with pytest.raises(errors.BadFile, match='damaged plan: compute1 is there twice'):
            edited(plan, tmp_path / 'plan.json', lambda document: mutation(document['trees'][0]))
        return
    bad = edited(plan, tmp_path / 'plan.json', lambda document: mutation(document['trees'][0]))
    assert_refused(placement, bad, str(tmp_path / 'journal'))


@pytest.mark.parametrize('mutation', FALSEHOODS, ids=lambda each: each.__name__)
@pytest.mark.parametrize('is_in_journal', [False, True])
def test_what_is_false_in_a_plan_changes_nothing(plan, mutation, is_in_journal, tmp_path):
    true, path = Placement(clouds.cloud(hosts=2, servers=2)), str(tmp_path / 'journal')
    false = Placement(clouds.cloud(hosts=2, servers=2))
    engines.apply(true.client(), plan, str(tmp_path / 'true'), trees=['compute0'])
    if is_in_journal:
        tree = copy.deepcopy(builtins(record(plan.trees[0])))
        mutation(tree)
        noted(plan, tmp_path / 'journal', tree)
    else:
        plan = edited(plan, tmp_path / 'plan.json', lambda it: mutation(it['trees'][0]))
    outcome = engines.apply(false.client(), plan, path, trees=['compute0'])
    assert [tree.state for tree in outcome.trees] == [State.APPLIED]
    assert outcome.trees[0].reason.startswith('planned again, as ')
    contents = (clouds.content(capture(each.client())) for each in (true, false))
    assert next(contents) == next(contents)


@pytest.mark.parametrize('mutation', MUTATIONS, ids=lambda each: each.__name__)
def test_an_edited_journal_is_refused(placement, plan, mutation, tmp_path):
    tree = copy.deepcopy(builtins(record(plan.trees[0])))
    mutation(tree)
    path = noted(plan, tmp_path / 'journal', tree)
    assert_refused(placement, plan, path)


def test_another_tree_under_the_key_of_this_one(placement, plan, tmp_path):
    path = noted(plan, tmp_path / 'journal', builtins(record(plan.trees[1])))
    with pytest.raises(errors.BadFile, match=f'it is the plan of the tree of {OTHER}'):
        engines.apply(placement.client(), plan, path)
    with pytest.raises(errors.BadFile, match='something else than what was reviewed'):
        engines.verify(placement.client(), plan, journal_path=path)
    path = noted(plan, tmp_path / 'journal', builtins(record(plan.trees[0])), uuid_of('x'))
    with pytest.raises(errors.BadFile, match='the plan has no tree'):
        engines.status(placement.client(), plan, journal_path=path)


@pytest.mark.parametrize(
    'selection', [{'name': ['compute1']}, {'uuid': [OTHER]}, {'trait': ['HW_CPU_X86_SSE']}]
)
def test_trees_that_the_specification_does_not_select(placement, plan, selection, tmp_path):
    def select(document):
        document['recipe']['spec']['trees'] = selection

    bad = edited(plan, tmp_path / 'plan.json', select)
    with pytest.raises(errors.PlacementError, match='does not select this tree'):
        engines.apply(placement.client(), bad, str(tmp_path / 'journal'))
    assert placement.writes() == []
