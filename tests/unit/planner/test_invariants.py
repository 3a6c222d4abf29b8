"""The independent check finds every way in which a plan can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from placementclient.model.inventories import Inventory
from placementclient.model.plans import TreeChange
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


def with_state(tree, state):
    after = Snapshot(
        {**tree.after.providers, state.uuid: state}.values(), tree.after.consumers.values()
    )
    return replace(tree, after=after)


def with_provider(tree, provider_name, **fields):
    """A provider has another UUID, name, parent or root."""
    state = provider(tree, provider_name)
    moved = structs.replace(state, provider=structs.replace(state.provider, **fields))
    states = (moved if each is state else each for each in tree.after.providers.values())
    return replace(tree, after=Snapshot(states, tree.after.consumers.values()))


def provider(tree, name):
    return tree.after.existing(name)


def with_inventory(tree, name, resource_class, **fields):
    after = provider(tree, name)
    inventory = structs.replace(after.inventories.get(resource_class, Inventory(1)), **fields)  # type: ignore[arg-type]
    inventories = {**after.inventories, resource_class: inventory}
    return with_state(tree, structs.replace(after, inventories=inventories))


def with_traits(tree, name, *traits):
    return with_state(tree, structs.replace(provider(tree, name), traits=frozenset(traits)))


def with_consumer(tree, after):
    """The first consumer holds something else afterwards."""
    first = structs.replace(tree.consumers[0].after, allocations=after)
    consumers = {**tree.after.consumers, first.uuid: first}
    return replace(tree, after=Snapshot(tree.after.providers.values(), consumers.values()))


def first_held(tree, side):
    return tree.consumers[0][side].allocations


def without_first_consumer(tree):
    first = tree.consumers[0].uuid
    before, after = (
        Snapshot(
            side.providers.values(),
            (each for each in side.consumers.values() if each.uuid != first),
        )
        for side in (tree.before, tree.after)
    )
    return replace(tree, before=before, after=after)


def with_row(tree, **fields):
    first = replace(tree.rows[0], **fields)  # type: ignore[arg-type]
    return replace(tree, rows=(first, *tree.rows[1:]))


ROOT = uuid_of('compute1')
MUTATIONS: dict[str, Callable[[TreeChange], TreeChange]] = {
    'a unit is lost': lambda tree: with_consumer(tree, {ROOT: {'VCPU': 2}}),
    'a unit stays behind': lambda tree: with_consumer(tree, first_held(tree, 0)),
    'another class changes': lambda tree: with_consumer(
        tree, {**first_held(tree, 1), ROOT: {'VCPU': 1}}
    ),
    'a unit is invented': lambda tree: with_consumer(
        tree, {**first_held(tree, 1), provider(tree, 'gpu1').uuid: {'VGPU': 1}}
    ),
    'a consumer is forgotten': without_first_consumer,
    'all changes one by one': lambda tree: replace(tree, is_atomic=False),
    'a row is forgotten': lambda tree: replace(tree, rows=tree.rows[1:]),
    'a row moves more': lambda tree: with_row(tree, amount=2),
    'a row moves nothing': lambda tree: with_row(tree, amount=0),
    'a row goes elsewhere': lambda tree: with_row(tree, to_provider='gpu1'),
    'a row goes nowhere': lambda tree: with_row(tree, to_provider='gpu9'),
    'a row renames': lambda tree: with_row(tree, to_resource_class='PGPU'),
    'a target is too small': lambda tree: with_inventory(tree, 'gpu0', 'VGPU', total=1),
    'a target reserves': lambda tree: with_inventory(tree, 'gpu0', 'VGPU', reserved=1),
    'a target steps': lambda tree: with_inventory(tree, 'gpu0', 'VGPU', step_size=2),
    'a target wants more': lambda tree: with_inventory(tree, 'gpu0', 'VGPU', min_unit=2),
    'a target admits less': lambda tree: with_inventory(tree, 'gpu0', 'VGPU', max_unit=0),
    'another inventory changes': lambda tree: with_inventory(tree, 'compute1', 'VCPU', total=9),
    'an inventory is invented': lambda tree: with_inventory(tree, 'compute1', 'DISK_GB', total=9),
    'a trait is lost': lambda tree: with_traits(tree, 'compute1'),
    'a trait is invented': lambda tree: with_traits(tree, 'gpu1', 'CUSTOM_OTHER'),
    'an aggregate is invented': lambda tree: with_state(
        tree, structs.replace(provider(tree, 'gpu1'), aggregates=frozenset({ROOT}))
    ),
    'a UUID is another': lambda tree: with_provider(tree, 'gpu1', uuid=uuid_of('other')),
    'a child has no parent': lambda tree: with_provider(tree, 'gpu1', parent_provider_uuid=None),
    'a child is in another tree': lambda tree: with_provider(
        tree, 'gpu1', root_provider_uuid=uuid_of('other')
    ),
    'a name is there twice': lambda tree: with_provider(tree, 'gpu1', name='gpu0'),
    'a root is renamed': lambda tree: with_provider(tree, 'compute1', name='gpu9'),
    'a provider is forgotten': lambda tree: replace(
        tree, after=Snapshot([provider(tree, 'compute1')], tree.after.consumers.values())
    ),
    'a provider is deleted': lambda tree: replace(
        tree, after=Snapshot([provider(tree, 'gpu0')], tree.after.consumers.values())
    ),
}


def test_a_good_plan_passes():
    invariants.check(plan())


@pytest.mark.parametrize('mutation', MUTATIONS.values(), ids=MUTATIONS.keys())
def test_a_mutation_is_caught(mutation):
    good = plan()
    with pytest.raises(invariants.BadPlan) as caught:
        invariants.check(replace(good, trees=(mutation(good.trees[0]),)))
    assert caught.value.facts


DEVICE = 'CUSTOM_PCI'
ADDITIONS = f"""
additions:
- resource_provider: compute1_0000:81:00.0
  parent: compute1
  inventories: {{{DEVICE}: {{total: 4}}}}
  consumers: {{{uuid_of('vm')}: {{{DEVICE}: 1}}}}
"""


def added(held, **row):
    """The tree of a plan that adds a device, but with another amount and another row."""
    snapshot = cloud(
        {'compute1': {'inventories': {'VCPU': {'total': 4}}}}, {'vm': {'compute1': {'VCPU': 1}}}
    )
    (tree,) = planner.make(snapshot, specification.parse(ADDITIONS, 'spec')).trees
    (consumer,), (child,) = tree.consumers, tree.created()
    allocations = {**consumer.before.allocations, child.uuid: {DEVICE: held}}
    after = Snapshot(
        tree.after.providers.values(), [structs.replace(consumer.after, allocations=allocations)]
    )
    rows = tuple(replace(each, **row) for each in tree.rows)
    return tree, replace(tree, after=after, rows=rows)


@pytest.mark.parametrize(
    ('tree', 'said'),
    [
        (added(2, amount=2)[1], f'no addition gives {uuid_of("vm")} 2 {DEVICE}'),
        (replace(added(2)[1], rows=added(2)[0].rows * 2), 'no addition gives'),
        (added(1, from_provider='compute1_0000:81:00.0', to_provider=None)[1], 'no addition gives'),
        (added(2)[1], 'is not what it holds and its rows move'),
    ],
    ids=['more than it adds', 'the same twice', 'a row that takes away', 'more than the rows say'],
)
def test_an_addition_is_carried_out_as_specified(tree, said):
    spec = specification.parse(ADDITIONS, 'spec')
    invariants.check_tree(added(1)[1], spec)
    with pytest.raises(invariants.BadPlan, match=said):
        invariants.check_tree(tree, spec)
