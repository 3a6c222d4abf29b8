# SPDX-License-Identifier: Apache-2.0
"""The live state of a change compared with its plan: its status, and the deviations. Pure.

A deviation is an error if the change is incomplete or wrong, a warning if it is not begun although
it should be, and information if it is still to come, or if others have changed something since, as
they may.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from placementclient.changes import phases
from placementclient.changes.journal import Record
from placementclient.changes.merge import Merged
from placementclient.changes.obstacles import LeftAlone, sentence
from placementclient.changes.phases import InventoryPart, Phase
from placementclient.model.consumers import Allocations, sum_parts
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import COMPUTE_PREFIX
from placementclient.model.outcomes import State, Status
from placementclient.model.plans import Change, ConsumerChange, ProviderChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

#: Returns the rest of a change, or of its way back.
Rest = Callable[[bool], Merged]


def status_of(tree: Change, live: Snapshot, rest: Rest) -> tuple[Status, str]:
    """Return the status of a change, and the reason if it differs from both sides.

    :param live: what :func:`placementclient.reading.scope.showing` names
    """
    if tree.is_atomic:
        return _atomic_status(tree, live)
    forward = rest(False)
    if forward.is_done or rest(True).is_done:
        return (Status.APPLIED if forward.is_done else Status.PENDING), ''
    made_in_part = 'it is made in part: apply completes it, rollback takes it back'
    return Status.DIFFERS, sentence(forward.obstacles) or made_in_part


def is_as_planned(tree: Change, listed: Mapping[str, Provider]) -> bool:
    """Return whether the list of its providers alone shows that a change is not made."""
    return tree.is_atomic and phases.is_as_planned(tree, listed)


def has_happened(tree: Change, live: Snapshot, rest: Rest) -> bool:
    """Return whether a change is made, wholly or in part, despite later changes."""
    if tree.is_atomic:
        return phases.has_happened(tree, live)
    return rest(False).is_done or not rest(True).is_done


def is_still_applied(tree: Change, live: Snapshot, rest: Rest) -> bool:
    """Return whether an applied change is still there.

    :raises LeftAlone: if it was undone in part, and its change is atomic
    """
    if not tree.is_atomic:
        return rest(False).is_done
    if phases.is_untouched(tree, live):
        return False
    for deviation in of_inventories(tree, live):
        if deviation.is_error:
            raise LeftAlone(f'it was applied, and was changed since: {deviation.reason}')
    return True


def is_still_back(tree: Change, live: Snapshot, rest: Rest) -> bool:
    """Return whether a change that was taken back was not made again."""
    if tree.is_atomic:
        return phases.phase_of(tree, live) is not Phase.AFTER
    return rest(True).is_done


def obstacle_to_rollback(tree: Change, live: Snapshot, rest: Rest) -> str:
    """Return the reason why a rollback cannot start from the present state."""
    if not tree.is_atomic:
        return sentence(rest(True).obstacles)
    is_neither = phases.phase_of(tree, live) is Phase.NEITHER
    return 'it is neither as it was before the plan nor as it is after it' if is_neither else ''


def difference_unrecorded(tree: Change, live: Snapshot) -> str:
    """Return the first difference that the journal of this plan does not explain; else ``''``."""
    if tree.is_atomic and phases.phase_of(tree, live) in (Phase.BEFORE, None):
        return ''  # Nothing but empty providers may be prepared.
    found = (d for d in deviations(tree, live) if d.is_error or not tree.is_atomic)
    return next((deviation.reason for deviation in found), '')


def _atomic_status(tree: Change, live: Snapshot) -> tuple[Status, str]:
    phase = phases.phase_of(tree, live)
    has_all = tree.before.providers.keys() <= live.providers.keys()
    if has_all and phase is Phase.BEFORE:
        return Status.PENDING, ''
    if not phases.has_happened(tree, live):
        reasons = [f'not applied, and {change.reason}' for change in before_apply(tree, live)]
        return (Status.DIFFERS, reasons[0]) if reasons else (Status.PENDING, '')
    unlike = list(of_inventories(tree, live, is_strict=True)) if phase is not Phase.AFTER else []
    for change in tree.providers:
        lost = change.content_before.traits - change.content_after.traits
        if change.uuid not in live.providers:
            unlike.append(_missing(tree, change, is_damage=True))
        elif retained := sorted(lost & live.providers[change.uuid].traits):
            unlike.append(_deviation(tree, 'trait', f'{change.name} has the trait {retained[0]}'))
    unlike.sort(key=lambda deviation: not deviation.is_error)
    if not unlike or (has_all and not unlike[0].is_error):
        return Status.APPLIED, ''
    return Status.DIFFERS, unlike[0].reason


def not_applied(name: str, record: Record | None, has_journal: bool) -> Finding:
    """Return the deviation of a tree that is as before the plan.

    It is an error if the journal says that the tree was applied. It is information if the tree is
    still to come or was rolled back; else a warning.

    :param name: of its root
    :param record: of the tree, if the journal has one
    :param has_journal: whether a journal of the plan knows any tree
    """
    ended = record.ended if record is not None else None
    is_back = ended == State.ROLLED_BACK
    message = 'the plan was taken back' if is_back else 'the plan is not applied to this tree'
    severity = Severity.WARNING
    if ended == State.APPLIED:
        severity = Severity.ERROR
    elif is_back or (has_journal and record is None):
        severity = Severity.INFO
    return Finding('not-applied', name, reason=message, severity=severity)


def before_apply(tree: Change, live: Snapshot) -> Iterator[Finding]:
    """Return changes of others to the input of an unapplied change."""
    for change in tree.providers:
        if not change.is_created and change.uuid not in live.providers:
            yield _missing(tree, change, is_damage=False)
    for part in phases.moving_parts(tree, live):
        provider = live.providers.get(part.change.uuid)
        if provider and not part.change.is_created and part.live != part.before:
            planned = 'what the plan starts from'
            yield _inventory_deviation(tree, part, part.before, planned, is_damage=False)


def verified(tree: Change, live: Snapshot, record: Record | None) -> list[Finding]:
    """Return the deviations of a tree; none of a finished change of many steps is damage."""
    found = list(deviations(tree, live))
    if not tree.is_atomic and record and record.ended == State.APPLIED:
        found = [replace(row, severity=Severity.INFO) for row in found]
    return found


def deviations(tree: Change, live: Snapshot, *, is_strict: bool = False) -> Iterator[Finding]:
    """Return the deviations of a tree from its change, which is made, wholly or in part.

    An atomic change is compared with all that its providers have; another one with what it changes.

    :param is_strict: whether another inventory of a class that moves is an error in any case, as
        right after the request
    """
    yield from of_inventories(tree, live, is_strict=is_strict)
    for change in tree.providers:
        state = live.providers.get(change.uuid)
        if state is not None and change.after is not None:
            yield from _of_position(tree, change, state)
            yield from _of_names(tree, change, state)
    for consumer in tree.consumers:
        yield from _of_consumer(tree, consumer, live)


def of_inventories(tree: Change, live: Snapshot, *, is_strict: bool = False) -> Iterator[Finding]:
    """Return the deviations of inventories, and the providers that are missing, or still exist."""
    local = {change.uuid for change in tree.local_providers()}
    created = {change.uuid for change in tree.created()}
    is_whole = local - created <= live.providers.keys()
    for change in tree.providers:
        state = live.providers.get(change.uuid)
        if change.after is None:
            if state is not None:
                yield _deviation(tree, 'exists', f'{change.name} still exists')
        elif state is not None:
            yield from _of_provider(tree, change, state, change.uuid in local, is_strict)
        # It is damage only while the hosts exist: a host takes its children along.
        elif change.after.inventories or not change.is_created or not tree.is_atomic:
            yield _missing(tree, change, is_damage=change.is_created and is_whole)


def _of_position(tree: Change, change: ProviderChange, live: ProviderState) -> Iterator[Finding]:
    """Compare a name and a parent that the change sets."""
    sides = change.content_before.position, change.state.position, live.position
    for kind, was, expected, now in zip(('name', 'parent'), *sides, strict=True):
        if was != expected != now:
            message = f'the {kind} of {change.name} is {now}, not {expected}'
            yield _deviation(tree, kind, message, is_damage=now == was)


def _of_provider(
    tree: Change, change: ProviderChange, live: ProviderState, is_local: bool, is_strict: bool
) -> Iterator[Finding]:
    names = change.changed_classes
    if tree.is_atomic:
        names = {*live.inventories, *change.after.inventories} if change.after else set()
    for name in sorted(names):
        part = phases.inventory_part(change, name, live)
        before, after = part.before, part.after
        if not tree.is_atomic:
            before, after = _with_others(part, before), _with_others(part, after)
        if part.live != after:
            # It is back where the plan removed it, or missing where the plan put it.
            is_undone = (part.live is None) != (after is None) or part.live == before
            # Other plans change a sharing provider too.
            is_moved = is_local and part.before != part.after
            is_damage = is_moved and (is_strict or is_undone)
            yield _inventory_deviation(tree, part, after, 'that of the plan', is_damage=is_damage)


def _with_others(part: InventoryPart, side: Inventory | None) -> Inventory | None:
    """Return one side of an inventory, with the fields of others that the change does not set."""
    if part.live is None or part.before is None or part.after is None or side is None:
        return side
    before, after, fields = (item.as_fields() for item in (part.before, part.after, side))
    return part.live.with_fields({key: fields[key] for key in fields if before[key] != after[key]})


def _inventory_deviation(
    tree: Change, part: InventoryPart, expected: Inventory | None, planned: str, is_damage: bool
) -> Finding:
    """Return the deviation from an inventory; ``planned`` has the words for the expected one."""
    inventory = f'the inventory of {part.resource_class} on {part.change.name}'
    message = f'{inventory} is not {planned}: {_difference(part.live, expected)}'
    return _deviation(tree, 'inventory', message, is_damage=is_damage)


def _difference(live: Inventory | None, planned: Inventory | None) -> str:
    """Return the fields that differ, with both values."""
    if live is None or planned is None:
        return 'it is not there' if live is None else 'it should not be there'
    fields, desired = live.as_fields(), planned.as_fields()
    return ', '.join(
        f'{field} {fields[field]} instead of {desired[field]}'
        for field in fields
        if fields[field] != desired[field]
    )


def _of_names(tree: Change, change: ProviderChange, live: ProviderState) -> Iterator[Finding]:
    """Compare traits and aggregates: those that the plan changes, and those of others.

    Nova sets and takes its own traits, whatever a plan was made on.
    """
    for kind, names, before, after in phases.name_sets(change, live):
        changed = before ^ after
        others = (names ^ after) - changed if tree.is_atomic else ()
        of_others = {name for name in others if not name.startswith(COMPUTE_PREFIX)}
        for name in sorted(of_others | (names ^ after) & changed):
            message = f'{change.name} {"has" if name in names else "lacks"} the {kind} {name}'
            yield _deviation(tree, kind, message, is_damage=name in changed)


def _of_consumer(tree: Change, change: ConsumerChange, live: Snapshot) -> Iterator[Finding]:
    consumer, desired = live.consumers.get(change.uuid), change.after.allocations
    allocations = consumer.allocations if consumer else {}
    if allocations != desired:
        kind, message, is_damage = _of_allocations(tree, change, allocations, live)
        yield _deviation(tree, kind, f'consumer {change.uuid} {message}', is_damage=is_damage)
    if consumer and desired and not ConsumerChange(change.after, consumer).keeps_owner:
        message = f'consumer {change.uuid} has another project, user or type than before'
        # No reshape changes the owner of a consumer; a reshape could lose its type.
        is_undone = ConsumerChange(change.before, consumer).keeps_owner
        is_damage = is_undone or (consumer.type is None and change.after.type is not None)
        yield _deviation(tree, 'owner', message, is_damage=is_damage)


def _of_allocations(
    tree: Change, consumer: ConsumerChange, allocated: Allocations, live: Snapshot
) -> tuple[str, str, bool]:
    """Return the kind of a deviation, what is wrong, and whether it is damage."""
    desired = consumer.after.allocations
    if not allocated:
        is_new = not tree.is_atomic and not consumer.before.allocations
        return 'gone', 'has gone since', is_new
    if sum_parts(allocated.values()) != sum_parts(desired.values()):
        # A consumer with other amounts was resized since, unless amounts that had to move are left.
        is_damage = _retains_moved_class(consumer, allocated)
        return 'amount', 'holds other amounts than it was given', is_damage
    names = {change.uuid: change.name for change in tree.providers}
    names |= {uuid: state.name for uuid, state in live.providers.items()}
    moved = [uuid for uuid in allocated if allocated[uuid] != desired.get(uuid)]
    places = sorted(names.get(uuid, uuid) for uuid in moved)
    # A consumer without allocations in the trees was migrated since.
    is_damage = any(change.uuid in allocated for change in tree.local_providers())
    return 'misplaced', f'is not where the plan put it, but on {", ".join(places)}', is_damage


def _retains_moved_class(consumer: ConsumerChange, allocated: Allocations) -> bool:
    """Return True if a consumer still has a class where the plan took it away."""
    return any(
        name in allocated.get(uuid, {})
        for uuid, resources in consumer.before.allocations.items()
        for name in resources
        if name not in consumer.after.allocations.get(uuid, {})
    )


def _missing(tree: Change, change: ProviderChange, *, is_damage: bool) -> Finding:
    return _deviation(tree, 'missing', f'{change.name} does not exist', is_damage=is_damage)


def _deviation(tree: Change, kind: str, message: str, *, is_damage: bool = True) -> Finding:
    severity = Severity.ERROR if is_damage else Severity.INFO
    return Finding(kind, tree.root_provider_name, reason=message, severity=severity)
