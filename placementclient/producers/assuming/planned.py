"""The plan of a tree as a change from one snapshot to another, whatever kind of plan it is of."""

from __future__ import annotations

from typing import NamedTuple

from placementclient.changes.plan import ChangeSet
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.plan.plan import TreePlan


class Sides(NamedTuple):
    """The parts of a tree that a plan changes, before and after."""

    before: Snapshot
    after: Snapshot


def sides_of(tree: TreePlan | ChangeSet) -> Sides:
    """Return all that the plan of a tree changes, before and after."""
    if isinstance(tree, ChangeSet):
        return Sides(tree.before, tree.after)
    states = (
        ProviderState(
            Provider(
                change.uuid,
                change.name,
                change.before.generation or 0,
                change.parent_provider_uuid,
                change.root_provider_uuid,
            ),
            change.before.inventories,
            change.before.traits,
            change.before.aggregates,
            change.usages,
        )
        for change in tree.providers
        if change.before is not None
    )
    consumers = (
        Consumer(each.uuid, each.before, each.project_id, each.user_id, each.generation, each.type)
        for each in tree.consumers
        if each.before
    )
    before = Snapshot(states, consumers)
    return Sides(before, simulate(before, tree.operations()))
