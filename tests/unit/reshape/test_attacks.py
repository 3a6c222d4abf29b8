"""Plans and journals that somebody has edited, with a digest or a checksum that is right."""

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
from placementclient.client.http import Client
from placementclient.files.encoding import builtins
from placementclient.planner.records import plans
from placementclient.reshape import engines, storage
from placementclient.reshape.carrier import ReshapeCarrier
from tests.functional import clouds
from tests.functional.clouds import uuid_of

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
    other_ratio, another_place, a_guess, another_root, another_name, fewer_traits,
    traits_kept, a_child_less, a_provider_gone, another_owner,
)  # fmt: skip


@pytest.fixture
def plan():
    return clouds.plan_of(clouds.used(clouds.cloud(hosts=2, servers=2)), 2, moved_trait=True)


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


@pytest.mark.parametrize('mutation', [*MUTATIONS, another_tree], ids=lambda each: each.__name__)
def test_an_edited_plan_is_refused_before_anything_is_sent(plan, mutation, tmp_path):
    def carried_out():
        bad = edited(plan, tmp_path / 'plan.json', lambda document: mutation(document['trees'][0]))
        ReshapeCarrier(Client(None), bad).check(bad.trees)

    is_doubled = mutation in (another_root, another_tree)
    reason = 'damaged plan: compute1 is there twice' if is_doubled else 'The plan does not hold'
    with pytest.raises(errors.PlacementError, match=reason):
        carried_out()


@pytest.mark.parametrize('mutation', MUTATIONS, ids=lambda each: each.__name__)
def test_an_edited_journal_is_refused(plan, mutation, tmp_path):
    tree = copy.deepcopy(builtins(record(plan.trees[0])))
    mutation(tree)
    path = noted(plan, tmp_path / 'journal', tree)
    with pytest.raises(errors.BadFile):
        engines.recorded(Client(None), plan, path)


def test_another_tree_under_the_key_of_this_one(plan, tmp_path):
    path = noted(plan, tmp_path / 'journal', builtins(record(plan.trees[1])))
    with pytest.raises(errors.BadFile, match=f'it is the plan of the tree of {OTHER}'):
        engines.recorded(Client(None), plan, path)
    path = noted(plan, tmp_path / 'journal', builtins(record(plan.trees[0])), uuid_of('x'))
    with pytest.raises(errors.BadFile, match='the plan has no tree'):
        engines.recorded(Client(None), plan, path)


@pytest.mark.parametrize(
    'selection', [{'name': ['compute1']}, {'uuid': [OTHER]}, {'trait': ['HW_CPU_X86_SSE']}]
)
def test_trees_that_the_specification_does_not_select(plan, selection, tmp_path):
    def select(document):
        document['recipe']['spec']['trees'] = selection

    bad = edited(plan, tmp_path / 'plan.json', select)
    with pytest.raises(errors.PlacementError, match='does not select this tree'):
        ReshapeCarrier(Client(None), bad).check(bad.trees)
