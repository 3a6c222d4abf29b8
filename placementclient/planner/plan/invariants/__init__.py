"""The independent check of a plan: nothing lost, nothing invented, nothing else touched.

It uses nothing of what makes plans, only the plan itself, and runs before a plan is written,
before it is applied or taken back, and on every tree that a journal has. Its cost is linear in the
plan's size.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator, Mapping

from placementclient.client import errors
from placementclient.client.wording import first
from placementclient.planner.plan.invariants import (
    allocations,
    assignments,
    contents,
    identities,
    moves,
)
from placementclient.planner.plan.invariants.subject import Subject
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.planner.specification.values import Spec, TreeSelection

_CHECKS = (
    identities.faults,
    moves.faults,
    allocations.faults,
    contents.faults,
)


class BadPlan(errors.PlacementError):
    """A plan that would lose, invent or touch what it must not: a fault of the program, or a file
    that was edited.

    :param facts: every fault, a sentence each
    """

    def __init__(self, facts: list[str]) -> None:
        self.facts = tuple(facts)
        super().__init__(f'The plan does not hold: {first(facts, 5)}')


def check(plan: Plan) -> None:
    """Check every tree of a plan, and the plan as a whole.

    :raises BadPlan: with every fault found
    """
    subjects = [Subject(tree, plan.spec, False) for tree in plan.trees]
    faults = [fault for subject in subjects for fault in _faults_of(subject)]
    faults += _faults_of_roots(plan)
    faults += assignments.faults(plan, subjects)
    if faults:
        raise BadPlan(faults)


def check_tree(
    tree: TreePlan,
    spec: Spec,
    *,
    backwards: bool = False,
    overcommitted: Mapping[tuple[str, str], int] | None = None,
) -> None:
    """Check the plan of one tree, as of one that was planned again.

    :param backwards: whether it is the way back
    :param overcommitted: on the way back, by how much places were over-committed before the plan,
        by provider UUID and class
    :raises BadPlan: with every fault found
    """
    faults = list(_faults_of(Subject(tree, spec, backwards, overcommitted)))
    if faults:
        raise BadPlan(faults)


def _faults_of(subject: Subject) -> Iterator[str]:
    for inspect in _CHECKS:
        for fault in inspect(subject):
            yield f'{subject.tree.root_provider_name}: {fault}'


def _faults_of_roots(plan: Plan) -> Iterator[str]:
    """Each tree is there once, is selected, and follows none but trees before it."""
    roots = Counter(tree.root_provider_uuid for tree in plan.trees)
    yield from (f'{root} is there twice' for root, count in roots.items() if count > 1)
    earlier: set[str] = set()
    for tree in plan.trees:
        name = tree.root_provider_name
        if not earlier.issuperset(tree.follows):
            yield f'{name}: it follows a tree that does not come before it'
        if plan.spec.selection is not None and not _is_selected(tree, plan.spec.selection):
            yield f'{name}: the specification does not select this tree'
        earlier.add(tree.root_provider_uuid)


def _is_selected(tree: TreePlan, selection: TreeSelection) -> bool:
    """Return True if a tree meets the conditions, as far as the plan shows."""
    name, uuid = tree.root_provider_name, tree.root_provider_uuid
    patterns = selection.names
    if patterns and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
        return False
    if selection.uuids and uuid not in selection.uuids:
        return False
    root = next((change.before for change in tree.providers if change.uuid == uuid), None)
    return root is None or (
        root.traits.issuperset(selection.traits)
        and root.inventories.keys() >= set(selection.classes)
    )
