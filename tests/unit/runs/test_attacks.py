# SPDX-License-Identifier: Apache-2.0
"""Plans and journals that somebody has edited, with a digest or a checksum that is right."""

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from placementclient.basis import errors
from placementclient.changes.records import journals, plans
from placementclient.changes.records.changes import ChangeRecord, encode_change
from placementclient.client.http import Client
from placementclient.files.encoding import convert_to_json
from placementclient.runs import engines, storage
from placementclient.runs.reshape_carrier import ReshapeCarrier
from tests.functional import clouds
from tests.functional.clouds import uuid_of

ROOT, OTHER = uuid_of('compute0'), uuid_of('compute1')
GPU0, GPU1 = 'compute0_gpu0', 'compute0_gpu1'
#: Changes the record of a tree.
Mutation = Callable[[dict[str, Any]], object]


def named(tree, name):
    """Return the record of a provider after the change."""
    return next(state for state in tree['after']['providers'] if state['name'] == name)


def root(tree, side='after'):
    return next(state for state in tree[side]['providers'] if state['uuid'] == ROOT)


def children(tree):
    return [state for state in tree['after']['providers'] if state['uuid'] != ROOT]


def vgpus(tree, side='after'):
    """The inventories of VGPU on one side."""
    inventories = [state['inventories'] for state in tree[side]['providers']]
    return [by_class['VGPU'] for by_class in inventories if 'VGPU' in by_class]


def first_consumer(tree):
    return min(tree['before']['consumers'])


def holdings(tree, side='after'):
    """All that the first consumer holds on one side."""
    allocated: dict[str, Any] = tree[side]['consumers'][first_consumer(tree)]['allocations']
    return allocated


def more_totals(tree, sides=('after',)):
    for inventory in (inventory for side in sides for inventory in vgpus(tree, side)):
        inventory.update(total=inventory['total'] * 100, max_unit=inventory['max_unit'] * 100)


def more_totals_and_moves(tree, sides=('after',)):
    more_totals(tree, sides)
    for move in tree['moves']:
        move['amount'] *= 100


def another_place(tree):
    """A consumer goes to another child than the one that it is known to be on."""
    one, other = children(tree)
    exchanged = {one['uuid']: other['uuid'], other['uuid']: one['uuid']}
    allocated = holdings(tree)
    for uuid in allocated.keys() & exchanged.keys():
        allocated[exchanged[uuid]] = allocated.pop(uuid)
    for row in tree['rows']:
        if row['consumer_uuid'] == first_consumer(tree):
            row['to_provider'] = {one['name']: other['name']}.get(row['to_provider'], one['name'])


def without_first_consumer(tree):
    first = first_consumer(tree)
    for side in ('before', 'after'):
        del tree[side]['consumers'][first]


def only(name):
    return lambda tree: tree['after'].update(providers=[named(tree, name)])


MUTATIONS: dict[str, Mutation] = {
    'a unit is lost': lambda tree: [holdings(tree).pop(c['uuid'], 0) for c in children(tree)],
    'a unit stays behind': lambda tree: holdings(tree)[ROOT].update(VGPU=1),
    'another class changes': lambda tree: holdings(tree)[ROOT].update(VCPU=1),
    'a unit is invented': lambda tree: holdings(tree).update(
        {child['uuid']: {'VGPU': 1} for child in children(tree)}
    ),
    'a consumer is forgotten': without_first_consumer,
    'a consumer gets another owner': lambda tree: tree['after']['consumers'][
        first_consumer(tree)
    ].update(project_id='another'),
    'a consumer gets another place': another_place,
    'all changes one by one': lambda tree: tree.update(is_atomic=False),
    'a row is forgotten': lambda tree: tree['rows'].pop(),
    'a row moves more': lambda tree: tree['rows'][0].update(amount=2),
    'a row moves nothing': lambda tree: tree['rows'][0].update(amount=0),
    'a row goes elsewhere': lambda tree: [row.update(to_provider=GPU1) for row in tree['rows']],
    'a row goes nowhere': lambda tree: tree['rows'][0].update(to_provider='gpu9'),
    'a row renames': lambda tree: tree['rows'][0].update(to_resource_class='PGPU'),
    'a row is a guess': lambda tree: tree['rows'][0].update(label='inferred'),
    'totals grow': more_totals,
    'totals grow, and what moves': more_totals_and_moves,
    'everything grows': lambda tree: more_totals_and_moves(tree, ('before', 'after')),
    'a move grows': lambda tree: tree['moves'][0].update(amount=5),
    'nothing moves': lambda tree: tree.update(moves=[]),
    'all moves to one child': lambda tree: [m.update(to_provider=GPU0) for m in tree['moves']],
    'a target is too small': lambda tree: vgpus(tree)[0].update(total=1),
    'a target reserves': lambda tree: vgpus(tree)[0].update(reserved=1),
    'a target steps': lambda tree: vgpus(tree)[0].update(step_size=2),
    'a target wants more': lambda tree: vgpus(tree)[0].update(min_unit=2),
    'a target admits less': lambda tree: vgpus(tree)[0].update(max_unit=0),
    'a target has another ratio': lambda tree: vgpus(tree)[0].update(allocation_ratio=16.0),
    'another inventory changes': lambda tree: root(tree)['inventories']['VCPU'].update(total=9),
    'an inventory is invented': lambda tree: root(tree)['inventories'].update(DISK_GB={'total': 9}),
    'a trait is lost': lambda tree: root(tree).update(traits=[]),
    'a trait is kept': lambda tree: root(tree).update(traits=root(tree, 'before')['traits']),
    'a trait is not given': lambda tree: named(tree, GPU0)['traits'].remove('CUSTOM_GPU'),
    'a trait is invented': lambda tree: named(tree, GPU1)['traits'].append('CUSTOM_OTHER'),
    'an aggregate is invented': lambda tree: named(tree, GPU1).update(aggregates=[ROOT]),
    'a UUID is another': lambda tree: named(tree, GPU1).update(uuid=uuid_of('other')),
    'a child has no parent': lambda tree: named(tree, GPU1).update(parent_provider_uuid=None),
    'a child is in another tree': lambda tree: named(tree, GPU1).update(root_provider_uuid=OTHER),
    'a name appears twice': lambda tree: named(tree, GPU1).update(name=GPU0),
    'a root is renamed': lambda tree: root(tree).update(name='gpu9'),
    'a root has another name': lambda tree: tree.update(root_provider_name='compute1'),
    'a root is another': lambda tree: tree.update(root_provider_uuid=OTHER),
    'a child is forgotten': lambda tree: tree['after']['providers'].remove(named(tree, GPU1)),
    'children are forgotten': only('compute0'),
    'a provider is deleted': lambda tree: tree['after']['providers'].remove(root(tree)),
    'all but a child is deleted': only(GPU0),
}
#: Another tree that changes too is a tree of the plan.
JOINED: dict[str, Mutation] = {
    'trees are joined': lambda tree: tree.update(joined={OTHER: 'compute1'})
}


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
        plan=plans.get_plan_digest(plan),
    )  # fmt: skip
    line = journals.JournalEntry(
        at='2026-11-22T00:00:00+00:00', tree=key, plan=msgspec.convert(record, ChangeRecord)
    )
    path.write_bytes(journals.encode(first) + journals.encode(line))
    return str(path)


def test_an_aggregate_that_is_no_uuid_is_refused_when_the_plan_is_read(plan, tmp_path):
    def join_rack(document):
        named(document['trees'][0], GPU1).update(aggregates=['rack'])

    with pytest.raises(
        errors.BadFile, match=f"damaged plan: aggregate 'rack' of {GPU1} is not a UUID"
    ):
        edited(plan, tmp_path / 'plan.json', join_rack)


@pytest.mark.parametrize('mutation', (MUTATIONS | JOINED).values(), ids=MUTATIONS | JOINED)
def test_an_edited_plan_is_refused_before_anything_is_sent(plan, mutation, tmp_path):
    def carried_out():
        bad = edited(plan, tmp_path / 'plan.json', lambda document: mutation(document['trees'][0]))
        ReshapeCarrier(Client(None), bad).check_plan(bad.changes)

    with pytest.raises(errors.PlacementError, match=r'damaged plan: |The plan does not hold'):
        carried_out()


@pytest.mark.parametrize('mutation', MUTATIONS.values(), ids=MUTATIONS)
def test_an_edited_journal_is_refused(plan, mutation, tmp_path):
    tree = copy.deepcopy(convert_to_json(encode_change(plan.changes[0])))
    mutation(tree)
    assert tree != convert_to_json(encode_change(plan.changes[0]))
    path = noted(plan, tmp_path / 'journal', tree)
    with pytest.raises(errors.BadFile):
        engines.load_carrier(Client(None), plan, path)


def test_a_journal_with_the_plan_of_another_tree_is_refused(plan, tmp_path):
    path = noted(plan, tmp_path / 'journal', convert_to_json(encode_change(plan.changes[1])))
    with pytest.raises(errors.BadFile, match=f'it is the plan of the tree of {OTHER}'):
        engines.load_carrier(Client(None), plan, path)
    path = noted(
        plan, tmp_path / 'journal', convert_to_json(encode_change(plan.changes[0])), uuid_of('x')
    )
    with pytest.raises(errors.BadFile, match='the plan has no tree'):
        engines.load_carrier(Client(None), plan, path)


def selecting(**selection):
    return lambda recipe: recipe['spec'].update(trees=selection)


@pytest.mark.parametrize(
    ('mutation', 'message'),
    [
        (selecting(name=['compute1']), 'does not select this tree'),
        (selecting(uuid=[OTHER]), 'does not select this tree'),
        (selecting(trait=['HW_CPU_X86_SSE']), 'does not select this tree'),
        (lambda recipe: recipe['assignments'][0].update(amount=2), 'is known to have VGPU of'),
    ],
)
def test_a_plan_that_differs_from_its_recipe_is_refused(plan, mutation, message, tmp_path):
    bad = edited(plan, tmp_path / 'plan.json', lambda document: mutation(document['recipe']))
    with pytest.raises(errors.PlacementError, match=message):
        ReshapeCarrier(Client(None), bad).check_plan(bad.changes)
