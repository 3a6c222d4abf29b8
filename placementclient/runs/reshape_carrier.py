# SPDX-License-Identifier: Apache-2.0
"""Applies and rolls back a plan of a reshape, and plans changed trees again."""

from collections.abc import Sequence

from placementclient.api import reshaper
from placementclient.basis import errors
from placementclient.changes import phases
from placementclient.changes.carrier import Carrier
from placementclient.changes.inspector import RemainingChange
from placementclient.changes.obstacles import LeftAlone, Obstructed
from placementclient.changes.records import operations
from placementclient.changes.tree_attempts import PlannedAgain
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot
from placementclient.planner import invariants, replan
from placementclient.planner.errors import IMPOSSIBLE, Infeasible, Undecided, Undetermined


class ReshapeCarrier(Carrier):
    """Applies or rolls back a plan that has a recipe, change by change; plans trees again."""

    # The states are those of the plan.
    record_of = staticmethod(operations.encode_brief)

    def check_plan(self, changes: Sequence[Change]) -> None:
        """Refuse a plan that breaks an invariant, and a service that allows no reshape."""
        invariants.check_plan(self.plan)
        reshaper.check_allowed(self.client)

    def check_new_plans(self, path: str) -> None:
        """Refuse a journal of which a new plan of a tree has other effects than were reviewed."""
        assert self.plan.recipe is not None
        reviewed = {change.root_provider_uuid: change for change in self.plan.changes}
        for root_uuid, record in self.journal.records.items():
            again = record.plan
            if again is None:
                continue
            if root_uuid not in reviewed:
                raise errors.BadFile(path, f'the plan has no tree {again.root_provider_uuid}')
            for difference in replan.find_unreviewed_effects(reviewed[root_uuid], again):
                raise errors.BadFile(
                    path,
                    f'a line plans {reviewed[root_uuid].root_provider_name} differently from what '
                    f'was reviewed: {difference}. Plan again into another file',
                )
            try:
                invariants.check_change(again, self.plan.recipe.spec)
            except invariants.BadPlan as fault:
                raise errors.BadFile(path, str(fault)) from None

    def read_remaining(self, change: Change) -> RemainingChange:
        """Read the trees of a change; return the operations that remain.

        :raises PlannedAgain: if a tree has changed, and the journal has a new plan for it
        :raises LeftAlone: if the new plan would not do what was reviewed
        """
        try:
            return super().read_remaining(change)
        except Obstructed as drift:
            if not drift.is_drift:
                raise
            self.journal.write_new_plan(self._plan_again(change, str(drift)))
            self._remarks[change.root_provider_uuid] = [f'planned again, as {drift}']
        raise PlannedAgain('it changes each time that it is planned again')

    def _plan_again(self, change: Change, drift: str) -> Change:
        """Return a new plan for an unapplied change.

        :param drift: the difference because of which it is planned again, for the error
        :raises LeftAlone: if the new plan would not do what was reviewed
        """
        current = self.get_latest_version(change)
        snapshot = _drop_empty_new_providers(self.capture_trees(current), current)
        try:
            again = replan.replan_tree(snapshot, self.plan, current)
        except Infeasible as failure:
            raise LeftAlone(f'{drift}, and {IMPOSSIBLE}{failure.reason}') from failure
        except (Undecided, Undetermined) as failure:
            raise LeftAlone(f'{drift}, and a new plan is not decided: {failure}') from failure
        for difference in replan.find_unreviewed_effects(change, again):
            raise LeftAlone(
                f'{drift}, and a new plan is not the one that was reviewed: {difference}'
            )
        return again


def _drop_empty_new_providers(snapshot: Snapshot, change: Change) -> Snapshot:
    """Return a snapshot without those new providers of a change that are still empty."""
    made = {provider.uuid for provider in change.list_created_providers()}
    prepared = {
        uuid
        for uuid in made & snapshot.providers.keys()
        if phases.is_provider_empty(snapshot, uuid)
        and all(child.uuid in made for child in snapshot.children(uuid))
    }
    return Snapshot(
        (state for uuid, state in snapshot.providers.items() if uuid not in prepared),
        snapshot.consumers.values(),
    )
