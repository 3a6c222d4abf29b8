"""From a target state and an assignment to the plan of trees that change together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from placementclient.changes.operations import ConsumerChange
from placementclient.model.consumers import Allocations
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.planner import warnings
from placementclient.planner.layout.assignment import Assignment
from placementclient.planner.layout.target_state import TargetState
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import InventoryMove, PlannedRow, TreePlan
from placementclient.planner.specification.values import Spec


def compose(
    snapshot: Snapshot,
    target_state: TargetState,
    assignment: Assignment,
    spec: Spec,
    *,
    backwards: bool = False,
    migrations: Sequence[ServerMigration] | None = (),
) -> TreePlan:
    """The plan of the trees, with its warnings. Every plan passes here, and the independent check.

    :param backwards: whether it is the way back
    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    :raises invariants.BadPlan: if the planner has made a mistake
    """
    tree = TreePlan(
        target_state.root.uuid,
        target_state.root.name,
        tuple(provider.change() for provider in target_state.providers.values()),
        consumer_changes(snapshot, target_state, assignment.rows),
        tuple(assignment.rows),
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
    return replace(
        tree,
        warnings=tuple(warnings.warnings_of(snapshot, target_state, tree, migrations)),
    )


def consumer_changes(
    snapshot: Snapshot, target_state: TargetState, rows: Sequence[PlannedRow]
) -> tuple[ConsumerChange, ...]:
    """Every consumer that some amount of moves, with all that it holds."""
    uuids = {target.name: target.uuid for target in target_state.providers.values()}
    by_consumer: dict[str, list[PlannedRow]] = {}
    for row in rows:
        if (row.from_provider, row.resource_class) != (row.to_provider, row.to_resource_class):
            by_consumer.setdefault(row.consumer_uuid, []).append(row)
    changes = []
    for uuid, own in sorted(by_consumer.items()):
        consumer = snapshot.consumers[uuid]
        changes.append(
            ConsumerChange(
                uuid,
                consumer.project_id,
                consumer.user_id,
                consumer.generation,
                consumer.type,
                consumer.allocations,
                _moved(consumer.allocations, own, uuids),
            )
        )
    return tuple(changes)


def _moved(
    before: Allocations, rows: Sequence[PlannedRow], uuids: Mapping[str, str]
) -> Allocations:
    """Return what a consumer holds after its rows.

    :param uuids: of providers, by their names
    """
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
