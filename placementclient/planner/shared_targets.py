"""Trees that share a target are decided together: what one takes there, another cannot have.

Each tree is carried out by itself, one after the other. What all of them come to does not depend
on the order, so that they are one assignment problem: what has no solution there has none in any
order, and what is forced there is forced in every order. An order for a solution is found by
trying: a target may have room for a tree only after another one has brought inventory to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, permutations
from typing import NamedTuple

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState
from placementclient.planner.assign import (
    HoldingName,
    assignment_of,
    holding_of,
    prepared,
)
from placementclient.planner.infeasibility import (
    SHARED_SHORTAGE,
    UNDECIDABLE,
    UNDETERMINED,
    OpenRow,
    Refused,
)
from placementclient.planner.layout.assignment import Assignment
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.known import HoldingKey, KnownAmount, KnownAssignments, place_of
from placementclient.planner.layout.overlay import SnapshotOverlay
from placementclient.planner.layout.target_state import TargetState, Where
from placementclient.planner.plan.plan import Label
from placementclient.planner.shared_consumers import is_judged_by_order
from placementclient.planner.solve.search import Impossible, search
from placementclient.planner.specification.values import Spec

#: Of more trees, not every order is tried.
MAX_PERMUTED = 4
#: More demands of all items together are not put into one problem.
MAX_DEMANDS = 1_000_000


class TreeAssignment(NamedTuple):
    target_state: TargetState
    assignment: Assignment

    @property
    def root(self) -> ProviderState:
        return self.target_state.root

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


def in_any_order(
    decided: Sequence[TreeAssignment], others: Sequence[Sequence[TreeAssignment]]
) -> list[TreeAssignment]:
    """The assignments of one order of trees; a place that other orders change is a choice."""
    by_root: dict[str, list[Assignment]] = {}
    for each in chain(decided, *others):
        by_root.setdefault(each.root.uuid, []).append(each.assignment)
    return [
        TreeAssignment(each.target_state, _labelled(each, by_root[each.root.uuid]))
        for each in decided
    ]


def _labelled(own: TreeAssignment, orders: Sequence[Assignment]) -> Assignment:
    """The assignment of a tree, labelled by what all orders of the trees allow."""
    ways: dict[HoldingName, dict[frozenset[tuple[str, str, int]], None]] = {}
    undecided: dict[HoldingName, list[OpenRow]] = {}
    unproved: dict[HoldingName, OpenRow] = {}
    for assignment in orders:
        placed: dict[HoldingName, set[tuple[str, str, int]]] = {}
        for row in assignment.rows:
            target = row.to_provider or '', row.to_resource_class, row.amount
            placed.setdefault(holding_of(row), set()).add(target)
        for holding, way in placed.items():
            ways.setdefault(holding, {})[frozenset(way)] = None
        for open_row in assignment.undecided:
            undecided.setdefault(holding_of(open_row), []).append(open_row)
        unproved |= {holding_of(open_row): open_row for open_row in assignment.unproved}
    choosing = [holding for holding in ways if holding in undecided or len(ways[holding]) > 1]
    labelled = Assignment([], [], [])
    uuids = {provider.name: provider.uuid for provider in own.target_state.providers.values()}
    for holding in choosing:
        rows = undecided.get(holding, [])
        targets = [target for way in ways[holding] for target in sorted(way)]
        choices = [choice for row in rows for choice in row.choices]
        choices += [provider for provider, _, _ in targets]
        classes = [name for row in rows for name in row.classes]
        classes += [name for _, name, _ in targets]
        where = Where(uuids[holding.provider], holding.resource_class)
        is_ambiguous = own.target_state.is_ambiguous(where, choices)
        labelled.undecided.append(
            OpenRow(
                own.root.name,
                holding.consumer_uuid,
                holding.resource_class,
                sum(amount for _, _, amount in next(iter(ways[holding]))),
                holding.provider,
                tuple(dict.fromkeys(choices)),
                tuple(dict.fromkeys(classes)) if is_ambiguous else (),
            )
        )
    labelled.unproved += [row for key, row in unproved.items() if key not in choosing]
    open_holdings = {*choosing, *unproved}
    labelled.rows += [
        replace(row, label=Label.INFERRED)
        if row.label is Label.FORCED and holding_of(row) in open_holdings
        else row
        for row in own.assignment.rows
    ]
    return labelled


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


def outcomes(
    overlay: SnapshotOverlay, spec: Spec, roots: Sequence[ProviderState]
) -> list[list[tuple[ProviderState, ...]]]:
    """The orders of trees to plan together, by the units that the targets get.

    A target that has none of a class gets its units from whichever tree brings the class first.
    Where the order does not matter, or of more than :data:`MAX_PERMUTED` trees, some are enough.

    :raises Refused: if two trees make the same provider
    """
    target_states = _target_states(overlay, spec, roots)
    if all(
        _fields(build_target_state(overlay, spec, target_state.root)) == _fields(target_state)
        for target_state in target_states
    ):
        return [[tuple(roots)]]
    if len(roots) > MAX_PERMUTED:
        return [[(root, *(other for other in roots if other is not root))] for root in roots]
    by_outcome: dict[object, list[tuple[ProviderState, ...]]] = {}
    for order in permutations(roots):
        fields: dict[Where, Inventory] = {}
        for target_state in _target_states(overlay, spec, order):
            fields |= _fields(target_state)
        by_outcome.setdefault(frozenset(fields.items()), []).append(order)
    return list(by_outcome.values())


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
    :param timeout: how long to search, in seconds
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
