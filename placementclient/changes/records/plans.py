# SPDX-License-Identifier: Apache-2.0
"""Plans: one tree on each line, and a digest at the end."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Generic, Literal, TypeVar

import msgspec

from placementclient.changes.diff import list_operations
from placementclient.changes.records import changes, operations
from placementclient.files import encoding, kinds, specifications
from placementclient.files.decoding import FileContent
from placementclient.files.encoding import (
    convert_to_json,
    encode_json,
    join_with_commas,
    make_opening_line,
)
from placementclient.files.snapshots import SharedParts
from placementclient.model.plans import Change, Plan, Recipe, UnplannedTree
from placementclient.model.snapshots import Origin
from placementclient.model.specifications import Spec, SpecRecord

# The type of the header has to repeat them; mypy checks that both agree.
FORMAT: Final = 'placementclient/plan'
VERSION: Final = 1

SpecT = TypeVar('SpecT')
ChangeT = TypeVar('ChangeT')


class PlanHeader(msgspec.Struct, Generic[SpecT], frozen=True, kw_only=True):
    """The fields of the file of a plan before its changes.

    The specification of its recipe is decoded later, or shown in a schema.
    """

    format: Literal['placementclient/plan']
    version: Literal[1]
    command: str
    origin: Origin | None
    recipe: Recipe[SpecT] | None
    left_out: tuple[UnplannedTree, ...]


class PlanDocument(PlanHeader[SpecT], Generic[SpecT, ChangeT], frozen=True, kw_only=True):
    """All fields of the file of a plan; ``trees`` are its changes."""

    trees: list[ChangeT]
    digest: str


_DOCUMENT = msgspec.json.Decoder(PlanDocument[msgspec.Raw, msgspec.Raw])
_CHANGE = msgspec.json.Decoder(changes.ChangeRecord)


def encode(plan: Plan) -> Iterator[bytes]:
    """Return the lines of the file of a plan; equal plans have equal files."""
    return encoding.seal_lines(_encode_lines(plan))


def decode(content: bytes, path: str) -> Plan:
    """Decode the output of :func:`encode`, or any other JSON of the same content.

    :raises errors.BadFile: if it is something else, or was edited
    """
    source = FileContent(path, content, kinds.PLAN)
    source.require_kind_and_version(VERSION)
    document = source.decode(_DOCUMENT)
    is_sealed = encoding.is_sealed(content, document.digest)
    if not is_sealed:
        source.refuse_duplicate_keys()
    shared = SharedParts()
    plan = Plan(
        tuple(
            changes.decode_change(source.decode(_CHANGE, item, f'trees[{index}]'), shared)
            for index, item in enumerate(document.trees)
        ),
        document.command,
        None if document.recipe is None else _decode_recipe(source, document.recipe),
        document.left_out,
        document.origin,
    )
    if fault := next(changes.find_plan_faults(plan), None):
        raise source.make_error(f'damaged plan: {fault}')
    if not is_sealed and encoding.compute_digest(_encode_lines(plan)) != document.digest:
        raise source.make_error('was edited: its digest is not that of its content')
    return replace(plan, digest=document.digest)


def get_plan_digest(plan: Plan) -> str:
    """Return the digest that identifies a plan."""
    return plan.digest if plan.digest is not None else encoding.compute_digest(_encode_lines(plan))


def make_document(plan: Plan) -> dict[str, object]:
    """Return a plan for programs: its file, and the rollback operations of each change."""
    trees = [_make_change_document(change) for change in plan.changes]
    return {**convert_to_json(_make_header(plan)), 'trees': trees}


def _make_change_document(change: Change) -> dict[str, object]:
    """Return a change for programs: its record, and its rollback operations as ``inverse``."""
    inverse = list_operations(change, backward=True)
    document = convert_to_json(changes.encode_change(change))
    return {**document, 'inverse': [operations.encode_brief(item) for item in inverse]}


def _decode_recipe(source: FileContent, record: Recipe[msgspec.Raw]) -> Recipe[Spec]:
    document = source.decode(msgspec.json.Decoder(), record.spec, 'recipe.spec')
    spec = specifications.convert_specification(document, source.path)
    return Recipe(spec, record.assignments, record.options)


def _make_header(plan: Plan) -> PlanHeader[SpecRecord]:
    recipe = None
    if plan.recipe is not None:
        recipe = Recipe(plan.recipe.spec.record, plan.recipe.assignments, plan.recipe.options)
    return PlanHeader(
        format=FORMAT,
        version=VERSION,
        command=plan.command,
        origin=plan.origin,
        recipe=recipe,
        left_out=plan.left_out,
    )


def _encode_lines(plan: Plan) -> Iterator[bytes]:
    """Yield the lines of the file of a plan, without the last one: its digest."""
    # In the order of the specification: the planner prefers its earlier moves.
    yield make_opening_line(msgspec.json.encode(_make_header(plan)), 'trees', b'[')
    yield from join_with_commas(
        encode_json(changes.encode_change(change)) for change in plan.changes
    )
