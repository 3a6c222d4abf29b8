"""Plans: one tree to a line; last the digest of all that precedes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.records import change_sets, operations
from placementclient.files import sealing
from placementclient.files.decoding import FileSource
from placementclient.files.encoding import builtins, encoded, opened, separated
from placementclient.model.assignments import AssignmentRow
from placementclient.model.origin import Origin
from placementclient.model.wire_values import WireValues
from placementclient.planner.plan.plan import LeftOut, Plan, TreePlan
from placementclient.planner.plan.state_changes import ProviderContent
from placementclient.planner.records import specs
from placementclient.planner.records.trees import TreeReader, tree_record
from placementclient.planner.specification import specification

FORMAT: Final = 'placementclient/plan'
VERSION: Final = 1

AnyPlan = Plan | ChangePlan
S = TypeVar('S')
T = TypeVar('T')


class PlanOptions(msgspec.Struct, frozen=True):
    """The options of the planning."""

    allow_inferred: bool
    skip_infeasible: bool


class PlanHeader(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The members before the trees that all plans have."""

    format: Literal['placementclient/plan']
    version: Literal[1]
    origin: Origin | None = None


class ChangeHeader(PlanHeader, frozen=True, kw_only=True):
    """The members before the change sets.

    :param command: the command that made the plan, without the program
    """

    command: str


class ReshapeHeader(PlanHeader, Generic[S], frozen=True, kw_only=True):
    """The members before the trees of a reshape, by which they are planned again."""

    spec: S
    assignments: tuple[AssignmentRow, ...]
    options: PlanOptions
    left_out: tuple[LeftOut, ...]


class ChangeDocument(ChangeHeader, Generic[T], frozen=True, kw_only=True):
    """A whole file.

    :param digest: of all that precedes it, as :func:`encode` wrote it
    """

    trees: list[T]
    digest: str


class PlanDocument(ReshapeHeader[S], Generic[S, T], frozen=True, kw_only=True):
    """A whole file; so too."""

    trees: list[T]
    digest: str


class _PlanKind(msgspec.Struct):
    command: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_KIND = msgspec.json.Decoder(_PlanKind)
_CHANGES = msgspec.json.Decoder(ChangeDocument[msgspec.Raw])
_RESHAPE = msgspec.json.Decoder(PlanDocument[msgspec.Raw, msgspec.Raw])
_CHANGE_SET = msgspec.json.Decoder(change_sets.ChangeSetRecord)


def encode(plan: AnyPlan) -> Iterator[bytes]:
    """Return the content of a file, in a fixed order."""
    return sealing.sealed(_lines(plan))


def decode(content: bytes, path: str) -> AnyPlan:
    """Decode the output of :func:`encode`, or any other JSON of the same content.

    :param path: the file that the content came from, for the error
    :raises errors.BadFile: if it is something else, or was edited
    """
    source = FileSource(path, content, 'plan')
    source.check_kind(VERSION)
    is_reshape = source.decoded(_KIND).command is msgspec.UNSET
    document, plan = _reshape(source) if is_reshape else _changes(source)
    if isinstance(plan, ChangePlan):
        for reason in change_sets.faults(plan):
            raise source.error(f'damaged plan: {reason}')
    if not sealing.is_whole(content, document.digest, _lines(plan)):
        raise source.error('was edited: its digest is not that of its content')
    values = _wire_values(plan) if isinstance(plan, Plan) else change_sets.wire_values(plan)
    for reason in values.faults():
        raise source.error(f'damaged plan: {reason}')
    return replace(plan, digest=document.digest)


def identity(plan: AnyPlan) -> str:
    """Return the digest that identifies a plan."""
    return plan.digest if plan.digest is not None else sealing.digest(_lines(plan))


def document(plan: AnyPlan) -> dict[str, Any]:
    """A plan for a program: its file, and for each tree of a reshape what takes it back."""
    trees = [builtins(_record(tree)) for tree in plan.trees]
    if isinstance(plan, Plan):
        for tree, shown in zip(plan.trees, trees, strict=True):
            shown['inverse'] = list(map(operations.record, tree.inverse()))
    return {**builtins(_header(plan)), 'trees': trees}


def _reshape(source: FileSource) -> tuple[PlanDocument[Any, Any], Plan]:
    document, reader = source.decoded(_RESHAPE), TreeReader(source)
    spec: Any = source.decoded(msgspec.json.Decoder(), document.spec, 'spec')
    return document, Plan(
        specification.from_document(spec, source.path),
        tuple(reader.read(item, f'trees[{index}]') for index, item in enumerate(document.trees)),
        document.assignments,
        document.options.allow_inferred,
        document.options.skip_infeasible,
        document.left_out,
        document.origin,
    )


def _changes(source: FileSource) -> tuple[ChangeDocument[Any], ChangePlan]:
    document = source.decoded(_CHANGES)
    records = (
        source.decoded(_CHANGE_SET, item, f'trees[{index}]')
        for index, item in enumerate(document.trees)
    )
    trees = tuple(map(change_sets.change_set, records))
    return document, ChangePlan(document.command, trees, document.origin)


def _wire_values(plan: Plan) -> WireValues:
    """Return the values that the plan writes, or writes again when it is taken back."""
    values = WireValues()
    contents: dict[int, ProviderContent] = {}
    for tree in plan.trees:
        values.symbols.update(tree.resource_classes, tree.traits)
        for change in tree.providers:
            values.uuids.add(change.uuid)
            values.names.add(change.name)
            # Hosts are alike: the reader has made each content once.
            contents[id(change.after)] = change.after
            contents[id(change.content_before)] = change.content_before
        for consumer in tree.consumers:
            values.uuids.add(consumer.uuid)
            values.owners.update(filter(None, (consumer.project_id, consumer.user_id)))
    for content in contents.values():
        values.uuids.update(content.aggregates)
        values.symbols.update(content.inventories, content.traits)
    return values


def _header(plan: AnyPlan) -> PlanHeader:
    if isinstance(plan, ChangePlan):
        return ChangeHeader(
            format=FORMAT, version=VERSION, origin=plan.origin, command=plan.command
        )
    return ReshapeHeader(
        format=FORMAT,
        version=VERSION,
        origin=plan.origin,
        spec=specs.record(plan.spec),
        assignments=plan.assignments,
        options=PlanOptions(plan.allow_inferred, plan.skip_infeasible),
        left_out=plan.left_out,
    )


def _record(tree: TreePlan | ChangeSet) -> msgspec.Struct:
    return tree_record(tree) if isinstance(tree, TreePlan) else change_sets.record(tree)


def _lines(plan: AnyPlan) -> Iterator[bytes]:
    """All but the end."""
    # Not in the order of the texts: what the specification names first is preferred.
    yield opened(msgspec.json.encode(_header(plan)), 'trees', b'[')
    yield from separated(encoded(_record(tree)) for tree in plan.trees)
