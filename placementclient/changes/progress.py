# SPDX-License-Identifier: Apache-2.0
"""The progress of a change: the facets to read for it, and the answers of the state that was read.

The change of a reshape is atomic: its inventories show whether it is made, whatever others have
changed since. Any other change is made in steps: the operations that remain show how far it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient.changes import phases
from placementclient.changes.deviations import (
    adopt_live_values,
    find_deviations,
    find_input_differences,
    find_inventory_deviations,
    find_trait_deviations,
)
from placementclient.changes.merge import MergeResult
from placementclient.changes.obstacles import LeftAlone, Obstructed, describe_obstacles
from placementclient.changes.phases import Phase
from placementclient.model.findings import Finding, Severity
from placementclient.model.outcomes import PlanStatus
from placementclient.model.plans import Change, ProviderChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading.facets import ALLOCATIONS, CONTENT
from placementclient.reading.scope import ScopeFacets, ScopeReader


def make_progress(change: Change, merge: Callable[[Snapshot, bool], MergeResult]) -> Progress:
    """Return the progress of a change: atomic or in steps."""
    return _AtomicProgress(change, merge) if change.is_atomic else Progress(change, merge)


@dataclass(frozen=True)
class Progress:
    """The progress of a change that is made in steps.

    :param merge: returns the merge of the change with a state; with ``True``, of its rollback
    """

    change: Change
    merge: Callable[[Snapshot, bool], MergeResult]

    def find_facets_to_merge(self, *, is_begun: bool) -> ScopeFacets:
        """Return the facets of each provider that show what remains of the change.

        :param is_begun: whether a request may have been sent
        """
        changes = {provider.uuid: provider for provider in self.change.providers}
        used = {uuid for consumer in self.change.consumers for uuid in consumer.provider_uuids}

        def find_facets(state: ProviderState) -> set[str]:
            provider = changes.get(state.uuid)
            if provider is None:
                # Only its place in the tree matters.
                return set()
            if provider.before is None or provider.after is None:
                # It is created or deleted, perhaps with its consumers.
                return {*CONTENT, ALLOCATIONS}
            return self._find_facets_to_merge_provider(
                provider, state, state.uuid in used, is_begun
            )

        return ScopeFacets(find_facets)

    def _find_facets_to_merge_provider(
        self, provider: ProviderChange, live: ProviderState, is_used: bool, is_begun: bool
    ) -> set[str]:
        """Return the facets that show what remains of the change of an existing provider.

        :param is_used: whether a consumer of the change has allocations there, before or after
        :param is_begun: whether a request may have been sent
        """
        facets = _find_changed_facets(provider)
        is_used |= 'inventories' in facets
        return facets | {'inventories', 'usages'} if is_used else facets

    def find_facets_of_status(self) -> ScopeFacets:
        """Return the facets of each provider that show the status."""
        return self.find_facets_to_merge(is_begun=True)

    def find_facets_to_compare(self) -> ScopeFacets:
        """Return the facets of each provider that a verification compares with the plan."""
        return self.find_facets_to_merge(is_begun=True)

    def is_listed_as_before(self, listed: Mapping[str, Provider]) -> bool:
        """Return whether listed names and generations show that an atomic change is not made.

        They never show it of a change in steps.

        :param listed: the live providers by UUID
        """
        return False

    def find_status(self, live: Snapshot) -> tuple[PlanStatus, str]:
        """Return the status, and the reason if the state is neither that before nor that after."""
        forward = self.merge(live, False)
        if forward.is_done or self.merge(live, True).is_done:
            return (PlanStatus.APPLIED if forward.is_done else PlanStatus.PENDING), ''
        made_in_part = 'it is applied in part: apply completes it, rollback undoes it'
        return PlanStatus.DIFFERS, describe_obstacles(forward.obstacles) or made_in_part

    def has_happened(self, live: Snapshot) -> bool:
        """Return whether the change is made, wholly or in part, despite later changes."""
        return self.merge(live, False).is_done or not self.merge(live, True).is_done

    def is_still_applied(self, live: Snapshot) -> bool:
        """Return whether the change, which was applied, is still made.

        :raises LeftAlone: if it is atomic, and was undone in part
        """
        return self.merge(live, False).is_done

    def is_still_rolled_back(self, live: Snapshot) -> bool:
        """Return whether the change, which was rolled back, has not been made again."""
        return self.merge(live, True).is_done

    def describe_rollback_obstacle(self, live: Snapshot) -> str:
        """Return the reason why a rollback cannot start from a state; empty if it can."""
        return describe_obstacles(self.merge(live, True).obstacles)

    def refuse_unexplained_state(self, live: Snapshot) -> None:
        """Refuse a state that the change, not applied so far as journals say, does not explain.

        :raises LeftAlone: for such a state
        """
        if obstacles := self.merge(live, False).obstacles:
            raise Obstructed(obstacles)
        for deviation in self.find_deviations(live):
            raise _make_unrecorded_change_error(deviation)

    def find_deviations(self, live: Snapshot, *, is_applied: bool = False) -> Sequence[Finding]:
        """Return the deviations of a state from the change, which is made, wholly or in part.

        :param is_applied: whether the journal says that the change was applied
        """
        found = find_deviations(adopt_live_values(self.change, live), live)
        if is_applied:
            # Each request was confirmed: others have changed it since.
            return [replace(deviation, severity=Severity.INFO) for deviation in found]
        return list(found)

    def read_deviations_after_request(self, reader: ScopeReader) -> Sequence[Finding]:
        """Return the deviations right after the request of an atomic change; else none."""
        return ()


class _AtomicProgress(Progress):
    """The progress of a change whose inventories and allocations move in one request."""

    def find_facets_of_status(self) -> ScopeFacets:
        """Return the facets that show the status: inventories that move, traits that go."""
        facets: dict[str, set[str]] = defaultdict(set)
        for provider in self.change.list_local_providers():
            facets[provider.uuid] |= {'inventories'} if provider.changed_classes else set()
        for provider in self.change.providers:
            facets[provider.uuid] |= {'traits'} if provider.lost_traits else set()
        return ScopeFacets(lambda state: facets[state.uuid], has_consumers=False)

    def find_facets_to_compare(self) -> ScopeFacets:
        changing = {provider.uuid for provider in self.change.providers}
        return ScopeFacets(
            lambda state: set(CONTENT) if state.uuid in changing else set(), is_consistent=False
        )

    def _find_facets_to_merge_provider(
        self, provider: ProviderChange, live: ProviderState, is_used: bool, is_begun: bool
    ) -> set[str]:
        """Return the facets to read; not traits that are only lost, unless the change is begun."""
        before, after = provider.content_before, provider.content_after
        facets = _find_changed_facets(provider)
        if self._needs_reshape_request and not is_begun and after.traits <= before.traits:
            # Lost traits are read when they are removed: after the reshape.
            facets.discard('traits')
        if is_used or 'inventories' in facets:
            facets.add('inventories')
            is_same = live.provider.generation == before.provider.generation
            if self.change.consumers or not is_same:
                # Without a consumer that moves, generations show who has come.
                facets.add(ALLOCATIONS)
        return facets

    @property
    def _needs_reshape_request(self) -> bool:
        change = self.change
        return bool(change.consumers or any(item.changed_classes for item in change.providers))

    def is_listed_as_before(self, listed: Mapping[str, Provider]) -> bool:
        return phases.is_unchanged_since_plan(self.change, listed)

    def find_status(self, live: Snapshot) -> tuple[PlanStatus, str]:
        change, phase = self.change, phases.find_phase(self.change, live)
        has_all = change.before.providers.keys() <= live.providers.keys()
        if has_all and phase is Phase.BEFORE:
            return PlanStatus.PENDING, ''
        if not phases.has_happened(change, live):
            for deviation in find_input_differences(change, live):
                return PlanStatus.DIFFERS, f'not applied, and {deviation.reason}'
            return PlanStatus.PENDING, ''
        found = [*find_trait_deviations(change, live)]
        if phase is not Phase.AFTER:
            found = [*find_inventory_deviations(change, live, is_strict=True), *found]
        found.sort(key=lambda deviation: not deviation.is_error)
        if not found or (has_all and not found[0].is_error):
            return PlanStatus.APPLIED, ''
        return PlanStatus.DIFFERS, found[0].reason

    def has_happened(self, live: Snapshot) -> bool:
        """Return whether an atomic change is made, wholly or in part, despite later changes."""
        return phases.has_happened(self.change, live)

    def is_still_applied(self, live: Snapshot) -> bool:
        if phases.is_untouched(self.change, live):
            return False
        for deviation in find_inventory_deviations(self.change, live):
            if deviation.is_error:
                raise LeftAlone(f'it was applied and has changed since: {deviation.reason}')
        return True

    def is_still_rolled_back(self, live: Snapshot) -> bool:
        return phases.find_phase(self.change, live) is not Phase.AFTER

    def describe_rollback_obstacle(self, live: Snapshot) -> str:
        is_neither = phases.find_phase(self.change, live) is Phase.NEITHER
        return 'it is neither as before the plan nor as after it' if is_neither else ''

    def refuse_unexplained_state(self, live: Snapshot) -> None:
        if phases.find_phase(self.change, live) in (Phase.BEFORE, None):
            return  # Nothing but empty providers may be prepared.
        for deviation in self.find_deviations(live):
            if deviation.is_error:
                raise _make_unrecorded_change_error(deviation)

    def find_deviations(self, live: Snapshot, *, is_applied: bool = False) -> Sequence[Finding]:
        return list(find_deviations(self.change, live))

    def read_deviations_after_request(self, reader: ScopeReader) -> Sequence[Finding]:
        live = reader.read_reshape_result(self.change)
        return list(find_deviations(self.change, live, is_strict=True))


def _find_changed_facets(provider: ProviderChange) -> set[str]:
    before, after = provider.content_before, provider.content_after
    is_changed = {
        'inventories': before.inventories != after.inventories,
        'traits': before.traits != after.traits,
        'aggregates': before.aggregates != after.aggregates,
    }
    return {facet for facet, changed in is_changed.items() if changed}


def _make_unrecorded_change_error(deviation: Finding) -> LeftAlone:
    return LeftAlone(f'its journal does not say that this plan was applied, and {deviation.reason}')
