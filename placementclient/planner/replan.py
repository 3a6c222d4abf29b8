"""New plans of one tree, from its present state: because it changed, or for a rollback."""

from collections.abc import Mapping

from placementclient.client import errors
from placementclient.model.plans import Plan, PlannedRow, TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.assign import assign
from placementclient.planner.composition import compose
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout.assigned import AssignedRows, allocated, rows_by_key
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.return_layout import lay_out_return
from placementclient.planner.layout.target_state import HoldingKey, TargetState
from placementclient.planner.solve.search import TIMEOUT


def replan(live: Snapshot, plan: Plan, tree: TreeChange) -> TreeChange:
    """Plan a tree again that has changed since the plan and is not applied.

    Every row of the old plan whose consumer still holds what it held keeps its place and its
    label; every new one is mapped or forced.

    :param live: the tree as it is now, with the sharing providers that it moves to, and all that
        its consumers hold
    :param tree: its part of ``plan``
    :raises errors.Infeasible: if an old row cannot keep its place, or nothing else fits
    :raises errors.Undecided: if a new row has a choice
    :raises errors.Undetermined: if the search took too long to know
    """
    recipe = plan.recipe
    assert recipe is not None
    try:
        roots = _roots(live, tree)
        _refuse_occupied(live, tree)
        planned = {change.name for change in tree.providers}
        target_state = build_target_state(live, recipe.spec, roots, planned)
        assigned = AssignedRows(recipe.spec, recipe.assignments).match(live, target_state)
        assigned |= _retained(live, target_state, tree)
        return _planned(live, target_state, recipe.spec, assigned)
    except errors.BadFile as reason:
        raise errors.Infeasible([_bad_row(tree.root_provider_name, str(reason))]) from None
    except Refused as refusal:
        raise _error(refusal) from None


def rollback(live: Snapshot, plan: Plan, tree: TreeChange) -> TreeChange:
    """Plan the rollback of an applied tree.

    Consumers that came since go back too, those that left are not resurrected. The providers that
    the plan made lose their inventories; deleting them, ``tree.created()`` in reverse, comes after.

    Arguments and exceptions are those of :func:`replan`.
    """
    recipe = plan.recipe
    assert recipe is not None
    try:
        target_state, assigned = lay_out_return(live, tree, _roots(live, tree))
        renamed = {move.resource_class: move.to_resource_class for move in tree.moves}
        target_state.together = [
            [renamed.get(name, name) for name in group] for group in recipe.spec.together
        ]
        return _planned(live, target_state, recipe.spec, assigned)
    except Refused as refusal:
        raise _error(refusal) from None


def _error(refusal: Refused) -> errors.Infeasible | errors.Undetermined:
    if all(cause.kind == 'undetermined' for cause in refusal.causes):
        return errors.Undetermined(refusal.causes)
    return errors.Infeasible(refusal.causes, refusal.slack)


def _bad_row(tree: str, reason: str) -> Cause:
    return Cause('bad-row', tree, reason=reason)


def _planned(
    snapshot: Snapshot,
    target_state: TargetState,
    spec: Spec,
    assigned: Mapping[HoldingKey, list[PlannedRow]],
) -> TreeChange:
    """Assign and compose."""
    assignment = assign(snapshot, target_state, spec, assigned)
    if assignment.undecided:
        raise errors.Undecided(assignment.undecided)
    if unproved := assignment.unproved:
        tree = target_state.name
        raise errors.Undetermined([Cause('undetermined', tree, unproved=unproved, seconds=TIMEOUT)])
    return compose(snapshot, target_state, assignment, spec)


def _roots(snapshot: Snapshot, tree: TreeChange) -> list[ProviderState]:
    roots = {name: snapshot.providers.get(uuid) for uuid, name in tree.roots.items()}
    if missing := [name for name, root in roots.items() if root is None]:
        raise Refused([Cause('no-source', name, provider=name) for name in missing])
    return [root for root in roots.values() if root is not None]


def _refuse_occupied(snapshot: Snapshot, tree: TreeChange) -> None:
    """A child that the plan makes may be there, from an apply that was cut short, but empty."""
    for change in tree.created():
        state = snapshot.find(change.name)
        if state is not None and (state.inventories or state.usages):
            reason = f'{change.name}, which the plan makes, is there and not empty'
            raise Refused([_bad_row(tree.root_provider_name, reason)])


def _retained(
    snapshot: Snapshot, target_state: TargetState, tree: TreeChange
) -> dict[HoldingKey, list[PlannedRow]]:
    """Return the rows of a plan whose consumers still hold what they held."""
    retained: dict[HoldingKey, list[PlannedRow]] = {}
    for key, rows in rows_by_key(tree, backwards=False).items():
        targets = target_state.by_name(key.inventory)
        if allocated(snapshot, key) != sum(row.amount for row in rows) or not targets:
            continue
        for row in rows:
            if (row.to_provider, row.to_resource_class) not in targets:
                reason = f'{row.to_provider} is no place for {row.consumer_uuid} any more'
                raise Refused([_bad_row(target_state.name, reason)])
        retained[key] = rows
    return retained
