# SPDX-License-Identifier: Apache-2.0
"""New plans of one tree, from its present state, and their differences from the reviewed plan."""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.model.inventories import Inventory
from placementclient.model.plans import Change, Notice, Plan, PlannedRow, RowLabel
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.assign import assign_targets
from placementclient.planner.composition import compose_change
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.planner.infeasibility import Cause, PlanRefusal
from placementclient.planner.layout.assigned import AssignmentMatcher
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.target_state import AllocationKey, TargetState
from placementclient.planner.solve.search import TIMEOUT


def replan_tree(live: Snapshot, plan: Plan, change: Change) -> Change:
    """Plan a tree again that has changed since the plan and is not applied.

    Each row of the old plan whose consumer still has the same allocation keeps its target and its
    label; each new row is mapped or forced.

    :param live: the tree as it is now, with the sharing providers that it moves to, and all
        allocations of its consumers
    :param change: the reviewed change of the tree, one of ``plan``
    :raises Infeasible: if an old row cannot keep its target, or nothing else fits
    :raises Undecided: if a new row has several possible targets
    :raises Undetermined: if the search took too long to know
    """
    recipe = plan.recipe
    assert recipe is not None
    try:
        roots = _require_roots(live, change)
        _refuse_existing_children(live, change)
        planned = {provider.name for provider in change.providers}
        target_state = build_target_state(live, recipe.spec, roots, planned)
        rows = AssignmentMatcher(recipe.spec, recipe.assignments)
        assigned = rows.match_tree(live, target_state)
        if rows.unexplained:
            raise Undecided([*rows.unexplained.values()])
        assigned |= _select_retained_rows(live, target_state, change)
        return _compose_decided_change(live, target_state, recipe.spec, assigned)
    except errors.BadFile as reason:
        cause = Cause('bad-row', change.root_provider_name, reason=str(reason))
        raise Infeasible([cause]) from None
    except PlanRefusal as refusal:
        raise _make_planning_error(refusal) from None


def _make_planning_error(refusal: PlanRefusal) -> Infeasible | Undetermined:
    """Return the error for the causes of a tree that cannot be planned again."""
    if all(cause.kind == 'undetermined' for cause in refusal.causes):
        return Undetermined(refusal.causes)
    return Infeasible(refusal.causes, refusal.slack)


def _compose_decided_change(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    assigned: Mapping[AllocationKey, list[PlannedRow]],
) -> Change:
    """Return the change of trees in which every row is assigned or forced.

    :param assigned: by allocation, the rows that are assigned
    :raises Undecided: if a row that is not assigned has several possible targets
    :raises Undetermined: if the search took too long to know
    """
    assignment = assign_targets(snapshot, target_state, spec, assigned)
    if assignment.undecided:
        raise Undecided(assignment.undecided)
    if unproved := assignment.unproved:
        tree = target_state.name
        raise Undetermined([Cause('undetermined', tree, unproved=unproved, seconds=TIMEOUT)])
    return compose_change(snapshot, target_state, assignment, spec)


def _require_roots(snapshot: Snapshot, change: Change) -> list[ProviderState]:
    """Return the present roots of the trees of a change; refuse a change without one of them."""
    roots = {name: snapshot.providers.get(uuid) for uuid, name in change.roots.items()}
    if missing := [name for name, root in roots.items() if root is None]:
        raise PlanRefusal([Cause('no-source', name, provider=name) for name in missing])
    return [root for root in roots.values() if root is not None]


def _refuse_existing_children(snapshot: Snapshot, change: Change) -> None:
    """Refuse a change that creates a provider which exists and is not empty.

    An interrupted apply leaves empty providers.
    """
    for provider in change.list_created_providers():
        state = snapshot.find(provider.name)
        if state is not None and (state.inventories or state.usages):
            reason = f'{provider.name}, which the plan makes, is there and not empty'
            raise PlanRefusal([Cause('bad-row', change.root_provider_name, reason=reason)])


def _select_retained_rows(
    snapshot: Snapshot, target_state: TargetState, change: Change
) -> dict[AllocationKey, list[PlannedRow]]:
    """Return the rows of a change whose allocations still have to move, in the same amount.

    :raises PlanRefusal: if a target of such a row is no target any more
    :return: the rows by allocation
    """
    retained: dict[AllocationKey, list[PlannedRow]] = {}
    for key, rows in _group_rows(change).items():
        targets = target_state.index_targets(key.inventory)
        consumer = snapshot.consumers.get(key.consumer_uuid)
        allocated = consumer.amount(*key.inventory) if consumer else 0
        if allocated != sum(row.amount for row in rows) or not targets:
            continue
        for row in rows:
            if (row.to_provider, row.to_resource_class) not in targets:
                reason = f'{row.to_provider} is no place for {row.consumer_uuid} any more'
                raise PlanRefusal([Cause('bad-row', target_state.name, reason=reason)])
        retained[key] = rows
    return retained


def _group_rows(change: Change) -> dict[AllocationKey, list[PlannedRow]]:
    """Return the rows of a change by the allocation that they move, without those of additions."""
    uuids = {provider.name: provider.uuid for provider in change.providers}
    rows: dict[AllocationKey, list[PlannedRow]] = {}
    for row in change.reasons:
        if row.from_provider is not None:
            key = AllocationKey(row.consumer_uuid, uuids[row.from_provider], row.resource_class)
            rows.setdefault(key, []).append(row)
    return rows


def find_unreviewed_effects(reviewed: Change, again: Change) -> Iterator[str]:
    """Yield a sentence for each effect of a new plan that the operator has not reviewed.

    Allocations may have come or gone, and another client may have made a child that is still empty.

    :param reviewed: the change as the operator has reviewed it
    :param again: the change of the new plan
    """
    if again.roots != reviewed.roots:
        yield f'it is the plan of the tree of {again.root_provider_uuid}'
        return
    yield from _compare_providers(reviewed, again)
    if Counter(again.moves) != Counter(reviewed.moves):
        yield 'other inventory would move'
    before, after = _list_changed_inventories(reviewed), _list_changed_inventories(again)
    for provider, name in sorted(before.keys() | after.keys()):
        was, now = before.get((provider, name)), after.get((provider, name))
        if was != now:
            new, old = _describe_inventory(now, was), _describe_inventory(was, now)
            yield f'{name} on {provider} would be {new}, and not {old}'
    yield from _compare_rows(reviewed, again)
    for warning in again.warnings:
        if not any(_was_warning_reviewed(notice, warning) for notice in reviewed.warnings):
            yield warning.message


def _compare_providers(reviewed: Change, again: Change) -> Iterator[str]:
    """Yield a sentence for each provider that only one plan changes, or that has two UUIDs.

    :param reviewed: the change as the operator has reviewed it
    :param again: the change of the new plan
    """
    before = {provider.name: provider for provider in reviewed.providers}
    after = {provider.name: provider for provider in again.providers}
    for name in sorted(before.keys() ^ after.keys()):
        verb = 'would be changed too' if name in after else 'would not be changed'
        yield f'{name} {verb}'
    for name in sorted(before.keys() & after.keys()):
        # Another client may have made the new child, with another UUID.
        if after[name].uuid != before[name].uuid and not before[name].is_created:
            yield f'{name} would be {after[name].uuid}'


def _compare_rows(reviewed: Change, again: Change) -> Iterator[str]:
    """Yield a sentence for each allocation that gets another target, or an inferred one.

    :param reviewed: the change as the operator has reviewed it
    :param again: the change of the new plan
    """
    before, after = _list_targets_by_allocation(reviewed), _list_targets_by_allocation(again)
    for allocation in sorted(before.keys() & after.keys()):
        consumer_uuid, _, _ = allocation
        for provider, name in sorted(after[allocation] - before[allocation]):
            yield f'consumer {consumer_uuid} would get {name} of {provider}'
    guessed = {
        _identify_allocation(row) for row in reviewed.reasons if row.label is RowLabel.INFERRED
    }
    for row in again.reasons:
        if row.label is RowLabel.INFERRED and _identify_allocation(row) not in guessed:
            yield f'the place of consumer {row.consumer_uuid} would be a guess'


def _list_changed_inventories(change: Change) -> dict[tuple[str, str], Inventory | None]:
    """Return the inventories that a change writes, by provider and class; ``None``: deleted.

    Of a provider that shares with the tree, the total is the amount that the tree adds.
    """
    result: dict[tuple[str, str], Inventory | None] = {}
    for provider in change.providers:
        before = provider.content_before.inventories
        for name in provider.changed_classes:
            inventory = provider.content_after.inventories.get(name)
            if provider.root_provider_uuid not in change.roots and inventory and name in before:
                inventory = replace(inventory, total=inventory.total - before[name].total)
            result[provider.name, name] = inventory
    return result


def _describe_inventory(inventory: Inventory | None, other: Inventory | None) -> str:
    """Return the fields of an inventory that differ from those of another; "gone" for ``None``."""
    if inventory is None:
        return 'gone'
    if other is None:
        return f'total {inventory.total}'
    fields = other.as_fields()
    return ', '.join(
        f'{name} {value}' for name, value in inventory.as_fields().items() if value != fields[name]
    )


def _identify_allocation(row: PlannedRow) -> tuple[str, str, str]:
    """Return the consumer UUID, the class and the name of the source; empty: an addition."""
    return row.consumer_uuid, row.resource_class, row.from_provider or ''


def _list_targets_by_allocation(change: Change) -> dict[tuple[str, str, str], set[tuple[str, str]]]:
    """Return the targets of each allocation: pairs of a provider's name and the class there.

    Allocations are by consumer UUID, class and name of the source.
    """
    result: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    for row in change.reasons:
        place = (row.to_provider or '', row.to_resource_class)
        result.setdefault(_identify_allocation(row), set()).add(place)
    return result


def _was_warning_reviewed(reviewed: Notice, warning: Notice) -> bool:
    """Return whether a reviewed warning already says all that a new warning says."""
    return reviewed.kind == warning.kind and all(
        set(fact) <= set(reviewed.facts.get(name, ()))
        if isinstance(fact, list | tuple)
        else fact == reviewed.facts.get(name)
        for name, fact in warning.facts.items()
    )
