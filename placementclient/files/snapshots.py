# SPDX-License-Identifier: Apache-2.0
"""Snapshots: one provider on each line, then one consumer on each line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import astuple

from placementclient.basis.strict_json import Integer
from placementclient.files import kinds
from placementclient.files.decoding import FileContent
from placementclient.files.encoding import (
    encode_json,
    encode_member,
    join_with_commas,
    make_opening_line,
)
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Amount, Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Origin, ProviderState, Snapshot
from placementclient.model.trees import explain_inconsistency

FORMAT: Final = 'placementclient/snapshot'
VERSION: Final = 2
#: Version 1 has no unsteady trees.
_KNOWN: Final = (1, VERSION)

P = TypeVar('P')
C = TypeVar('C')

#: A sum of amounts: JSON has integers of any length, databases have not.
Sum = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
#: ``{provider UUID: {resource class: amount}}``
AllocationsRecord = Mapping[str, Mapping[str, Amount]]


class ProviderRecord(msgspec.Struct, frozen=True, gc=False):
    """A provider in a snapshot file."""

    uuid: str
    name: str
    generation: Integer
    parent_provider_uuid: str | None
    root_provider_uuid: str | None
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    aggregates: frozenset[str]
    usages: Mapping[str, Sum]


class ConsumerRecord(msgspec.Struct, frozen=True, gc=False):
    """A consumer in a snapshot file, under its UUID."""

    allocations: AllocationsRecord
    project_id: str | None
    user_id: str | None
    generation: Integer | None
    type: str | None


class SnapshotHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of a snapshot file that come before the providers.

    :param unsteady: the UUIDs of the roots of trees that changed each time that they were read
    """

    format: Literal['placementclient/snapshot']
    version: Literal[1, 2]
    origin: Origin | None = None
    unsteady: tuple[str, ...] = ()


class SnapshotDocument(SnapshotHeader, Generic[P, C], frozen=True, kw_only=True):
    """The content of a snapshot file; parents come before their children.

    Its records may be ``Raw``: not decoded yet.
    """

    providers: list[P]
    consumers: dict[str, C]


@dataclass(frozen=True, slots=True)
class SharedParts:
    """The inventories, traits and aggregates decoded so far, which equal providers share."""

    inventories: dict[tuple[tuple[str, Inventory], ...], Mapping[str, Inventory]] = field(
        default_factory=dict
    )
    names: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)


_WHOLE = msgspec.json.Decoder(SnapshotDocument[ProviderRecord, ConsumerRecord])
_SKELETON = msgspec.json.Decoder(SnapshotDocument[msgspec.Raw, msgspec.Raw])
_PROVIDER = msgspec.json.Decoder(ProviderRecord)
_CONSUMER = msgspec.json.Decoder(ConsumerRecord)


def encode_snapshot(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the lines of a snapshot as a file; equal snapshots give equal files."""
    header = SnapshotHeader(FORMAT, VERSION, snapshot.origin, tuple(sorted(snapshot.unsteady)))
    yield make_opening_line(encode_json(header), 'providers', b'[')
    yield from join_with_commas(
        encode_json(make_provider_record(state))
        for root in snapshot.roots()
        for state in snapshot.tree(root.uuid)
    )
    yield b'],"consumers":{\n'
    yield from join_with_commas(
        encode_member(uuid, make_consumer_record(snapshot.consumers[uuid]))
        for uuid in sorted(snapshot.consumers)
    )
    yield b'}}\n'


def decode_snapshot(content: bytes, path: str) -> Snapshot:
    """Return the snapshot of a file, with any order of keys and any line breaks.

    :raises errors.BadFile: if it is no snapshot or a damaged one, with the line
    """
    source = FileContent(path, content, kinds.SNAPSHOT)
    source.require_kind_and_version(*_KNOWN)
    source.refuse_duplicate_keys()
    try:
        document = _WHOLE.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        document = _decode_each_record(source)
    shared = SharedParts()
    states = [make_provider_state(record, shared) for record in document.providers]
    if reason := explain_inconsistency(state.provider for state in states):
        raise source.make_error(f'damaged snapshot: {reason}')
    roots = {state.uuid for state in states if state.provider.parent_provider_uuid is None}
    if stray := [uuid for uuid in document.unsteady if uuid not in roots]:
        raise source.make_error(f'damaged snapshot: unsteady: {stray[0]} is no root')
    consumers = (make_consumer(uuid, record) for uuid, record in document.consumers.items())
    return Snapshot(states, consumers, document.origin, document.unsteady)


def _decode_each_record(source: FileContent) -> SnapshotDocument[ProviderRecord, ConsumerRecord]:
    """Return a snapshot file, decoded record by record; raise an error with the line of a fault."""
    document = source.decode(_SKELETON)
    return SnapshotDocument(
        document.format,
        document.version,
        document.origin,
        document.unsteady,
        providers=[
            source.decode(_PROVIDER, item, f'providers[{index}]')
            for index, item in enumerate(document.providers)
        ],
        consumers={
            uuid: source.decode(_CONSUMER, item, f'consumers.{uuid}')
            for uuid, item in document.consumers.items()
        },
    )


# A record has the fields of the values, in their order; those of a provider are the first five.


def make_provider_state(record: ProviderRecord, shared: SharedParts) -> ProviderState:
    """Return the provider of a record.

    :param shared: the parts of earlier providers, which replace equal ones
    """
    return ProviderState(
        Provider(*astuple(record)[:5]),
        shared.inventories.setdefault(tuple(record.inventories.items()), record.inventories),
        shared.names.setdefault(record.traits, record.traits),
        shared.names.setdefault(record.aggregates, record.aggregates),
        record.usages,
    )


def make_consumer(uuid: str, record: ConsumerRecord) -> Consumer:
    return Consumer(uuid, *astuple(record))


def make_provider_record(state: ProviderState) -> ProviderRecord:
    provider, *content = astuple(state)
    return ProviderRecord(*astuple(provider), *content)


def make_consumer_record(consumer: Consumer) -> ConsumerRecord:
    return ConsumerRecord(*astuple(consumer)[1:])
