"""The rollback of an applied tree: its target state, and the known rows."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.plans import Label, PlannedRow, ProviderChange, TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout.known import held, rows_by_key
from placementclient.planner.layout.target_state import (
    HoldingKey,
    Place,
    TargetProvider,
    TargetState,
    Where,
)


def lay_out_return(
    snapshot: Snapshot, tree: TreeChange, roots: Sequence[ProviderState]
) -> tuple[TargetState, dict[HoldingKey, list[PlannedRow]]]:
    """Return the target state of a rollback.

    What the plan changed becomes what it was; what others changed since stays. Consumers go back
    by the rows of the plan; where those do not suit what they hold now, it is not known.

    :raises Refused: if a provider is gone, or what the plan made of one is not there any more
    """
    layout = _Layout(snapshot, tree, roots)
    layout.build()
    if layout.causes:
        raise Refused(layout.causes)
    return layout.target_state, dict(layout.known())


class _Layout:
    def __init__(
        self, snapshot: Snapshot, tree: TreeChange, roots: Sequence[ProviderState]
    ) -> None:
        self._snapshot, self._tree = snapshot, tree
        self.causes: list[Cause] = []
        self.target_state = TargetState(roots, is_return=True)
        self._rows = rows_by_key(tree, backwards=True)

    def build(self) -> None:
        for change in self._tree.providers:
            state = self._snapshot.providers.get(change.uuid)
            if state is None:
                self._refuse(f'{change.name} is gone')
            else:
                self.target_state.providers[change.uuid] = self._provider(change, state)
        if not self.causes:
            self._find_places()
            self._tolerate()
            self._take_back()
            self._keep_room_for_others()

    def _refuse(self, reason: str) -> None:
        self.causes.append(Cause('bad-row', self._tree.root_provider_name, reason=reason))

    def _tolerate(self) -> None:
        """Let a place be over-committed again, if it was before and gets nothing back."""
        reached = {
            place.where
            for places in self.target_state.places.values()
            for place in places
            if not place.stays
        }
        for change in self._tree.providers:
            for name, was in change.content_before.inventories.items():
                excess = change.content_before.used(name) - was.capacity
                where = Where(change.uuid, name)
                if excess > 0 and where not in reached:
                    self.target_state.overcommitted[where] = excess

    def _keep_room_for_others(self) -> None:
        """Refuse to take from a target of several trees what others use."""
        for target in self.target_state.providers.values():
            if target.before is None or self.target_state.is_own(target):
                continue
            for name, used in target.before.usages.items():
                where = Where(target.uuid, name)
                now, then = target.before.inventories.get(name), target.inventories.get(name)
                used -= sum(self.target_state.limited.get(where, {}).values())
                room = then.capacity if then else 0
                excess = self.target_state.overcommitted.get(where, 0)
                if now != then and used > room + excess:
                    root = self._tree.root_provider_name
                    self.causes.append(
                        Cause(
                            'still-in-use',
                            root,
                            provider=target.name,
                            room=room,
                            resource_class=name,
                            used=used,
                        )
                    )

    def _take_back(self) -> None:
        """Of what providers got without a move, consumers lose exactly what the plan gave them."""
        given = {
            (row.consumer_uuid, row.to_provider, row.resource_class): row.amount
            for row in self._tree.rows
            if row.from_provider is None
        }
        moved = {(move.to_provider, move.to_resource_class) for move in self._tree.moves}
        for change in self._tree.providers:
            gained = (
                change.content_after.inventories.keys() - change.content_before.inventories.keys()
            )
            for name in sorted(gained):
                if (change.name, name) not in moved:
                    self._take_back_of(change, name, given)

    def _take_back_of(
        self,
        change: ProviderChange,
        name: str,
        given: Mapping[tuple[str, str | None, str], int],
    ) -> None:
        for consumer in self._snapshot.consumers_on(change.uuid):
            amount = consumer.amount(change.uuid, name)
            if amount and amount != given.get((consumer.uuid, change.name, name)):
                self._refuse(
                    f'{consumer.uuid} holds {amount} {name} of {change.name}, which the plan did '
                    'not give it'
                )
            elif amount:
                removed = self.target_state.removed.setdefault(consumer.uuid, {})
                removed[Where(change.uuid, name)] = amount

    def _provider(self, change: ProviderChange, state: ProviderState) -> TargetProvider:
        before, after = change.content_before, change.content_after
        target = TargetProvider(
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
            target.traits = set(state.traits - (after.traits - before.traits))
            target.traits |= before.traits - after.traits
            target.aggregates -= after.aggregates - before.aggregates
        return target

    def _inventories(
        self, change: ProviderChange, state: ProviderState
    ) -> Iterator[tuple[str, Inventory]]:
        """Return the inventories that the plan changed, as they were before."""
        before, after = change.content_before.inventories, change.content_after.inventories
        for name in sorted(before.keys() | after.keys() | state.inventories.keys()):
            was, planned, now = before.get(name), after.get(name), state.inventories.get(name)
            if now == planned:
                restored = was
            elif was == planned and not change.is_created:
                restored = now
            elif was and planned and now and change.root_provider_uuid not in self._tree.roots:
                # Other plans change a sharing provider too; each takes back its own part.
                total = now.total - planned.total + was.total
                restored = replace(now, total=max(total, 1))
            else:
                self.causes.append(
                    Cause(
                        'changed',
                        self._tree.root_provider_name,
                        resource_class=name,
                        provider=change.name,
                    )
                )
                restored = now
            if restored is not None:
                yield name, restored

    def _find_places(self) -> None:
        uuids = {change.name: change.uuid for change in self._tree.providers}
        target_state = self.target_state
        for move in self._tree.moves:
            target = target_state.providers[uuids[move.to_provider]]
            where = Where(target.uuid, move.to_resource_class)
            back = Place(Where(uuids[move.from_provider], move.resource_class), move.from_provider)
            places = target_state.places.setdefault(where, [])
            if back not in places:
                places.append(back)
            if not target_state.is_own(target):
                target_state.limited[where] = dict(self._limits(where))
        for where, places in target_state.places.items():
            target = target_state.providers[where.provider_uuid]
            if where.resource_class in target.inventories and where not in target_state.limited:
                places.append(Place(where, target.name, stays=True))

    def _limits(self, where: Where) -> Iterator[tuple[str, int]]:
        for key, rows in self._rows.items():
            if key.where == where and (now := held(self._snapshot, key)):
                yield key.consumer_uuid, min(now, sum(row.amount for row in rows))

    def known(self) -> Iterator[tuple[HoldingKey, list[PlannedRow]]]:
        planned = {change.uuid: change.after.allocations for change in self._tree.consumers}
        kept = self._kept()
        for where, places in self.target_state.places.items():
            provider_uuid, name = where
            source = self.target_state.providers[provider_uuid].name
            stays = any(place.stays for place in places)
            for consumer in self._snapshot.consumers_on(provider_uuid):
                key = HoldingKey(consumer.uuid, provider_uuid, name)
                rows = self._rows.get(key, [])
                moved = sum(row.amount for row in rows)
                now = consumer.amount(provider_uuid, name)
                if consumer.uuid in planned:
                    expected = planned[consumer.uuid].get(provider_uuid, {}).get(name, 0)
                else:
                    expected = kept.get(key, 0)
                if where in self.target_state.limited:
                    now = expected = min(now, moved)
                if (rows or key in kept) and now == expected and moved <= now:
                    known = [
                        self._row(key, row.amount, source, row.from_provider, row.resource_class)
                        for row in rows
                    ]
                    if moved < now and stays:
                        known.append(self._row(key, now - moved, source))
                    yield key, known
                elif not rows and stays and consumer.uuid in self._tree.residents:
                    yield key, [self._row(key, now, source)]

    def _row(
        self,
        key: HoldingKey,
        amount: int,
        source: str,
        target: str | None = None,
        target_class: str = '',
    ) -> PlannedRow:
        """Return a row of the way back; without a target, of what stays."""
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

    def _kept(self) -> dict[HoldingKey, int]:
        """Return the holdings that the rows of the plan leave in place."""
        uuids = {change.name: change.uuid for change in self._tree.providers}
        kept: dict[HoldingKey, int] = {}
        for row in self._tree.rows:
            place = (row.to_provider, row.to_resource_class)
            if row.from_provider and place == (row.from_provider, row.resource_class):
                uuid = uuids[row.from_provider]
                key = HoldingKey(row.consumer_uuid, uuid, row.resource_class)
                kept[key] = kept.get(key, 0) + row.amount
        return kept
