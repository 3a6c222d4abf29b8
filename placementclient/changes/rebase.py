"""A change that was decided on an earlier state, merged with the present one. Pure.

Applying a plan, completing one that was cut off, taking it back and verifying it are the same
question: which parts of the change are still to be made, which are made, and which parts has
another client changed since?
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from placementclient.changes.diff import diff
from placementclient.changes.obstacles import Obstacle
from placementclient.changes.operations import Operation, onto
from placementclient.changes.own_values import OwnValues, held_by
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True, slots=True)
class Rebased:
    """A change, merged with another state.

    :param operations: those that are still to be made, as far as nothing is in the way
    :param obstacles: the parts that another client has changed, which stay as they are
    :param is_moved: whether the inventories and allocations of an atomic change are moved already
    """

    operations: tuple[Operation, ...]
    obstacles: tuple[Obstacle, ...] = ()
    is_moved: bool = False

    @property
    def is_done(self) -> bool:
        return not self.operations and not self.obstacles


def rebase(
    before: Snapshot,
    after: Snapshot,
    there: Snapshot,
    sent: Iterable[Operation] = (),
    *,
    is_atomic: bool = False,
    is_back: bool = False,
) -> Rebased:
    """Merge the change from one snapshot to another with a third one.

    Traits and aggregates that others have added or removed stay so. An inventory is compared field
    by field, as others write other fields of it; of a consumer all allocations count, and the owner
    if the change sets another one.

    :param there: at least the same providers and consumers, as they are
    :param sent: operations of this change that were sent before: what they changed is its own
    :param is_atomic: whether an inventory that changes is compared whole, as it moves whole
    :param is_back: whether this is the way back, on which a consumer gets nothing that others had
        ended before the change was made
    """
    rebase = _Rebase(before, after, there, OwnValues(sent), is_atomic, is_back)
    rebase.providers()
    rebase.consumers()
    wanted = Snapshot(rebase.states.values(), rebase.held.values())
    operations = diff(there, wanted, is_atomic=is_atomic)
    return Rebased(operations, tuple(rebase.obstacles))


def additions(
    planned: ProviderState, there: ProviderState, *, is_own_position: bool = False
) -> Iterator[Obstacle]:
    """Return everything that others have added to a provider that the change deletes.

    Nothing would bring it back. Whatever they have taken off the provider is no obstacle.

    :param is_own_position: whether the plan itself gave it the name and the parent that it has
    """
    added: dict[str, Iterable[str]] = {
        'inventory': there.inventories.keys() - planned.inventories.keys(),
        'traits': there.traits - planned.traits,
        'aggregates': there.aggregates - planned.aggregates,
    }
    if not is_own_position:
        was, found = _position(planned), _position(there)
        added['name'] = {found[0]} - {was[0]}
        added['parent'] = {found[1] or 'none'} - {was[1] or 'none'}
    for label, values in added.items():
        if values:
            shown = ', '.join(sorted(values))
            yield Obstacle('provider', planned.uuid, planned.name, label, None, None, shown)


class _Rebase:
    def __init__(
        self,
        before: Snapshot,
        after: Snapshot,
        there: Snapshot,
        own: OwnValues,
        is_atomic: bool,
        is_back: bool,
    ) -> None:
        self._before, self._after, self._there, self._own = before, after, there, own
        self._is_atomic, self._is_back = is_atomic, is_back
        self.states = dict(there.providers)
        self.held = dict(there.consumers)
        self.obstacles: list[Obstacle] = []
        self._planned_for = _held_on(after.consumers.values())

    def providers(self) -> None:
        for uuid in {**self._before.providers, **self._after.providers}:
            before = self._before.providers.get(uuid)
            after = self._after.providers.get(uuid)
            there = self._there.providers.get(uuid)
            if after is None:
                self._gone(before, there)
            elif there is None and before is None:
                self.states[uuid] = after
            elif there is None:
                self._object(after, message=f'{after.name} does not exist any more')
            else:
                self.states[uuid] = self._merged(
                    before or ProviderState(after.provider), after, there
                )

    def consumers(self) -> None:
        for uuid in {**self._before.consumers, **self._after.consumers}:
            before = held_by(self._before.consumers.get(uuid))
            wanted = self._after.consumers.get(uuid)
            there = self._there.consumers.get(uuid)
            if wanted is not None and there is not None:
                # Placement lets no consumer lose its type.
                wanted = replace(wanted, type=wanted.type or there.type)
            after, found = held_by(wanted), held_by(there)
            if wanted is not None and there is not None and before[1] == after[1] != found[1]:
                # The change does not set the owner: another client may have set another one.
                wanted = replace(
                    wanted, project_id=there.project_id, user_id=there.user_id, type=there.type
                )
                before, after = (before[0], found[1]), held_by(wanted)
            if before == after or found == after or self._is_ended(uuid, found):
                continue
            if found != before and found not in self._own.consumers.get(uuid, ()):
                self.obstacles.append(
                    Obstacle('consumer', uuid, uuid, 'allocations', before[0], after[0], found[0])
                )
            elif wanted is None or not wanted.allocations:
                del self.held[uuid]
            else:
                self.held[uuid] = replace(wanted, generation=there.generation if there else None)
        self._crowded()
        self._settle()
        self._overused()

    def _is_ended(self, uuid: str, found: tuple[Allocations, object]) -> bool:
        """Return True if others had ended a consumer before the change was made."""
        is_made = self._is_back and self._own.is_any
        return is_made and not found[0] and uuid not in self._own.consumers

    def _settle(self) -> None:
        """Refuse parts of the change that need a refused part, until nothing changes."""
        while True:
            decided = dict(self.states), dict(self.held)
            self._users()
            self._names()
            self._stranded()
            if decided == (self.states, self.held):
                return

    def _crowded(self) -> None:
        """Refuse allocations for which there is no room any more, though there was when planned."""
        used = self._used()
        for uuid, consumer in list(self.held.items()):
            there = self._there.consumers.get(uuid)
            full = () if consumer is there else self._full_for(consumer, there, used)
            if found := next(iter(full), None):
                self._refuse(consumer, there, found)

    def _full_for(
        self, consumer: Consumer, there: Consumer | None, used: Callable[[str, str], int]
    ) -> Iterator[str]:
        """Say where a consumer gets something that there is no room for."""
        for uuid, resources in consumer.allocations.items():
            state = self.states.get(uuid)
            for name, amount in resources.items() if state else ():
                is_gain = amount > (there.amount(uuid, name) if there else 0)
                if state and is_gain and self._is_full(state, name, used):
                    yield f'{state.name} has no room for its {name} any more'

    def _refuse(self, consumer: Consumer, there: Consumer | None, found: str) -> None:
        uuid = consumer.uuid
        self.obstacles.append(Obstacle('consumer', uuid, uuid, '', None, None, found))
        if there is None:
            del self.held[uuid]
        else:
            self.held[uuid] = there

    def _used(self) -> Callable[[str, str], int]:
        """Return how much is used of a class of a provider once the change is made."""
        held = _held_on(self.held.values())
        before = _held_on(self._there.consumers.values())

        def used(uuid: str, name: str) -> int:
            there = self._there.providers.get(uuid)
            now = there.used(name) if there else 0
            return now + held[uuid][name] - before[uuid][name]

        return used

    def _is_full(self, state: ProviderState, name: str, used: Callable[[str, str], int]) -> bool:
        """Return True if more would be used than there is, and than was planned."""
        inventory = state.inventories.get(name)
        room = inventory.capacity if inventory else 0
        return used(state.uuid, name) > max(room, self._expected(state.uuid, name))

    def _expected(self, uuid: str, name: str) -> int:
        """Return how much the plan expects to be used of a class of a provider."""
        planned = self._after.providers.get(uuid)
        return max(planned.used(name) if planned else 0, self._planned_for[uuid][name])

    def _gone(self, before: ProviderState | None, there: ProviderState | None) -> None:
        assert before is not None
        if there is None:
            return
        blocked = len(self.obstacles)
        self._merged(before, replace(before, inventories={}), there)
        own = self._own.positions.get(there.uuid, ())
        self.obstacles += additions(before, there, is_own_position=_position(there) in own)
        if len(self.obstacles) == blocked:
            del self.states[before.uuid]

    def _merged(
        self, before: ProviderState, after: ProviderState, there: ProviderState
    ) -> ProviderState:
        """One provider with the change made, as far as nothing is in the way."""
        return replace(
            there,
            provider=self._position(before, after, there),
            inventories=self._inventories(before, after, there),
            traits=onto(before.traits, after.traits, there.traits),
            aggregates=onto(before.aggregates, after.aggregates, there.aggregates),
        )

    def _position(
        self, before: ProviderState, after: ProviderState, there: ProviderState
    ) -> Provider:
        provider = there.provider
        own = self._own.positions.get(there.uuid, set())
        for key, label in (('name', 'name'), ('parent_provider_uuid', 'parent')):
            was, wanted = getattr(before.provider, key), getattr(after.provider, key)
            found = getattr(there.provider, key)
            if was == wanted and (before.uuid in self._before.providers or found == wanted):
                continue
            if found in (was, wanted) or _position(there) in own:
                provider = replace(provider, **{key: wanted})
            else:
                self._object(after, label, was, wanted, found)
        return provider

    def _inventories(
        self, before: ProviderState, after: ProviderState, there: ProviderState
    ) -> dict[str, Inventory]:
        result = dict(there.inventories)
        for name in {**before.inventories, **after.inventories}:
            was, wanted = before.inventories.get(name), after.inventories.get(name)
            found = there.inventories.get(name)
            if found == wanted:
                continue
            # Also room that was made for a moment, of what does not change otherwise.
            found = self._own.without(there.uuid, name, found) if found != was else found
            if found in (was, wanted):
                merged = wanted
            elif was == wanted:
                merged = found
            elif was is None or wanted is None or found is None or self._is_atomic:
                self._object(after, name, was, wanted, found)
                continue
            else:
                merged = self._fields(after, name, (was, wanted, found))
            if merged is None:
                result.pop(name, None)
            else:
                result[name] = merged
        return result

    def _fields(
        self, state: ProviderState, name: str, sides: tuple[Inventory, Inventory, Inventory]
    ) -> Inventory:
        was, wanted, found = (inventory.as_fields() for inventory in sides)
        changed = {key for key in was if was[key] != wanted[key]}
        for key in sorted(changed):
            if found[key] not in (was[key], wanted[key]):
                self._object(state, f'{name}:{key}', was[key], wanted[key], found[key])
                changed.discard(key)
        return sides[2].with_fields({key: wanted[key] for key in changed})

    def _names(self) -> None:
        """Refuse to make or rename a provider to a name that another provider has."""
        taken = {state.name: uuid for uuid, state in self._there.providers.items()}
        for uuid, state in list(self.states.items()):
            holder = taken.get(state.name, uuid)
            other = self.states.get(holder)
            is_taken = holder != uuid and other is not None and other.name == state.name
            if is_taken and not self._stays(uuid):
                self._object(state, message=f'{state.name} exists, with the UUID {holder}')
                self._leave(uuid)

    def _stays(self, uuid: str) -> bool:
        """Return True if a provider is left as it is."""
        return self.states.get(uuid) == self._there.providers.get(uuid)

    def _leave(self, uuid: str) -> None:
        """Leave a provider as it is; if it does not exist, do not make it."""
        if uuid in self._there.providers:
            self.states[uuid] = self._there.providers[uuid]
        else:
            del self.states[uuid]

    def _stranded(self) -> None:
        """Refuse what was meant for a provider that is not made: its consumers and children."""
        missing = self._after.providers.keys() - self.states.keys()
        for uuid, state in list(self.states.items()):
            if state.provider.parent_provider_uuid in missing and not self._stays(uuid):
                self._object(state, '', None, None, 'its parent is not made')
                self._leave(uuid)
        for uuid, consumer in list(self.held.items()):
            there = self._there.consumers.get(uuid)
            if missing & consumer.allocations.keys() and consumer != there:
                self._refuse(consumer, there, 'its provider is not made')

    def _users(self) -> None:
        """Refuse to delete a provider that others use, or that others have put children below."""
        gone = self._there.providers.keys() - self.states.keys()
        for consumer in self.held.values():
            for uuid in gone & consumer.allocations.keys():
                self._keep(uuid, 'allocations', f'consumer {consumer.uuid}')
        for state in list(self.states.values()):
            parent = state.provider.parent_provider_uuid
            if parent in gone and parent not in self.states:
                self._keep(parent, 'children', state.name)

    def _overused(self) -> None:
        """Refuse to shrink an inventory below what more is used of it than was planned."""
        used = self._used()
        for uuid, state in self.states.items():
            there = self._there.providers.get(uuid)
            if there is None or uuid not in self._after.providers:
                continue
            kept = dict(state.inventories)
            for name, was in there.inventories.items():
                room = kept[name].capacity if name in kept else 0
                if room < was.capacity and self._is_full(state, name, used):
                    found = f'{used(uuid, name)} used'
                    self._object(state, name, was.capacity, room, found)
                    kept[name] = was
            if kept != state.inventories:
                self.states[uuid] = replace(state, inventories=kept)

    def _keep(self, uuid: str, field: str, found: str) -> None:
        state = self._there.providers[uuid]
        self._object(state, field, None, None, found)
        self.states[uuid] = state

    def _object(
        self,
        state: ProviderState,
        field: str = '',
        before: Any = None,
        after: Any = None,
        found: Any = None,
        message: str = '',
    ) -> None:
        self.obstacles.append(
            Obstacle('provider', state.uuid, state.name, field, before, after, found, message)
        )


def _position(state: ProviderState) -> tuple[str, str | None]:
    return state.name, state.provider.parent_provider_uuid


def _held_on(consumers: Iterable[Consumer]) -> dict[str, Counter[str]]:
    """Return how much consumers hold together, by provider and class."""
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for consumer in consumers:
        for uuid, resources in consumer.allocations.items():
            held[uuid].update(resources)
    return held
