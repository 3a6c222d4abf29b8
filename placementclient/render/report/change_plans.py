"""A plan of changes in the form in which the report shows the plan of a reshape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from placementclient.changes.operations import ConsumerChange
from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.transfers import Pair, changed_consumers
from placementclient.model.snapshots import ProviderState
from placementclient.planner.plan.plan import Label, Plan, PlannedRow, TreePlan
from placementclient.planner.plan.state_changes import ProviderChange, ProviderContent
from placementclient.planner.specification.values import Spec


def as_reshape(plan: ChangePlan) -> Plan:
    """Return a plan that is only to be shown: its rows say which allocations change."""
    return Plan(Spec('', ()), tuple(map(_tree, plan.trees)), origin=plan.origin, digest=plan.digest)


def _tree(tree: ChangeSet) -> TreePlan:
    pairs = list(changed_consumers(tree.before, tree.after))
    states = {state.uuid: state for side in (tree.before, tree.after) for state in side.walked()}
    return TreePlan(
        tree.root_provider_uuid,
        tree.root_provider_name,
        tuple(_provider(tree, state) for state in states.values()),
        tuple(map(_consumer, pairs)),
        tuple(row for pair in pairs for row in _rows(pair, states)),
    )


def _provider(tree: ChangeSet, state: ProviderState) -> ProviderChange:
    before = tree.before.providers.get(state.uuid)
    return ProviderChange(
        state.uuid,
        state.name,
        state.provider.parent_provider_uuid,
        state.provider.root_uuid,
        _content(before) if before else None,
        _content(tree.after.providers.get(state.uuid)),
        before.usages if before else {},
    )


def _content(state: ProviderState | None) -> ProviderContent:
    if state is None:
        return ProviderContent()
    return ProviderContent(None, state.inventories, state.traits, state.aggregates)


def _consumer(pair: Pair) -> ConsumerChange:
    before, after = pair
    return ConsumerChange(
        before.uuid,
        before.project_id,
        before.user_id,
        before.generation,
        before.type,
        before.allocations,
        after.allocations,
    )


def _rows(pair: Pair, states: Mapping[str, ProviderState]) -> Iterator[PlannedRow]:
    """Pair what leaves one provider with what comes to another, class by class."""
    gains = sorted(pair.gains())
    for name in sorted({name for _, name, gain in gains if gain}):
        leaving = [(uuid, -gain) for uuid, each, gain in gains if each == name and gain < 0]
        coming = [(uuid, gain) for uuid, each, gain in gains if each == name and gain > 0]
        while leaving or coming:
            amount = min(end[0][1] for end in (leaving, coming) if end)
            source, target = _taken(leaving, amount), _taken(coming, amount)
            yield PlannedRow(
                pair.after.uuid,
                name,
                amount,
                states[source].name if source and source in states else source,
                states[target].name if target and target in states else target,
                name,
                Label.MAPPED,
            )


def _taken(ends: list[tuple[str, int]], amount: int) -> str | None:
    """Take an amount of the first of some ends, and return its provider."""
    if not ends:
        return None
    uuid, there = ends.pop(0)
    if there > amount:
        ends.insert(0, (uuid, there - amount))
    return uuid
