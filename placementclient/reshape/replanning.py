"""A tree is planned again, from what is there now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from placementclient import errors
from placementclient.http import Client
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.planner import replan
from placementclient.planner.plan.plan import Notice, Plan, TreePlan
from placementclient.reshape import live_state
from placementclient.reshape.preconditions import LeftAlone
from placementclient.snapshot.capture import capture


def replanned(client: Client, plan: Plan, tree: TreePlan, drift: str) -> TreePlan:
    """The plan of a tree that has changed since it was made, and is not applied.

    It differs from the one that was reviewed by nothing but allocations that came or went.

    :param plan: the one that was reviewed
    :param tree: its part for the tree, or what that has become when it was planned again before
    :param drift: what has changed, a sentence without its full stop
    :raises LeftAlone: if there is no such plan
    """
    snapshot = _without_prepared(captured(client, tree), tree)
    again = _planned(replan.replan, snapshot, plan, tree, f'{drift}, and a new plan is impossible')
    reviewed = plan.tree(tree.root_provider_uuid)
    assert reviewed is not None
    for difference in _beyond_review(reviewed, again):
        raise LeftAlone(f'{drift}, and a new plan is not the one that was reviewed: {difference}')
    return again


def _beyond_review(reviewed: TreePlan, again: TreePlan) -> Iterator[str]:
    """What a new plan would do that nobody has agreed to; each a sentence without its full stop."""
    inventories = _inventories(reviewed), _inventories(again)
    for provider, name in sorted(inventories[0].keys() | inventories[1].keys()):
        was, now = (of_plan.get((provider, name)) for of_plan in inventories)
        if was != now:
            yield f'{name} on {provider} would be {_said(now, was)}, and not {_said(was, now)}'
    places = _places(reviewed), _places(again)
    for holding in sorted(places[0].keys() & places[1].keys()):
        for provider, name in sorted(places[1][holding] - places[0][holding]):
            yield f'consumer {holding[0]} would get {name} of {provider}'
    for warning in again.warnings:
        if not any(_covers(known, warning) for known in reviewed.warnings):
            yield warning.message


def _inventories(tree: TreePlan) -> dict[tuple[str, str], Inventory | None]:
    """What becomes of the classes that a plan changes, by provider and class; ``None``: nothing.

    Providers go by their names: a child may have been made by somebody else. Of a provider of
    another tree only the growth counts, as other trees' plans change it too.
    """
    result: dict[tuple[str, str], Inventory | None] = {}
    for change in tree.providers:
        before, after = change.content_before.inventories, change.after.inventories
        for name in live_state.moving_classes(change):
            inventory = after.get(name)
            if (
                change.root_provider_uuid != tree.root_provider_uuid
                and inventory
                and name in before
            ):
                inventory = replace(inventory, total=inventory.total - before[name].total)
            result[change.name, name] = inventory
    return result


def _said(inventory: Inventory | None, other: Inventory | None) -> str:
    """An inventory by what is different in another one."""
    if inventory is None:
        return 'gone'
    if other is None:
        return f'total {inventory.total}'
    there = other.as_fields()
    return ', '.join(
        f'{name} {value}' for name, value in inventory.as_fields().items() if value != there[name]
    )


def _places(tree: TreePlan) -> dict[tuple[str, str, str], set[tuple[str, str]]]:
    """Where each consumer gets what it has of a class on a provider: providers and classes."""
    result: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    for row in tree.rows:
        holding = (row.consumer_uuid, row.resource_class, row.from_provider or '')
        place = (row.to_provider or '', row.to_resource_class)
        result.setdefault(holding, set()).add(place)
    return result


def _covers(known: Notice, warning: Notice) -> bool:
    """Whether a warning says no more than one that is known; lists of consumers may be shorter."""
    return known.kind == warning.kind and all(
        set(fact) <= set(known.facts.get(name, ()))
        if isinstance(fact, list | tuple)
        else fact == known.facts.get(name)
        for name, fact in warning.facts.items()
    )


def planned_back(snapshot: Snapshot, plan: Plan, tree: TreePlan) -> TreePlan:
    """The way back of a tree that is applied.

    :param snapshot: as :func:`captured` gives it
    :raises LeftAlone: if there is none
    """
    return _planned(replan.rollback, snapshot, plan, tree, 'there is no way back')


def captured(client: Client, tree: TreePlan) -> Snapshot:
    """All trees that the plan of a tree concerns, as they are now.

    :raises LeftAlone: if one does not exist
    """
    try:
        return capture(client, live_state.roots_of(tree))
    except errors.NoSuchProvider as reason:
        raise LeftAlone(str(reason)) from reason


def _planned(
    make: Callable[[Snapshot, Plan, TreePlan], TreePlan],
    snapshot: Snapshot,
    plan: Plan,
    tree: TreePlan,
    otherwise: str,
) -> TreePlan:
    try:
        return make(snapshot, plan, tree)
    except (errors.Infeasible, errors.Undecided, errors.Undetermined) as reason:
        raise LeftAlone(f'{otherwise}: {reason}') from reason


def _without_prepared(snapshot: Snapshot, tree: TreePlan) -> Snapshot:
    """A snapshot as it was before the plan's own providers were made, which are still empty.

    So they are created in the new plan too, and the way back removes them.
    """
    made = {change.uuid for change in tree.created()}
    prepared = {
        uuid
        for uuid in made & snapshot.providers.keys()
        if not snapshot.providers[uuid].inventories
        and not snapshot.consumers_on(uuid)
        and all(child.uuid in made for child in snapshot.children(uuid))
    }
    return Snapshot(
        (state for uuid, state in snapshot.providers.items() if uuid not in prepared),
        snapshot.consumers.values(),
    )
