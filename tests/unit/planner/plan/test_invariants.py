"""The independent check finds every way in which a plan can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from placementclient.changes.operations import ConsumerChange
from placementclient.client import errors
from placementclient.model.inventories import Inventory
from placementclient.planner import planner, replan
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.planner.plan.state_changes import ProviderChange
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import applied, cloud, uuid_of

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


def plan() -> Plan:
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


def with_provider(tree: TreePlan, name: str, **fields: object) -> TreePlan:
    return replace(
        tree,
        providers=tuple(
            replace(change, **fields) if change.name == name else change  # type: ignore[arg-type]
            for change in tree.providers
        ),
    )


def provider(tree: TreePlan, name: str) -> ProviderChange:
    return next(change for change in tree.providers if change.name == name)


def with_inventory(tree: TreePlan, name: str, resource_class: str, **fields: int) -> TreePlan:
    after = provider(tree, name).after
    inventory = structs.replace(after.inventories.get(resource_class, Inventory(1)), **fields)  # type: ignore[arg-type]
    return with_provider(
        tree,
        name,
        after=replace(after, inventories={**after.inventories, resource_class: inventory}),
    )


def with_traits(tree: TreePlan, name: str, *traits: str) -> TreePlan:
    after = replace(provider(tree, name).after, traits=frozenset(traits))
    return with_provider(tree, name, after=after)


def with_consumer(tree: TreePlan, **fields: object) -> TreePlan:
    first: ConsumerChange = replace(tree.consumers[0], **fields)  # type: ignore[arg-type]
    return replace(tree, consumers=(first, *tree.consumers[1:]))


def with_row(tree: TreePlan, **fields: object) -> TreePlan:
    first = replace(tree.rows[0], **fields)  # type: ignore[arg-type]
    return replace(tree, rows=(first, *tree.rows[1:]))


ROOT = uuid_of('compute1')
MUTATIONS: dict[str, Callable[[TreePlan], TreePlan]] = {
    'a unit is lost': lambda tree: with_consumer(tree, after={ROOT: {'VCPU': 2}}),
    'a unit stays behind': lambda tree: with_consumer(tree, after=tree.consumers[0].before),
    'another class changes': lambda tree: with_consumer(
        tree, after={**tree.consumers[0].after, ROOT: {'VCPU': 1}}
    ),
    'a unit is invented': lambda tree: with_consumer(
        tree,
        after={**tree.consumers[0].after, provider(tree, 'gpu1').uuid: {'VGPU': 1}},
    ),
    'a consumer is forgotten': lambda tree: replace(tree, consumers=tree.consumers[1:]),
    'a consumer is there twice': lambda tree: replace(
        tree, consumers=(*tree.consumers, tree.consumers[0])
    ),
    'a consumer has no generation': lambda tree: with_consumer(tree, generation=None),
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
    'an aggregate is invented': lambda tree: with_provider(
        tree,
        'gpu1',
        after=replace(provider(tree, 'gpu1').after, aggregates=frozenset({ROOT})),
    ),
    'a UUID is another': lambda tree: with_provider(tree, 'gpu1', uuid=uuid_of('other')),
    'a child has no parent': lambda tree: with_provider(tree, 'gpu1', parent_provider_uuid=None),
    'a child is in another tree': lambda tree: with_provider(
        tree, 'gpu1', root_provider_uuid=uuid_of('other')
    ),
    'children come first': lambda tree: replace(tree, providers=tree.providers[::-1]),
    'a provider is there twice': lambda tree: replace(
        tree, providers=(*tree.providers, tree.providers[0])
    ),
    'a provider is forgotten': lambda tree: replace(tree, providers=tree.providers[:1]),
    'a generation is missing': lambda tree: with_provider(
        tree,
        'compute1',
        before=replace(provider(tree, 'compute1').content_before, generation=None),
    ),
    'a generation is predicted': lambda tree: with_provider(
        tree, 'compute1', after=replace(provider(tree, 'compute1').after, generation=9)
    ),
}


def test_a_good_plan_passes() -> None:
    invariants.check(plan())


@pytest.mark.parametrize('mutation', MUTATIONS.values(), ids=MUTATIONS.keys())
def test_a_mutation_is_caught(mutation: Callable[[TreePlan], TreePlan]) -> None:
    good = plan()
    with pytest.raises(invariants.BadPlan) as caught:
        invariants.check(replace(good, trees=(mutation(good.trees[0]),)))
    assert caught.value.facts


def test_a_tree_may_be_there_once() -> None:
    good = plan()
    with pytest.raises(invariants.BadPlan, match='twice'):
        invariants.check(replace(good, trees=good.trees * 2))


@st.composite
def clouds(draw: st.DrawFn) -> tuple[dict[str, object], dict[str, object], list[int], bool]:
    totals = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    ratio = draw(st.sampled_from([1.0, 1.0, 1.1, 2.0]))
    amounts = draw(st.lists(st.integers(1, 3), max_size=5))
    left = draw(st.integers(0, 2))
    trees = {
        'compute1': {
            'inventories': {
                'VGPU': {'total': sum(totals) + left, 'allocation_ratio': ratio},
                'VCPU': {'total': 64},
            }
        }
    }
    consumers = {
        f'c{index}': {'compute1': {'VGPU': amount, 'VCPU': 1}}
        for index, amount in enumerate(amounts)
    }
    return trees, consumers, totals, draw(st.booleans())


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(clouds())
def test_plans_hold_and_lead_back(
    case: tuple[dict[str, object], dict[str, object], list[int], bool],
) -> None:
    trees, consumers, totals, split = case
    snapshot = cloud(trees, consumers)
    moves = [
        {
            'from_resource_provider': 'compute1',
            'to_resource_provider': f'gpu{index}',
            'moved_resources': {'VGPU': total},
        }
        for index, total in enumerate(totals)
    ]
    wanted = specification.from_document({'moves': moves, 'split': split}, 'spec')
    try:
        made = planner.make(snapshot, wanted, allow_inferred=True)
    except errors.Infeasible:
        return
    invariants.check(made)
    assert made == planner.make(snapshot, wanted, allow_inferred=True)
    live = applied(snapshot, made.trees[0])
    if any(warning.kind == 'overcommitted' for warning in made.trees[0].warnings):
        return  # the source has no room for what comes back
    back = applied(live, replan.rollback(live, made, made.trees[0]))
    root = uuid_of('compute1')
    assert back.providers[root].inventories == snapshot.providers[root].inventories
    assert back.providers[root].usages == snapshot.providers[root].usages
    for uuid, consumer in snapshot.consumers.items():
        assert back.consumers[uuid].allocations == consumer.allocations
