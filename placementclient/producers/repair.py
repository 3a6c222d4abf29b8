"""Plan the repairs of faults, each only while things are as they were judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from placementclient.api import allocation, resource_provider
from placementclient.changes.plan import ChangePlan, ChangeSet, plan_of
from placementclient.changes.results import Carried, Note
from placementclient.client.http import Client
from placementclient.model.outcomes import State
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved, Repair
from placementclient.model.snapshots import Snapshot
from placementclient.producers.repaired import repaired
from placementclient.reading.capture import capture_any

#: So much older than a finished list of servers must be what the list does not explain: listing
#: takes its time, and the clocks of two machines differ.
MARGIN = timedelta(minutes=10)
#: The result of a repair that was carried out.
DONE = 'done'
_COMMAND = 'resource provider audit --fix'


class Repairing:
    """Plans repairs, and plans them again for a tree that another client changes.

    :param snapshot: the one that was audited
    :param repairs: by number
    :param is_current: whether the snapshot was read just now
    :param listed: when the lists were finished by which it was decided who holds too much; ``None``
        if they are certainly younger than the snapshot
    :ivar notes: on the repairs that cannot be made; known once they are planned
    """

    def __init__(
        self,
        client: Client,
        snapshot: Snapshot,
        repairs: Mapping[int, Repair],
        *,
        is_current: bool,
        listed: datetime | None = None,
    ) -> None:
        self._client, self._snapshot, self._repairs = client, snapshot, repairs
        self._is_current, self._listed = is_current, listed
        self._reasons: dict[int, str] = {}
        self.notes: list[Note] = []

    def plan(self, roots: Sequence[str] = ()) -> ChangePlan:
        """Plan the repairs.

        :param roots: the UUIDs of the roots of the trees to plan again; none: all
        """
        chosen = {
            number: repair
            for number, repair in self._repairs.items()
            if number not in self._reasons and (not roots or self._is_in(repair, roots))
        }
        self._refuse(self._young(chosen))
        old = {number: each for number, each in chosen.items() if number not in self._reasons}
        if not old:
            return ChangePlan(_COMMAND, ())
        there = self._snapshot if self._is_current and not roots else self._read(old.values())
        after, reasons = repaired(there, old)
        self._refuse(reasons)
        return plan_of(_COMMAND, there, after)

    def _refuse(self, reasons: Mapping[int, str]) -> None:
        self._reasons |= reasons
        for number, reason in reasons.items():
            self.notes.append(Note(_row_of(self._repairs[number])[0], 'failed', reason))

    def ends(self, results: Iterable[Carried]) -> dict[int, str]:
        """Return the result of each repair, by number."""
        results = list(results)
        return {number: self._end(number, each, results) for number, each in self._repairs.items()}

    def failed(self, failure: Exception) -> dict[int, str]:
        """Return the result of each repair, by number, where they could not be planned."""
        return dict.fromkeys(self._repairs, f'failed: {failure}')

    def planned(self) -> dict[int, str]:
        """Return whether each repair is planned, by number."""
        return {number: self._failed(number) or 'planned' for number in self._repairs}

    def _failed(self, number: int) -> str:
        reason = self._reasons.get(number)
        return f'failed: {reason}' if reason else ''

    def _end(self, number: int, repair: Repair, results: Sequence[Carried]) -> str:
        if failed := self._failed(number):
            return failed
        for result in results:
            if not _is_about(result.tree, repair):
                continue
            if result.state is State.NOT_STARTED:
                return str(result.state.value)
            is_made = _row_of(repair) in [(row.object, row.change) for row in result.rows]
            if result.error is not None and not is_made:
                return f'failed: {result.error}'
        return DONE

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
            modified = allocation.show(self._client, repair.consumer.uuid).last_modified
            if modified is None or parsedate_to_datetime(modified) > limit:
                reasons[number] = (
                    f'What consumer {repair.consumer.uuid} holds may be younger than the list of '
                    'servers: save a snapshot, list servers and migrations after that, and give '
                    'all three'
                )
        return reasons

    def _read(self, repairs: Iterable[Repair]) -> Snapshot:
        """Read the trees of repairs, as far as they exist."""
        wanted = {uuid for repair in repairs for uuid in _providers(repair)}
        roots = {
            each.root_uuid for each in resource_provider.list(self._client) if each.uuid in wanted
        }
        return capture_any(self._client, sorted(roots), workers=4)


def _providers(repair: Repair) -> tuple[str, ...]:
    """Return the UUIDs of the providers that a repair is about."""
    if isinstance(repair, FreeAllocations):
        return repair.provider_uuids
    return (repair.provider_uuid,)


def _is_about(tree: ChangeSet, repair: Repair) -> bool:
    if isinstance(repair, FreeAllocations):
        return repair.consumer.uuid in tree.before.consumers
    states = (side.providers.get(repair.provider_uuid) for side in (tree.before, tree.after))
    before, after = ((state.traits, state.inventories) if state else None for state in states)
    return before != after


def _row_of(repair: Repair) -> tuple[str, str]:
    """Return the object and the change of the row that says that a repair is made."""
    match repair:
        case AddTrait(_, provider):
            return provider, 'traits'
        case LowerReserved(_, provider, resource_class):
            return provider, f'{resource_class}:reserved'
        case FreeAllocations(consumer):
            return f'consumer {consumer.uuid}', 'allocations'
