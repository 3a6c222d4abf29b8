# SPDX-License-Identifier: Apache-2.0
"""The reasons why a request has no candidates, and the changes with which it has some.

The reasons are calculated from the providers. The service, if it can be asked, confirms the
changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from placementclient.insight.candidates.conflicts import ConflictSearch, minimize_conflict
from placementclient.insight.candidates.matching import ProviderIndex, TreeMatcher
from placementclient.insight.candidates.nearest import (
    NearestTreeSearch,
    NearTree,
    make_tree_sort_key,
)
from placementclient.insight.candidates.relaxations import (
    Ask,
    Relaxation,
    RelaxationSearch,
    TreeCount,
    ask_for_tree_count,
)
from placementclient.insight.candidates.requirements import (
    Requirement,
    RequirementKind,
    list_requirements,
)
from placementclient.model.requests import CandidateRequest
from placementclient.placing.candidate_count import CandidateCount

#: The most conflicts that an explanation has.
MAX_CONFLICTS = 8


@dataclass(frozen=True, slots=True)
class Explanation:
    """The number of trees with candidates of a request; if there are none, the reasons.

    :param offer: the number of trees with candidates of the request
    :param tree_count: the number of all trees
    :param alone: the number of trees that satisfy each requirement, were it the only one
    :param conflicts: minimal sets of requirements that cannot be met together, the smallest first
    :param names: the names of the providers in requirements, by UUID
    :param has_more_conflicts: whether there may be more conflicts than these
    :param is_cut: whether there were too many combinations to try them all
    :param count: the number of candidates; ``None`` if they are not counted
    """

    offer: TreeCount
    tree_count: int
    alone: Mapping[Requirement, int]
    conflicts: Sequence[frozenset[Requirement]] = ()
    relaxations: Sequence[Relaxation] = ()
    nearest: Sequence[NearTree] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    has_more_conflicts: bool = False
    is_cut: bool = False
    count: CandidateCount | None = None

    @property
    def has_candidates(self) -> bool:
        """True if the request has candidates."""
        return self.offer.tree_count > 0


def explain_request(
    request: CandidateRequest,
    index: ProviderIndex,
    ask: Ask | None = None,
    most_trees: int = 5,
) -> Explanation:
    """Return the number of trees with candidates of a request, and the reasons if none has any.

    :param ask: sends a request to the service; ``None``: send none
    :param most_trees: how many of the nearest trees to describe
    :param index: the providers in which to look for reasons
    """
    required = list_requirements(request)
    offer = ask(request) if ask else None
    matcher, topology = TreeMatcher(index, required), index.topology
    alone = {need: len(roots) for need, roots in matcher.trees_by_requirement.items()}
    providers = topology.snapshot.providers
    names = {
        need.value: providers[need.value].name
        for need in required
        if need.kind is RequirementKind.IN_TREE and need.value in providers
    }
    offer = offer or TreeCount(len(matcher.find_satisfying_trees(frozenset(required))))
    explanation = Explanation(offer, len(topology.trees), alone, names=names)
    if explanation.has_candidates:
        return explanation
    return _explain_unmet_request(explanation, request, index, matcher, ask, most_trees)


def count_trees_without_pcpu(request: CandidateRequest, index: ProviderIndex) -> TreeCount:
    """Return the number of trees without PCPU that have candidates of a request.

    :param index: the providers to look at
    """
    required = list_requirements(request)
    satisfying = TreeMatcher(index, required).find_satisfying_trees(frozenset(required))
    return TreeCount(len(satisfying - index.topology.find_roots_with_class('PCPU')))


def _explain_unmet_request(
    explanation: Explanation,
    request: CandidateRequest,
    index: ProviderIndex,
    matcher: TreeMatcher,
    ask: Ask | None,
    most_trees: int,
) -> Explanation:
    """Return an explanation with conflicts, relaxations and the nearest trees.

    A request for 4 VGPU and a trait, and no tree has both: its conflict is {4 VGPU, trait}, and the
    corrections are {4 VGPU} and {trait}. The trees that lack least have up to 3 VGPU with the
    trait: so the relaxations are 3 VGPU instead of 4, and no trait.

    :param explanation: without the conflicts, the relaxations and the trees
    :param ask: sends a request to the service; ``None``: send none
    :param most_trees: how many of the nearest trees to describe
    """

    def is_granted(retained: frozenset[Requirement]) -> bool:
        """Return True if requirements have candidates: as the service says, if it can be asked."""
        answer = ask_for_tree_count(ask, request, matcher.sort_requirements(retained))
        return matcher.is_met(retained) if answer is None else answer.tree_count > 0

    needs, conflicts = matcher.requirements, list[frozenset[Requirement]]()
    is_predicted = not matcher.is_met(frozenset(needs))
    if not is_predicted:
        # The service has a rule that is not known here: ask it which requirements conflict.
        conflicts.append(minimize_conflict(needs, is_granted))
    conflict_search = ConflictSearch(needs, matcher.is_possible, conflicts)
    # All of them: only then the search has all conflicts.
    corrections = list(conflict_search.find_corrections())

    nearest_search = NearestTreeSearch(matcher)
    # The inventories of the nearest trees show which amounts to try.
    content = dict(index.read_trees(list(nearest_search.find_nearest_trees(most_trees))))
    states = list(chain.from_iterable(content.values()))
    relaxations = RelaxationSearch(request, matcher, ask, states).find_smallest_relaxations(
        corrections
    )

    # Now it is known which trees the relaxations help, and which of the tried amounts they grant.
    relieved = frozenset[str]().union(*(relaxation.roots for relaxation in relaxations))
    nearest = nearest_search.find_nearest_trees(most_trees, relieved)
    content |= index.read_trees([root for root in nearest if root not in content])
    described = [
        nearest_search.make_near_tree(root, lacking, content.get(root, ()))
        for root, lacking in nearest.items()
    ]

    def sort_key(tree: NearTree) -> tuple[object, ...]:
        root = tree.root_uuid
        return *make_tree_sort_key(root, nearest[root], relieved), tree.missing_part_sum

    return replace(
        explanation,
        conflicts=conflict_search.conflicts[:MAX_CONFLICTS],
        relaxations=relaxations,
        nearest=sorted(described, key=sort_key),
        has_more_conflicts=conflict_search.is_cut
        or not is_predicted
        or len(conflict_search.conflicts) > MAX_CONFLICTS,
        is_cut=conflict_search.is_cut,
    )
