"""Change sets as the file of a plan has them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import structs

from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.files.snapshots import (
    ConsumerRecord,
    ProviderRecord,
    consumer,
    consumer_record,
    provider_record,
    provider_state,
)
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.wire_values import WireValues


class SideRecord(msgspec.Struct, frozen=True):
    """Providers and consumers on one side of a change, parents before their children."""

    providers: tuple[ProviderRecord, ...]
    consumers: dict[str, ConsumerRecord]


class ChangeSetRecord(msgspec.Struct, frozen=True):
    """The changes of one tree, or of several that belong together."""

    root_provider_uuid: str
    root_provider_name: str
    before: SideRecord
    after: SideRecord


def faults(plan: ChangePlan) -> Iterator[str]:
    """Say why a plan cannot be one that was written: each provider changes in one place only."""
    roots: set[str] = set()
    changed: set[str] = set()
    for tree in plan.trees:
        if tree.root_provider_uuid in roots:
            yield f'{tree.root_provider_name} is there twice'
        roots.add(tree.root_provider_uuid)
        both = {
            uuid
            for uuid in tree.provider_uuids
            if _own(tree.before.providers.get(uuid)) != _own(tree.after.providers.get(uuid))
        }
        both |= {*tree.before.consumers, *tree.after.consumers}
        if changed & both:
            yield f'{min(changed & both)} changes in two trees'
        changed |= both
        for uuid, holder in tree.after.consumers.items():
            for provider_uuid, resources in holder.allocations.items():
                state = tree.after.providers.get(provider_uuid)
                if state is not None and not resources.keys() <= state.inventories.keys():
                    yield f'consumer {uuid} holds a class that {state.name} does not have'


def wire_values(plan: ChangePlan) -> WireValues:
    """Return the values that the plan writes, or writes again when it is taken back."""
    values = WireValues()
    for tree in plan.trees:
        for side in (tree.before, tree.after):
            for state in side.providers.values():
                values.uuids |= {state.uuid, *state.aggregates}
                values.symbols |= {*state.inventories, *state.traits}
                values.names.add(state.name)
            for holder in side.consumers.values():
                values.uuids.add(holder.uuid)
                values.owners.update(filter(None, (holder.project_id, holder.user_id)))
                values.symbols.update(filter(None, (holder.type,)))
                values.add_allocations(holder.allocations)
        for uuid, state in tree.after.providers.items():
            before = tree.before.providers.get(uuid)
            if before is None or before.inventories != state.inventories:
                values.inventories.update(state.inventories.values())
    return values


def record(tree: ChangeSet) -> ChangeSetRecord:
    return ChangeSetRecord(
        tree.root_provider_uuid, tree.root_provider_name, _side(tree.before), _side(tree.after)
    )


def _side(snapshot: Snapshot) -> SideRecord:
    return SideRecord(
        tuple(provider_record(state) for state in snapshot.walked()),
        {uuid: consumer_record(each) for uuid, each in sorted(snapshot.consumers.items())},
    )


def change_set(record: ChangeSetRecord) -> ChangeSet:
    return ChangeSet(
        record.root_provider_uuid,
        record.root_provider_name,
        _snapshot(record.before),
        _snapshot(record.after),
    )


def _snapshot(record: SideRecord) -> Snapshot:
    return Snapshot(
        map(provider_state, record.providers),
        (consumer(uuid, each) for uuid, each in record.consumers.items()),
    )


def _own(state: ProviderState | None) -> ProviderState | None:
    """Return a provider without its usages: these follow from consumers, of any change set."""
    return structs.replace(state, usages={}) if state else None
