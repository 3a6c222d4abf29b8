# SPDX-License-Identifier: Apache-2.0
"""The reasons why a request has no candidates, and the changes with which it has some.

The reasons are calculated from the providers. The service, if it can be asked, confirms the
changes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, groupby, islice

from placementclient.insight.candidates.conflicts import ConflictSearch, minimize_conflict
from placementclient.insight.candidates.matching import Matcher, ProviderIndex
from placementclient.insight.candidates.requirements import (
    Requirement,
    RequirementKind,
    list_requirements,
    restrict_request,
    select_askable_requirements,
)
from placementclient.insight.candidates.shortages import Shortage, ShortageReason, find_shortages
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.candidate_count import CandidateCount
from placementclient.placing.providers import is_sharing

#: How many trees with few shortages are examined to find the nearest ones.
CLOSE = 50
#: Of so many dropped requirements all combinations of less are tried.
MOST_DROPPED = 6
#: The most conflicts, and the most relaxations, that an explanation has.
MAX_SETS = 8


@dataclass(frozen=True, slots=True)
class Offer:
    """The number of trees with candidates of a request.

    :param is_cut: whether there may be more, as only so many candidates were asked for
    """

    trees: int
    is_cut: bool = False


#: Asks the service; ``None`` after the last request that it may send.
Ask = Callable[[CandidateRequest], Offer | None]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A change with which the request has candidates.

    :param lowered: the requirements with another amount, and that amount
    :param is_confirmed: whether the service says so, not a calculation
    """

    dropped: tuple[Requirement, ...]
    lowered: tuple[tuple[Requirement, int], ...]
    offer: Offer
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class NearTree:
    """A tree with few shortages."""

    name: str
    root_uuid: str
    shortages: tuple[Shortage, ...]

    @property
    def missing(self) -> float:
        """The sum of the missing parts of the requested amounts, each from 0 to 1."""
        return sum(
            1 - (shortage.amount or 0) / shortage.requirement.amount
            for shortage in self.shortages
            if shortage.reason
            in (ShortageReason.FREE, ShortageReason.MAX_UNIT, ShortageReason.INVENTORY)
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons why there are no candidates, or the candidates.

    :param offer: the trees with candidates for the original request; none, if it cannot be met
    :param alone: how many of them satisfy each requirement, were it the only one
    :param conflicts: minimal sets of requirements that cannot be met together, the smallest first
    :param names: of the providers that are named in requirements, by UUID
    :param has_more_conflicts: True if the conflicts may be some of several
    :param is_cut: whether there were too many combinations to try them all
    :param count: of the candidates; ``None`` where they are not counted
    """

    offer: Offer
    trees: int
    alone: Mapping[Requirement, int]
    conflicts: Sequence[frozenset[Requirement]] = ()
    relaxations: Sequence[Relaxation] = ()
    nearest: Sequence[NearTree] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    has_more_conflicts: bool = False
    is_cut: bool = False
    count: CandidateCount | None = None

    @property
    def is_met(self) -> bool:
        """Return True if the request has candidates."""
        return self.offer.trees > 0


def explain(
    request: CandidateRequest,
    index: ProviderIndex,
    ask: Ask | None = None,
    hosts: int = 5,
) -> Explanation:
    """Explain why a request has no candidates.

    :param ask: sends a request to the service; ``None``: send none
    """
    required = list_requirements(request)
    offer = ask(request) if ask else None
    matcher, topology = Matcher(index, required), index.topology
    alone = {need: len(roots) for need, roots in matcher.trees_by_requirement.items()}
    providers = topology.snapshot.providers
    names = {
        need.value: providers[need.value].name
        for need in required
        if need.kind is RequirementKind.IN_TREE and need.value in providers
    }
    offer = offer or Offer(len(matcher.find_satisfying_trees(frozenset(required))))
    explanation = Explanation(offer, len(topology.trees), alone, names=names)
    if explanation.is_met:
        return explanation
    return _RequestDiagnosis(request, index, matcher, ask).complete(explanation, hosts)


def find_trees_without_pcpu(request: CandidateRequest, index: ProviderIndex) -> Offer:
    """Return the number of trees without PCPU that have candidates of a request."""
    required = list_requirements(request)
    satisfying = Matcher(index, required).find_satisfying_trees(frozenset(required))
    return Offer(len(satisfying - index.topology.find_roots_with('PCPU')))


class _RequestDiagnosis:
    """Finds the conflicts, the relaxations and the nearest trees of a request."""

    def __init__(
        self, request: CandidateRequest, index: ProviderIndex, matcher: Matcher, ask: Ask | None
    ) -> None:
        self._request, self._index, self._matcher, self._ask = request, index, matcher, ask
        self._needs = matcher.requirements
        self._all = frozenset(matcher.requirements)
        #: The roots of the trees for which some relaxation is enough.
        self._relieved: set[str] = set()
        #: The providers that can serve the trees that were read, by root.
        self._read: dict[str, Sequence[ProviderState]] = {}

    def complete(self, explanation: Explanation, hosts: int) -> Explanation:
        """Return the explanation with conflicts, relaxations and the nearest trees."""
        is_predicted = not self._matcher.is_met(self._all)
        # The service may have a rule that is not known here: ask it which requirements conflict.
        conflicts = [] if is_predicted else [minimize_conflict(self._needs, self._is_granted)]
        search = ConflictSearch(self._needs, self._matcher.is_possible, conflicts)
        sizes = [list(sets) for _, sets in groupby(list(search.find_corrections()), key=len)]
        self._read |= self._index.read_trees(list(self._find_nearest(hosts)))
        # Larger sets are left out if a smaller one is enough.
        by_size = (list(islice(self._find_relaxations(sets), MAX_SETS)) for sets in sizes)
        relaxations = next(filter(None, by_size), [])
        # Among equally near trees, those that a relaxation helps.
        nearest = self._find_nearest(hosts)
        self._read |= self._index.read_trees([root for root in nearest if root not in self._read])

        def rank(host: NearTree) -> tuple[object, ...]:
            lacking = nearest[host.root_uuid]
            return *self._rank_tree(host.root_uuid, lacking), host.missing

        # Now with the exact amounts.
        described = (self._describe_host(root, lacking) for root, lacking in nearest.items())
        has_more = search.is_cut or not is_predicted or len(search.conflicts) > MAX_SETS
        return replace(
            explanation,
            conflicts=search.conflicts[:MAX_SETS],
            relaxations=relaxations,
            nearest=sorted(described, key=rank),
            has_more_conflicts=has_more,
            is_cut=search.is_cut,
        )

    def _is_granted(self, retained: frozenset[Requirement]) -> bool:
        """Return True if requirements have candidates, by the service if it can be asked."""
        offer = self._ask_service([need for need in self._needs if need in retained])
        return self._matcher.is_met(retained) if offer is None else offer.trees > 0

    def _ask_service(self, retained: Sequence[Requirement]) -> Offer | None:
        """Return the service's answer for some requirements; ``None`` if it cannot be asked."""
        relaxed = restrict_request(self._request, retained)
        return self._ask(relaxed) if self._ask and relaxed else None

    def _rank_tree(self, root: str, lacking: frozenset[Requirement]) -> tuple[int, bool]:
        """Return a key that sorts trees by the number of their shortages."""
        # Among equally near trees, those that a relaxation helps come first.
        return len(lacking), root not in self._relieved

    def _find_nearest(self, hosts: int) -> dict[str, frozenset[Requirement]]:
        """Return the shortages of the trees that lack the least, the nearest first."""
        alone, trees = self._matcher.trees_by_requirement, self._index.topology.trees
        met = {
            need: self._matcher.count_granted_amounts(need)
            for need in self._needs
            if need.kind is RequirementKind.RESOURCE
        }

        def sort_key(pair: tuple[str, frozenset[Requirement]]) -> tuple[object, ...]:
            root, lacking = pair
            had = sum(met[need][root] for need in lacking & met.keys())
            return *self._rank_tree(root, lacking), -had, trees[root][0].name

        short = (
            (root, frozenset(need for need in self._needs if root not in alone[need]))
            for root in self._find_eligible()
        )
        closest = sorted(short, key=sort_key)[:CLOSE]
        near = sorted(
            ((root, self._find_lacking(root, lack)) for root, lack in closest), key=sort_key
        )
        promising = [(root, lacking) for root, lacking in near if len(lacking) < len(self._all)]
        return dict((promising or near)[:hosts])

    def _find_eligible(self) -> Collection[str]:
        """Return the root of the requested tree, else those of all trees but sharing providers."""
        trees = self._index.topology.trees
        hosts = {root for root, states in trees.items() if not all(map(is_sharing, states))}
        for need in self._needs:
            if need.kind is RequirementKind.IN_TREE:
                hosts = hosts & self._matcher.trees_by_requirement[need] or hosts
        return hosts or trees

    def _find_lacking(self, root: str, short: frozenset[Requirement]) -> frozenset[Requirement]:
        """Return a minimal set of requirements to give up so that a tree has candidates."""
        rest = [need for need in reversed(self._needs) if need not in short]
        search = ConflictSearch(rest, partial(self._matcher.is_possible_in, root))
        return short | next(search.find_corrections(), frozenset(rest))

    def _describe_host(self, root: str, lacking: frozenset[Requirement]) -> NearTree:
        """Return a tree with the reasons why it lacks some requirements."""
        lacks: list[Shortage] = []
        for need in self._needs:
            if need not in lacking:
                continue
            if root in self._matcher.trees_by_requirement[need]:
                # The requirements that conflict with it on this tree.
                rest = [other for other in self._needs if other not in lacking or other == need]
                joint = minimize_conflict(rest, partial(self._matcher.is_possible_in, root))
                others = tuple(sorted(joint - {need}, key=str))
                lacks.append(Shortage(need, ShortageReason.SHAPE, others=others))
            else:
                lacks += find_shortages(need, self._read.get(root, ()), self._needs)
        return NearTree(self._index.topology.trees[root][0].name, root, tuple(lacks))

    def _find_relaxations(
        self, corrections: Sequence[frozenset[Requirement]]
    ) -> Iterator[Relaxation]:
        """Yield the relaxations with candidates, from minimal sets of requirements to give up."""
        without: list[frozenset[Requirement]] = []
        # Those that drop less come first, as dropping more than these is no news.
        changes = sorted(self._find_changes(corrections), key=lambda change: len(change[0]))
        for dropped, lowered, retained in changes:
            if any(less <= dropped for less in without):
                continue
            relaxation = self._check_change(dropped, lowered, retained)
            if relaxation is not None and relaxation.offer.trees:
                without += [] if lowered else [dropped]
                yield relaxation

    def _find_changes(
        self, corrections: Sequence[frozenset[Requirement]]
    ) -> Iterator[tuple[frozenset[Requirement], Mapping[Requirement, int], frozenset[Requirement]]]:
        """Yield each change: dropped requirements, those with another amount, the new request."""
        for correction in corrections:
            retained, lowered = self._all - correction, dict[Requirement, int]()
            for need in [need for need in self._needs if need in correction]:
                amount = self._find_possible_amount(need, retained)
                if amount:
                    lowered[need] = amount
                    retained |= {replace(need, amount=amount)}
            if restrict_request(self._request, retained) is None:
                retained = select_askable_requirements(retained)
            others = {replace(need, amount=amount) for need, amount in lowered.items()}
            if others <= retained:
                retained |= self._find_needless(self._all - retained - lowered.keys(), retained)
                yield self._all - retained - lowered.keys(), lowered, retained

    def _find_needless(
        self, dropped: frozenset[Requirement], retained: frozenset[Requirement]
    ) -> frozenset[Requirement]:
        """Return the dropped requirements that Placement can meet beside the others."""
        ordered = [need for need in self._needs if need in dropped]
        for size in range(min(len(ordered), MOST_DROPPED)):
            for fewer in combinations(ordered, size):
                more = retained | dropped.difference(fewer)
                if restrict_request(self._request, more) and self._matcher.is_met(more):
                    return dropped.difference(fewer)
        return frozenset()

    def _check_change(
        self,
        dropped: frozenset[Requirement],
        lowered: Mapping[Requirement, int],
        retained: frozenset[Requirement],
    ) -> Relaxation | None:
        """Return a change with its candidates; ``None`` if the service refuses such a request."""
        needs = [*self._needs, *(replace(need, amount=n) for need, n in lowered.items())]
        ordered = [need for need in needs if need in retained]
        if restrict_request(self._request, ordered) is None:
            return None
        offer = self._ask_service(ordered)
        satisfying = self._matcher.find_satisfying_trees(retained)
        self._relieved |= satisfying
        return Relaxation(
            tuple(need for need in self._needs if need in dropped),
            tuple(lowered.items()),
            offer or Offer(len(satisfying)),
            is_confirmed=offer is not None,
        )

    def _find_possible_amount(
        self, requirement: Requirement, retained: frozenset[Requirement]
    ) -> int:
        """Return the nearest amount that has candidates beside the other requirements; else 0."""
        if requirement.kind is not RequirementKind.RESOURCE:
            return 0

        def fits(amount: int) -> bool:
            return self._matcher.is_met(retained | {replace(requirement, amount=amount)})

        inventories = [
            state.inventories[requirement.value]
            for states in self._read.values()
            for state in states
            if requirement.value in state.inventories
        ]
        step = min((inventory.step_size for inventory in inventories), default=1)
        low, high = 0, (requirement.amount - 1) // step
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle * step) else (low, middle - 1)
        if low and fits(low * step):
            return low * step
        # The amount may be below min_unit, or no multiple of step_size.
        more = {inventory.min_unit for inventory in inventories}
        more |= {
            -(-requirement.amount // stock.step_size) * stock.step_size for stock in inventories
        }
        return next((n for n in sorted(more) if n > requirement.amount and fits(n)), 0)
