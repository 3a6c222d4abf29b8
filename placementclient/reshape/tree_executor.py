"""One tree from one side of its reshape to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile

from placementclient.api import aggregate, conflict, resource_provider, trait
from placementclient.changes import region
from placementclient.changes.applier import Applier, generations_of
from placementclient.changes.comparison import Obstructed
from placementclient.changes.journal import TreeJournal
from placementclient.changes.operations import (
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
    onto,
)
from placementclient.changes.rebase import additions, rebase
from placementclient.changes.tree_queue import OutcomeUnknown, unknown_outcomes
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import State, TreeResult
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.planner.records import trees
from placementclient.reading.capture import UnstableRead
from placementclient.reshape import deviations, live_state, preconditions, reading, replanning
from placementclient.reshape.journal import Journal
from placementclient.reshape.live_state import Phase, TreeState
from placementclient.reshape.preconditions import LeftAlone

#: Refusals that come from other writers, however often; any other refusal does so once.
_PASSING = (errors.ConcurrentUpdate, errors.InventoryInUse)
_REFUSALS = (errors.Conflict, errors.BadRequest, errors.NotFound, UnstableRead)


class PlannedAgain(LeftAlone):
    """The tree had changed, and has another plan now."""


class VerificationFailed(errors.Differs):
    """After a reshape was granted, the state differs from the request."""


class TreeExecutor:
    """Brings one tree from one side of its reshape to the other.

    :param plan: the one that was reviewed
    :param names: what makes the custom classes and traits that the trees of the run have made
    :param done: gets the operations that are carried out; empty again where all is taken back
    :param tree: as it was planned last
    """

    def __init__(
        self,
        client: Client,
        plan: Plan,
        journal: Journal,
        names: set[Operation],
        done: list[Operation],
        tree: TreePlan,
    ) -> None:
        self._client, self._plan, self._journal = client, plan, journal
        self._names, self._done, self.tree = names, done, tree
        self._root_uuid = tree.root_provider_uuid
        record = journal.of(self._root_uuid)
        #: Whether the reshape is, or may be, the doing of this plan.
        self._ours = record.begun and record.ended is None
        self._prepared: Snapshot | None = None
        #: What is to be said of the tree where it ends well.
        self._remarks: list[str] = []

    def forward(self, prepared: Snapshot | None = None) -> TreeResult:
        """Apply the plan of the tree.

        :param prepared: what it can begin with, where that has been read already
        :raises OutcomeUnknown: if the service does not answer any more
        :raises errors.Forbidden: if the policy does not allow it
        :raises journal.JournalFailed: if no intent can be noted any more
        """
        self._prepared = prepared
        return self._retry(self._forward)

    def backward(self) -> TreeResult:
        """Take back what the plan has done to the tree.

        :raises: what :meth:`forward` does
        """
        return self._retry(self._backward)

    def _retry(self, attempt: Callable[[], TreeResult]) -> TreeResult:
        """Try until it is done, or it is certain that it cannot be done.

        Each time that the service refuses after a conflict, or does not answer, the
        tree is read again, which shows whether the reshape has happened.

        :param attempt: begins with reading the tree
        """
        refusals: list[errors.PlacementError] = []

        def attempted() -> TreeResult:
            try:
                return attempt()
            except _PASSING:
                raise
            except (errors.Conflict, errors.BadRequest) as reason:
                refusals.append(reason)
                if len(refusals) == 1:
                    raise
                # And in between it was seen that everything is as it has to be.
                return self._leave_alone(State.FAILED, reason)

        try:
            with unknown_outcomes():
                return conflict.retried(
                    attempted,
                    max_retries=self._client.max_retries,
                    conflicts=(*_REFUSALS, PlannedAgain, errors.NoAnswer),
                )
        except VerificationFailed as reason:
            return self._ended(State.FAILED, str(reason), reason)
        except (*_REFUSALS, LeftAlone) as reason:
            return self._leave_alone(State.LEFT_ALONE, reason)

    def _forward(self) -> TreeResult:
        # Once: a conflict shows later changes.
        there, self._prepared = self._prepared, None
        if there is None:
            tree_state = reading.read_tree_state(self._client, self.tree)
            if tree_state.phase is Phase.AFTER:
                return self._complete(self.tree.operations, tree_state)
            found = preconditions.found(self._client, tree_state)
            if isinstance(found, str):
                self._replan(found)
                raise PlannedAgain('it changes each time that it is planned again')
            there = found
        rebased = rebase(self.tree.before, self.tree.after, there, is_atomic=True)
        if rebased.obstacles:
            raise LeftAlone(str(Obstructed(rebased.obstacles)))
        operations = iter(rebased.operations)
        try:
            self._run_up_to_reshape(self._applier(generations_of(there)), operations)
        except errors.DuplicateName:
            self._check_elsewhere()
            raise
        return self._complete(_after_reshape(self.tree.operations))

    def _run_up_to_reshape(self, applier: Applier, operations: Iterator[Operation]) -> None:
        self._ensure_names()
        with applier.joint():
            for operation in operations:
                # Also if no answer comes.
                self._ours = self._ours or isinstance(operation, Reshape)
                applier.run([operation])
                if isinstance(operation, Reshape):
                    break

    def _ensure_names(self) -> None:
        # Not joined to others: when a name is there already, the service tries and fails.
        for operation in self.tree.operations:
            if isinstance(operation, EnsureClass | EnsureTrait):
                self._applier({}).run([operation])

    def _replan(self, drift: str) -> None:
        """Plan the tree again, as something that matters has changed.

        :param drift: what, a sentence without its full stop
        """
        self.tree = replanning.replanned(self._client, self._plan, self.tree, drift)
        self._journal.revise(self.tree.root_provider_uuid, trees.tree_record(self.tree))
        self._remarks = [f'planned again, as {drift}']

    def _check_elsewhere(self) -> None:
        """Refuse, if a provider that is to be made exists in another tree."""
        listed = self._listed()
        for change in self.tree.created():
            for provider in resource_provider.list(self._client, name=change.name):
                if provider.uuid not in listed:
                    raise LeftAlone(
                        f'{change.name} exists elsewhere: {provider.uuid}, '
                        f'in the tree of {provider.root_provider_uuid}'
                    )

    def _listed(self) -> dict[str, Provider]:
        return reading.StateSource(self._client, [self.tree]).listed(self.tree)

    def _applier(self, generations: Mapping[str, int]) -> Applier:
        return Applier(
            self._client,
            generations,
            journal=TreeJournal(self._journal, self._root_uuid),
            names=self._names,
            report=lambda operation, is_known: self._done.append(operation) if is_known else None,
        )

    def _complete(
        self, operations: Iterable[Operation], tree_state: TreeState | None = None
    ) -> TreeResult:
        """Do the part after the reshape: traits that go, and the verification.

        :param operations: what may be left to do; the reshape itself is passed over
        :param tree_state: as it was read; ``None``: the reshape was granted just now
        """
        todo = list(operations)
        try:
            self._set(todo)
        except errors.BadRequest:
            # Others have deleted a custom trait since.
            self._ensure_names()
            self._set(todo)
        self._verify(tree_state or reading.read_applied(self._client, self.tree))
        self._journal.end(self._root_uuid, State.APPLIED)
        state = State.APPLIED if self._ours else State.ALREADY_APPLIED
        return self._ended(state, '; '.join(self._remarks))

    def _verify(self, tree_state: TreeState) -> None:
        """Compare what is there after a reshape with its plan.

        :raises VerificationFailed: if it is not complete or not right
        """
        differences = deviations.of_tree_state(tree_state)
        for difference in differences:
            if difference.is_damage:
                raise VerificationFailed(f'verification: {difference.message}')
        self._remarks += [difference.message for difference in differences[:3]]

    def _set(self, operations: Iterable[Operation]) -> None:
        """Set traits and aggregates, each on what is there now.

        The reshape moves generations by a step that is the service's own affair, so that only
        reading shows whether another client has changed them since.
        """
        for operation in operations:
            uuid = getattr(operation, 'provider_uuid', '')
            if isinstance(operation, SetTraits):
                there = trait.list_of_provider(self._client, uuid)
            elif isinstance(operation, SetAggregates):
                there = aggregate.list(self._client, uuid)
            else:
                continue
            before = frozenset(there.value)
            wanted = onto(operation.before, operation.after, before)
            if wanted != before:
                assert there.generation is not None
                self._applier({uuid: there.generation}).run(
                    [replace(operation, before=before, after=wanted)]
                )

    def _backward(self) -> TreeResult:
        record = self._journal.of(self._root_uuid)
        begun = record.begun
        if not begun and live_state.is_as_planned(self.tree, self._listed()):
            return self._ended(State.ALREADY_BACK)
        snapshot = replanning.captured(self._client, self.tree)
        tree_state = live_state.tree_state_of(self.tree, snapshot)
        if not begun and record.ended == State.LEFT_ALONE and tree_state.is_untouched:
            # Others had changed it before anything was sent.
            return self._ended(State.ALREADY_BACK)
        if tree_state.phase is not Phase.BEFORE:
            if not begun and record.ended is None:
                self._check_ours(tree_state)
            self._check_additions(tree_state.providers)
            back = replanning.planned_back(snapshot, self._plan, self.tree)
            self._applier(generations_of(back.before)).run([_reshape_of(back)])
            tree_state = reading.read_tree_state(self._client, self.tree, tree_state.listed)
            self._verify(replace(tree_state, tree=back))
        elif not begun and not any(
            change.uuid in tree_state.there.providers for change in self.tree.created()
        ):
            return self._ended(State.ALREADY_BACK)
        self._retreat()
        self._journal.end(self._root_uuid, State.ROLLED_BACK)
        return self._ended(State.ROLLED_BACK, '; '.join(self._remarks))

    def _check_ours(self, tree_state: TreeState) -> None:
        """See whether what the journal knows nothing of could have been made by this plan.

        The journal may be lost; but another plan may have made the same providers.

        :raises LeftAlone: if it is not what the plan makes
        """
        damage = [each for each in deviations.of_tree_state(tree_state) if each.is_damage]
        if damage:
            raise LeftAlone(
                f'its journal does not say that this plan was applied, and {damage[0].message}'
            )

    def _retreat(self) -> None:
        """Take back what surrounds the reshape: traits, aggregates, and the providers made.

        :raises LeftAlone: if others have moved one of these, or have added something to it
        """
        around = self.tree.surroundings
        live = region.read(self._client, around, is_begun=True)
        rebased = rebase(around.after, around.before, live, is_atomic=True)
        if rebased.obstacles:
            raise LeftAlone(str(Obstructed(rebased.obstacles)))
        applier = self._applier(generations_of(live))
        with applier.joint():
            applier.run(rebased.operations)

    def _check_additions(self, live: Mapping[str, ProviderState]) -> None:
        """See that others have added nothing to the providers that the plan has made.

        :param live: the providers, by UUID
        :raises LeftAlone: if they have: it would go with the provider
        """
        planned = self.tree.after.providers
        obstacles = [
            obstacle
            for change in self.tree.created()
            if change.uuid in live
            for obstacle in additions(planned[change.uuid], live[change.uuid])
        ]
        if obstacles:
            raise LeftAlone(str(Obstructed(obstacles)))

    def _leave_alone(self, state: State, reason: errors.PlacementError) -> TreeResult:
        """End without success; prepared providers are deleted if no consumer uses them."""
        message = str(reason)
        try:
            with unknown_outcomes():
                tree_state = reading.read_tree_state(self._client, self.tree)
                if tree_state.is_untouched and self._journal.of(self._root_uuid).begun:
                    self._retreat()
                    self._done.clear()
        except (errors.HTTPError, LeftAlone, UnstableRead, OutcomeUnknown) as obstacle:
            message += f'; what was prepared is still there: {obstacle}'
        self._journal.end(self._root_uuid, State.LEFT_ALONE, message)
        return self._ended(state, message, reason)

    def _ended(
        self, state: State, reason: str = '', error: errors.PlacementError | None = None
    ) -> TreeResult:
        return TreeResult(self._root_uuid, self.tree.root_provider_name, state, reason, error)


def _after_reshape(operations: Iterable[Operation]) -> Sequence[Operation]:
    """Return the operations that come after the reshape, if there is one."""
    return list(dropwhile(lambda each: not isinstance(each, Reshape), operations))[1:]


def _reshape_of(tree: TreePlan) -> Reshape:
    return next(operation for operation in tree.operations if isinstance(operation, Reshape))
