"""Plans of changes: one change set to a line; last the digest of all that precedes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import structs

from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.files import sealing
from placementclient.files.decoding import FileSource
from placementclient.files.encoding import builtins, encoded, opened, separated
from placementclient.files.snapshots import (
    ConsumerRecord,
    ProviderRecord,
    consumer,
    consumer_record,
    provider_record,
    provider_state,
)
from placementclient.model.origin import Origin
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.wire_values import WireValues

FORMAT: Final = 'placementclient/change-plan'
VERSION: Final = 1
#: The name of such a file in messages.
KIND: Final = 'plan of changes'

T = TypeVar('T')


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


class ChangePlanHeader(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The members before the change sets.

    :param command: the command that made the plan, without the program
    """

    format: Literal['placementclient/change-plan']
    version: Literal[1]
    origin: Origin | None = None
    command: str


class ChangePlanDocument(ChangePlanHeader, Generic[T], frozen=True, kw_only=True):
    """A whole file."""

    trees: list[T]
    digest: str


_SKELETON = msgspec.json.Decoder(ChangePlanDocument[msgspec.Raw])
_CHANGE_SET = msgspec.json.Decoder(ChangeSetRecord)


def encode(plan: ChangePlan) -> Iterator[bytes]:
    """Return the content of a file, in a fixed order."""
    return sealing.sealed(_lines(plan))


def decode(content: bytes, path: str) -> ChangePlan:
    """Return the plan that :func:`encode` wrote, or any other JSON of the same content.

    :param path: the file that the content came from, for the error
    :raises errors.BadFile: if it is something else, or was edited
    """
    source = FileSource(path, content, KIND)
    source.check_kind(VERSION)
    document = source.decoded(_SKELETON)
    records = (
        source.decoded(_CHANGE_SET, item, f'trees[{index}]')
        for index, item in enumerate(document.trees)
    )
    plan = ChangePlan(document.command, tuple(map(_change_set, records)), document.origin)
    for reason in (*_faults(plan), *_wire_values(plan).faults()):
        raise source.error(f'damaged {KIND}: {reason}')
    if not sealing.is_whole(content, document.digest, _lines(plan)):
        raise source.error('was edited: its digest is not that of its content')
    return replace(plan, digest=document.digest)


def identity(plan: ChangePlan) -> str:
    """Return the identity of a plan: the digest that its file has, or would have."""
    return plan.digest if plan.digest is not None else sealing.digest(_lines(plan))


def document(plan: ChangePlan) -> dict[str, Any]:
    """Return a plan as JSON has it, for a program."""
    trees = [builtins(_record(change_set)) for change_set in plan.trees]
    return {**builtins(_header(plan)), 'trees': trees}


def _faults(plan: ChangePlan) -> Iterator[str]:
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


def _wire_values(plan: ChangePlan) -> WireValues:
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


def _lines(plan: ChangePlan) -> Iterator[bytes]:
    yield opened(encoded(_header(plan)), 'trees', b'[')
    yield from separated(encoded(_record(change_set)) for change_set in plan.trees)


def _header(plan: ChangePlan) -> ChangePlanHeader:
    return ChangePlanHeader(
        format=FORMAT, version=VERSION, origin=plan.origin, command=plan.command
    )


def _record(change_set: ChangeSet) -> ChangeSetRecord:
    return ChangeSetRecord(
        change_set.root_provider_uuid,
        change_set.root_provider_name,
        _side(change_set.before),
        _side(change_set.after),
    )


def _side(snapshot: Snapshot) -> SideRecord:
    return SideRecord(
        tuple(provider_record(state) for state in snapshot.walked()),
        {uuid: consumer_record(each) for uuid, each in sorted(snapshot.consumers.items())},
    )


def _change_set(record: ChangeSetRecord) -> ChangeSet:
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
