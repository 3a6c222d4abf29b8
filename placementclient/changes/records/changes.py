# SPDX-License-Identifier: Apache-2.0
"""The changes of a plan in files."""

from collections.abc import Iterator, Mapping

import msgspec

from placementclient.files import snapshots
from placementclient.files.snapshots import SharedParts
from placementclient.model.plans import (
    Change,
    InventoryMove,
    Notice,
    Plan,
    PlannedRow,
    find_changed_providers,
)
from placementclient.model.providers import is_hyphenated_uuid
from placementclient.model.snapshots import Snapshot


class SideRecord(msgspec.Struct, frozen=True):
    """The providers and consumers before or after a change, parents before their children."""

    providers: tuple[snapshots.ProviderRecord, ...]
    consumers: dict[str, snapshots.ConsumerRecord]


class ChangeRecord(msgspec.Struct, frozen=True):
    """The change of one tree, or of several trees that change together."""

    root_provider_uuid: str
    root_provider_name: str
    joined: Mapping[str, str]
    is_atomic: bool
    moves: tuple[InventoryMove, ...]
    residents: tuple[str, ...]
    before: SideRecord
    after: SideRecord
    rows: tuple[PlannedRow, ...]
    warnings: tuple[Notice, ...]


def find_plan_faults(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each reason why a plan is invalid.

    A provider must change in only one tree, and values must be such as Placement takes.
    """
    roots: set[str] = set()
    changed: set[str] = set()
    for change in plan.changes:
        if not roots.isdisjoint(change.roots):
            yield f'{change.root_provider_name} appears twice'
        roots.update(change.roots)
        touched = {*find_changed_providers(change.before, change.after)}
        touched.update(change.before.consumers, change.after.consumers)
        if changed & touched:
            yield f'{min(changed & touched)} changes in two trees'
        changed |= touched
        for after in change.after.providers.values():
            before = change.before.providers.get(after.uuid)
            for aggregate in sorted(after.aggregates - (before.aggregates if before else set())):
                if not is_hyphenated_uuid(aggregate):
                    yield f'aggregate {aggregate!r} of {after.name} is not a UUID'
        for uuid, holder in change.after.consumers.items():
            for provider_uuid, resources in holder.allocations.items():
                state = change.after.providers.get(provider_uuid)
                if state is not None and not resources.keys() <= state.inventories.keys():
                    yield f'consumer {uuid} holds a class that {state.name} does not have'


def encode_change(change: Change) -> ChangeRecord:
    """Return the record of a change for a file."""
    joined = dict(change.roots)
    return ChangeRecord(
        change.root_provider_uuid,
        joined.pop(change.root_provider_uuid),
        joined,
        change.is_atomic,
        change.moves,
        change.residents,
        _make_side_record(change.before),
        _make_side_record(change.after),
        change.reasons,
        change.warnings,
    )


def _make_side_record(snapshot: Snapshot) -> SideRecord:
    return SideRecord(
        tuple(map(snapshots.make_provider_record, snapshot.providers.values())),
        {
            u: snapshots.make_consumer_record(state)
            for u, state in sorted(snapshot.consumers.items())
        },
    )


def decode_change(record: ChangeRecord, shared: SharedParts | None = None) -> Change:
    """Return the change of a record.

    :param shared: the parts of other changes, of which it gets those that are equal
    """
    shared = SharedParts() if shared is None else shared
    return Change(
        {record.root_provider_uuid: record.root_provider_name, **record.joined},
        _decode_side_record(record.before, shared),
        _decode_side_record(record.after, shared),
        record.is_atomic,
        record.rows,
        record.moves,
        record.residents,
        record.warnings,
    )


def _decode_side_record(record: SideRecord, shared: SharedParts) -> Snapshot:
    return Snapshot(
        (snapshots.make_provider_state(state, shared) for state in record.providers),
        (snapshots.make_consumer(uuid, consumer) for uuid, consumer in record.consumers.items()),
    )
