"""A plan of a reshape carried out and taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from placementclient.api import reshaper
from placementclient.changes.execution import Look, PlanRun
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, TreeResult, TreeStatus
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.planner.records import trees as tree_records
from placementclient.reading.capture import UnstableRead
from placementclient.reshape import (
    deviations,
    journal,
    live_state,
    preconditions,
    reading,
    verify,
)
from placementclient.reshape.journal import Journal, Record
from placementclient.reshape.live_state import Phase
from placementclient.reshape.reading import StateSource
from placementclient.reshape.tree_executor import TreeExecutor


class ReshapeRun(PlanRun[TreePlan]):
    """A plan of a reshape: a tree that has changed since is planned again, each way."""

    plan: Plan

    def __init__(self, client: Client, plan: Plan) -> None:
        super().__init__(client, plan)
        #: What trees can begin with that were read and not begun yet, by the UUIDs of their roots.
        self._prepared: dict[str, Snapshot] = {}

    def check(self, trees: Sequence[TreePlan]) -> None:
        """See that the plan is sound, and that the reshaper is there and allowed.

        :raises invariants.BadPlan: if the plan is not sound
        """
        invariants.check(self.plan)
        reshaper.check_allowed(self.client)

    def opened(self, path: str) -> AbstractContextManager[Journal]:
        return journal.opened(path, self.plan)

    def recorded(self, path: str) -> Mapping[str, Record]:
        return journal.read(path, self.plan)

    def is_there(self, tree: TreePlan) -> bool:
        source = StateSource(self.client, [tree])
        return not tree.roots.keys().isdisjoint(source.listed(tree))

    def stands(self, tree: TreePlan, *, backward: bool) -> bool:
        current = self._current(tree)
        if backward:
            return reading.phase_of(self.client, current) is not Phase.AFTER
        source = StateSource(self.client, [current])
        tree_state = source.tree_state(current, source.listed(current), holdings=False)
        if tree_state.is_untouched:
            return False
        for each in deviations.of_inventories(current, tree_state.providers):
            if each.is_damage:
                raise preconditions.LeftAlone(
                    f'it was applied, and was changed since: {each.message}'
                )
        return True

    def looking(
        self, trees: Sequence[TreePlan], *, backward: bool
    ) -> Callable[[TreePlan], Look[TreePlan]]:
        if backward:
            return self._look_back
        source = StateSource(self.client, map(self._current, trees))

        def look(tree: TreePlan) -> Look[TreePlan]:
            try:
                return self._look(source, tree)
            except (UnstableRead, errors.NotFound):
                # It changes just now: decide when it is its turn.
                return Look(tree)

        return look

    def forward(self, tree: TreePlan) -> TreeResult:
        return self._executor(tree).forward(self._prepared.pop(tree.root_provider_uuid, None))

    def backward(self, tree: TreePlan) -> TreeResult:
        return self._executor(tree).backward()

    def status_reader(self, trees: Sequence[TreePlan]) -> Callable[[TreePlan], TreeStatus]:
        status = verify.status_reader(self.client, list(map(self._current, trees)), self.records)
        return lambda tree: status(self._current(tree))

    def comparing(self, trees: Sequence[TreePlan]) -> Callable[[TreePlan], Sequence[Deviation]]:
        compare = verify.comparing(self.client, list(map(self._current, trees)), self.records)
        return lambda tree: compare(self._current(tree))

    def _executor(self, tree: TreePlan) -> TreeExecutor:
        return TreeExecutor(
            self.client,
            self.plan,
            self.journal,
            self.names,
            self.done(tree),
            self._current(tree),
        )

    def _current(self, tree: TreePlan) -> TreePlan:
        """Return a tree as it was planned last: in the plan, or again while it was applied."""
        record = self.records.get(tree.root_provider_uuid)
        return tree_records.tree_plan(record.plan) if record and record.plan else tree

    def _look(self, source: StateSource, tree: TreePlan) -> Look[TreePlan]:
        """Compare a tree with what it was planned on."""
        current = self._current(tree)
        listed = source.listed(current)
        is_there = not tree.roots.keys().isdisjoint(listed)
        # There is something to complete or to take back.
        if self.journal.of(tree.root_provider_uuid).begun:
            return Look(tree, is_there)
        # Without a consumer that moves, generations show who has come.
        holdings = bool(current.consumers) or not live_state.is_as_planned(current, listed)
        tree_state = source.tree_state(current, listed, holdings=holdings)
        if tree_state.phase is Phase.AFTER:
            return Look(tree, is_there, 'it is applied already')
        try:
            found = preconditions.found(self.client, tree_state)
        except preconditions.LeftAlone as reason:
            return Look(tree, is_there, str(reason), reason)
        if isinstance(found, str):
            return Look(tree, is_there, found)
        self._prepared[tree.root_provider_uuid] = found
        return Look(tree, is_there)

    def _look_back(self, tree: TreePlan) -> Look[TreePlan]:
        """See whether a tree is on one of its sides."""
        current = self._current(tree)
        source = StateSource(self.client, [current])
        listed = source.listed(current)
        is_there = not tree.roots.keys().isdisjoint(listed)
        tree_state = source.tree_state(current, listed, holdings=False)
        is_whole = not live_state.moves(current) or tree_state.phase is not Phase.NEITHER
        difference = 'it is neither as it was before the plan nor as it is after it'
        return Look(tree, is_there, '' if is_there and is_whole else difference)
