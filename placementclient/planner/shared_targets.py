"""Trees that share a target are decided together: what one takes there, another cannot have.

Each tree is carried out by itself, one after the other. What all of them come to does not depend
on the order, so that they are one assignment problem: what has no solution there has none in any
order, and what is forced there is forced in every order. An order for a solution is found by
trying: a target may have room for a tree only after another one has brought inventory to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState
from placementclient.planner.assign import assignment_of, prepared
from placementclient.planner.infeasibility import (
    SHARED_SHORTAGE,
    UNDECIDABLE,
    UNDETERMINED,
    Refused,
)
from placementclient.planner.shared_consumers import is_judged_by_order
from placementclient.planner.solve.search import Impossible, search
from placementclient.planner.spec.values import Spec
from placementclient.planner.target.assignment import Assignment
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import HoldingKey, KnownAmount, KnownAssignments, place_of
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState, Where

#: More demands of all items together are not put into one problem.
MAX_DEMANDS = 1_000_000


class TreeAssignment(NamedTuple):
    """The assignment of one tree."""

    target_state: TargetState
    assignment: Assignment

    def known(self) -> dict[HoldingKey, list[KnownAmount]]:
        """The same, as what is known when the tree is planned by itself."""
        known: dict[HoldingKey, list[KnownAmount]] = {}
        uuids = {target.name: target.uuid for target in self.target_state.providers.values()}
        for row in self.assignment.rows:
            if row.from_provider is None:
                continue
            key = HoldingKey(row.consumer_uuid, uuids[row.from_provider], row.resource_class)
            place = place_of(row, self.target_state.places[key.where])
            assert place is not None
            known.setdefault(key, []).append(
                KnownAmount(place, row.amount, row.label, row.evidence)
            )
        return known


def shared_by(target_state: TargetState) -> frozenset[str]:
    """The targets of a tree that belong to other trees, by UUID."""
    return frozenset(
        flow.target
        for flow in target_state.flows
        if target_state.providers[flow.target].root_provider_uuid != target_state.root.uuid
    )


def has_choice(target_state: TargetState) -> bool:
    """Return whether some amount of a tree has several places to go to."""
    return any(len(places) > 1 for places in target_state.places.values())


def orders(
    overlay: SnapshotOverlay, spec: Spec, roots: Sequence[ProviderState]
) -> list[tuple[ProviderState, ...]]:
    """The orders of trees to plan together: one, unless the first of them decides about others.

    A target that has none of a class gets its units from whichever tree brings the class first.
    """
    is_any = all(
        _fields(build_target_state(overlay, spec, root)) == _fields(target_state)
        for root, target_state in zip(roots, _target_states(overlay, spec, roots), strict=True)
    )
    if is_any:
        return [tuple(roots)]
    return [(root, *(other for other in roots if other is not root)) for root in roots]


def _fields(target_state: TargetState) -> dict[Where, Inventory]:
    """The inventories of a tree, but for the totals of targets that it shares."""
    shared = shared_by(target_state)
    return {
        Where(uuid, name): replace(inventory, total=0) if uuid in shared else inventory
        for uuid, provider in target_state.providers.items()
        for name, inventory in provider.inventories.items()
    }


def decide_together(
    overlay: SnapshotOverlay,
    spec: Spec,
    known: KnownAssignments,
    roots: Sequence[ProviderState],
    timeout: float,
    *,
    order_matters: bool = False,
) -> list[TreeAssignment]:
    """Find a place for all that the consumers of some trees hold on their sources.

    :param roots: the roots of the trees
    :param timeout: how long to search, in the solver's deterministic unit (about a second)
    :param order_matters: whether what is forced may not be so in another order
    :return: of each tree
    :raises Refused: in the name of the last tree, if there is no such assignment, or none is found
    """
    name = roots[-1].name
    target_states = _target_states(overlay, spec, roots)
    merged = _merged(overlay, target_states)
    rows: dict[HoldingKey, Sequence[KnownAmount]] = {}
    for target_state in target_states:
        rows |= known.match(overlay, target_state)
    problem, items = prepared(overlay, merged, spec, rows)
    if sum(len(option) for item in items for option in item.options) > MAX_DEMANDS:
        raise Refused([UNDECIDABLE(name, 'too many consumers share targets with other trees')])
    found = search(problem.bins, items, timeout)
    if isinstance(found, Impossible):
        shared = tuple(sorted(merged.providers[uuid].name for uuid in shared_by(target_states[-1])))
        raise Refused([SHARED_SHORTAGE(name, shared, len(roots) - 1)])
    if found is None:
        raise Refused([UNDETERMINED(name, timeout)])
    if order_matters:
        open_places = [
            [merged.places[holding.where] for holding in item.holdings if holding.known is None]
            for item in problem.consumer_items
        ]
        found = [
            replace(decision, forced=False, proved=False)
            if any(len(places) > 1 for places in of_item)
            else decision
            for of_item, decision in zip(open_places, found, strict=True)
        ]
    return [
        TreeAssignment(each, assignment_of(each, problem.consumer_items, found, each.root.uuid))
        for each in target_states
    ]


def _target_states(
    overlay: SnapshotOverlay, spec: Spec, roots: Sequence[ProviderState]
) -> list[TargetState]:
    """The target states of trees, each on top of those before it."""
    overlay = overlay.fork()
    target_states = []
    for root in roots:
        target_states.append(build_target_state(overlay, spec, root))
        overlay.expect(target_states[-1])
    return target_states


def _merged(overlay: SnapshotOverlay, target_states: Sequence[TargetState]) -> TargetState:
    """All trees as one, in the name of the last: what there is at first, and what there is then."""
    merged = TargetState(target_states[-1].root)
    merged.apart = is_judged_by_order(overlay, target_states)
    for target_state in target_states:
        for uuid, provider in target_state.providers.items():
            merged.providers[uuid] = replace(provider, before=overlay.state(uuid))
        merged.flows += target_state.flows
        merged.places |= target_state.places
        for consumer_uuid, amounts in target_state.added.items():
            merged.added[consumer_uuid] = merged.added.get(consumer_uuid, {}) | amounts
    return merged
