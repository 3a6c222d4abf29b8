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
    """Each tree is there once, and is selected; each consumer changes in one place only."""
    roots = Counter(uuid for tree in plan.trees for uuid in tree.roots)
    consumers = Counter(change.uuid for tree in plan.trees for change in tree.consumers)
    for uuid, count in (*roots.items(), *consumers.items()):
        if count > 1:
            yield f'{uuid} is there twice'
    if (selection := plan.spec.selection) is not None:
        for tree in plan.trees:
            for uuid, name in tree.roots.items():
                if not _is_selected(tree, uuid, name, selection):
                    yield f'{name}: the specification does not select this tree'


def _is_selected(tree: TreePlan, uuid: str, name: str, selection: TreeSelection) -> bool:
    """Return True if a tree meets the conditions, as far as the plan shows."""
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
