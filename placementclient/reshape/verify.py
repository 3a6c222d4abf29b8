"""Live state against the plan of a tree: where it is, and what is not as planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from placementclient.changes.comparison import LeftAlone, not_applied
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, State, Status, TreeStatus
from placementclient.model.plans import TreeChange
from placementclient.reshape import comparison, preconditions, reading
from placementclient.reshape.comparison import Phase, TreeState
from placementclient.reshape.journal import Record
from placementclient.reshape.reading import StateSource


def comparing(
    client: Client, trees: Sequence[TreeChange], records: Mapping[str, Record]
) -> Callable[[TreeChange], list[Deviation]]:
    """Return what compares the plan of a tree with what is there.

    Inventories, traits and aggregates of every provider that the plan names, and all that each of
    its consumers holds, everywhere; and the owners and types of the consumers.

    :param trees: those to compare, as they were carried out
    :param records: of the journal: where it has any, a tree that it does not know is not overdue
    """
    source = StateSource(client, trees)

    def of_tree(tree: TreeChange) -> list[Deviation]:
        snapshot = source.snapshot(tree)
        if not comparison.has_happened(tree, snapshot):
            began = comparison.before_apply(tree, snapshot.providers)
            record = records.get(tree.root_provider_uuid)
            return [not_applied(tree.root_provider_name, record, bool(records)), *began]
        return list(comparison.of_snapshot(tree, snapshot))

    return of_tree


def status_reader(
    client: Client, trees: Sequence[TreeChange], records: Mapping[str, Record]
) -> Callable[[TreeChange], TreeStatus]:
    """Return a function for the state of a tree, with few requests and none for each consumer.

    :param trees: those to read
    :param records: of the journal
    """
    source = StateSource(client, trees)

    def of_tree(tree: TreeChange) -> TreeStatus:
        uuid, name = tree.root_provider_uuid, tree.root_provider_name
        found, reason = _status(source, tree)
        record = records.get(uuid)
        if record is not None and found is not Status.APPLIED:
            if record.ended == State.LEFT_ALONE:
                return _left_alone(tree, record, found, _obstacle(client, tree))
            if record.ended == State.ROLLED_BACK and found is Status.PENDING:
                found = Status.ROLLED_BACK
        return TreeStatus(uuid, name, found, reason)

    return of_tree


def _left_alone(tree: TreeChange, record: Record, found: Status, obstacle: str) -> TreeStatus:
    """Return the state of a tree that was left alone, and the reason if it still holds.

    :param obstacle: why it would be now; empty if it would not
    """
    uuid, name = tree.root_provider_uuid, tree.root_provider_name
    then = f'left alone at {record.ended_at}: {record.reason}'
    if found is Status.PENDING and not obstacle:
        return TreeStatus(uuid, name, found, f'nothing is in the way any more; {then}')
    # What is said now is a part of what was said then.
    is_so = obstacle in record.reason
    reason = f'left alone: {record.reason}' if is_so else f'{obstacle}; {then}'
    return TreeStatus(uuid, name, Status.DIFFERS, reason, is_left_alone=True)


def _obstacle(client: Client, tree: TreeChange) -> str:
    """Return the reason why the plan of a tree cannot be carried out now, or nothing."""
    try:
        found = preconditions.found(client, reading.read_tree_state(client, tree))
    except (LeftAlone, errors.ConcurrentUpdate) as reason:
        return str(reason)
    return found if isinstance(found, str) else ''


def _status(source: StateSource, tree: TreeChange) -> tuple[Status, str]:
    listed = source.listed(tree)
    if comparison.is_as_planned(tree, listed):
        return Status.PENDING, ''
    for change in tree.providers:
        if not change.is_created and change.uuid not in listed:
            return Status.DIFFERS, f'{change.name} does not exist any more'
    tree_state = source.tree_state(tree, listed, holdings=False)
    if tree_state.phase is Phase.BEFORE:
        return Status.PENDING, ''
    if tree_state.phase is Phase.NEITHER:
        return Status.DIFFERS, _difference(tree, tree_state)
    for change in tree.providers:
        lost = change.content_before.traits - change.content_after.traits
        if lost and not lost.isdisjoint(source.traits(change.uuid)):
            names = ', '.join(sorted(lost))
            return Status.DIFFERS, f'{change.name} still has {names}: apply the plan again'
    return Status.APPLIED, ''


def _difference(tree: TreeChange, tree_state: TreeState) -> str:
    """Return the first part that is in neither the old nor the wanted state."""
    if not comparison.have_moved(tree, tree_state.providers):
        changed = next(comparison.before_apply(tree, tree_state.providers), None)
        return f'not applied, and {changed.message}' if changed else 'not applied'
    found = [
        each
        for each in comparison.of_inventories(tree, tree_state.providers, is_fresh=True)
        if each.is_damage
    ]
    return found[0].message if found else ''
