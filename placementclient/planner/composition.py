# SPDX-License-Identifier: Apache-2.0
"""The change of trees, from a target state and an assignment."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.model.consumers import Allocations, sum_gains
from placementclient.model.plans import Change, ConsumerChange, InventoryMove, PlannedRow
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import invariants, warnings
from placementclient.planner.assign import AssignmentResult
from placementclient.planner.layout.target_state import TargetProvider, TargetState


def compose_change(
    snapshot: Snapshot,
    target_state: TargetState,
    assignment: AssignmentResult,
    spec: Spec,
    *,
    migrations: Sequence[ServerMigration] | None = (),
) -> Change:
    """Return the change of trees, with its warnings, after the independent check.

    :param assignment: the targets of all amounts that move
    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    :raises invariants.BadPlan: if the planner has made a mistake
    """
    providers = target_state.providers
    consumers = list(_list_consumer_changes(snapshot, target_state, assignment.rows))
    gains = sum_gains(
        (consumer.before.allocations, consumer.after.allocations) for consumer in consumers
    )
    change = Change(
        {root.uuid: root.name for root in target_state.roots},
        Snapshot(
            (provider.before for provider in providers.values() if provider.before),
            (consumer.before for consumer in consumers),
        ),
        Snapshot(
            (
                provider.to_state(_sum_usages(provider, gains[uuid]))
                for uuid, provider in providers.items()
            ),
            (consumer.after for consumer in consumers if consumer.after.allocations),
        ),
        is_atomic=True,
        reasons=tuple(assignment.rows),
        residents=_find_residents(snapshot, target_state),
        moves=tuple(
            InventoryMove(
                providers[flow.origin.provider_uuid].name,
                flow.origin.resource_class,
                providers[flow.destination.provider_uuid].name,
                flow.destination.resource_class,
                flow.amount,
            )
            for flow in target_state.flows
        ),
    )
    invariants.check_change(change, spec)
    found = warnings.find_warnings(snapshot, target_state, change, migrations)
    return dataclasses.replace(change, warnings=tuple(found))


def _sum_usages(provider: TargetProvider, gains: Mapping[str, int]) -> dict[str, int]:
    """Return the usage of each class of a provider after the change.

    :param gains: by class, the amounts that the provider gets; negative: that leave it
    """
    before = provider.before.usages if provider.before else {}
    sums = {name: before.get(name, 0) + gains.get(name, 0) for name in {**before, **gains}}
    remaining = before.keys() & provider.inventories
    return {name: amount for name, amount in sums.items() if amount or name in remaining}


def _list_consumer_changes(
    snapshot: Snapshot, target_state: TargetState, rows: Sequence[PlannedRow]
) -> Iterator[ConsumerChange]:
    """Yield the change of each consumer with an amount that a row moves."""
    uuids = {provider.name: uuid for uuid, provider in target_state.providers.items()}
    by_consumer: dict[str, list[PlannedRow]] = {}
    for row in rows:
        if row.is_move:
            by_consumer.setdefault(row.consumer_uuid, []).append(row)
    for uuid, moving in sorted(by_consumer.items()):
        consumer = snapshot.consumers[uuid]
        after = _apply_rows(consumer.allocations, moving, uuids)
        yield ConsumerChange(consumer, replace(consumer, allocations=after))


def _apply_rows(
    before: Allocations, rows: Sequence[PlannedRow], uuids_by_name: Mapping[str, str]
) -> Allocations:
    """Return the allocations of a consumer after the rows of a plan moved them.

    :param before: the allocations of the consumer
    :param rows: of this consumer
    :param uuids_by_name: the UUIDs of the providers of the change
    """
    after = {provider_uuid: dict(resources) for provider_uuid, resources in before.items()}
    for row in rows:
        if row.from_provider is not None:
            after[uuids_by_name[row.from_provider]][row.resource_class] -= row.amount
    for row in rows:
        if row.to_provider is not None:
            resources, name = (
                after.setdefault(uuids_by_name[row.to_provider], {}),
                row.to_resource_class,
            )
            resources[name] = resources.get(name, 0) + row.amount
    positive = {
        provider_uuid: {name: amount for name, amount in resources.items() if amount}
        for provider_uuid, resources in after.items()
    }
    return {provider_uuid: resources for provider_uuid, resources in positive.items() if resources}


def _find_residents(snapshot: Snapshot, target_state: TargetState) -> tuple[str, ...]:
    """Return the UUIDs of the consumers that have a moved class on a target, and keep it there."""
    residents: set[str] = set()
    for key in {flow.destination: None for flow in target_state.flows}:
        provider_uuid, name = key
        provider = target_state.providers[provider_uuid]
        is_source = key in target_state.targets
        if provider.before and target_state.is_local(provider) and not is_source:
            consumers = snapshot.consumers_on(provider_uuid)
            residents.update(
                consumer.uuid for consumer in consumers if consumer.amount(provider_uuid, name)
            )
    return tuple(sorted(residents))
