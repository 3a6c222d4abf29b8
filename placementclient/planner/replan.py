"""Plan one tree again from what is there now: because it changed, or for the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from placementclient import errors
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import infeasibility
from placementclient.planner.assign import assign
from placementclient.planner.infeasibility import BadRow, Cause, Refused
from placementclient.planner.plan.plan import Label, Plan, PlannedRow, TreePlan
from placementclient.planner.plan.state_changes import ProviderChange
from placementclient.planner.solve.search import TIMEOUT
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import Holding, Known, KnownAssignments
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import (
    Place,
    TargetProvider,
    TargetState,
    Where,
)
from placementclient.planner.tree_plan import compose


def replan(live: Snapshot, plan: Plan, tree: TreePlan) -> TreePlan:
    """Plan a tree again that has changed since it was planned, and is not yet applied.

    Every row of the old plan whose consumer still holds what it held keeps its place and its
    label; every new one is mapped or forced.

    :param live: the tree as it is now, with the sharing providers that it moves to, and all that
        its consumers hold
    :param tree: its part of ``plan``
    :raises errors.Infeasible: if an old row cannot keep its place, or nothing else fits
    :raises errors.Undecided: if a new row has a choice
    :raises errors.Undetermined: if the search took too long to know
    """
    overlay = SnapshotOverlay(live)
    try:
        root = _root(overlay, tree)
        _refuse_occupied(overlay, tree)
        target_state = build_target_state(overlay, plan.spec, root)
        known = KnownAssignments(plan.spec, plan.assignments).match(overlay, target_state)
        known |= _kept(overlay, target_state, tree)
        return _planned(overlay, target_state, plan.spec, known)
    except errors.BadFile as reason:
        raise errors.Infeasible([BadRow(tree.root_provider_name, str(reason))]) from None
    except Refused as refusal:
        raise _error(refusal) from None


def rollback(live: Snapshot, plan: Plan, tree: TreePlan) -> TreePlan:
    """Plan the way back of a tree that is applied.

    Consumers that came since go back too, those that left are not resurrected. The providers that
    the plan made lose their inventories; deleting them, ``tree.created()`` in reverse, comes after.

    :param live: the tree as it is now, with the sharing providers that it moved to, and all that
        its consumers hold
    :param tree: its part of ``plan``
    :raises errors.Infeasible: if that is impossible
    :raises errors.Undecided: if a consumer that came since has a choice
    :raises errors.Undetermined: if the search took too long to know
    """
    overlay = SnapshotOverlay(live)
    try:
        target_state, known = _Return(overlay, tree).prepare()
        renamed = {move.resource_class: move.to_resource_class for move in tree.moves}
        together = tuple(
            tuple(renamed.get(name, name) for name in group) for group in plan.spec.together
        )
        spec = replace(plan.spec, together=together)
        return _planned(overlay, target_state, spec, known, backwards=True)
    except Refused as refusal:
        raise _error(refusal) from None


def _error(refusal: Refused) -> errors.Infeasible | errors.Undetermined:
    if all(isinstance(cause, infeasibility.Undetermined) for cause in refusal.causes):
        return errors.Undetermined(refusal.causes)
    return errors.Infeasible(refusal.causes, refusal.slack)


def _planned(
    overlay: SnapshotOverlay,
    target_state: TargetState,
    spec: Spec,
    known: Mapping[Holding, list[Known]],
    backwards: bool = False,
) -> TreePlan:
    assignment = assign(overlay, target_state, spec, known)
    if assignment.undecided:
        raise errors.Undecided(assignment.undecided)
    if assignment.unproved:
        unproved = len(assignment.unproved)
        raise errors.Undetermined(
            [infeasibility.Undetermined(target_state.root.name, TIMEOUT, unproved)]
        )
    return compose(overlay, target_state, assignment, spec, backwards=backwards)


def _root(overlay: SnapshotOverlay, tree: TreePlan) -> ProviderState:
    root = overlay.state(tree.root_provider_uuid)
    if root is None:
        raise Refused([infeasibility.NoSource(tree.root_provider_name, tree.root_provider_name)])
    return root


def _refuse_occupied(overlay: SnapshotOverlay, tree: TreePlan) -> None:
    """A child that the plan makes may be there, from an apply that was cut short, but empty."""
    for change in tree.created():
        state = overlay.find(change.name)
        if state is not None and (state.inventories or state.usages):
            reason = f'{change.name}, which the plan makes, is there and not empty'
            raise Refused([BadRow(tree.root_provider_name, reason)])


def _by_holding(tree: TreePlan, *, backwards: bool) -> dict[Holding, list[PlannedRow]]:
    """The rows of a plan by whose amount they move: consumer, provider UUID and class."""
    uuids = {change.name: change.uuid for change in tree.providers}
    rows: dict[Holding, list[PlannedRow]] = {}
    for row in tree.rows:
        if row.from_provider is None or row.to_provider is None:
            continue  # added: it is not from anywhere
        origin = (row.from_provider, row.resource_class)
        if backwards:
            if origin == (row.to_provider, row.to_resource_class):
                continue
            origin = (row.to_provider, row.to_resource_class)
        holding = Holding(row.consumer_uuid, uuids[origin[0]], origin[1])
        rows.setdefault(holding, []).append(row)
    return rows


def _kept(
    overlay: SnapshotOverlay, target_state: TargetState, tree: TreePlan
) -> dict[Holding, list[Known]]:
    kept: dict[Holding, list[Known]] = {}
    for holding, rows in _by_holding(tree, backwards=False).items():
        places = target_state.places.get(holding.where, [])
        if _held(overlay, holding) != sum(row.amount for row in rows) or not places:
            continue
        by_name = {(place.provider, place.resource_class): place for place in places}
        kept[holding] = []
        for row in rows:
            place = by_name.get((row.to_provider or '', row.to_resource_class))
            if place is None:
                reason = f'{row.to_provider} is no place for {row.consumer_uuid} any more'
                raise Refused([BadRow(target_state.root.name, reason)])
            kept[holding].append(Known(place, row.amount, row.label, row.evidence))
    return kept


def _held(overlay: SnapshotOverlay, holding: Holding) -> int:
    consumer_uuid, provider_uuid, name = holding
    consumer = overlay.snapshot.consumers.get(consumer_uuid)
    return _amount(consumer, provider_uuid, name) if consumer else 0


def _amount(consumer: Consumer, provider_uuid: str, name: str) -> int:
    return consumer.allocations.get(provider_uuid, {}).get(name, 0)


class _Return:
    """The layout of the way back, and what is known of who goes where."""

    def __init__(self, overlay: SnapshotOverlay, tree: TreePlan) -> None:
        self._overlay, self._tree = overlay, tree
        self._causes: list[Cause] = []
        self._target_state = TargetState(_root(overlay, tree))
        self._rows = _by_holding(tree, backwards=True)

    def prepare(self) -> tuple[TargetState, dict[Holding, list[Known]]]:
        for change in self._tree.providers:
            state = self._overlay.state(change.uuid)
            if state is None:
                reason = f'{change.name} is gone'
                self._causes.append(BadRow(self._tree.root_provider_name, reason))
            else:
                self._target_state.providers[change.uuid] = self._provider(change, state)
        if self._causes:
            raise Refused(self._causes)
        self._find_places()
        self._take_back()
        if self._causes:
            raise Refused(self._causes)
        return self._target_state, dict(self._known())

    def _take_back(self) -> None:
        """Of what providers got without a move, consumers lose exactly what the plan gave them."""
        given = {
            (row.consumer_uuid, row.to_provider, row.resource_class): row.amount
            for row in self._tree.rows
            if row.from_provider is None
        }
        moved = {(move.to_provider, move.to_resource_class) for move in self._tree.moves}
        for change in self._tree.providers:
            gained = change.after.inventories.keys() - change.content_before.inventories.keys()
            for name in sorted(gained):
                if (change.name, name) not in moved:
                    self._take_back_of(change, name, given)

    def _take_back_of(
        self,
        change: ProviderChange,
        name: str,
        given: Mapping[tuple[str, str | None, str], int],
    ) -> None:
        for consumer in self._overlay.consumers_on(change.uuid):
            held = _amount(consumer, change.uuid, name)
            if held and held != given.get((consumer.uuid, change.name, name)):
                reason = (
                    f'{consumer.uuid} holds {held} {name} of {change.name}, which the plan did '
                    'not give it'
                )
                self._causes.append(BadRow(self._tree.root_provider_name, reason))
            elif held:
                removed = self._target_state.removed.setdefault(consumer.uuid, {})
                removed[Where(change.uuid, name)] = held

    def _provider(self, change: ProviderChange, state: ProviderState) -> TargetProvider:
        before, after = change.content_before, change.after
        target_provider = TargetProvider(
            change.uuid,
            change.name,
            state.provider.parent_provider_uuid,
            change.root_provider_uuid,
            state,
            dict(self._inventories(change, state)),
            set(state.traits),
            set(state.aggregates),
        )
        if not change.is_created:  # what is created disappears altogether
            target_provider.traits = set(state.traits - (after.traits - before.traits))
            target_provider.traits |= before.traits - after.traits
            target_provider.aggregates -= after.aggregates - before.aggregates
        return target_provider

    def _inventories(
        self, change: ProviderChange, state: ProviderState
    ) -> Iterator[tuple[str, Inventory]]:
        """What the plan changed as it was before, all else as it is."""
        before, after = change.content_before.inventories, change.after.inventories
        for name in sorted(before.keys() | after.keys() | state.inventories.keys()):
            was, planned, now = before.get(name), after.get(name), state.inventories.get(name)
            if now == planned:
                restored = was
            elif was == planned and not change.is_created:
                restored = now
            elif (
                was
                and planned
                and now
                and change.root_provider_uuid != self._target_state.root.uuid
            ):
                # Other trees' plans change a sharing provider too; each takes back its own part.
                total = now.total - planned.total + was.total
                restored = replace(now, total=max(total, 1))
            else:
                self._causes.append(
                    infeasibility.Changed(self._tree.root_provider_name, change.name, name)
                )
                restored = now
            if restored is not None:
                yield name, restored

    def _find_places(self) -> None:
        uuids = {change.name: change.uuid for change in self._tree.providers}
        target_state = self._target_state
        for move in self._tree.moves:
            target_provider = target_state.providers[uuids[move.to_provider]]
            where = Where(target_provider.uuid, move.to_resource_class)
            back = Place(uuids[move.from_provider], move.from_provider, move.resource_class)
            places = target_state.places.setdefault(where, [])
            if back not in places:
                places.append(back)
            if target_provider.root_provider_uuid != target_state.root.uuid:
                target_state.limited[where] = dict(self._limits(where))
        for where, places in target_state.places.items():
            target_provider = target_state.providers[where.provider_uuid]
            name = where.resource_class
            if name in target_provider.inventories and where not in target_state.limited:
                places.append(Place(target_provider.uuid, target_provider.name, name, stays=True))

    def _limits(self, where: Where) -> Iterator[tuple[str, int]]:
        for holding, rows in self._rows.items():
            if holding.where == where and (held := _held(self._overlay, holding)):
                yield holding[0], min(held, sum(row.amount for row in rows))

    def _known(self) -> Iterator[tuple[Holding, list[Known]]]:
        planned = {change.uuid: change.after for change in self._tree.consumers}
        for where, places in self._target_state.places.items():
            provider_uuid, name = where
            by_name = {(place.provider, place.resource_class): place for place in places}
            stays = [place for place in places if place.stays]
            for consumer in self._overlay.consumers_on(provider_uuid):
                holding = Holding(consumer.uuid, provider_uuid, name)
                held = _amount(consumer, provider_uuid, name)
                rows = self._rows.get(holding, [])
                moved = sum(row.amount for row in rows)
                expected = planned.get(consumer.uuid, {}).get(provider_uuid, {}).get(name, 0)
                if where in self._target_state.limited:
                    held = expected = min(held, moved)
                known = [
                    Known(
                        by_name[row.from_provider or '', row.resource_class],
                        row.amount,
                        Label.MAPPED,
                        'the plan',
                    )
                    for row in rows
                ]
                if rows and held == expected and moved <= held:
                    if moved < held and stays:
                        known.append(Known(stays[0], held - moved))
                    yield holding, known
                elif not rows and stays and consumer.uuid in self._tree.residents:
                    yield holding, [Known(stays[0], held)]
