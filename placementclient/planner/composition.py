"""The change of trees, from a target state and an assignment."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.model.consumers import Allocations, Resources, gained
from placementclient.model.plans import (
    ConsumerChange,
    InventoryMove,
    PlannedRow,
    ProviderChange,
    TreeChange,
)
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import invariants, warnings
from placementclient.planner.assign import Assignment
from placementclient.planner.layout.target_state import TargetState


def compose(
    snapshot: Snapshot,
    target_state: TargetState,
    assignment: Assignment,
    spec: Spec,
    *,
    backwards: bool = False,
    migrations: Sequence[ServerMigration] | None = (),
) -> TreeChange:
    """Return the change of the trees, with its warnings, after the independent check.

    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    :raises invariants.BadPlan: if the planner has made a mistake
    """
    before, after = _sides(snapshot, target_state, assignment.rows)
    tree = TreeChange(
        target_state.root.uuid,
        target_state.root.name,
        before,
        after,
        is_atomic=True,
        rows=tuple(assignment.rows),
        joined={root.uuid: root.name for root in target_state.roots[1:]},
        residents=_residents(snapshot, target_state),
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
    overcommitted = {(uuid, name): own for (uuid, name), own in target_state.overcommitted.items()}
    invariants.check_tree(tree, spec, backwards=backwards, overcommitted=overcommitted)
    return dataclasses.replace(
        tree,
        warnings=tuple(warnings.warnings_of(snapshot, target_state, tree, migrations)),
    )


def _sides(
    snapshot: Snapshot, target_state: TargetState, rows: Sequence[PlannedRow]
) -> tuple[Snapshot, Snapshot]:
    consumers = list(consumer_changes(snapshot, target_state, rows))
    gains = gained((change.before.allocations, change.after.allocations) for change in consumers)
    providers = [provider.change() for provider in target_state.providers.values()]
    states = (
        replace(each.content_after, usages=_used(each, gains[each.uuid])) for each in providers
    )
    return (
        Snapshot(filter(None, (each.before for each in providers)), (c.before for c in consumers)),
        Snapshot(states, (change.after for change in consumers if change.after.allocations)),
    )


def _used(change: ProviderChange, gains: Mapping[str, int]) -> Resources:
    """Return how much of each class of a provider is in use after its change."""
    used = change.content_before.usages
    sums = {name: used.get(name, 0) + gains.get(name, 0) for name in {**used, **gains}}
    known = used.keys() & change.content_after.inventories
    return {name: amount for name, amount in sums.items() if amount or name in known}


def consumer_changes(
    snapshot: Snapshot, target_state: TargetState, rows: Sequence[PlannedRow]
) -> Iterator[ConsumerChange]:
    """Return every consumer with an amount that moves, with all its allocations."""
    uuids = {target.name: target.uuid for target in target_state.providers.values()}
    by_consumer: dict[str, list[PlannedRow]] = {}
    for row in rows:
        if (row.from_provider, row.resource_class) != (row.to_provider, row.to_resource_class):
            by_consumer.setdefault(row.consumer_uuid, []).append(row)
    for uuid, own in sorted(by_consumer.items()):
        consumer = snapshot.consumers[uuid]
        after = _moved(consumer.allocations, own, uuids)
        yield ConsumerChange(consumer, replace(consumer, allocations=after))


def _moved(
    before: Allocations, rows: Sequence[PlannedRow], uuids: Mapping[str, str]
) -> Allocations:
    """Return what a consumer holds after its rows."""
    after = {provider_uuid: dict(resources) for provider_uuid, resources in before.items()}
    for row in rows:
        if row.from_provider is not None:
            after[uuids[row.from_provider]][row.resource_class] -= row.amount
    for row in rows:
        if row.to_provider is not None:
            resources, name = after.setdefault(uuids[row.to_provider], {}), row.to_resource_class
            resources[name] = resources.get(name, 0) + row.amount
    positive = {
        provider_uuid: {name: amount for name, amount in resources.items() if amount}
        for provider_uuid, resources in after.items()
    }
    return {provider_uuid: resources for provider_uuid, resources in positive.items() if resources}


def _residents(snapshot: Snapshot, target_state: TargetState) -> tuple[str, ...]:
    residents: set[str] = set()
    for flow in target_state.flows:
        target = target_state.providers[flow.target]
        if target.before is None or not target_state.is_own(target):
            continue
        if flow.destination not in target_state.places:
            residents.update(
                consumer.uuid
                for consumer in snapshot.consumers_on(target.uuid)
                if consumer.allocations[target.uuid].get(flow.target_class)
            )
    return tuple(sorted(residents))
