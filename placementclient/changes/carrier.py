"""The carrier of a plan: applies or rolls back each tree, whatever other clients change."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from placementclient.api import attempts, resource_provider
from placementclient.changes import journal, scope
from placementclient.changes.applier import Applier, check_allowed
from placementclient.changes.comparison import (
    LeftAlone,
    Obstructed,
    TreeComparison,
    sent,
)
from placementclient.changes.diff import operations_of
from placementclient.changes.journal import Journal, TreeJournal
from placementclient.changes.operations import (
    CreateProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
)
from placementclient.changes.own_values import repeated
from placementclient.changes.rebase import Rebased, rebase_change
from placementclient.changes.records import operations
from placementclient.changes.tree_queue import result_of, unknown_outcomes
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, Outcome, State, TreeResult, TreeStatus
from placementclient.model.plans import Plan, TreeChange
from placementclient.model.snapshots import Snapshot
from placementclient.reading.capture import UnstableRead

#: Refusals that come from other writers, however often; any other refusal does so once.
_PASSING = (errors.ConcurrentUpdate, errors.InventoryInUse)
_REFUSALS = (errors.Conflict, errors.BadRequest, errors.NotFound, UnstableRead)


class PlannedAgain(LeftAlone):
    """The tree had changed, and has a new plan now."""


class VerificationFailed(errors.Differs):
    """The state of the service is not the one that it has just accepted."""


@dataclass(frozen=True, slots=True)
class Look:
    """The comparison of a tree with its plan, before anything is written.

    :param is_there: whether the service has the tree; ``None``: the plan does not know
    :param difference: what is not as the plan says; empty where nothing is known to be so
    :param obstacle: why the tree cannot be begun
    """

    tree: TreeChange
    is_there: bool | None = True
    difference: str = ''
    obstacle: errors.PlacementError | None = None


class Carrier:
    """Applies or rolls back a plan, tree by tree, with the operations of :func:`rebase_change`.

    :param identity: of the plan, where its journal has a file
    :ivar journal: of the plan; in memory, unless it has a file
    """

    #: Whether what is left of a tree is one transaction, where the service has these.
    is_joint = True
    #: The errors after which a tree is read again, until the deadline.
    retried_errors: tuple[type[errors.PlacementError], ...] = (
        *_REFUSALS,
        PlannedAgain,
        errors.NoAnswer,
    )
    #: The record of an operation in the journal.
    record_of: Callable[[Operation], Mapping[str, Any]] = staticmethod(operations.whole)

    def __init__(self, client: Client, plan: Plan, identity: str = '') -> None:
        self.client, self.plan, self.identity = client, plan, identity
        self.journal = Journal(None, {})
        #: Those that make the custom classes and traits that the trees of the run have made.
        self._names = set[Operation]()
        self._done: dict[str, list[Operation]] = {}
        #: What is to be said of trees that end well, by the UUIDs of their roots.
        self._remarks: dict[str, list[str]] = {}
        #: What is left to do of trees that were read and not begun yet, likewise.
        self._prepared: dict[str, tuple[Snapshot, Sequence[Operation]]] = {}

    def check(self, trees: Sequence[TreeChange]) -> None:
        """Raise the errors that can be found before the journal is opened."""
        check_allowed(self.client, chain.from_iterable(map(operations_of, trees)))

    def opened(self, path: str) -> AbstractContextManager[Journal]:
        """Open the journal of the plan."""
        return journal.opened(path, self.identity)

    def recorded(self, path: str) -> Journal:
        """Read the journal of the plan."""
        return Journal(None, journal.read(path, self.identity))

    def is_there(self, tree: TreeChange) -> bool | None:
        """Return whether the service has a tree; ``None`` if the plan does not know."""
        with unknown_outcomes():
            return self._is_there(tree, self._read(tree))

    def stands(self, tree: TreeChange, *, backward: bool) -> bool:
        """Return whether a tree is still as the journal says that the last run left it.

        :raises errors.Differs: if it is on neither side, and stays so
        """
        _, rebased = self.rebased(tree, backward=backward)
        return not rebased.operations and not rebased.obstacles

    def looking(
        self, trees: Sequence[TreeChange], *, backward: bool
    ) -> Callable[[TreeChange], Look]:
        """Return a function that compares a tree with the plan; it may read trees together."""

        def look(tree: TreeChange) -> Look:
            live, rebased = self.rebased(tree, backward=backward)
            is_there = self._is_there(tree, live)
            if rebased.obstacles:
                obstacle = Obstructed(rebased.obstacles)
                return Look(tree, is_there, str(obstacle), obstacle)
            if not backward:
                self._prepared[tree.root_provider_uuid] = live, rebased.operations
            return Look(tree, is_there)

        return look

    def status_reader(self, trees: Sequence[TreeChange]) -> Callable[[TreeChange], TreeStatus]:
        """Return a function for the status of a tree; it reads the trees together if it can."""

        def status(tree: TreeChange) -> TreeStatus:
            found, reason = self._compared(tree).status()
            return TreeStatus(tree.root_provider_uuid, tree.root_provider_name, found, reason)

        return status

    def comparing(self, trees: Sequence[TreeChange]) -> Callable[[TreeChange], Sequence[Deviation]]:
        """Return a function for the deviations of a tree; it reads the trees together if it can."""
        return lambda tree: list(self._compared(tree).deviations(bool(self.journal.records)))

    def brought(self, tree: TreeChange, *, backward: bool) -> TreeResult:
        """Apply or roll back a tree; report changes of others that undo it.

        Each time that the service refuses after a conflict, or does not answer, the tree is read
        again, which shows what is done.
        """
        attempt = self._backward if backward else self._forward
        result = self._retried(tree, lambda: attempt(tree))
        again = [f'others had taken back {each}' for each in repeated(self.done(tree))]
        return replace(result, reason='; '.join(filter(None, [result.reason, *again])))

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the result of the run, and whether it has changed an unfinished tree."""
        undone = (tree for tree in outcome.trees if not tree.is_done)
        changes = (each for tree in undone for each in self._done.get(tree.root_provider_uuid, ()))
        is_partial = any(not isinstance(each, EnsureClass | EnsureTrait) for each in changes)
        return replace(outcome, is_partial=is_partial)

    def done(self, tree: TreeChange) -> list[Operation]:
        """Return the list of the operations that the run has applied to a tree."""
        return self._done.setdefault(tree.root_provider_uuid, [])

    def report(self, tree: TreeChange, operation: Operation, is_known: bool) -> None:
        """Record an operation that was applied.

        :param is_known: whether that is known
        """
        if is_known:
            self.done(tree).append(operation)

    def leave_alone(
        self, tree: TreeChange, reason: errors.PlacementError, state: State = State.LEFT_ALONE
    ) -> TreeResult:
        """Stop work on a tree, and leave the tree as it is."""
        message = '; '.join(filter(None, [str(reason), self.withdrawn(tree)]))
        self.journal.end(tree.root_provider_uuid, State.LEFT_ALONE, message)
        return replace(result_of(tree, state, reason), reason=message)

    # What a recipe decides, in one of its subclasses.

    def withdrawn(self, tree: TreeChange) -> str:
        """Remove prepared objects of a tree that is left alone; return the obstacles in words."""
        return ''

    def left(self, tree: TreeChange) -> tuple[Snapshot, Sequence[Operation]]:
        """Read a tree, and return the remaining operations of its change.

        :raises LeftAlone: if others are in the way
        """
        live, rebased = self.rebased(tree)
        if rebased.obstacles:
            raise Obstructed(rebased.obstacles)
        return live, rebased.operations

    def verify(self, tree: TreeChange) -> None:
        """Check that the service has the state that it accepted.

        :raises VerificationFailed: if it is not
        """

    def take_back(self, tree: TreeChange) -> bool:
        """Roll back a tree; return whether there was anything to roll back.

        :raises LeftAlone: if a part of it cannot be
        """
        live, rebased = self.rebased(tree, backward=True)
        if not self.is_begun(tree) and (rebased.operations or rebased.obstacles):
            self._check_own(tree)
        self.write(tree, live, rebased.operations)
        if rebased.obstacles:
            raise Obstructed(rebased.obstacles)
        return bool(rebased.operations)

    # Parts of all of them.

    def is_begun(self, tree: TreeChange) -> bool:
        """Return whether a request may ever have been sent for a tree."""
        return self.journal.of(tree.root_provider_uuid).begun

    def rebased(self, tree: TreeChange, *, backward: bool = False) -> tuple[Snapshot, Rebased]:
        """Read a tree; return its state, and the remaining operations of one direction."""
        with unknown_outcomes():
            live = self._read(tree)
        return live, self._rebased(tree, live, backward=backward)

    def _read(self, tree: TreeChange) -> Snapshot:
        def attempt() -> Snapshot:
            return scope.read(self.client, tree, is_begun=self.is_begun(tree))

        return attempts.retried(self.client, attempt)

    def _rebased(self, tree: TreeChange, live: Snapshot, *, backward: bool = False) -> Rebased:
        own = sent(self.journal.of(tree.root_provider_uuid))
        return rebase_change(tree, live, own, backward=backward)

    def write(self, tree: TreeChange, live: Snapshot, operations: Sequence[Operation]) -> None:
        """Apply operations, in one transaction if the service has transactions."""
        applier = Applier(
            self.client,
            live,
            journal=TreeJournal(self.journal, tree.root_provider_uuid, self.record_of),
            names=self._names,
            report=functools.partial(self.report, tree),
        )
        # Not joined to others: when a name is there already, the service tries and fails.
        applier.run(each for each in operations if isinstance(each, EnsureClass | EnsureTrait))
        known = len(self.done(tree))
        try:
            with applier.joint() if self.is_joint else contextlib.nullcontext():
                applier.run(
                    each for each in operations if not isinstance(each, EnsureClass | EnsureTrait)
                )
        except BaseException as failure:
            if self.is_joint and self.client.transaction is not None:
                # They are taken back.
                del self.done(tree)[known:]
            if isinstance(failure, errors.DuplicateName):
                self.check_elsewhere(live, operations)
            if isinstance(failure, errors.BadRequest):
                # Others may have deleted a custom trait since.
                self._names.clear()
            raise

    def _forward(self, tree: TreeChange) -> TreeResult:
        root_uuid = tree.root_provider_uuid
        # Once: a conflict shows later changes.
        prepared = self._prepared.pop(root_uuid, None)
        live, operations = prepared if prepared is not None else self.left(tree)
        self.write(tree, live, operations)
        self.verify(tree)
        record = self.journal.of(root_uuid)
        is_ours = record.begun and record.ended is None
        self.journal.end(root_uuid, State.APPLIED)
        return self._ended(tree, State.APPLIED if is_ours else State.ALREADY_APPLIED)

    def _backward(self, tree: TreeChange) -> TreeResult:
        is_begun = self.is_begun(tree)
        if not self.take_back(tree) and not is_begun:
            return self._ended(tree, State.ALREADY_BACK)
        self.journal.end(tree.root_provider_uuid, State.ROLLED_BACK)
        return self._ended(tree, State.ROLLED_BACK)

    def _ended(self, tree: TreeChange, state: State) -> TreeResult:
        remarks = self._remarks.get(tree.root_provider_uuid, ())
        return replace(result_of(tree, state), reason='; '.join(remarks))

    def _retried(self, tree: TreeChange, attempt: Callable[[], TreeResult]) -> TreeResult:
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
                return self.leave_alone(tree, reason, State.FAILED)

        try:
            with unknown_outcomes():
                return attempts.retried(self.client, attempted, conflicts=self.retried_errors)
        except VerificationFailed as reason:
            return result_of(tree, State.FAILED, reason)
        except (*_REFUSALS, LeftAlone) as reason:
            return self.leave_alone(tree, reason)

    def _compared(self, tree: TreeChange) -> TreeComparison:
        live = self._read(tree)
        forward, back = self._rebased(tree, live), self._rebased(tree, live, backward=True)
        record = self.journal.records.get(tree.root_provider_uuid)
        return TreeComparison(tree, live, forward, back, record)

    def _is_there(self, tree: TreeChange, live: Snapshot) -> bool | None:
        known = tree.before.providers
        if self.is_begun(tree):
            # It may have made or deleted the providers of one side, or be half way between them.
            known = tree.after.providers and {**known, **tree.after.providers}
        return any(uuid in live.providers for uuid in known) if known else None

    def _check_own(self, tree: TreeChange) -> None:
        """See whether a tree of which the journal knows nothing is as this plan makes it.

        :raises LeftAlone: if it is not
        """
        _, rebased = self.rebased(tree)
        if rebased.obstacles:
            raise Obstructed(rebased.obstacles)
        if rebased.operations:
            raise LeftAlone('its journal does not say that this plan was applied')

    def check_elsewhere(self, live: Snapshot, operations: Sequence[Operation]) -> None:
        """Raise an error if a provider to create exists in another tree."""
        roots = {state.provider.root_uuid for state in live.providers.values()}
        for operation in operations:
            if isinstance(operation, CreateProvider):
                for provider in resource_provider.list(self.client, name=operation.name):
                    if provider.root_uuid not in roots:
                        raise LeftAlone(
                            f'{operation.name} exists elsewhere: {provider.uuid}, '
                            f'in the tree of {provider.root_uuid}'
                        )
