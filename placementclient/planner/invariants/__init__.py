# SPDX-License-Identifier: Apache-2.0
"""The independent check of a plan: nothing is lost, invented, or changed without need.

It uses no code of the planner, only the plan itself, and runs before a plan is written, before it
is applied or taken back, and on every tree that a journal has. Its cost is linear in the plan's
size.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from placementclient.basis import errors
from placementclient.basis.wording import join_first_sentences
from placementclient.model.plans import Change, Plan, ProviderChange
from placementclient.model.providers import is_hyphenated_uuid
from placementclient.model.specifications import Spec, TreeSelection
from placementclient.planner.invariants import allocations, contents, moves
from placementclient.planner.invariants.checked_change import CheckedChange


class BadPlan(errors.PlacementError):
    """A plan that loses or invents something, or changes more than its specification says.

    Either the program has a fault, or somebody has edited the file.
    """

    def __init__(self, facts: list[str]) -> None:
        self.facts = tuple(facts)
        super().__init__(f'The plan does not hold: {join_first_sentences(facts, 5)}')


def check_plan(plan: Plan) -> None:
    """Check the changes of all trees of a plan.

    :raises BadPlan: with every fault found
    """
    recipe = plan.recipe
    assert recipe is not None
    checked_changes = [CheckedChange(change, recipe.spec) for change in plan.changes]
    faults = [fault for checked in checked_changes for fault in _find_faults(checked)]
    faults += _check_selected_trees(plan.changes, recipe.spec.trees)
    faults += moves.check_assignments(recipe, checked_changes)
    if faults:
        raise BadPlan(faults)


def check_change(change: Change, spec: Spec) -> None:
    """Check the change of trees that change together.

    :raises BadPlan: with every fault found
    """
    faults = list(_find_faults(CheckedChange(change, spec)))
    if faults:
        raise BadPlan(faults)


def _find_faults(checked: CheckedChange) -> Iterator[str]:
    """Yield every fault of a change, each with the name of its tree."""
    for inspect in (
        _check_identities,
        moves.check_moves,
        allocations.check_allocations,
        contents.check_contents,
    ):
        for fault in inspect(checked):
            yield f'{checked.change.root_provider_name}: {fault}'


def _check_selected_trees(
    changes: Iterable[Change], selection: TreeSelection | None
) -> Iterator[str]:
    """Yield a fault for each tree that the specification does not select."""
    for change in changes if selection else ():
        for uuid, name in change.roots.items():
            if selection and not selection.selects(uuid, name, change.before.providers.get(uuid)):
                yield f'{name}: the specification does not select this tree'


def _check_identities(checked: CheckedChange) -> Iterator[str]:
    """Yield the faults in UUIDs, names and trees of providers, and a change that is not atomic."""
    change = checked.change
    if not change.is_atomic:
        yield 'it is to change step by step'
    if len(checked.by_name) < len(change.providers):
        yield 'a name appears twice'
    for root_uuid, name in change.roots.items():
        if not is_hyphenated_uuid(root_uuid):
            yield f'{root_uuid} is not a UUID'
            return
        root = checked.by_uuid.get(root_uuid)
        if root is not None and root.name != name:
            yield f'the root is called {root.name} among the providers'
    for provider in change.providers:
        if provider.is_created:
            yield from _check_created_provider(checked, provider)
        elif provider.after is None or provider.is_moved:
            yield f'{provider.name} is to be deleted, renamed or moved'
        parent = checked.by_uuid.get(provider.parent_provider_uuid or '')
        if parent is not None and parent.root_provider_uuid != provider.root_provider_uuid:
            yield f'{provider.name} is below {parent.name}, which is in another tree'


def _check_created_provider(checked: CheckedChange, provider: ProviderChange) -> Iterator[str]:
    """Yield the faults in the tree, the UUID and the parent of a new provider."""
    if provider.root_provider_uuid not in checked.change.roots:
        yield f'{provider.name} is to be made in another tree'
        return
    stated = next((entry.uuid for entry in checked.find_entries(provider) if entry.uuid), None)
    expected = stated or str(uuid5(UUID(provider.root_provider_uuid), provider.name))
    if provider.uuid != expected:
        yield f'{provider.name} has not the UUID {expected}'
    if provider.parent_provider_uuid is None:
        yield f'{provider.name} has no parent'
