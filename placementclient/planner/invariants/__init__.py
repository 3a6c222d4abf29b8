# SPDX-License-Identifier: Apache-2.0
"""The independent check of a plan: nothing is lost, invented, or changed without need.

It uses no code of the planner, only the plan itself, and runs before a plan is written, before it
is applied or taken back, and on every tree that a journal has. Its cost is linear in the plan's
size.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from placementclient.basis import errors
from placementclient.basis.wording import first
from placementclient.model.plans import Change, Plan, ProviderChange
from placementclient.model.providers import is_uuid
from placementclient.model.specifications import Spec, TreeSelection
from placementclient.planner.invariants import allocations, contents, moves
from placementclient.planner.invariants.subject import Subject


class BadPlan(errors.PlacementError):
    """A plan that would lose, invent or touch what it must not: a fault of the program, or a file
    that was edited.
    """

    def __init__(self, facts: list[str]) -> None:
        self.facts = tuple(facts)
        super().__init__(f'The plan does not hold: {first(facts, 5)}')


def check_plan(plan: Plan) -> None:
    """Check every tree of a plan, and the plan as a whole.

    :raises BadPlan: with every fault found
    """
    recipe = plan.recipe
    assert recipe is not None
    subjects = [Subject(tree, recipe.spec) for tree in plan.changes]
    faults = [fault for subject in subjects for fault in _find_faults(subject)]
    faults += _check_selection(plan.changes, recipe.spec.trees)
    faults += moves.check_assignments(recipe, subjects)
    if faults:
        raise BadPlan(faults)


def check_tree(tree: Change, spec: Spec) -> None:
    """Check the plan of one tree.

    :raises BadPlan: with every fault found
    """
    faults = list(_find_faults(Subject(tree, spec)))
    if faults:
        raise BadPlan(faults)


def _find_faults(subject: Subject) -> Iterator[str]:
    for inspect in (
        _check_identities,
        moves.check_moves,
        allocations.check_allocations,
        contents.check_contents,
    ):
        for fault in inspect(subject):
            yield f'{subject.tree.root_provider_name}: {fault}'


def _check_selection(trees: Iterable[Change], selection: TreeSelection | None) -> Iterator[str]:
    for tree in trees if selection else ():
        for uuid, name in tree.roots.items():
            if selection and not selection.selects(uuid, name, tree.before.providers.get(uuid)):
                yield f'{name}: the specification does not select this tree'


def _check_identities(subject: Subject) -> Iterator[str]:
    """Check that names are unique, and that providers stay in their trees."""
    tree = subject.tree
    if not tree.is_atomic:
        yield 'it is to change step by step'
    if len(subject.by_name) < len(tree.providers):
        yield 'a name is there twice'
    for root_uuid, name in tree.roots.items():
        if not is_uuid(root_uuid):
            yield f'{root_uuid} is no UUID'
            return
        root = subject.by_uuid.get(root_uuid)
        if root is not None and root.name != name:
            yield f'the root is called {root.name} among the providers'
    for change in tree.providers:
        if change.is_created:
            yield from _check_creation(subject, change)
        elif change.after is None or change.is_moved:
            yield f'{change.name} is to be deleted, renamed or moved'
        parent = subject.by_uuid.get(change.parent_provider_uuid or '')
        if parent is not None and parent.root_provider_uuid != change.root_provider_uuid:
            yield f'{change.name} is below {parent.name}, which is in another tree'


def _check_creation(subject: Subject, change: ProviderChange) -> Iterator[str]:
    if change.root_provider_uuid not in subject.tree.roots:
        yield f'{change.name} is to be made in another tree'
        return
    stated = next((entry.uuid for entry in subject.find_entries(change) if entry.uuid), None)
    expected = stated or str(uuid5(UUID(change.root_provider_uuid), change.name))
    if change.uuid != expected:
        yield f'{change.name} has not the UUID {expected}'
    if change.parent_provider_uuid is None:
        yield f'{change.name} has no parent'
