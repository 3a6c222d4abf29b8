# SPDX-License-Identifier: Apache-2.0
"""The trees that lack the least of a request, and what they lack."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from placementclient.insight.candidates.conflicts import ConflictSearch, minimize_conflict
from placementclient.insight.candidates.matching import TreeMatcher
from placementclient.insight.candidates.requirements import Requirement, RequirementKind
from placementclient.insight.candidates.shortages import Shortage, ShortageReason, find_shortages
from placementclient.model.snapshots import ProviderState
from placementclient.placing.providers import is_sharing

#: How many trees with few shortages are examined to find the nearest ones.
CLOSE = 50


@dataclass(frozen=True, slots=True)
class NearTree:
    """A tree that lacks little of a request, with its shortages."""

    name: str
    root_uuid: str
    shortages: tuple[Shortage, ...]

    @property
    def missing_part_sum(self) -> float:
        """The sum of the missing parts of the requested amounts, each from 0 to 1."""
        return sum(
            1 - (shortage.amount or 0) / shortage.requirement.amount
            for shortage in self.shortages
            if shortage.reason
            in (ShortageReason.FREE, ShortageReason.MAX_UNIT, ShortageReason.INVENTORY)
        )


class NearestTreeSearch:
    """Finds and describes the trees that lack the least of a request."""

    def __init__(self, matcher: TreeMatcher) -> None:
        self._matcher, self._topology = matcher, matcher.topology
        self._needs = matcher.requirements

    def find_nearest_trees(
        self, most_trees: int, relieved: Collection[str] = ()
    ) -> dict[str, frozenset[Requirement]]:
        """Return the requirements that the nearest trees lack, by root, the nearest tree first.

        :param relieved: the roots of the trees that a relaxation helps
        :param most_trees: how many trees to return
        """
        alone, trees = self._matcher.trees_by_requirement, self._topology.trees
        granted = {
            need: self._matcher.count_granted_amounts(need)
            for need in self._needs
            if need.is_resource
        }

        def sort_key(tree: tuple[str, frozenset[Requirement]]) -> tuple[object, ...]:
            root, lacking = tree
            count = sum(granted[need][root] for need in lacking & granted.keys())
            return *make_tree_sort_key(root, lacking, relieved), -count, trees[root][0].name

        # First by the requirements that a tree does not even satisfy by themselves: a quick look.
        # Then, of the closest trees, also by those that it satisfies, but not together.
        unmet = (
            (root, frozenset(need for need in self._needs if root not in alone[need]))
            for root in self._find_eligible_trees()
        )
        closest = sorted(unmet, key=sort_key)[:CLOSE]
        near = sorted(
            ((root, self._find_correction_set(root, few)) for root, few in closest), key=sort_key
        )
        promising = [(root, lacking) for root, lacking in near if len(lacking) < len(self._needs)]
        return dict((promising or near)[:most_trees])

    def _find_eligible_trees(self) -> Collection[str]:
        """Return the UUID of the root that the request names, or those of all but sharing ones."""
        trees = self._topology.trees
        eligible = {root for root, states in trees.items() if not all(map(is_sharing, states))}
        for need in self._needs:
            if need.kind is RequirementKind.IN_TREE:
                requested = eligible & self._matcher.trees_by_requirement[need]
                eligible = requested or eligible
        return eligible or trees

    def _find_correction_set(
        self, root: str, unmet: frozenset[Requirement]
    ) -> frozenset[Requirement]:
        """Return a minimal set of requirements without which a tree has candidates.

        :param unmet: the requirements that the tree does not even satisfy by themselves
        :param root: the UUID of the root of the tree
        """
        others = [need for need in reversed(self._needs) if need not in unmet]
        search = ConflictSearch(others, partial(self._matcher.is_possible_in, root))
        return unmet | next(search.find_corrections(), frozenset(others))

    def make_near_tree(
        self, root: str, lacking: frozenset[Requirement], states: Sequence[ProviderState]
    ) -> NearTree:
        """Return the description of a tree: its name, and why it does not meet some requirements.

        :param states: the providers that can serve the tree
        :param root: the UUID of the root of the tree
        :param lacking: the requirements that the tree lacks
        """
        shortages: list[Shortage] = []
        for need in self._matcher.sort_requirements(lacking):
            if root in self._matcher.trees_by_requirement[need]:
                # The requirements that conflict with this one on the tree.
                others = [other for other in self._needs if other not in lacking or other == need]
                joint = minimize_conflict(others, partial(self._matcher.is_possible_in, root))
                conflicting = tuple(sorted(joint - {need}, key=str))
                shortages.append(Shortage(need, ShortageReason.SHAPE, others=conflicting))
            else:
                shortages += find_shortages(need, states, self._needs)
        return NearTree(self._topology.trees[root][0].name, root, tuple(shortages))


def make_tree_sort_key(
    root: str, lacking: Collection[Requirement], relieved: Collection[str]
) -> tuple[int, bool]:
    """Return a key that sorts trees by the number of requirements that they lack.

    :param relieved: the roots of the trees that a relaxation helps, which come first among equals
    :param lacking: the requirements that the tree lacks
    :param root: the UUID of the root of the tree
    :return: the number, and False for a tree that comes first among equals
    """
    return len(lacking), root not in relieved
