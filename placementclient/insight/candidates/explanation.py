"""The reasons for a request without candidates, and the changes that would be enough.

The answers are worked out on what is known of the providers. Where the service can be asked, what
is said to be enough is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from placementclient.insight.candidates.conflicts import (
    Steps,
    conflicts,
    correction_sets,
    minimized,
)
from placementclient.insight.candidates.matching import Matcher
from placementclient.insight.candidates.provider_index import Offer, ProviderIndex
from placementclient.insight.candidates.requirements import (
    Kind,
    Requirement,
    askable,
    requirements,
    restricted,
)
from placementclient.insight.candidates.shortages import Reason, Shortage, shortages
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState

#: How many of the trees that lack the least are looked at closely, to find the nearest of them.
CLOSE = 50


#: Asks the service; None where it will not be asked any more.
Ask = Callable[[CandidateRequest], Offer | None]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Something that would be enough.

    :param dropped: what is not asked for any more
    :param lowered: of which another amount is asked for, and that amount
    :param offer: what there is then
    :param is_asked: whether the service says so, not a calculation
    """

    dropped: tuple[Requirement, ...]
    lowered: tuple[tuple[Requirement, int], ...]
    offer: Offer
    is_asked: bool


@dataclass(frozen=True, slots=True)
class Host:
    """A tree that comes near, and what it lacks."""

    name: str
    root_uuid: str
    shortages: tuple[Shortage, ...]

    @property
    def missing(self) -> float:
        """The parts of the wanted amounts that it lacks, together."""
        return sum(
            1 - (each.amount or 0) / each.requirement.amount
            for each in self.shortages
            if each.reason in (Reason.FREE, Reason.MAX_UNIT, Reason.INVENTORY)
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons why there are no candidates; or that there are some.

    :param offer: what there is for the request as it stands; no trees, where it cannot be met
    :param trees: how many trees there are
    :param alone: how many of them satisfy each requirement, were it the only one
    :param conflicts: the smallest sets of requirements that cannot be met together
    :param relaxations: what would be enough
    :param nearest: the trees that lack least
    :param is_cut: whether there were too many combinations to try them all
    :param names: of the providers that are named in requirements, by UUID
    """

    offer: Offer
    trees: int
    alone: Mapping[Requirement, int]
    conflicts: Sequence[frozenset[Requirement]] = ()
    relaxations: Sequence[Relaxation] = ()
    nearest: Sequence[Host] = ()
    is_cut: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        """Return whether there are candidates."""
        return self.offer.trees > 0


def explain(
    request: CandidateRequest,
    index: ProviderIndex,
    ask: Ask | None = None,
    hosts: int = 5,
) -> Explanation:
    """Explain why a request has no candidates.

    :param ask: asks the service; without it, nothing is asked
    :param hosts: how many of the nearest trees to look at
    """
    wanted = requirements(request)
    offer = ask(request) if ask else None
    matcher = Matcher(index, wanted)
    alone = {each: len(roots) for each, roots in matcher.alone.items()}
    if offer is None:
        offer = Offer(len(matcher.satisfying(frozenset(wanted))))
    named = [each.value for each in wanted if each.kind is Kind.IN_TREE]
    names = {uuid: index.providers[uuid].name for uuid in named if uuid in index.providers}
    if offer.trees:
        return Explanation(offer, len(matcher.trees), alone, names=names)
    return replace(_RequestDiagnosis(request, matcher, ask).explanation(alone, hosts), names=names)


class _RequestDiagnosis:
    """Looks into a request that has no candidates."""

    def __init__(self, request: CandidateRequest, matcher: Matcher, ask: Ask | None) -> None:
        self._request, self._matcher, self._ask = request, matcher, ask
        self._wanted = matcher.requirements
        self._all = frozenset(matcher.requirements)
        self._conflict_steps, self._relaxing_steps = Steps(), Steps()
        #: Whether of some tree not every combination was tried.
        self._is_cut = False
        #: The roots of the trees for which some relaxation is enough.
        self._relieved: set[str] = set()

    def explanation(self, alone: Mapping[Requirement, int], hosts: int) -> Explanation:
        """All that is found."""
        possible = self._matcher.possible
        if possible(self._all):
            # The service has a rule that is not known here: let it say itself what is too much.
            found = [minimized(self._wanted, self._granted)]
        else:
            found = conflicts(self._wanted, possible, self._conflict_steps)
        read_trees = self._matcher.index.read_trees
        seen = dict(read_trees(list(self._nearest(hosts))))
        relaxations = list(self._relaxations(found, seen))
        # Of those that lack as much, the ones of which it is said what would be enough.
        missing = self._nearest(hosts)
        seen.update(read_trees([root for root in missing if root not in seen]))
        return Explanation(
            Offer(0),
            len(self._matcher.trees),
            alone,
            found,
            relaxations,
            self._hosts(missing, seen),
            self._conflict_steps.is_cut or self._relaxing_steps.is_cut or self._is_cut,
        )

    def _hosts(
        self,
        missing: Mapping[str, frozenset[Requirement]],
        seen: Mapping[str, Sequence[ProviderState]],
    ) -> list[Host]:
        """Return trees that were read, the nearest first: now by the exact amounts too."""
        hosts = [self._host(root, lacking, seen.get(root, ())) for root, lacking in missing.items()]

        def distance(host: Host) -> tuple[int, bool, float]:
            return *self._distance(host.root_uuid, missing[host.root_uuid]), host.missing

        return sorted(hosts, key=distance)

    def _granted(self, kept: frozenset[Requirement]) -> bool:
        """Return whether the service has candidates for these, where it can be asked that."""
        relaxed = restricted(self._request, [each for each in self._wanted if each in kept])
        offer = self._ask(relaxed) if self._ask and relaxed else None
        return self._matcher.possible(kept) if offer is None else offer.trees > 0

    def _distance(self, root: str, lacking: frozenset[Requirement]) -> tuple[int, bool]:
        """Return how far a tree is, as something to sort by: first the ones that lack least.

        Of those that lack as much, the ones for which some relaxation is enough.
        """
        return len(lacking), root not in self._relieved

    def _nearest(self, hosts: int) -> dict[str, frozenset[Requirement]]:
        """Return the shortages of the trees that lack the least, the nearest first."""
        alone = self._matcher.alone
        short = {
            root: frozenset(each for each in self._wanted if root not in alone[each])
            for root in self._eligible()
        }
        providers = self._matcher.index.providers

        met = {
            each: self._matcher.amounts_met(each)
            for each in self._wanted
            if each.kind is Kind.RESOURCE
        }

        def distance(root: str, lacking: frozenset[Requirement]) -> tuple[int, bool, int, str]:
            had = sum(met[each][root] for each in lacking & met.keys())
            return *self._distance(root, lacking), -had, providers[root].name

        order = sorted(short, key=lambda root: distance(root, short[root]))
        near = {root: self._lacking(root, short[root]) for root in order[:CLOSE]}
        found = sorted(near, key=lambda root: distance(root, near[root]))
        promising = [root for root in found if len(near[root]) < len(self._all)]
        return {root: near[root] for root in (promising or found)[:hosts]}

    def _eligible(self) -> Collection[str]:
        """The roots of the trees that may be near: no pools; where a tree is named, only that."""
        index, trees = self._matcher.index, self._matcher.trees
        hosts = {root for root in trees if not set(trees[root]) <= set(index.sharing)}
        for each in self._wanted:
            if each.kind is Kind.IN_TREE:
                hosts = hosts & self._matcher.alone[each] or hosts
        return hosts or trees

    def _lacking(self, root: str, short: frozenset[Requirement]) -> frozenset[Requirement]:
        """The least that a tree has to be spared, beside what it lacks by itself."""
        rest, steps = [each for each in self._wanted if each not in short], Steps()
        for size in range(len(rest) + 1):
            for spared in combinations(reversed(rest), size):
                if not steps.take():
                    self._is_cut = True
                    return short | self._greedily_lacking(root, rest)
                if self._matcher.satisfies(root, frozenset(rest) - frozenset(spared)):
                    return short | frozenset(spared)
        return self._all

    def _greedily_lacking(self, root: str, rest: Sequence[Requirement]) -> frozenset[Requirement]:
        """Return the requirements that a tree lacks, if it satisfies the first ones that it can."""
        kept: list[Requirement] = []
        for each in rest:
            if self._matcher.satisfies(root, frozenset([*kept, each])):
                kept.append(each)
        return frozenset(rest) - frozenset(kept)

    def _host(
        self, root: str, lacking: frozenset[Requirement], seen: Sequence[ProviderState]
    ) -> Host:
        matcher = self._matcher
        joint: dict[Requirement, frozenset[Requirement]] = {}
        for each in lacking:
            if root in matcher.alone[each]:
                # Those with which it cannot be had on this tree.
                rest = [other for other in self._wanted if other not in lacking or other == each]
                joint[each] = minimized(rest, lambda kept: matcher.satisfies(root, kept))
        found = tuple(
            shortage
            for each in self._wanted
            if each in lacking
            for shortage in shortages(each, joint.get(each, frozenset()), seen, self._wanted)
        )
        return Host(matcher.index.providers[root].name, root, found)

    def _relaxations(
        self,
        found: Sequence[frozenset[Requirement]],
        seen: Mapping[str, Sequence[ProviderState]],
    ) -> Iterator[Relaxation]:
        without: list[frozenset[Requirement]] = []
        for given_up in correction_sets(
            self._wanted, found, self._matcher.possible, self._relaxing_steps
        ):
            kept, lowered = self._all - given_up, dict[Requirement, int]()
            for each in [each for each in self._wanted if each in given_up]:
                amount = self._enough(each, kept, seen)
                if amount:
                    lowered[each] = amount
                    kept |= {replace(each, amount=amount)}
            if restricted(self._request, kept) is None:
                kept = askable(kept)
            others = {replace(each, amount=amount) for each, amount in lowered.items()}
            dropped = self._all - kept - lowered.keys()
            # To do without a group is no news beside doing without one thing of it.
            if any(less <= dropped for less in without) or not others <= kept:
                continue
            relaxation = self._checked(dropped, lowered, kept)
            if relaxation is not None and relaxation.offer.trees:
                without += [] if lowered else [dropped]
                yield relaxation

    def _checked(
        self,
        dropped: frozenset[Requirement],
        lowered: Mapping[Requirement, int],
        kept: frozenset[Requirement],
    ) -> Relaxation | None:
        """Return the candidates of a relaxed request: of the service, where it can be asked."""
        order = [*self._wanted, *(replace(each, amount=n) for each, n in lowered.items())]
        relaxed = restricted(self._request, [each for each in order if each in kept])
        if relaxed is None:
            return None
        offer = self._ask(relaxed) if self._ask else None
        is_asked = offer is not None
        satisfying = self._matcher.satisfying(kept)
        self._relieved |= satisfying
        return Relaxation(
            tuple(each for each in self._wanted if each in dropped),
            tuple(lowered.items()),
            offer or Offer(len(satisfying)),
            is_asked,
        )

    def _enough(
        self,
        wanted: Requirement,
        kept: frozenset[Requirement],
        seen: Mapping[str, Sequence[ProviderState]],
    ) -> int:
        """The amount next to what is wanted that is possible beside the others; 0 if none is."""
        if wanted.kind is not Kind.RESOURCE:
            return 0

        def fits(amount: int) -> bool:
            return self._matcher.possible(kept | {replace(wanted, amount=amount)})

        inventories = _inventories(wanted.value, seen)
        step = min((inventory.step_size for inventory in inventories), default=1)
        low, high = 0, (wanted.amount - 1) // step
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle * step) else (low, middle - 1)
        if low and fits(low * step):
            return low * step
        # Too little may be wanted, or no multiple of a step.
        more = {inventory.min_unit for inventory in inventories}
        more |= {-(-wanted.amount // each.step_size) * each.step_size for each in inventories}
        return next((n for n in sorted(more) if n > wanted.amount and fits(n)), 0)


def _inventories(
    resource_class: str, seen: Mapping[str, Sequence[ProviderState]]
) -> list[Inventory]:
    return [
        state.inventories[resource_class]
        for states in seen.values()
        for state in states
        if resource_class in state.inventories
    ]
