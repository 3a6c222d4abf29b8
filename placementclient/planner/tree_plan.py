"""From a target state and an assignment to the plan of one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from placementclient.model.consumers import Allocations
from placementclient.planner import infeasibility, warnings
from placementclient.planner.infeasibility import Refused
from placementclient.planner.plan.plan import InventoryMove, TreePlan
from placementclient.planner.plan.state_changes import ConsumerChange, ProviderChange
from placementclient.planner.target.assignment import Assignment, Where
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState


def compose(
    overlay: SnapshotOverlay, target_state: TargetState, assignment: Assignment
) -> TreePlan:
    """The plan of one tree, with its warnings.

    :raises Refused: if the service would refuse to write a consumer again
    """
    providers = tuple(
        target_provider.change() for target_provider in target_state.providers.values()
    )
    tree = TreePlan(
        target_state.root.uuid,
        target_state.root.name,
        gained_classes(providers),
        gained_traits(providers),
        providers,
        consumer_changes(overlay, assignment.moves),
        tuple(assignment.rows),
        residents=_residents(overlay, target_state),
        moves=tuple(
            InventoryMove(
                target_state.providers[flow.source].name,
                flow.resource_class,
                target_state.providers[flow.target].name,
                flow.target_class,
                flow.amount,
            )
            for flow in target_state.flows
        ),
    )
    _refuse_unacceptable(overlay, target_state, tree)
    return replace(
        tree,
        follows=overlay.followed(tree),
        warnings=tuple(warnings.warnings_of(overlay, target_state, tree)),
    )


def gained_classes(providers: Sequence[ProviderChange]) -> tuple[str, ...]:
    """The classes that providers get."""
    gained = {
        name
        for change in providers
        for name in change.after.inventories
        if name not in change.content_before.inventories
    }
    return tuple(sorted(gained))


def gained_traits(providers: Sequence[ProviderChange]) -> tuple[str, ...]:
    """The traits that providers get."""
    gained = (change.after.traits - change.content_before.traits for change in providers)
    return tuple(sorted(frozenset().union(*gained)))


def consumer_changes(
    overlay: SnapshotOverlay, moves: Sequence[tuple[str, Where, Where, int]]
) -> tuple[ConsumerChange, ...]:
    """Every consumer that some amount of moves, with all that it holds."""
    by_consumer: dict[str, list[tuple[Where, Where, int]]] = {}
    for consumer_uuid, source, target, amount in moves:
        if source != target:
            by_consumer.setdefault(consumer_uuid, []).append((source, target, amount))
    changes = []
    for uuid, own in sorted(by_consumer.items()):
        consumer = overlay.consumer(uuid)
        changes.append(
            ConsumerChange(
                uuid,
                consumer.project_id,
                consumer.user_id,
                consumer.generation,
                consumer.type,
                consumer.allocations,
                _moved(consumer.allocations, own),
            )
        )
    return tuple(changes)


def _moved(before: Allocations, moves: Sequence[tuple[Where, Where, int]]) -> Allocations:
    after = {provider_uuid: dict(resources) for provider_uuid, resources in before.items()}
    for (source, name), _, amount in moves:
        after[source][name] -= amount
    for _, (target, name), amount in moves:
        resources = after.setdefault(target, {})
        resources[name] = resources.get(name, 0) + amount
    positive = {
        provider_uuid: {name: amount for name, amount in resources.items() if amount}
        for provider_uuid, resources in after.items()
    }
    return {provider_uuid: resources for provider_uuid, resources in positive.items() if resources}


def _residents(overlay: SnapshotOverlay, target_state: TargetState) -> tuple[str, ...]:
    residents: set[str] = set()
    for flow in target_state.flows:
        target = target_state.providers[flow.target]
        where = (flow.target, flow.target_class)
        if target.before is None or target.root_provider_uuid != target_state.root.uuid:
            continue
        if where not in target_state.places:
            residents.update(
                consumer.uuid
                for consumer in overlay.consumers_on(target.uuid)
                if consumer.allocations[target.uuid].get(flow.target_class)
            )
    return tuple(sorted(residents))


def _refuse_unacceptable(
    overlay: SnapshotOverlay, target_state: TargetState, tree: TreePlan
) -> None:
    """The service checks the units of all that it is told to write, moved or not."""
    found: list[infeasibility.Cause] = []
    for consumer in tree.consumers:
        for provider_uuid, resources in consumer.after.items():
            target_provider = target_state.providers.get(provider_uuid)
            state = overlay.state(provider_uuid)
            if target_provider is None and state is None:
                continue  # on a tree that the snapshot leaves out
            here = (
                target_provider.inventories
                if target_provider is not None
                else state.inventories
                if state
                else {}
            )
            name_of = (
                target_provider.name
                if target_provider is not None
                else state.name
                if state
                else provider_uuid
            )
            for name, amount in resources.items():
                inventory = here.get(name)
                if inventory is not None and not inventory.admits(amount):
                    found.append(
                        infeasibility.Unacceptable(
                            tree.root_provider_name, consumer.uuid, name_of, name, amount
                        )
                    )
    if found:
        raise Refused(found)
