# SPDX-License-Identifier: Apache-2.0
"""Files of plans, specifications and assignments."""

import os
from collections.abc import Sequence

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.changes.records import plans
from placementclient.files import disk, kinds, specifications, system
from placementclient.model.assignments import AssignmentRow
from placementclient.model.plans import Plan
from placementclient.model.specifications import Spec
from placementclient.planner.specification import assignments


def read_spec_and_rows(path: str, rows: Sequence[str] = ()) -> tuple[Spec, list[AssignmentRow]]:
    """Return the specification of a reshape, and the rows of its assignment files.

    :param path: the file of a specification, or of a plan, which contains both
    :param rows: the paths of files of further rows; they replace the rows of a plan
    """
    content = disk.read_bytes(path, kinds.SPECIFICATION, disk.WRITTEN_LIMIT)
    if kinds.recognize_kind(content) == kinds.PLAN:
        plan = plans.decode(content, path)
        if plan.recipe is None:
            raise errors.BadFile(path, f'the plan of {plan.command} has no specification')
        if not rows:
            return plan.recipe.spec, list(plan.recipe.assignments)
        return plan.recipe.spec, [row for name in rows for row in read_assignments(name)]
    if len(content) > disk.TYPED_LIMIT:
        raise system.make_size_error(path, disk.TYPED_LIMIT)
    text = disk.decode_text_of_kind(content, path, kinds.SPECIFICATION, kinds.TREES)
    return read_rows_of_spec(specifications.parse_specification(text, path), path, rows)


def read_rows_of_spec(
    spec: Spec, path: str, rows: Sequence[str] = ()
) -> tuple[Spec, list[AssignmentRow]]:
    """Return a specification with complete paths of its assignment files, and all their rows.

    :param path: the path of the specification, to whose folder its paths are relative
    :param rows: the paths of further assignment files
    """
    folder = '' if path == disk.STANDARD else os.path.dirname(path)
    # Their names are relative to the specification.
    named = tuple(os.path.join(folder, name) for name in spec.assignments)
    assigned = [row for name in (*named, *rows) for row in read_assignments(name)]
    return replace(spec, assignments=named), assigned


def read_assignments(path: str) -> list[AssignmentRow]:
    """Return the rows of an assignments file."""
    return assignments.parse_assignments(
        disk.read_text(path, kinds.ASSIGNMENTS, most_bytes=disk.LISTED_LIMIT), path
    )


def refuse_filled_assignments(path: str | None, overwrite: bool) -> None:
    """Refuse a file of assignments with a row that somebody has filled in, unless ``overwrite``.

    :param path: ``None``: nothing is written
    """
    if not path or overwrite or not os.path.exists(path) or not os.path.getsize(path):
        return
    if read_assignments(path):
        raise errors.BadFile(
            path, 'has filled in rows: give it to --assignments, or another name, or --overwrite'
        )


def read_plan(path: str) -> Plan:
    """Return a plan of a reshape, or of changes."""
    return plans.decode(disk.read_bytes(path, kinds.PLAN, disk.WRITTEN_LIMIT), path)


def write_plan(path: str, plan: Plan) -> None:
    """Write a plan to a file, atomically."""
    with disk.open_output(path) as stream:
        stream.writelines(plans.encode(plan))
