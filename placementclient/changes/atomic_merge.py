# SPDX-License-Identifier: Apache-2.0
"""An atomic change that was decided on an earlier state, merged with the present one. Pure."""

from collections import Counter
from collections.abc import Mapping

from placementclient.changes.merge import Merge, MergeResult
from placementclient.changes.transfers import transfer_at_once
from placementclient.changes.written_values import WrittenValues
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot


def merge_atomic_change(
    before: Snapshot, after: Snapshot, live: Snapshot, *, backward: bool = False
) -> MergeResult:
    """Merge an atomic change from one snapshot to another with a third one, as :func:`merge` does.

    An inventory is replaced as a whole, so it has an obstacle if another client changed any field.
    """
    kind = _AtomicRollback if backward else _AtomicMerge
    return kind(before, after, live, WrittenValues(None), backward).merge_all()


class _AtomicMerge(Merge):
    """A merge of a change whose inventories and allocations move in one request."""

    _transfer = staticmethod(transfer_at_once)

    def _merge_fields(
        self, state: ProviderState, name: str, sides: tuple[Inventory, Inventory, Inventory]
    ) -> Inventory:
        """Refuse an inventory that others have changed, as the request replaces it; return it."""
        self._note_obstacle(state, name, *sides)
        return sides[2]

    def _get_planned_usage(self, uuid: str, name: str) -> int:
        """Return the usage of a class after the change, by the plan alone."""
        planned = self._after.providers.get(uuid)
        return planned.used(name) if planned else 0


class _AtomicRollback(_AtomicMerge):
    """A merge of a rollback, for which no planner has checked units and capacity."""

    def _is_full(self, state: ProviderState, name: str, gains: Mapping[str, Counter[str]]) -> bool:
        if gains[state.uuid][name] > 0:
            # The request may add nothing to an inventory that was reviewed as overcommitted.
            return self._find_usage_after(state.uuid, name, gains) > state.capacity(name)
        return super()._is_full(state, name, gains)

    def _refuse_inadmissible_consumers(self) -> None:
        """Refuse allocations without room, and those that the units of an inventory forbid."""
        super()._refuse_inadmissible_consumers()
        for consumer in list(self.consumers.values()):
            refused = (
                f'{state.name} does not admit {amount} {name} by its {", ".join(refusing)}'
                for state, name, amount in self._list_changed_amounts(consumer)
                if (inventory := state.inventories.get(name))
                and (refusing := inventory.units.list_violated_limits(amount))
            )
            if message := next(refused, None):
                self._refuse_consumer(consumer, message)
