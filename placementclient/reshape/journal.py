"""The journal of a reshape, whose new plans are checked against the reviewed plan."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial

from placementclient.changes import journal
from placementclient.changes.journal import Journal, JournalFailed, JournalLocked, Record
from placementclient.client import errors
from placementclient.model.plans import Plan, TreeChange
from placementclient.planner import invariants, review
from placementclient.planner.records import plans

__all__ = ['Journal', 'JournalFailed', 'JournalLocked', 'Record', 'opened', 'read']


def opened(path: str, plan: Plan) -> AbstractContextManager[Journal]:
    """Open the journal of a plan, as :func:`placementclient.changes.journal.opened` does.

    :raises errors.BadFile: also if a tree was to become something else than was reviewed
    """
    return journal.opened(path, plans.identity(plan), partial(_check_revised, path, plan))


def read(path: str, plan: Plan) -> dict[str, Record]:
    """Read the journal of a plan, as :func:`placementclient.changes.journal.read` does.

    :raises errors.BadFile: also if a tree was to become something else than was reviewed
    """
    return journal.read(path, plans.identity(plan), partial(_check_revised, path, plan))


def _check_revised(path: str, plan: Plan, records: Mapping[str, Record]) -> None:
    """Hold each plan in a journal to the same as one that was just made again."""
    reviewed = {tree.root_provider_uuid: tree for tree in plan.trees}
    for root_uuid, record in records.items():
        if record.plan is None:
            continue
        if root_uuid not in reviewed:
            raise errors.BadFile(path, f'the plan has no tree {record.plan.root_provider_uuid}')
        _check_tree(path, plan, reviewed[root_uuid], record.plan)


def _check_tree(path: str, plan: Plan, reviewed: TreeChange, again: TreeChange) -> None:
    for difference in review.differences(reviewed, again):
        raise errors.BadFile(
            path,
            f'a line plans {reviewed.root_provider_name} as something else than what was '
            f'reviewed: {difference}. Make the plan again, under another name',
        )
    assert plan.recipe is not None
    try:
        invariants.check_tree(again, plan.recipe.spec)
    except invariants.BadPlan as fault:
        raise errors.BadFile(path, str(fault)) from None
