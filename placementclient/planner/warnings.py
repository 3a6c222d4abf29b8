"""What an operator should know before a tree is reshaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from placementclient.model.providers import SHARING_TRAIT
from placementclient.planner.plan.plan import Notice, TreePlan
from placementclient.planner.target.overlay import World
from placementclient.planner.target.target_state import Layout

#: From Nova 34 on, its scheduler requires this trait on the providers that it schedules to.
OWNER_TRAIT = 'OWNER_NOVA'
#: From so many siblings on, allocation candidates multiply.
MANY_SIBLINGS = 8
#: The type of the consumer that holds the source's share while a server migrates.
MIGRATION = 'MIGRATION'


def notices(world: World, layout: Layout, tree: TreePlan) -> Iterator[Notice]:
    """The warnings of one tree, by kind."""
    yield from _totals(layout)
    yield from _capacity(layout)
    yield from _overcommitted(layout)
    yield from _consumers(world, tree)
    yield from _unowned(layout)
    yield from _siblings(world, layout)


def _moved(layout: Layout) -> dict[tuple[str, str], int]:
    moved: dict[tuple[str, str], int] = {}
    for flow in layout.flows:
        key = (flow.source, flow.resource_class)
        moved[key] = moved.get(key, 0) + flow.amount
    return moved


def _totals(layout: Layout) -> Iterator[Notice]:
    for (source, name), moved in _moved(layout).items():
        before = layout.sites[source].before
        assert before is not None
        total = before.inventories[name].total
        if moved != total:
            yield Notice(
                'total-differs',
                f'{moved} {name} are moved off {before.name}, which has {total}',
                {'provider': before.name, 'resource_class': name, 'moved': moved, 'total': total},
            )
    received: dict[tuple[str, str], int] = {}
    for flow in layout.flows:
        target = (flow.target, flow.target_class)
        received[target] = received.get(target, 0) + flow.amount
    for (target_uuid, name), moved in received.items():
        site = layout.sites[target_uuid]
        total = site.inventories[name].total
        there = site.before.inventories.get(name) if site.before else None
        moved += there.total if there and (target_uuid, name) not in layout.places else 0
        if moved != total and (target_uuid, name) not in layout.places:
            yield Notice(
                'target-total-differs',
                f'{site.name} gets {total} {name} in all, what is there and moved in is {moved}',
                {'provider': site.name, 'resource_class': name, 'moved': moved, 'total': total},
            )


def _capacity(layout: Layout) -> Iterator[Notice]:
    """Each target floors its own capacity, which may lose some."""
    moved = _moved(layout)
    for (source, name), amount in moved.items():
        before = layout.sites[source].before
        assert before is not None
        inventory = before.inventories[name]
        targets = {
            (flow.target, flow.target_class)
            for flow in layout.flows
            if (flow.source, flow.resource_class) == (source, name)
        }
        after = total = 0
        for target, target_class in targets | ({(source, name)} & layout.places.keys()):
            site = layout.sites[target]
            new = site.inventories.get(target_class)
            was = site.before.inventories.get(target_class) if site.before else None
            if (target, target_class) == (source, name):
                was = None
            after += (new.capacity if new else 0) - (was.capacity if was else 0)
            total += (new.total if new else 0) - (was.total if was else 0)
        if amount <= inventory.total <= total and after < inventory.capacity:
            yield Notice(
                'capacity-lost',
                f'the capacity of {before.name} for {name} is {inventory.capacity}, '
                f'and {after} after it is divided',
                {
                    'provider': before.name,
                    'resource_class': name,
                    'before': inventory.capacity,
                    'after': after,
                },
            )


def _overcommitted(layout: Layout) -> Iterator[Notice]:
    for source, name in layout.places:
        before = layout.sites[source].before
        assert before is not None
        usage, capacity = before.usages.get(name, 0), before.inventories[name].capacity
        if usage > capacity:
            yield Notice(
                'overcommitted',
                f'{before.name} has {usage} {name} in use, its capacity is {capacity}: what moves '
                'off cannot come back in a rollback before its consumers shrink',
                {
                    'provider': before.name,
                    'resource_class': name,
                    'usage': usage,
                    'capacity': capacity,
                },
            )


def _consumers(world: World, tree: TreePlan) -> Iterator[Notice]:
    several = [change.uuid for change in tree.consumers if len(_trees(world, change.before)) > 1]
    if several:
        yield Notice(
            'several-trees',
            f'consumers that hold something on other trees too, which stays: {len(several)}',
            {'consumers': several},
        )
    migrations = [change.uuid for change in tree.consumers if change.type == MIGRATION]
    if migrations:
        yield Notice(
            'migration',
            f'migrations that are under way: {len(migrations)}',
            {'consumers': migrations},
        )


def _trees(world: World, providers: Iterable[str]) -> set[str]:
    """The trees that providers are in, those left aside that share with other trees."""
    trees = set()
    for provider_uuid in providers:
        state = world.state(provider_uuid)
        if state is None:
            trees.add(provider_uuid)
        elif SHARING_TRAIT not in state.traits:
            trees.add(world.root_of(state))
    return trees


def _unowned(layout: Layout) -> Iterator[Notice]:
    if OWNER_TRAIT not in layout.root.traits:
        return
    targets = {flow.target for flow in layout.flows}
    unowned = [
        site.name
        for site in layout.sites.values()
        if site.uuid in targets
        and site.root_provider_uuid == layout.root.uuid
        and OWNER_TRAIT not in site.traits
    ]
    if unowned:
        yield Notice(
            'no-owner',
            f'{layout.root.name} has the trait {OWNER_TRAIT}, {", ".join(unowned)} will not: '
            'the scheduler of Nova 34 and later passes such providers over',
            {'providers': unowned, 'trait': OWNER_TRAIT},
        )


def _siblings(world: World, layout: Layout) -> Iterator[Notice]:
    families: dict[str, set[str]] = {}
    for flow in layout.flows:
        parent = layout.sites[flow.target].parent_provider_uuid
        if parent is not None:
            families.setdefault(parent, set()).add(flow.target_class)
    for parent, names in families.items():
        children = {state.uuid: set(state.inventories) for state in world.snapshot.children(parent)}
        for site in layout.sites.values():
            if site.parent_provider_uuid == parent:
                children[site.uuid] = set(site.inventories)
        for name in sorted(names):
            count = sum(name in classes for classes in children.values())
            if count >= MANY_SIBLINGS:
                yield Notice(
                    'many-siblings',
                    f'{count} siblings will have {name}: see the options '
                    '[placement]max_allocation_candidates and '
                    '[placement]allocation_candidates_generation_strategy of the service',
                    {'parent_provider_uuid': parent, 'resource_class': name, 'count': count},
                )
