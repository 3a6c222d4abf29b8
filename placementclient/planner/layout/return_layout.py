# SPDX-License-Identifier: Apache-2.0
"""The rollback of an applied tree: its target state, and the assigned rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.plans import Change, Label, PlannedRow, ProviderChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout.assigned import allocated, rows_by_key
from placementclient.planner.layout.target_state import (
    HoldingKey,
    InventoryKey,
    Target,
    TargetProvider,
    TargetState,
)


def lay_out_return(
    snapshot: Snapshot, tree: Change, roots: Sequence[ProviderState]
) -> tuple[TargetState, dict[HoldingKey, list[PlannedRow]]]:
    """Return the target state of a rollback.

    Changes of the plan are undone; later changes of others stay. Consumers go back by the rows of
    the plan; if these do not fit the present allocations, the search decides.

    :raises Refused: if a provider is gone, or what the plan made of one is not there any more
    """
    layout = _ReturnLayout(snapshot, tree, roots)
    layout.build()
    if layout.causes:
        raise Refused(layout.causes)
    return layout.target_state, dict(layout.assigned())


class _ReturnLayout:
    def __init__(self, snapshot: Snapshot, tree: Change, roots: Sequence[ProviderState]) -> None:
        self._snapshot, self._tree = snapshot, tree
        self.causes: list[Cause] = []
        self.target_state = TargetState(roots, is_return=True)
        self._rows = rows_by_key(tree, backwards=True)
        self._uuids = {change.name: change.uuid for change in tree.providers}

    def build(self) -> None:
        for change in self._tree.providers:
            state = self._snapshot.providers.get(change.uuid)
            if state is None:
                self._refuse('bad-row', reason=f'{change.name} is gone')
            else:
                self.target_state.providers[change.uuid] = self._provider(change, state)
        if not self.causes:
            self._find_targets()
            self._tolerate()
            self._take_back()

    def _refuse(self, kind: str, **values: Any) -> None:
        self.causes.append(Cause(kind, self._tree.root_provider_name, **values))

    def _provider(self, change: ProviderChange, state: ProviderState) -> TargetProvider:
        """Return a provider with its inventories of before; the rest is taken back afterwards."""
        return TargetProvider(
            change.uuid,
            change.name,
            state.provider.parent_provider_uuid,
            change.root_provider_uuid,
            state,
            dict(self._inventories(change, state)),
            set(state.traits),
            set(state.aggregates),
        )

    def _inventories(
        self, change: ProviderChange, state: ProviderState
    ) -> Iterator[tuple[str, Inventory]]:
        """Return the inventories that the plan changed, as they were before."""
        before, after = change.content_before.inventories, change.content_after.inventories
        for name in sorted({*before, *after, *state.inventories}):
            was, planned, now = before.get(name), after.get(name), state.inventories.get(name)
            restored = now
            if now == planned:
                restored = was
            elif was and planned and now and change.root_provider_uuid not in self._tree.roots:
                # Other plans change a sharing provider too; each takes back its own part.
                total = now.total - planned.total + was.total
                restored = replace(now, total=max(total, 1))
            elif was != planned or change.is_created:
                self._refuse('changed', resource_class=name, provider=change.name)
            if restored is not None:
                yield name, restored

    def _find_targets(self) -> None:
        state = self.target_state
        for move in self._tree.moves:
            key = InventoryKey(self._uuids[move.to_provider], move.to_resource_class)
            origin = InventoryKey(self._uuids[move.from_provider], move.resource_class)
            targets = state.targets.setdefault(key, [])
            if (back := Target(origin, move.from_provider)) not in targets:
                targets.append(back)
            if not state.is_local(state.providers[key.provider_uuid]):
                state.limited[key] = dict(self._limits(key))
        for key, targets in state.targets.items():
            provider = state.providers[key.provider_uuid]
            if key.resource_class in provider.inventories and key not in state.limited:
                targets.append(Target(key, provider.name, stays=True))

    def _limits(self, key: InventoryKey) -> Iterator[tuple[str, int]]:
        for holding, rows in self._rows.items():
            moved = sum(row.amount for row in rows if row.moves)
            if holding.inventory == key and (now := min(moved, allocated(self._snapshot, holding))):
                yield holding.consumer_uuid, now

    def _tolerate(self) -> None:
        """Let an inventory be over-committed again, if it was before and gets nothing back."""
        reached = {
            target.key
            for targets in self.target_state.targets.values()
            for target in targets
            if not target.stays
        }
        for change in self._tree.providers:
            for name in change.content_before.inventories:
                excess, key = -change.content_before.free(name), InventoryKey(change.uuid, name)
                if excess > 0 and key not in reached:
                    self.target_state.overcommitted[key] = excess

    def _take_back(self) -> None:
        """Take back the additions: consumers lose exactly the amounts that the plan gave them."""
        additions = {
            (row.consumer_uuid, row.to_provider, row.resource_class): row.amount
            for row in self._tree.reasons
            if row.from_provider is None
        }
        moved = {(move.to_provider, move.to_resource_class) for move in self._tree.moves}
        added = [
            (change, name)
            for change in self._tree.providers
            for name in sorted(change.content_after.inventories)
            if name not in change.content_before.inventories and (change.name, name) not in moved
        ]
        for change, name in added:
            for consumer in self._snapshot.consumers_on(change.uuid):
                amount = consumer.amount(change.uuid, name)
                if amount and amount != additions.get((consumer.uuid, change.name, name)):
                    holding = f'{consumer.uuid} holds {amount} {name} of {change.name}'
                    self._refuse('bad-row', reason=f'{holding}, which the plan did not give it')
                elif amount:
                    losses = self.target_state.additions.setdefault(consumer.uuid, {})
                    losses[InventoryKey(change.uuid, name)] = -amount

    def assigned(self) -> Iterator[tuple[HoldingKey, list[PlannedRow]]]:
        """Return the rows of the allocations whose former place the plan knows."""
        planned = {change.uuid: change.after for change in self._tree.consumers}
        for key, targets in self.target_state.targets.items():
            source = self.target_state.providers[key.provider_uuid].name
            stays = any(target.stays for target in targets)
            for consumer in self._snapshot.consumers_on(key.provider_uuid):
                holding = HoldingKey(consumer.uuid, *key)
                rows = self._rows.get(holding, [])
                back = [
                    _row(holding, row.amount, source, row.from_provider, row.resource_class)
                    for row in rows
                    if row.moves
                ]
                moved = sum(row.amount for row in back)
                now, expected = consumer.amount(*key), sum(row.amount for row in rows) - moved
                if consumer.uuid in planned:
                    expected = planned[consumer.uuid].amount(*key)
                if key in self.target_state.limited:
                    now = expected = min(now, moved)
                if rows and now == expected and moved <= now:
                    if moved < now and stays:
                        back.append(_row(holding, now - moved, source))
                    yield holding, back
                elif not back and stays and consumer.uuid in self._tree.residents:
                    yield holding, [_row(holding, now, source)]


def _row(
    key: HoldingKey, amount: int, source: str, target: str | None = None, target_class: str = ''
) -> PlannedRow:
    """Return a row of a rollback; without a target, of an amount that stays."""
    return PlannedRow(
        key.consumer_uuid,
        key.resource_class,
        amount,
        source,
        target or source,
        target_class or key.resource_class,
        Label.MAPPED,
        'the plan' if target else None,
    )
