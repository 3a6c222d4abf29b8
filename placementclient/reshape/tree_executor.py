"""One tree from one side of its reshape to the other."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from keystoneauth1.exceptions.connection import ConnectionError as NoConnection

from placementclient import errors
from placementclient.api import resource_provider
from placementclient.http import Client
from placementclient.model.outcomes import State, TreeResult
from placementclient.model.providers import Provider
from placementclient.planner.plan.operations import (
    DeleteProvider,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.reshape import live_state, preconditions, replanning, verify
from placementclient.reshape.journal import Journal
from placementclient.reshape.live_state import Phase, TreeState
from placementclient.reshape.operation_runner import Names, OperationRunner
from placementclient.reshape.preconditions import LeftAlone, Preconditions
from placementclient.snapshot.capture import UnstableRead

#: How often a tree is looked at again after a conflict or a lost answer.
ATTEMPTS = 8


class OutcomeUnknown(errors.PlacementError):
    """The service does not answer: whether the last request was granted is not known."""


#: What may be otherwise the next time.
_PASSING = (
    errors.ConcurrentUpdate,
    errors.InventoryInUse,
    errors.NotFound,
    UnstableRead,
    OutcomeUnknown,
)


class _Replanned(Exception):
    """The tree has been planned again."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the trees of one run share."""

    client: Client
    plan: Plan
    journal: Journal
    names: Names = field(default_factory=Names)


@contextlib.contextmanager
def unknown_outcomes() -> Iterator[None]:
    """Make one kind of error of all answers that say nothing about what was done.

    :raises OutcomeUnknown: for them
    """
    try:
        yield
    except (NoConnection, errors.ServerError, errors.InvalidAnswer) as reason:
        raise OutcomeUnknown(
            f'No answer of the service: {reason}. What was done is read back by the next run'
        ) from reason


class TreeExecutor:
    """The way of one tree.

    :param tree: as it was planned last
    """

    def __init__(self, run: Run, tree: TreePlan) -> None:
        self._run, self.tree = run, tree
        self._client, self._journal = run.client, run.journal
        self._root_uuid = tree.root_provider_uuid
        record = run.journal.of(self._root_uuid)
        #: Whether the reshape is, or may be, the doing of this plan.
        self._ours = record.begun and record.ended is None
        self._is_as_planned = False
        #: What is to be said of the tree where it ends well.
        self._remarks: list[str] = []

    def forward(self, *, is_as_planned: bool = False) -> TreeResult:
        """Apply the plan of the tree.

        :param is_as_planned: whether it has been seen already that nothing has happened since
        :raises OutcomeUnknown: if the service does not answer any more
        :raises errors.Forbidden: if the policy does not allow it
        """
        self._is_as_planned = is_as_planned
        return self._retry(self._forward)

    def backward(self) -> TreeResult:
        """Take back what the plan has done to the tree.

        :raises: what :meth:`forward` does
        """
        return self._retry(self._backward)

    def _retry(self, attempt: Callable[[errors.PlacementError | None], TreeResult]) -> TreeResult:
        """Try until it is done, or it is certain that it cannot be done.

        Each time that the service refuses because somebody came between, or does not answer, the
        tree is read again, which tells whether the reshape has happened.
        """
        refusal: errors.PlacementError | None = None
        refused = 0
        for number in range(ATTEMPTS):
            if number:
                # With jitter, so that writers that met do not meet again.
                time.sleep(random.uniform(0, 0.04 * 2**number))  # noqa: S311
            try:
                with unknown_outcomes():
                    return attempt(refusal)
            except _Replanned:
                refusal = None
            except _PASSING as reason:
                refusal = reason
            except (errors.Conflict, errors.BadRequest) as reason:
                refusal, refused = reason, refused + 1
                if refused > 1:
                    # And in between it was seen that everything is as it has to be.
                    break
            except LeftAlone as reason:
                return self._leave_alone(State.LEFT_ALONE, reason)
        if refusal is None:
            refusal = LeftAlone('it changes each time that it is planned again')
        if isinstance(refusal, OutcomeUnknown):
            raise refusal
        return self._leave_alone(State.FAILED if refused > 1 else State.LEFT_ALONE, refusal)

    def _forward(self, refusal: errors.PlacementError | None) -> TreeResult:
        if self._is_as_planned:
            # What has happened since then is told by a conflict.
            self._is_as_planned = False
            conditions = preconditions.as_planned(self.tree)
        else:
            tree_state = live_state.read_tree_state(self._client, self.tree, self._listed())
            if tree_state.phase is Phase.AFTER:
                return self._complete(self.tree.operations())
            if isinstance(refusal, errors.DuplicateName):
                self._find_elsewhere(tree_state)
            conditions = self._conditions(tree_state)
        runner = self._runner(conditions)
        operations = iter(self.tree.operations())
        for operation in operations:
            if isinstance(operation, Reshape):
                # Also if no answer comes.
                self._ours = True
                runner.run(operation)
                break
            runner.run(operation)
        return self._complete(operations)

    def _conditions(self, tree_state: TreeState) -> Preconditions:
        """What to go on from; if what matters has changed, the tree is planned again."""
        conditions = preconditions.found(self._client, tree_state)
        if isinstance(conditions, Preconditions):
            return conditions
        known = {warning.message for warning in self.tree.warnings}
        self.tree = replanning.replanned(self._client, self._run.plan, self.tree, conditions)
        self._journal.revise(self.tree)
        new = [each.message for each in self.tree.warnings if each.message not in known]
        self._remarks = [f'planned again, as {conditions}', *new]
        raise _Replanned

    def _find_elsewhere(self, tree_state: TreeState) -> None:
        """Refuse, if a provider that is to be made exists in another tree."""
        for change in self.tree.created():
            for provider in resource_provider.list(self._client, name=change.name):
                if provider.uuid not in tree_state.listed:
                    raise LeftAlone(
                        f'{change.name} exists elsewhere: {provider.uuid}, '
                        f'in the tree of {provider.root_provider_uuid}'
                    )

    def _listed(self) -> dict[str, Provider]:
        return live_state.listing(self._client, live_state.roots_of(self.tree))

    def _runner(self, conditions: Preconditions) -> OperationRunner:
        return OperationRunner(
            self._client, self._journal, self._run.names, self._root_uuid, conditions
        )

    def _complete(self, operations: Iterable[Operation]) -> TreeResult:
        """What comes after the reshape: the traits that go, and a look at what has become of it.

        :param operations: what may be left to do; the reshape itself is passed over
        """
        self._set(operations)
        tree_state = live_state.read_tree_state(self._client, self.tree)
        differences = verify.of_tree_state(tree_state)
        wrong = [difference for difference in differences if difference.is_damage]
        if wrong:
            reason = f'verification: {wrong[0].message}'
            return self._ended(State.FAILED, reason, errors.Differs(reason))
        state = State.APPLIED if self._ours else State.ALREADY_APPLIED
        self._journal.end(self._root_uuid, State.APPLIED)
        remarks = [*self._remarks, *(difference.message for difference in differences[:3])]
        return self._ended(state, '; '.join(remarks))

    def _set(self, operations: Iterable[Operation]) -> None:
        """Set traits and aggregates, each on what is there now.

        The reshape moves generations by a step that is the service's own affair, so that only
        reading tells whether somebody else has changed them since.
        """
        for operation in operations:
            conditions = Preconditions()
            if isinstance(operation, SetTraits):
                preconditions.read_traits(self._client, operation.provider_uuid, conditions)
            elif isinstance(operation, SetAggregates):
                preconditions.read_aggregates(self._client, operation.provider_uuid, conditions)
            else:
                continue
            self._runner(conditions).run(operation)

    def _backward(self, _: errors.PlacementError | None) -> TreeResult:
        begun = self._journal.of(self._root_uuid).begun
        if not begun and live_state.is_as_planned(self.tree, self._listed()):
            return self._ended(State.ALREADY_BACK)
        snapshot = replanning.captured(self._client, self.tree)
        tree_state = live_state.tree_state_of(self.tree, snapshot)
        if tree_state.phase is not Phase.BEFORE:
            back = replanning.planned_back(snapshot, self._run.plan, self.tree)
            self._runner(preconditions.as_planned(back)).run(_reshape_of(back))
            tree_state = live_state.read_tree_state(self._client, self.tree, tree_state.listed)
        elif not begun and not any(
            change.uuid in tree_state.providers for change in self.tree.created()
        ):
            return self._ended(State.ALREADY_BACK)
        self._retreat(tree_state)
        self._journal.end(self._root_uuid, State.ROLLED_BACK)
        return self._ended(State.ROLLED_BACK)

    def _retreat(self, tree_state: TreeState) -> None:
        """Take back what surrounds the reshape: traits, aggregates, and the providers made."""
        inverse = self.tree.inverse()
        self._set(inverse)
        runner = self._runner(Preconditions())
        for operation in inverse:
            if isinstance(operation, DeleteProvider):
                live_provider = tree_state.providers.get(operation.uuid)
                # The service would delete inventories with the provider.
                if (
                    live_provider is not None
                    and not live_provider.inventories
                    and not live_provider.holdings
                ):
                    runner.run(operation)
                elif live_provider is not None:
                    raise LeftAlone(f'{operation.name} is not empty')

    def _leave_alone(self, state: State, reason: errors.PlacementError) -> TreeResult:
        """End without success; what was prepared is taken back, as far as nobody uses it."""
        message = str(reason)
        try:
            with unknown_outcomes():
                tree_state = live_state.read_tree_state(self._client, self.tree, self._listed())
                if tree_state.phase is Phase.BEFORE and self._journal.of(self._root_uuid).begun:
                    self._retreat(tree_state)
        except (errors.HTTPError, LeftAlone, UnstableRead, OutcomeUnknown) as obstacle:
            message += f'; what was prepared is still there: {obstacle}'
        self._journal.end(self._root_uuid, State.LEFT_ALONE, message)
        return self._ended(state, message, reason)

    def _ended(
        self, state: State, reason: str = '', error: errors.PlacementError | None = None
    ) -> TreeResult:
        return TreeResult(self._root_uuid, self.tree.root_provider_name, state, reason, error)


def _reshape_of(tree: TreePlan) -> Reshape:
    return next(operation for operation in tree.operations() if isinstance(operation, Reshape))
