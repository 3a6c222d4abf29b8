"""Repairs of faults that an audit found, each only while its facts still hold."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.changes.results import ChangeResult
from placementclient.changes.summary import rows
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.outcomes import State
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved, Repair
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.producer import Producer
from placementclient.reading.capture import capture_any

#: So much older than a finished list of servers must be what the list does not explain: listing
#: takes its time, and the clocks of two machines differ.
MARGIN = timedelta(minutes=10)
#: The result of a repair that was carried out.
DONE = 'done'


class Repairing(Producer):
    """The producer of safe repairs.

    :param snapshot: the one that was audited
    :param is_current: whether the snapshot was read just now
    :param listed: when the lists were finished by which it was decided who holds too much; ``None``
        if they are certainly younger than the snapshot
    """

    command = 'resource provider audit --fix'
    has_notes = True

    def __init__(
        self,
        client: Client,
        snapshot: Snapshot,
        repairs: Mapping[int, Repair],
        *,
        is_current: bool,
        listed: datetime | None = None,
    ) -> None:
        super().__init__(client)
        self._snapshot, self._repairs = snapshot, repairs
        self._is_current, self._listed = is_current, listed
        self._reasons: dict[int, str] = {}
        self._chosen: dict[int, Repair] = {}

    def read(self, roots: Sequence[str]) -> Snapshot:
        """Read the trees of the possible repairs, as far as they exist."""
        chosen = {
            number: repair
            for number, repair in self._repairs.items()
            if number not in self._reasons and (not roots or self._is_in(repair, roots))
        }
        self._refuse(self._young(chosen))
        self._chosen = {n: repair for n, repair in chosen.items() if n not in self._reasons}
        if self._chosen and self._is_current and not roots:
            return self._snapshot
        uuids = {uuid for repair in self._chosen.values() for uuid in _providers(repair)}
        listed = resource_provider.list(self.client) if uuids else []
        trees = {provider.root_uuid for provider in listed if provider.uuid in uuids}
        return capture_any(self.client, sorted(trees), workers=4)

    def desired(self, live: Snapshot) -> Snapshot:
        after, reasons = repaired(live, self._chosen)
        self._refuse(reasons)
        return after

    def _refuse(self, reasons: Mapping[int, str]) -> None:
        self._reasons |= reasons
        for number, reason in reasons.items():
            name = _row_of(self._repairs[number])[0]
            self.notes.append(Finding('failed', name, reason=reason))

    def ends(self, results: Sequence[ChangeResult], otherwise: str = DONE) -> dict[int, str]:
        """Return the result of each repair, by number; ``otherwise`` where nothing failed."""
        by_part = {
            (row.object, row.change): result
            for result in results
            for row in rows(result.tree.before, result.tree.after)
        }
        return {
            number: self._end(number, by_part.get(part), part) or otherwise
            for number, part in ((n, _row_of(repair)) for n, repair in self._repairs.items())
        }

    def failed(self, failure: Exception) -> dict[int, str]:
        """Return the result of each repair, by number, if planning failed."""
        return dict.fromkeys(self._repairs, f'failed: {failure}')

    def _end(self, number: int, result: ChangeResult | None, part: tuple[str, str]) -> str:
        if reason := self._reasons.get(number):
            return f'failed: {reason}'
        if result is None or part in [(row.object, row.change) for row in result.rows]:
            return ''
        if result.state is State.NOT_STARTED:
            return str(result.state.value)
        return f'failed: {result.error}' if result.error is not None else ''

    def _is_in(self, repair: Repair, roots: Collection[str]) -> bool:
        states = (self._snapshot.providers.get(uuid) for uuid in _providers(repair))
        return any(state.provider.root_uuid in roots for state in states if state)

    def _young(self, repairs: Mapping[int, Repair]) -> dict[int, str]:
        """Return the reason against each repair that the lists of Nova may be too old for."""
        if self._listed is None:
            return {}
        limit = self._listed - MARGIN
        reasons = {}
        for number, repair in repairs.items():
            if not isinstance(repair, FreeAllocations):
                continue
            modified = allocation.show(self.client, repair.consumer.uuid).last_modified
            if modified is None or parsedate_to_datetime(modified) > limit:
                reasons[number] = (
                    f'Consumer {repair.consumer.uuid} may have allocations that are younger than '
                    'the list of servers: save a snapshot, list servers and migrations after that, '
                    'and give all three'
                )
        return reasons


def _providers(repair: Repair) -> tuple[str, ...]:
    """Return the UUIDs of the providers that a repair is about."""
    if isinstance(repair, FreeAllocations):
        return repair.provider_uuids
    return (repair.provider_uuid,)


def _row_of(repair: Repair) -> tuple[str, str]:
    """Return the object and the change of the row that says that a repair is made."""
    match repair:
        case AddTrait(_, provider):
            return provider, 'traits'
        case LowerReserved(_, provider, resource_class):
            return provider, f'{resource_class}:reserved'
        case FreeAllocations(consumer):
            return f'consumer {consumer.uuid}', 'allocations'


def repaired(live: Snapshot, repairs: Mapping[int, Repair]) -> tuple[Snapshot, dict[int, str]]:
    """Return the snapshot with repairs, and the obstacles to the others, by number.

    A repair that is made already changes nothing; one of which the facts have changed is not made.
    """
    states, consumers = dict(live.providers), dict(live.consumers)
    reasons: dict[int, str] = {}
    for number, repair in repairs.items():
        if isinstance(repair, FreeAllocations):
            uuid = repair.consumer.uuid
            now = live.consumers.get(uuid, Consumer(uuid))
            if now.allocations.keys().isdisjoint(repair.provider_uuids):
                continue
            then = repair.consumer
            if (now.allocations, now.generation) != (then.allocations, then.generation):
                reasons[number] = f'The allocations of consumer {uuid} have changed since'
                continue
            consumers[uuid] = consumers[uuid].without(repair.provider_uuids)
        elif repair.provider_uuid in states:
            states[repair.provider_uuid] = _of_provider(states[repair.provider_uuid], repair)
        else:
            reasons[number] = f'There is no provider {repair.provider_name} any more'
    holding = (consumer for consumer in consumers.values() if consumer.allocations)
    return Snapshot(states.values(), holding, live.origin), reasons


def _of_provider(state: ProviderState, repair: AddTrait | LowerReserved) -> ProviderState:
    if isinstance(repair, AddTrait):
        return replace(state, traits=state.traits | {repair.trait})
    name = repair.resource_class
    inventory = state.inventories.get(name)
    if inventory is None or inventory.reserved <= inventory.total:
        return state
    return replace(
        state,
        inventories={**state.inventories, name: replace(inventory, reserved=inventory.total)},
    )
