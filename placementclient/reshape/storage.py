"""Plans, specifications and assignments in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from placementclient.files import disk, system
from placementclient.files.decoding import kind_of
from placementclient.model.assignments import AssignmentRow
from placementclient.planner.plan.plan import Plan
from placementclient.planner.records import plans
from placementclient.planner.specification import assignments, specification
from placementclient.planner.specification.values import Spec

if TYPE_CHECKING:
    from placementclient.changes.plan import ChangePlan


def read_specified(path: str, rows: Sequence[str] = ()) -> tuple[Spec, list[AssignmentRow]]:
    """The specification of a reshape, and the rows of all assignment files.

    :param path: the file of a specification, or of a plan, which has both in it
    :param rows: the files of further rows; instead of those that a plan has in it
    :raises errors.BadFile: if one is none
    """
    content = disk.read_bytes(path, disk.WRITTEN)
    if kind_of(content) == 'plan':
        plan = plans.decode(content, path)
        if not rows:
            return plan.spec, list(plan.assignments)
        return plan.spec, [row for name in rows for row in read_assignments(name)]
    if len(content) > disk.TYPED:
        raise system.too_large(path, disk.TYPED)
    spec = _spec(disk.as_text(content, path), path)
    return spec, [row for name in (*spec.assignments, *rows) for row in read_assignments(name)]


def read_spec(path: str) -> Spec:
    """The specification of a reshape.

    The names of its assignment files are relative to it, and come back relative to here.

    :raises errors.BadFile: if it is none
    """
    return _spec(disk.read_text(path), path)


def _spec(text: str, path: str) -> Spec:
    wanted = specification.parse(text, path)
    folder = '' if path == disk.STANDARD else os.path.dirname(path)
    return replace(
        wanted, assignments=tuple(os.path.join(folder, name) for name in wanted.assignments)
    )


def read_assignments(path: str) -> list[AssignmentRow]:
    """The rows of an assignments file.

    :raises errors.BadFile: if it is none
    """
    return assignments.parse(disk.read_text(path, disk.LISTED), path)


def read_plan(path: str) -> Plan | ChangePlan:
    """Return a plan of a reshape, or of changes.

    :raises errors.BadFile: if it is neither, or not as it was written
    """
    from placementclient.changes.records import change_plans

    content = disk.read_bytes(path, disk.WRITTEN)
    if kind_of(content) == change_plans.KIND:
        return change_plans.decode(content, path)
    return plans.decode(content, path)


def write_plan(path: str, plan: Plan | ChangePlan) -> None:
    """Write a plan, as :func:`placementclient.files.write_snapshot` does."""
    from placementclient.changes.records import change_plans

    lines = plans.encode(plan) if isinstance(plan, Plan) else change_plans.encode(plan)
    with disk.written(path) as stream:
        stream.writelines(lines)
