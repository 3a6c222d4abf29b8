# SPDX-License-Identifier: Apache-2.0
"""The changes of a request with which it has candidates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from typing import NamedTuple

from placementclient.insight.candidates.matching import TreeMatcher
from placementclient.insight.candidates.requirements import (
    Requirement,
    restrict_request,
    select_askable_requirements,
)
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState

#: Of so many dropped requirements all combinations of less are tried.
MOST_DROPPED = 6
#: The most relaxations that a search returns.
MAX_RELAXATIONS = 8


@dataclass(frozen=True, slots=True)
class TreeCount:
    """The number of trees with candidates of a request.

    :param is_cut: whether there may be more, as only so many candidates were asked for
    """

    tree_count: int
    is_cut: bool = False


#: Asks the service; ``None`` after the last request that it may send.
Ask = Callable[[CandidateRequest], TreeCount | None]


def ask_for_tree_count(
    ask: Ask | None, request: CandidateRequest, retained: Sequence[Requirement]
) -> TreeCount | None:
    """Ask the service how many trees meet some requirements; ``None`` if it cannot be asked.

    :param ask: sends a request to the service; ``None``: send none
    :param retained: the requirements to meet, of those of the request
    """
    relaxed = restrict_request(request, retained)
    return ask(relaxed) if ask and relaxed else None


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A change with which the request has candidates.

    :param lowered: pairs of a requirement and its other amount
    :param offer: the number of trees with candidates then
    :param is_confirmed: whether the service has confirmed that; else it is calculated
    :param roots: the trees with candidates then, as calculated
    """

    dropped: tuple[Requirement, ...]
    lowered: tuple[tuple[Requirement, int], ...]
    offer: TreeCount
    is_confirmed: bool
    roots: frozenset[str] = frozenset()


class _RequestChange(NamedTuple):
    """A change of a request: it drops some requirements, and gives others another amount.

    :param amounts: the other amounts, by the requirement of the request
    :param retained: the requirements of the changed request
    :param dropped: the requirements of the request that it gives up as a whole
    """

    dropped: frozenset[Requirement]
    amounts: Mapping[Requirement, int]
    retained: frozenset[Requirement]


class RelaxationSearch:
    """Finds the changes of a request with which it has candidates.

    :param ask: sends a request to the service; ``None``: send none
    :param states: providers whose inventories show which amounts to try
    :param matcher: decides which trees satisfy requirements
    """

    def __init__(
        self,
        request: CandidateRequest,
        matcher: TreeMatcher,
        ask: Ask | None,
        states: Sequence[ProviderState],
    ) -> None:
        self._request, self._matcher, self._ask, self._states = request, matcher, ask, states
        self._all = frozenset(matcher.requirements)

    def find_smallest_relaxations(
        self, corrections: Iterable[frozenset[Requirement]]
    ) -> list[Relaxation]:
        """Return relaxations with candidates, from the smallest corrections that lead to any.

        :param corrections: minimal sets of requirements to give up, the smallest first
        """
        for _, same_size in groupby(corrections, key=len):
            changes = [self._make_smallest_change(correction) for correction in same_size]
            if relaxations := list(islice(self._find_relaxations(changes), MAX_RELAXATIONS)):
                return relaxations
        return []

    def _find_relaxations(self, changes: Iterable[_RequestChange]) -> Iterator[Relaxation]:
        """Yield the changes after which the request has candidates, those that drop least first."""
        enough: list[frozenset[Requirement]] = []
        for change in sorted(changes, key=lambda change: len(change.dropped)):
            # To drop more than is enough is no news.
            if any(less <= change.dropped for less in enough):
                continue
            relaxation = self._make_relaxation(change)
            if relaxation is not None and relaxation.offer.tree_count:
                enough += [] if change.amounts else [change.dropped]
                yield relaxation

    def _make_smallest_change(self, correction: frozenset[Requirement]) -> _RequestChange:
        """Return a change that gives up as little of a correction as possible.

        It tries other amounts first. A group has to request a resource: without one it is dropped
        with its conditions. Last, it retains dropped requirements that can be met after all.
        """
        retained, amounts = self._all - correction, dict[Requirement, int]()
        for need in self._matcher.sort_requirements(correction):
            if amount := self._find_possible_amount(need, retained):
                amounts[need] = amount
                retained |= {replace(need, amount=amount)}
        if restrict_request(self._request, retained) is None:
            retained = select_askable_requirements(retained)
        dropped = self._all - retained - amounts.keys()
        needless = self._find_needless_drops(dropped, retained)
        return _RequestChange(dropped - needless, amounts, retained | needless)

    def _find_needless_drops(
        self, dropped: frozenset[Requirement], retained: frozenset[Requirement]
    ) -> frozenset[Requirement]:
        """Return the largest set of dropped requirements that can be met with the retained ones."""
        ordered = self._matcher.sort_requirements(dropped)
        for size in range(min(len(ordered), MOST_DROPPED)):
            for fewer in combinations(ordered, size):
                more = retained | dropped.difference(fewer)
                if restrict_request(self._request, more) and self._matcher.is_met(more):
                    return dropped.difference(fewer)
        return frozenset()

    def _make_relaxation(self, change: _RequestChange) -> Relaxation | None:
        """Return a change as a relaxation, with its trees; ``None`` if the request is invalid."""
        changed = [replace(need, amount=amount) for need, amount in change.amounts.items()]
        ordered = [
            need for need in (*self._matcher.requirements, *changed) if need in change.retained
        ]
        if restrict_request(self._request, ordered) is None:
            return None
        offer = ask_for_tree_count(self._ask, self._request, ordered)
        roots = frozenset(self._matcher.find_satisfying_trees(change.retained))
        return Relaxation(
            tuple(self._matcher.sort_requirements(change.dropped)),
            tuple(change.amounts.items()),
            offer or TreeCount(len(roots)),
            is_confirmed=offer is not None,
            roots=roots,
        )

    def _find_possible_amount(
        self, requirement: Requirement, retained: frozenset[Requirement]
    ) -> int:
        """Return the nearest amount that has candidates beside the other requirements; else 0.

        :param requirement: an amount of a class
        :param retained: the other requirements
        """
        if not requirement.is_resource:
            return 0

        def is_met_with(amount: int) -> bool:
            return self._matcher.is_met(retained | {replace(requirement, amount=amount)})

        inventories = [
            state.inventories[requirement.value]
            for state in self._states
            if requirement.value in state.inventories
        ]
        step = min((inventory.step_size for inventory in inventories), default=1)
        low, high = 0, (requirement.amount - 1) // step
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if is_met_with(middle * step) else (low, middle - 1)
        if low and is_met_with(low * step):
            return low * step
        # The amount may be below min_unit, or no multiple of step_size.
        more = {inventory.min_unit for inventory in inventories}
        more |= {
            -(-requirement.amount // stock.step_size) * stock.step_size for stock in inventories
        }
        return next((n for n in sorted(more) if n > requirement.amount and is_met_with(n)), 0)
