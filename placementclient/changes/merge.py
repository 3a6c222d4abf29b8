# SPDX-License-Identifier: Apache-2.0
"""A change that was decided on an earlier state, merged with the present one. Pure.

Applying a plan, completing one that was cut off, taking it back and verifying it are the same
question: which parts of the change are still to be made, which are made, and which parts has
another client changed since?
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from placementclient.changes.diff import Transfer, diff
from placementclient.changes.obstacles import (
    find_unplanned_parts,
    make_obstacle,
    make_retained_obstacle,
)
from placementclient.changes.operations import Operation, merge_names
from placementclient.changes.summary import format_value
from placementclient.changes.transfers import transfer_in_steps
from placementclient.changes.written_values import WrittenValues, get_compared_values
from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.findings import Finding
from placementclient.model.inventories import Inventory
from placementclient.model.plans import ConsumerChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The parts of a change that remain after its merge with a live state.

    :param operations: those that are still to be made, as far as nothing is in the way
    :param obstacles: the parts that another client has changed, which stay as they are
    :param has_pending_request: whether the one request of an atomic change is still to be sent
    """

    operations: tuple[Operation, ...]
    obstacles: tuple[Finding, ...] = ()
    has_pending_request: bool = False

    @property
    def is_done(self) -> bool:
        """Return whether no operation remains, and no obstacle is in the way."""
        return not self.operations and not self.obstacles


def merge(
    before: Snapshot,
    after: Snapshot,
    live: Snapshot,
    sent: Iterable[Operation] | None = None,
    *,
    backward: bool = False,
) -> MergeResult:
    """Merge the change from one snapshot to another with a third one.

    Traits and aggregates that others have added or removed stay so. Inventories are compared by
    field; of a consumer all allocations count, and the owner if the change sets another one.

    :param live: the present state of at least all providers and consumers of both snapshots
    :param sent: operations of this change that were sent before: what they changed is its own;
        ``None``: they are not known
    :param backward: whether this is a rollback: it gives nothing to a consumer whose allocations
        another client had deleted before the change was applied, and makes no provider again that
        another client had deleted, unless a consumer or a child needs it
    """
    return Merge(before, after, live, WrittenValues(sent), backward).merge_all()


class Merge:
    """A merge of a change that is made in steps.

    Each step brings :attr:`states` and :attr:`consumers` nearer to their values after the change,
    or leaves a part as it is and adds to :attr:`obstacles`.

    An atomic change overrides the methods on changed inventories, on room and on operations.
    """

    _transfer: Transfer = staticmethod(transfer_in_steps)

    def __init__(
        self,
        before: Snapshot,
        after: Snapshot,
        live: Snapshot,
        written: WrittenValues,
        backward: bool,
    ) -> None:
        self._before, self._after, self._live, self._written = before, after, live, written
        self._backward = backward
        # Only a rollback that knows its own requests can tell what others have deleted.
        self._knows_deletions = backward and written.is_complete
        self.states = dict(live.providers)
        self.consumers = dict(live.consumers)
        self.obstacles: list[Finding] = []
        self._planned_gains = sum_gains(({}, user.allocations) for user in after.consumers.values())

    def merge_all(self) -> MergeResult:
        """Return the remaining operations, and the obstacles."""
        self._merge_providers()
        self._merge_consumers()
        if self._knows_deletions:
            self._skip_deleted_providers()
        # Placement would refuse these. A refused part takes along the parts that need it.
        self._refuse_inadmissible_consumers()
        self._refuse_dependent_parts()
        self._keep_used_inventories()
        desired = Snapshot(self.states.values(), self.consumers.values())
        return MergeResult(diff(self._live, desired, self._transfer), tuple(self.obstacles))

    def _merge_providers(self) -> None:
        for uuid in {**self._before.providers, **self._after.providers}:
            before = self._before.providers.get(uuid)
            after = self._after.providers.get(uuid)
            live = self._live.providers.get(uuid)
            if after is None:
                self._delete_provider(before, live)
            elif live is None and before is None:
                self.states[uuid] = after
            elif live is None:
                message = f'{after.name} does not exist any more'
                self.obstacles.append(make_obstacle(after.name, message))
            else:
                before = before or ProviderState(after.provider)
                self.states[uuid] = self._merge_provider(before, after, live)

    def _merge_consumers(self) -> None:
        for uuid in {**self._before.consumers, **self._after.consumers}:
            before, after = (side.consumers.get(uuid) for side in (self._before, self._after))
            self._merge_consumer(uuid, before or Consumer(uuid), after or Consumer(uuid))

    def _merge_consumer(self, uuid: str, before: Consumer, after: Consumer) -> None:
        """Give a consumer its allocations after the change, unless others have changed it."""
        live, change = self._live.consumers.get(uuid), ConsumerChange(before, after)
        if live is not None:
            change = change.with_owner_of(live)
        before, after = change.before, change.after
        was, desired, now = map(get_compared_values, (before, after, live))
        is_ended = not now.allocations and uuid not in self._written.consumers
        if desired in (was, now) or (is_ended and self._knows_deletions):
            return
        is_written = now in self._written.consumers.get(uuid, ())
        if not self._backward and not is_written and change.has_outdated_losses(live):
            self.obstacles.append(make_retained_obstacle(uuid))
        elif now != was and not is_written:
            held, *planned = (format_value(side.allocations) for side in (now, was, desired))
            message = f'allocations are {held}, neither {" nor ".join(planned)}'
            self._note_consumer_obstacle(uuid, message)
        elif not after.allocations:
            del self.consumers[uuid]
        else:
            self.consumers[uuid] = replace(after, generation=live.generation if live else None)

    def _skip_deleted_providers(self) -> None:
        """Do not create again, in a rollback, providers that others deleted before the change."""
        needed = {uuid for consumer in self.consumers.values() for uuid in consumer.allocations}
        made_again = self._after.providers.keys() - self._before.providers.keys()
        deleted = made_again - self._live.providers.keys() - self._written.providers - needed
        for state in reversed(list(self._after.walk())):
            parents = (child.provider.parent_provider_uuid for child in self.states.values())
            if state.uuid in deleted and state.uuid not in parents:
                del self.states[state.uuid]

    def _refuse_dependent_parts(self) -> None:
        """Refuse each part of the change that needs a refused one, directly or through others."""
        while True:
            decided = dict(self.states), dict(self.consumers)
            self._keep_used_providers()
            self._refuse_taken_names()
            self._refuse_stranded_parts()
            if decided == (self.states, self.consumers):
                return

    def _refuse_inadmissible_consumers(self) -> None:
        """Refuse allocations for which there is no room any more, though there was when planned."""
        gains = self._sum_usage_gains()
        for consumer in list(self.consumers.values()):
            live = self._live.consumers.get(consumer.uuid)
            full = (
                f'{state.name} has no room for its {name} any more'
                for state, name, amount in self._list_changed_amounts(consumer)
                if amount > (live.amount(state.uuid, name) if live else 0)
                and self._is_full(state, name, gains)
            )
            if message := next(full, None):
                self._refuse_consumer(consumer, message)

    def _list_changed_amounts(self, consumer: Consumer) -> Iterator[tuple[ProviderState, str, int]]:
        """Yield the allocations that the change sets for a consumer: provider, class, amount."""
        if consumer is self._live.consumers.get(consumer.uuid):
            return
        for uuid, resources in consumer.allocations.items():
            if state := self.states.get(uuid):
                for name, amount in resources.items():
                    yield state, name, amount

    def _refuse_consumer(self, consumer: Consumer, message: str) -> None:
        """Add an obstacle with a message, and leave a consumer as it is now."""
        uuid = consumer.uuid
        self._note_consumer_obstacle(uuid, message)
        if uuid in self._live.consumers:
            self.consumers[uuid] = self._live.consumers[uuid]
        else:
            del self.consumers[uuid]

    def _sum_usage_gains(self) -> Mapping[str, Counter[str]]:
        """Return how much the change, as merged, adds to the usage, by provider UUID and class."""
        live, merged, none = self._live.consumers, self.consumers, Consumer('')
        return sum_gains(
            (live.get(uuid, none).allocations, merged.get(uuid, none).allocations)
            for uuid in {**live, **merged}
        )

    def _find_usage_after(self, uuid: str, name: str, gains: Mapping[str, Counter[str]]) -> int:
        """Return the usage of a class after a change that adds ``gains``, by UUID and class."""
        live = self._live.providers.get(uuid)
        return gains[uuid][name] + (live.used(name) if live else 0)

    def _is_full(self, state: ProviderState, name: str, gains: Mapping[str, Counter[str]]) -> bool:
        """Return whether the usage with ``gains`` exceeds the capacity and the reviewed usage."""
        reviewed = self._get_reviewed_usage(state.uuid, name, gains)
        return self._find_usage_after(state.uuid, name, gains) > max(state.capacity(name), reviewed)

    def _get_reviewed_usage(self, uuid: str, name: str, gains: Mapping[str, Counter[str]]) -> int:
        """Return the planned usage if it exceeds the planned capacity, which may be none; else 0.

        :param gains: what the change adds to usages, by provider UUID and class, for subclasses
        """
        planned = self._after.providers.get(uuid)
        used = self._get_planned_usage(uuid, name)
        return used if planned is None or planned.capacity(name) < used else 0

    def _get_planned_usage(self, uuid: str, name: str) -> int:
        """Return the usage of a class of a provider after the change, by the plan."""
        planned = self._after.providers.get(uuid)
        # The usages may not have been read.
        return max(planned.used(name) if planned else 0, self._planned_gains[uuid][name])

    def _delete_provider(self, before: ProviderState | None, live: ProviderState | None) -> None:
        """Delete a provider, unless it is gone (``None``) or others have added something to it."""
        if before is None or live is None:
            return
        blocked = len(self.obstacles)
        # For its obstacles alone: others may have changed what goes.
        self._merge_provider(before, replace(before, inventories={}), live)
        is_own_position = live.position in self._written.positions.get(live.uuid, ())
        self.obstacles += find_unplanned_parts(before, live, is_own_position=is_own_position)
        if len(self.obstacles) == blocked:
            del self.states[before.uuid]

    def _merge_provider(
        self, before: ProviderState, after: ProviderState, live: ProviderState
    ) -> ProviderState:
        """Return a live provider with the parts of the change that have no obstacle."""
        return replace(
            live,
            provider=self._merge_position(before, after, live),
            inventories=self._merge_inventories(before, after, live),
            traits=merge_names(before.traits, after.traits, live.traits),
            aggregates=merge_names(before.aggregates, after.aggregates, live.aggregates),
        )

    def _merge_position(
        self, before: ProviderState, after: ProviderState, live: ProviderState
    ) -> Provider:
        """Return the live provider with its new name and parent; obstacles keep the live ones."""
        provider = live.provider
        is_written = live.position in self._written.positions.get(live.uuid, ())
        for key, label in (('name', 'name'), ('parent_provider_uuid', 'parent')):
            was, desired, now = (getattr(state.provider, key) for state in (before, after, live))
            if was == desired and (before.uuid in self._before.providers or now == desired):
                continue
            if now in (was, desired) or is_written:
                provider = replace(provider, **{key: desired})
            else:
                self._note_obstacle(after, label, was, desired, now)
        return provider

    def _merge_inventories(
        self, before: ProviderState, after: ProviderState, live: ProviderState
    ) -> dict[str, Inventory]:
        """Return by class the live inventories of a provider with those that the change sets."""
        result = dict(live.inventories)
        for name in {**before.inventories, **after.inventories}:
            was, desired, now = (state.inventories.get(name) for state in (before, after, live))
            if now not in (was, desired):
                # It may be a temporary inventory of this change.
                now = self._written.compute_inventory_without_writes(live.uuid, name, now)
            if now in (was, desired):
                merged = desired
            elif was == desired:
                merged = now
            elif was is None or desired is None or now is None:
                # Others have added or removed what the change sets.
                self._note_obstacle(after, name, was, desired, now)
                continue
            else:
                merged = self._merge_changed_inventory(after, name, was, desired, now)
            if merged is None:
                result.pop(name, None)
            else:
                result[name] = merged
        return result

    def _merge_changed_inventory(
        self, state: ProviderState, name: str, before: Inventory, after: Inventory, live: Inventory
    ) -> Inventory:
        """Return an inventory with its changed fields; those that others have changed stay live."""
        was, desired, now = (inventory.as_fields() for inventory in (before, after, live))
        changed = {key for key in was if was[key] != desired[key]}
        for key in sorted(changed):
            if now[key] not in (was[key], desired[key]):
                self._note_obstacle(state, f'{name}:{key}', was[key], desired[key], now[key])
                changed.discard(key)
        return live.with_fields({key: desired[key] for key in changed})

    def _refuse_taken_names(self) -> None:
        """Refuse to make or rename a provider to a name that another provider has."""
        taken = {state.name: uuid for uuid, state in self._live.providers.items()}
        for uuid, state in list(self.states.items()):
            holder = taken.get(state.name, uuid)
            other = self.states.get(holder)
            is_taken = holder != uuid and other is not None and other.name == state.name
            if is_taken and not self._is_provider_as_live(uuid):
                self._refuse_provider(state, f'{state.name} exists, with the UUID {holder}')

    def _is_provider_as_live(self, uuid: str) -> bool:
        """Return whether the merge leaves a provider as it is live, or missing."""
        return self.states.get(uuid) == self._live.providers.get(uuid)

    def _refuse_provider(self, state: ProviderState, message: str) -> None:
        """Add an obstacle, and leave a provider as it is; a new one is not created."""
        self.obstacles.append(make_obstacle(state.name, message))
        if state.uuid in self._live.providers:
            self.states[state.uuid] = self._live.providers[state.uuid]
        else:
            del self.states[state.uuid]

    def _refuse_stranded_parts(self) -> None:
        """Refuse the consumers and children of a provider that is not made."""
        missing = self._after.providers.keys() - self.states.keys()
        for uuid, state in list(self.states.items()):
            is_stranded = state.provider.parent_provider_uuid in missing
            if is_stranded and not self._is_provider_as_live(uuid):
                self._refuse_provider(state, f'{state.name}: its parent is not created')
        for uuid, consumer in list(self.consumers.items()):
            if consumer != self._live.consumers.get(uuid) and missing & consumer.allocations.keys():
                self._refuse_consumer(consumer, 'its provider is not created')

    def _keep_used_providers(self) -> None:
        """Refuse to delete a provider on which a consumer holds something, or a child remains."""
        gone = self._live.providers.keys() - self.states.keys()
        for consumer in self.consumers.values():
            for uuid in gone & consumer.allocations.keys():
                self._refuse_deletion(uuid, f'allocations: consumer {consumer.uuid}')
        for state in list(self.states.values()):
            parent = state.provider.parent_provider_uuid
            if parent in gone and parent not in self.states:
                self._refuse_deletion(parent, f'children: {state.name}')

    def _refuse_deletion(self, uuid: str, users: str) -> None:
        """Keep a provider that the plan deletes, and add the obstacle that it is in use.

        :param users: what uses it, as a clause: ``children: gpu0``
        """
        state = self._live.providers[uuid]
        self._refuse_provider(state, f'{state.name} has {users}')

    def _keep_used_inventories(self) -> None:
        """Refuse to shrink an inventory below a usage that has grown since the plan."""
        gains = self._sum_usage_gains()
        for uuid, state in self.states.items():
            live = self._live.providers.get(uuid)
            if live is None or uuid not in self._after.providers:
                continue
            retained = dict(state.inventories)
            for name, was in live.inventories.items():
                room = state.capacity(name)
                if room < was.capacity and self._is_full(state, name, gains):
                    used = f'{self._find_usage_after(uuid, name, gains)} used'
                    self._note_obstacle(state, name, was.capacity, room, used)
                    retained[name] = was
            if retained != state.inventories:
                self.states[uuid] = replace(state, inventories=retained)

    def _note_obstacle(
        self, state: ProviderState, part: str, before: object, after: object, live: object
    ) -> None:
        """Add an obstacle: a live value is neither that before nor that after the change."""
        values = f'{format_value(live)}, neither {format_value(before)} nor {format_value(after)}'
        self.obstacles.append(make_obstacle(state.name, f'{state.name}: {part} is {values}'))

    def _note_consumer_obstacle(self, consumer_uuid: str, message: str) -> None:
        name = f'consumer {consumer_uuid}'
        self.obstacles.append(make_obstacle(name, f'{name}: {message}'))
