"""Plans: one tree to a line; last the digest of all that precedes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from placementclient.changes.records import operations
from placementclient.files import sealing
from placementclient.files.decoding import FileSource
from placementclient.files.encoding import builtins, encoded, opened, separated
from placementclient.model.assignments import AssignmentRow
from placementclient.model.origin import Origin
from placementclient.model.wire_values import WireValues
from placementclient.planner.plan.plan import LeftOut, Plan
from placementclient.planner.plan.state_changes import ProviderContent
from placementclient.planner.records import specs
from placementclient.planner.records.trees import TreeReader, tree_record
from placementclient.planner.specification import specification

FORMAT: Final = 'placementclient/reshape-plan'
VERSION: Final = 1

S = TypeVar('S')
T = TypeVar('T')


class PlanOptions(msgspec.Struct, frozen=True):
    """The options of the planning."""

    allow_inferred: bool
    skip_infeasible: bool


class PlanHeader(msgspec.Struct, Generic[S], frozen=True, omit_defaults=True, kw_only=True):
    """The members before the trees."""

    format: Literal['placementclient/reshape-plan']
    version: Literal[1]
    origin: Origin | None = None
    spec: S
    assignments: tuple[AssignmentRow, ...]
    options: PlanOptions
    left_out: tuple[LeftOut, ...]


class PlanDocument(PlanHeader[S], Generic[S, T], frozen=True, kw_only=True):
    """A whole file.

    :param digest: of all that precedes it, as :func:`encode` wrote it
    """

    trees: list[T]
    digest: str


def encode(plan: Plan) -> Iterator[bytes]:
    """Return the content of a file, in a fixed order."""
    return sealing.sealed(_lines(plan))


def decode(content: bytes, path: str) -> Plan:
    """Decode the output of :func:`encode`, or any other JSON of the same content.

    :param path: the file that the content came from, for the error
    :raises errors.BadFile: if it is something else, or was edited
    """
    source = FileSource(path, content, 'plan')
    source.check_kind(VERSION)
    skeleton = msgspec.json.Decoder(PlanDocument[msgspec.Raw, msgspec.Raw])
    document, reader = source.decoded(skeleton), TreeReader(source)
    spec: Any = source.decoded(msgspec.json.Decoder(), document.spec, 'spec')
    plan = Plan(
        specification.from_document(spec, path),
        tuple(reader.read(item, f'trees[{index}]') for index, item in enumerate(document.trees)),
        document.assignments,
        document.options.allow_inferred,
        document.options.skip_infeasible,
        document.left_out,
        document.origin,
    )
    if not sealing.is_whole(content, document.digest, _lines(plan)):
        raise source.error('was edited: its digest is not that of its content')
    for reason in _wire_values(plan).faults():
        raise source.error(f'damaged plan: {reason}')
    return replace(plan, digest=document.digest)


def identity(plan: Plan) -> str:
    """Return the digest that identifies a plan."""
    return plan.digest if plan.digest is not None else sealing.digest(_lines(plan))


def document(plan: Plan) -> dict[str, Any]:
    """A plan for a program: its file, and for each tree what takes it back."""
    trees = (
        {**builtins(tree_record(tree)), 'inverse': list(map(operations.record, tree.inverse()))}
        for tree in plan.trees
    )
    return {**builtins(_header(plan)), 'trees': list(trees)}


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


def _header(plan: Plan) -> PlanHeader[specs.SpecRecord]:
    return PlanHeader(
        format=FORMAT,
        version=VERSION,
        origin=plan.origin,
        spec=specs.record(plan.spec),
        assignments=plan.assignments,
        options=PlanOptions(plan.allow_inferred, plan.skip_infeasible),
        left_out=plan.left_out,
    )


def _lines(plan: Plan) -> Iterator[bytes]:
    """All but the end."""
    # Not in the order of the texts: what the specification names first is preferred.
    yield opened(msgspec.json.encode(_header(plan)), 'trees', b'[')
    yield from separated(encoded(tree_record(tree)) for tree in plan.trees)
