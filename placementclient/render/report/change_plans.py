"""A plan of changes in the form of a reshape, for the report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from placementclient.model.plans import ConsumerChange, Label, Plan, PlannedRow, TreeChange
from placementclient.model.snapshots import ProviderState


def with_rows(plan: Plan) -> Plan:
    """Return a plan for the report, with rows for the allocations that change."""
    return replace(plan, trees=tuple(map(_tree, plan.trees)))


def _tree(tree: TreeChange) -> TreeChange:
    states = {**tree.before.providers, **tree.after.providers}
    return replace(
        tree, rows=tuple(row for change in tree.consumers for row in _rows(change, states))
    )


def _rows(change: ConsumerChange, states: Mapping[str, ProviderState]) -> Iterator[PlannedRow]:
    """Pair what leaves one provider with what comes to another, class by class."""
    gains = sorted(change.gains())
    for name in sorted({name for _, name, gain in gains if gain}):
        leaving = [(uuid, -gain) for uuid, each, gain in gains if each == name and gain < 0]
        coming = [(uuid, gain) for uuid, each, gain in gains if each == name and gain > 0]
        while leaving or coming:
            amount = min(end[0][1] for end in (leaving, coming) if end)
            source, target = _taken(leaving, amount), _taken(coming, amount)
            yield PlannedRow(
                change.uuid,
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
