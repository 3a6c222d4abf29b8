"""New plans of a tree from its present state."""

from __future__ import annotations

from collections.abc import Callable

from placementclient.changes.comparison import LeftAlone
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.plans import Plan, TreeChange
from placementclient.model.snapshots import Snapshot
from placementclient.planner import replan, review
from placementclient.reading.capture import capture


def replanned(client: Client, plan: Plan, tree: TreeChange, drift: str) -> TreeChange:
    """Return the new plan of an unapplied tree that has changed since the plan.

    It differs from the one that was reviewed by nothing but allocations that came or went.

    :param plan: the one that was reviewed
    :param tree: its part for the tree, or what that has become when it was planned again before
    :param drift: what has changed, a sentence without its full stop
    :raises LeftAlone: if there is no such plan
    """
    snapshot = _without_prepared(captured(client, tree), tree)
    again = _planned(replan.replan, snapshot, plan, tree, f'{drift}, and a new plan is impossible')
    reviewed = plan.tree(tree.root_provider_uuid)
    assert reviewed is not None
    for difference in review.differences(reviewed, again):
        raise LeftAlone(f'{drift}, and a new plan is not the one that was reviewed: {difference}')
    return again


def planned_back(snapshot: Snapshot, plan: Plan, tree: TreeChange) -> TreeChange:
    """Return the plan for the rollback of an applied tree.

    :param snapshot: as :func:`captured` gives it
    :raises LeftAlone: if there is none
    """
    return _planned(replan.rollback, snapshot, plan, tree, 'there is no way back')


def captured(client: Client, tree: TreeChange) -> Snapshot:
    """Return all trees that the plan of a tree concerns, as they are now.

    :raises LeftAlone: if one does not exist
    """
    try:
        return capture(client, tree.concerned_roots)
    except errors.NoSuchProvider as reason:
        raise LeftAlone(str(reason)) from reason


def _planned(
    make: Callable[[Snapshot, Plan, TreeChange], TreeChange],
    snapshot: Snapshot,
    plan: Plan,
    tree: TreeChange,
    otherwise: str,
) -> TreeChange:
    try:
        return make(snapshot, plan, tree)
    except (errors.Infeasible, errors.Undecided, errors.Undetermined) as reason:
        raise LeftAlone(f'{otherwise}: {reason}') from reason


def _without_prepared(snapshot: Snapshot, tree: TreeChange) -> Snapshot:
    """A snapshot as it was before the plan's own providers were made, which are still empty.

    So they are created in the new plan too, and the way back removes them.
    """
    made = {change.uuid for change in tree.created()}
    prepared = {
        uuid
        for uuid in made & snapshot.providers.keys()
        if not snapshot.providers[uuid].inventories
        and not snapshot.consumers_on(uuid)
        and all(child.uuid in made for child in snapshot.children(uuid))
    }
    return Snapshot(
        (state for uuid, state in snapshot.providers.items() if uuid not in prepared),
        snapshot.consumers.values(),
    )
