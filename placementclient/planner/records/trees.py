"""The trees of a plan: read so that what is equal is there once, as hosts are like each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from placementclient.changes.operations import ConsumerChange
from placementclient.client.strict_json import Integer
from placementclient.files.decoding import FileSource
from placementclient.files.snapshots import AllocationsRecord
from placementclient.model.consumers import Resources
from placementclient.planner.plan.plan import InventoryMove, Notice, PlannedRow, TreePlan
from placementclient.planner.plan.state_changes import ProviderChange, ProviderContent

K = TypeVar('K')
V = TypeVar('V')
P = TypeVar('P')


class ConsumerChangeRecord(msgspec.Struct, frozen=True):
    """A consumer before and after, under its UUID."""

    project_id: str | None
    user_id: str | None
    generation: Integer | None
    type: str | None
    before: AllocationsRecord
    after: AllocationsRecord


class _TreeMembers(msgspec.Struct, Generic[P], frozen=True):
    root_provider_uuid: str
    root_provider_name: str
    joined: Mapping[str, str]
    residents: tuple[str, ...]
    moves: tuple[InventoryMove, ...]
    resource_classes: tuple[str, ...]
    traits: tuple[str, ...]
    providers: tuple[P, ...]
    consumers: Mapping[str, ConsumerChangeRecord]
    rows: tuple[PlannedRow, ...]
    warnings: tuple[Notice, ...]


class TreeRecord(_TreeMembers[ProviderChange], frozen=True):
    """The plan of one tree. What takes it back follows from it and is not stored."""


class _ProviderParts(msgspec.Struct, frozen=True):
    """A :class:`ProviderChange`; what many providers have in common is not read yet."""

    uuid: str
    name: str
    parent_provider_uuid: str | None
    root_provider_uuid: str
    before: msgspec.Raw
    after: msgspec.Raw
    usages: msgspec.Raw


class _Once(dict[K, V]):
    """The values made of keys, each made once."""

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        value = self[key] = self._make(key)
        return value


#: Of each text, the first that was equal to it.
_Texts = _Once[Any, Any]


class TreeReader:
    """Reads the trees of a file, one after the other."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._parts = msgspec.json.Decoder(_TreeMembers[_ProviderParts])
        self._before = _Once(msgspec.json.Decoder(ProviderContent | None).decode)
        self._after = _Once(msgspec.json.Decoder(ProviderContent).decode)
        self._usages: _Once[bytes, Resources] = _Once(msgspec.json.Decoder(Resources).decode)

    def read(self, item: msgspec.Raw, name: str) -> TreePlan:
        """The plan of a tree.

        :param item: a part of the file
        :param name: where it stands, for a fault
        :raises errors.BadFile: if it is something else
        """
        try:
            record, texts = self._parts.decode(item), _texts()
            return _plan(
                record, tuple(self._provider(parts, texts) for parts in record.providers), texts
            )
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            # The whole says where the fault is.
            return tree_plan(self._source.decoded(msgspec.json.Decoder(TreeRecord), item, name))

    def _provider(self, parts: _ProviderParts, texts: _Texts) -> ProviderChange:
        return ProviderChange(
            texts[parts.uuid],
            texts[parts.name],
            texts[parts.parent_provider_uuid],
            texts[parts.root_provider_uuid],
            self._before[bytes(parts.before)],
            self._after[bytes(parts.after)],
            self._usages[bytes(parts.usages)],
        )


def tree_record(tree: TreePlan) -> TreeRecord:
    """The plan of a tree as a file has it."""
    members = {name: getattr(tree, name) for name in TreeRecord.__struct_fields__}
    fields = ConsumerChangeRecord.__struct_fields__
    members['consumers'] = {
        change.uuid: ConsumerChangeRecord(*(getattr(change, name) for name in fields))
        for change in tree.consumers
    }
    return TreeRecord(**members)


def tree_plan(record: TreeRecord) -> TreePlan:
    """The plan of a tree that a file has."""
    return _plan(record, record.providers, _texts())


def _texts() -> _Texts:
    return _Once(lambda text: text)


def _plan(
    record: _TreeMembers[Any], providers: tuple[ProviderChange, ...], texts: _Texts
) -> TreePlan:
    members = {
        name: getattr(record, name)
        for name in record.__struct_fields__
        if name not in ('resource_classes', 'traits')  # they follow from the providers
    }
    members['providers'] = providers
    members['consumers'] = tuple(
        _consumer(uuid, change, texts) for uuid, change in record.consumers.items()
    )
    members['rows'] = tuple(_shared(row, texts) for row in record.rows)
    members['moves'] = tuple(_shared(move, texts) for move in record.moves)
    return TreePlan(**members)


def _consumer(uuid: str, change: ConsumerChangeRecord, texts: _Texts) -> ConsumerChange:
    return ConsumerChange(
        texts[uuid],
        texts[change.project_id],
        texts[change.user_id],
        change.generation,
        texts[change.type],
        {texts[provider]: resources for provider, resources in change.before.items()},
        {texts[provider]: resources for provider, resources in change.after.items()},
    )


def _shared(record: Any, texts: _Texts) -> Any:
    """The same of values that are there once."""
    return type(record)(*(texts[getattr(record, name)] for name in record.__slots__))
