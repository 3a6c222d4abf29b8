# SPDX-License-Identifier: Apache-2.0
"""Applies and rolls back a plan of a reshape, and plans changed trees again."""

from collections.abc import Callable, Sequence

from placementclient.api import reshaper
from placementclient.basis import errors
from placementclient.changes import phases
from placementclient.changes.carrier import Carrier, PlannedAgain
from placementclient.changes.obstacles import LeftAlone, Obstructed
from placementclient.changes.operations import Operation
from placementclient.changes.records import operations
from placementclient.model.findings import Finding
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot
from placementclient.planner import invariants, replan
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.reading.capture import capture

#: What to do where a rollback is impossible.
_NO_WAY_BACK = (
    'Free or shrink the consumers that it names and roll back again, or plan a reshape that moves '
    'all of it back, with a specification that states inventories which take it'
)


class ReshapeCarrier(Carrier):
    """Applies or rolls back a plan that has a recipe: it decides changed trees again."""

    # The states are those of the plan.
    record_of = staticmethod(operations.record)

    def check(self, trees: Sequence[Change]) -> None:
        """Check the plan, and that the service allows a reshape."""
        invariants.check(self.plan)
        reshaper.check_allowed(self.client)

    def check_records(self, path: str) -> None:
        assert self.plan.recipe is not None
        reviewed = {tree.root_provider_uuid: tree for tree in self.plan.changes}
        for root_uuid, record in self.journal.records.items():
            again = record.plan
            if again is None:
                continue
            if root_uuid not in reviewed:
                raise errors.BadFile(path, f'the plan has no tree {again.root_provider_uuid}')
            for difference in replan.differences(reviewed[root_uuid], again):
                raise errors.BadFile(
                    path,
                    f'a line plans {reviewed[root_uuid].root_provider_name} as something else than '
                    f'what was reviewed: {difference}. Make the plan again, under another name',
                )
            try:
                invariants.check_tree(again, self.plan.recipe.spec)
            except invariants.BadPlan as fault:
                raise errors.BadFile(path, str(fault)) from None

    def left(self, tree: Change) -> tuple[Snapshot, Sequence[Operation]]:
        """Read a tree, and return the remaining operations of its change.

        :raises PlannedAgain: if the tree has changed, and a new plan is noted
        :raises LeftAlone: if no new plan is the one that was reviewed
        """
        try:
            return super().left(tree)
        except Obstructed as drift:
            if not drift.is_drift:
                raise
            self.journal.revise(self._decided_again(tree, str(drift)))
            self._remarks[tree.root_provider_uuid] = [f'planned again, as {drift}']
        raise PlannedAgain('it changes each time that it is planned again')

    def decided_back(self, tree: Change, obstacles: Sequence[Finding]) -> Change:
        snapshot = self._captured(tree)
        try:
            return self._decided(replan.rollback, snapshot, tree, 'there is no way back')
        except LeftAlone as reason:
            raise LeftAlone(f'{reason}. {_NO_WAY_BACK}') from reason

    def _decided_again(self, tree: Change, drift: str) -> Change:
        """Return the new plan of an unapplied tree, if it is the reviewed one."""
        current = self.current(tree)
        snapshot = _without_prepared(self._captured(current), current)
        impossible = f'{drift}, and a new plan is impossible'
        again = self._decided(replan.replan, snapshot, current, impossible)
        for difference in replan.differences(tree, again):
            raise LeftAlone(
                f'{drift}, and a new plan is not the one that was reviewed: {difference}'
            )
        return again

    def _captured(self, tree: Change) -> Snapshot:
        """Return all trees that the plan of a tree concerns, as they are now."""
        try:
            return capture(self.client, tree.concerned_roots)
        except errors.NoSuchProvider as reason:
            raise LeftAlone(str(reason)) from reason

    def _decided(
        self,
        make: Callable[[Snapshot, Plan, Change], Change],
        snapshot: Snapshot,
        tree: Change,
        otherwise: str,
    ) -> Change:
        try:
            return make(snapshot, self.plan, tree)
        except (Infeasible, Undecided, Undetermined) as reason:
            raise LeftAlone(f'{otherwise}: {reason}') from reason


def _without_prepared(snapshot: Snapshot, tree: Change) -> Snapshot:
    """Return a snapshot without the plan's own providers that are made, and still empty."""
    made = {change.uuid for change in tree.created()}
    prepared = {
        uuid
        for uuid in made & snapshot.providers.keys()
        if phases.is_empty(snapshot, uuid)
        and all(child.uuid in made for child in snapshot.children(uuid))
    }
    return Snapshot(
        (state for uuid, state in snapshot.providers.items() if uuid not in prepared),
        snapshot.consumers.values(),
    )
