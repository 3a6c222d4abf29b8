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

    :param live: the present state of at least all providers and consumers of both snapshots
    :param backward: whether this is a rollback
    """
    kind = _AtomicRollback if backward else _AtomicMerge
    return kind(before, after, live, WrittenValues(None), backward).merge_all()


class _AtomicMerge(Merge):
    """A merge of a change whose inventories and allocations move in one request.

    The request replaces whole inventories, where a change in steps merges field by field.
    """

    _transfer = staticmethod(transfer_at_once)

    def _merge_changed_inventory(
        self, state: ProviderState, name: str, before: Inventory, after: Inventory, live: Inventory
    ) -> Inventory:
        """Return the live inventory; add the obstacle that others have changed the inventory."""
        self._note_obstacle(state, name, before, after, live)
        return live

    def _get_planned_usage(self, uuid: str, name: str) -> int:
        """Return the planned usage of a class after the change; 0 if the provider is gone then."""
        planned = self._after.providers.get(uuid)
        return planned.used(name) if planned else 0


class _AtomicRollback(_AtomicMerge):
    """A merge of a rollback, for which no planner has checked units and capacity.

    The limit of the usage after the rollback, of an inventory that was reviewed as overcommitted:

    ======================= ====================================
    the rollback adds usage its capacity
    it adds none            its capacity, or the reviewed usage
    ======================= ====================================
    """

    def _get_reviewed_usage(self, uuid: str, name: str, gains: Mapping[str, Counter[str]]) -> int:
        """Return the planned usage after the rollback, where the plan itself exceeds the capacity.

        0 elsewhere, and where the rollback adds to the usage.

        :param gains: how much the change adds to the usage, by provider UUID and class
        """
        return 0 if gains[uuid][name] > 0 else super()._get_reviewed_usage(uuid, name, gains)

    def _refuse_inadmissible_consumers(self) -> None:
        """Refuse allocations without room, and those that the units of an inventory forbid."""
        super()._refuse_inadmissible_consumers()
        for consumer in list(self.consumers.values()):
            for state, name, amount in self._list_changed_amounts(consumer):
                inventory = state.inventories.get(name)
                limits = inventory.units.list_violated_limits(amount) if inventory else ()
                if limits:
                    message = f'{state.name} does not admit {amount} {name} by its '
                    self._refuse_consumer(consumer, message + ', '.join(limits))
                    break
