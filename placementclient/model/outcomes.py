# SPDX-License-Identifier: Apache-2.0
"""The results of running a plan: results and states of trees."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.model.findings import Finding


class TreeState(enum.StrEnum):
    """The result of one tree after a run."""

    APPLIED = 'applied'
    ALREADY_APPLIED = 'already applied'
    ROLLED_BACK = 'rolled back'
    ALREADY_BACK = 'not applied'
    LEFT_ALONE = 'left alone'
    DONE_IN_PART = 'done in part'
    FAILED = 'failed'
    NOT_STARTED = 'not started'


#: The reason of a tree that an earlier run rolled back.
ALREADY_ROLLED_BACK = 'already rolled back'
#: The deviation of a tree from a plan that was rolled back.
PLAN_ROLLED_BACK = 'the plan was rolled back'
#: The value of a part of a change: fields, amounts by provider, a set of names, or one value.
PartValue = Mapping[str, object] | Sequence[str] | str | int | float | None


class ChangeRow(NamedTuple):
    """One part of a change, without the values that stay.

    :param object: the name of a provider; ``consumer UUID``
    :param change: ``create``, ``delete``, ``name``, ``parent``, ``traits``, ``aggregates``,
        ``VCPU``, ``VCPU:total``, ``allocations``, ``owner``
    :param before: of traits and aggregates those that go; ``None`` where there is nothing
    :param after: of traits and aggregates those that come; ``None`` where nothing is left
    """

    object: str
    change: str
    before: PartValue
    after: PartValue


@dataclass(frozen=True, slots=True)
class TreeResult:
    """The result of a run for one tree.

    It is left alone only if nothing of it was changed; otherwise it is done in part.

    :param reason: why it is not done, or a remark; without its full stop
    :param error: the exception, if one was raised
    :param rows: of a plan without a file, the parts that were carried out
    :param unknown: the parts of the last request, if no answer says whether they were carried out
    """

    root_provider_uuid: str
    root_provider_name: str
    state: TreeState
    reason: str = ''
    error: errors.PlacementError | None = None
    rows: Sequence[ChangeRow] = ()
    unknown: Sequence[ChangeRow] = ()

    @property
    def is_done(self) -> bool:
        """Return whether the run reached its goal for the tree."""
        return self.state is not TreeState.NOT_STARTED and not self.is_unsuccessful

    @property
    def is_unsuccessful(self) -> bool:
        """Return whether the run tried to change the tree and did not reach its goal."""
        return self.state in (TreeState.LEFT_ALONE, TreeState.DONE_IN_PART, TreeState.FAILED)

    @property
    def had_unexpected_state(self) -> bool:
        """Return whether the tree had an unexpected state, rather than an error."""
        return self.state is TreeState.LEFT_ALONE or isinstance(self.error, errors.Differs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, tree by tree, in the order of the plan.

    :param stopped: what ended the run before its time: then trees that were not started may be
        left, and of one that has failed it may be unknown whether its last request was granted
    :param is_partial: whether a tree that is not done was changed all the same
    """

    trees: Sequence[TreeResult]
    stopped: errors.PlacementError | None = None
    is_partial: bool = False

    @property
    def exit_status(self) -> ExitStatus:
        """Return 0 if all is done, 6 for a part, 3 if trees were left alone, 1 after errors.

        Errors that came after a part of a tree was changed are 6 too. It is 130, whatever
        is done, where the operator has ended it. Trees that were not started because no more were
        asked for do not count.
        """
        if isinstance(self.stopped, errors.Interrupted):
            return self.stopped.exit_status
        undone = [tree for tree in self.trees if tree.is_unsuccessful]
        if not undone and self.stopped is None:
            return ExitStatus.DONE
        if any(tree.is_done or tree.state is TreeState.DONE_IN_PART for tree in self.trees):
            return ExitStatus.PARTIAL
        if self.stopped is None and all(tree.had_unexpected_state for tree in undone):
            return ExitStatus.DIFFERS
        if self.is_partial:
            return ExitStatus.PARTIAL
        return self.stopped.exit_status if self.stopped is not None else ExitStatus.ERROR

    def raise_first_error(self) -> None:
        for error in (*(tree.error for tree in self.trees), self.stopped):
            if error is not None:
                raise error

    def list_trees(self, *states: TreeState) -> list[TreeResult]:
        """Return the results of the trees with one of these states."""
        return [tree for tree in self.trees if tree.state in states]


class PlanStatus(enum.StrEnum):
    """The state of a tree: as before the plan, as after it, as rolled back, or another."""

    PENDING = 'pending'
    APPLIED = 'applied'
    ROLLED_BACK = 'rolled back'
    DIFFERS = 'differs'


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """The status of one tree of a plan, with the reason if it differs.

    :param is_left_alone: whether it differs because it was left alone when the plan was applied
    """

    root_provider_uuid: str
    root_provider_name: str
    status: PlanStatus
    reason: str = ''
    is_left_alone: bool = False


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The results of a rehearsal in the real service.

    :param differences: between the plan and the state after apply
    :param remains: between the snapshot and the state after the rollback
    """

    applied: Outcome
    differences: Sequence[Finding]
    rolled_back: Outcome
    remains: Sequence[Finding]

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the first part that failed; else 0, or ``DIFFERS``."""
        for outcome in (self.applied, self.rolled_back):
            if outcome.exit_status is not ExitStatus.DONE:
                return outcome.exit_status
        return ExitStatus.DIFFERS if self.differences or self.remains else ExitStatus.DONE
