"""The plan of a tree as a change from one snapshot to another, whatever kind of plan it is of."""

from __future__ import annotations

from typing import NamedTuple

from placementclient.changes.plan import ChangeSet
from placementclient.changes.simulation import simulate
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.plan.plan import TreePlan
from placementclient.planner.plan.state_changes import ProviderChange, ProviderContent


class Sides(NamedTuple):
    """The parts of a tree that a plan changes, before and after."""

    before: Snapshot
    after: Snapshot


def sides_of(tree: TreePlan | ChangeSet) -> Sides:
    """Return all that the plan of a tree changes, before and after."""
    if isinstance(tree, ChangeSet):
        return Sides(tree.before, tree.after)
    before = before_of(tree)
    return Sides(before, simulate(before, tree.operations))


def before_of(tree: TreePlan) -> Snapshot:
    """Return all that the plan of a tree begins with."""
    return Snapshot(
        (state_of(each, each.before) for each in tree.providers if each.before is not None),
        (each.holding(each.before) for each in tree.consumers if each.before),
    )


def state_of(change: ProviderChange, content: ProviderContent) -> ProviderState:
    """Return a provider on one side of a change."""
    provider = Provider(
        change.uuid,
        change.name,
        content.generation or 0,
        change.parent_provider_uuid,
        change.root_provider_uuid,
    )
    return ProviderState(
        provider, content.inventories, content.traits, content.aggregates, change.usages
    )
