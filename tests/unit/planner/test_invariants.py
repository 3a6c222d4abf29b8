"""The independent check finds every way in which a plan can be wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from msgspec import structs

from placementclient.changes.records import changes
from placementclient.files.encoding import builtins
from placementclient.model.snapshots import Snapshot
from placementclient.planner import invariants, planner
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import cloud, uuid_of

SPEC = """
trees: {name: [compute1]}
providers:
  - {name: gpu0, traits: [OWNER_NOVA], aggregates: [00000000-0000-4000-8000-00000000a99a]}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: gpu0
    moved_resources: {VGPU: 2}
    moved_traits: [CUSTOM_GPU]
    consumers: {%s: 1, %s: 1}
  - {from_resource_provider: "{root}", to_resource_provider: gpu1, moved_resources: {VGPU: 2}}
"""


def plan():
    snapshot = cloud(
        {
            'compute1': {
                'inventories': {'VGPU': {'total': 4}, 'VCPU': {'total': 8}},
                'traits': ['CUSTOM_GPU', 'HW_CPU_X86_AVX'],
            }
        },
        {
            'a': {'compute1': {'VGPU': 1, 'VCPU': 2}},
            'b': {'compute1': {'VGPU': 1, 'VCPU': 2}},
        },
    )
    text = SPEC % (uuid_of('a'), uuid_of('b'))
    return planner.make(snapshot, specification.parse(text, 'spec.yaml'))


ROOT, GPU0, GPU1 = uuid_of('compute1'), 'gpu0', 'gpu1'


def after(tree, name):
    """Return the record of a provider after the change."""
    return next(state for state in tree['after']['providers'] if state['name'] == name)


def vgpu(tree, name):
    return after(tree, name)['inventories']['VGPU']


def allocations(tree, side='after'):
    """Return the record of all that the first consumer holds on one side."""
    return tree[side]['consumers'][min(tree[side]['consumers'])]['allocations']


def without_first_consumer(tree):
    for side in ('before', 'after'):
        del tree[side]['consumers'][min(tree[side]['consumers'])]


def only(name):
    return lambda tree: tree['after'].update(providers=[after(tree, name)])


#: Each changes the record of a tree.
MUTATIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    'a unit is lost': lambda tree: allocations(tree).pop(after(tree, GPU0)['uuid']),
    'a unit stays behind': lambda tree: allocations(tree)[ROOT].update(VGPU=1),
    'another class changes': lambda tree: allocations(tree)[ROOT].update(VCPU=1),
    'a unit is invented': lambda tree: allocations(tree).update(
        {after(tree, GPU1)['uuid']: {'VGPU': 1}}
    ),
    'a consumer is forgotten': without_first_consumer,
    'all changes one by one': lambda tree: tree.update(is_atomic=False),
    'a row is forgotten': lambda tree: tree['rows'].pop(),
    'a row moves more': lambda tree: tree['rows'][0].update(amount=2),
    'a row moves nothing': lambda tree: tree['rows'][0].update(amount=0),
    'a row goes elsewhere': lambda tree: tree['rows'][0].update(to_provider=GPU1),
    'a row goes nowhere': lambda tree: tree['rows'][0].update(to_provider='gpu9'),
    'a row renames': lambda tree: tree['rows'][0].update(to_resource_class='PGPU'),
    'a target is too small': lambda tree: vgpu(tree, GPU0).update(total=1),
    'a target reserves': lambda tree: vgpu(tree, GPU0).update(reserved=1),
    'a target steps': lambda tree: vgpu(tree, GPU0).update(step_size=2),
    'a target wants more': lambda tree: vgpu(tree, GPU0).update(min_unit=2),
    'a target admits less': lambda tree: vgpu(tree, GPU0).update(max_unit=0),
    'another inventory changes': lambda tree: after(tree, 'compute1')['inventories']['VCPU'].update(
        total=9
    ),
    'an inventory is invented': lambda tree: after(tree, 'compute1')['inventories'].update(
        DISK_GB={'total': 9}
    ),
    'a trait is lost': lambda tree: after(tree, 'compute1').update(traits=[]),
    'a trait is invented': lambda tree: after(tree, GPU1).update(traits=['CUSTOM_OTHER']),
    'an aggregate is invented': lambda tree: after(tree, GPU1).update(aggregates=[ROOT]),
    'a UUID is another': lambda tree: after(tree, GPU1).update(uuid=uuid_of('other')),
    'a child has no parent': lambda tree: after(tree, GPU1).update(parent_provider_uuid=None),
    'a child is in another tree': lambda tree: after(tree, GPU1).update(
        root_provider_uuid=uuid_of('other')
    ),
    'a name is there twice': lambda tree: after(tree, GPU1).update(name=GPU0),
    'a root is renamed': lambda tree: after(tree, 'compute1').update(name='gpu9'),
    'a provider is forgotten': only('compute1'),
    'a provider is deleted': only(GPU0),
}


def test_a_good_plan_passes():
    invariants.check(plan())


@pytest.mark.parametrize('mutation', MUTATIONS.values(), ids=MUTATIONS)
def test_a_mutation_is_caught(mutation):
    good = plan()
    document = builtins(changes.record(good.trees[0]))
    mutation(document)
    tree = changes.change(msgspec.convert(document, changes.ChangeRecord))
    assert tree != good.trees[0]
    with pytest.raises(invariants.BadPlan):
        invariants.check(replace(good, trees=(tree,)))


DEVICE = 'CUSTOM_PCI'
ADDITIONS = f"""
additions:
- resource_provider: compute1_0000:81:00.0
  parent: compute1
  inventories: {{{DEVICE}: {{total: 4}}}}
  consumers: {{{uuid_of('vm')}: {{{DEVICE}: 1}}}}
"""


def added(total, **row):
    """The tree of a plan that adds a device, but with another amount and another row."""
    snapshot = cloud(
        {'compute1': {'inventories': {'VCPU': {'total': 4}}}}, {'vm': {'compute1': {'VCPU': 1}}}
    )
    (tree,) = planner.make(snapshot, specification.parse(ADDITIONS, 'spec')).trees
    (consumer,), (child,) = tree.consumers, tree.created()
    allocations = {**consumer.before.allocations, child.uuid: {DEVICE: total}}
    after = Snapshot(
        tree.after.providers.values(), [structs.replace(consumer.after, allocations=allocations)]
    )
    rows = tuple(replace(planned, **row) for planned in tree.rows)
    return tree, replace(tree, after=after, rows=rows)


@pytest.mark.parametrize(
    ('tree', 'message'),
    [
        (added(2, amount=2)[1], f'no addition gives {uuid_of("vm")} 2 {DEVICE}'),
        (replace(added(2)[1], rows=added(2)[0].rows * 2), 'no addition gives'),
        (added(1, from_provider='compute1_0000:81:00.0', to_provider=None)[1], 'no addition gives'),
        (added(2)[1], 'is not what it holds and its rows move'),
    ],
    ids=['more than it adds', 'the same twice', 'a row that takes away', 'more than the rows say'],
)
def test_an_addition_is_carried_out_as_specified(tree, message):
    spec = specification.parse(ADDITIONS, 'spec')
    invariants.check_tree(added(1)[1], spec)
    with pytest.raises(invariants.BadPlan, match=message):
        invariants.check_tree(tree, spec)
