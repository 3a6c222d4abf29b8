"""What has become of a plan: live state against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from placementclient.http import Client
from placementclient.model.consumers import Allocations
from placementclient.model.inventories import Inventory
from placementclient.model.outcomes import Deviation, State, Status, TreeStatus
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.planner.plan.state_changes import ConsumerChange, ProviderChange
from placementclient.reshape import journal, live_state, preconditions, reading
from placementclient.reshape.journal import Record
from placementclient.reshape.live_state import LiveProvider, Phase, TreeState
from placementclient.reshape.preconditions import LeftAlone, Preconditions
from placementclient.reshape.reading import Source
from placementclient.snapshot.capture import UnstableRead, parallel


def verify(
    client: Client,
    plan: Plan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> list[Deviation]:
    """Read what the plan names, once, and compare it with the plan.

    Inventories, traits and aggregates of every provider that the plan names, and all that each of
    its consumers holds, everywhere; to whom the consumers belong and of what type they are.

    :param trees: names or UUIDs of roots; none: all
    :param journal_path: knows the trees that were planned again while the plan was applied, and
        those that were not begun yet: where others were, these are not damaged
    :param workers: how many trees are read at a time
    :param progress: told the name of the root of each tree that has been read
    """
    plan, records = _as_revised(plan, journal_path)
    later = _changed_later(plan)
    wanted = plan.selected(trees)
    source = reading.source(client, wanted)

    def of_tree(tree: TreePlan) -> list[Deviation]:
        snapshot = source.snapshot(tree)
        if (
            live_state.moves(tree)
            and live_state.tree_state_of(tree, snapshot).phase is Phase.BEFORE
        ):
            return [_not_applied(tree, records)]
        return list(of_snapshot(_without(tree, later[tree.root_provider_uuid]), snapshot))

    result = []
    for tree, differences in zip(wanted, parallel(of_tree, wanted, workers), strict=True):
        result += differences
        if progress:
            progress(tree.root_provider_name)
    return result


def _as_revised(plan: Plan, journal_path: str | None) -> tuple[Plan, Mapping[str, Record]]:
    """A plan as it was carried out, and what its journal knows of its trees, if there is one."""
    if journal_path is None:
        return plan, {}
    records = journal.read(journal_path, plan)
    return journal.revised(plan, records), records


def _not_applied(tree: TreePlan, records: Mapping[str, Record]) -> Deviation:
    record = records.get(tree.root_provider_uuid)
    is_pending = record is None or record.ended == State.ROLLED_BACK
    return Deviation(
        tree.root_provider_name,
        'not-applied',
        'the plan is not applied to this tree',
        is_damage=not records or not is_pending,
    )


def status(
    client: Client,
    plan: Plan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
) -> list[TreeStatus]:
    """Where each tree is, with as few requests as tell that; none for each consumer.

    :param trees: names or UUIDs of roots; none: all
    :param journal_path: tells a tree that was rolled back, or left alone, from one that was never
        applied
    :param workers: how many trees are read at a time
    """
    plan, records = _as_revised(plan, journal_path)
    wanted = plan.selected(trees)
    source = reading.source(client, wanted)

    def of_tree(tree: TreePlan) -> TreeStatus:
        uuid, name = tree.root_provider_uuid, tree.root_provider_name
        found, reason = _status(source, tree)
        record = records.get(uuid)
        if record is not None and found is not Status.APPLIED:
            if record.ended == State.LEFT_ALONE:
                return _left_alone(tree, record, found, _obstacle(client, tree))
            if record.ended == State.ROLLED_BACK and found is Status.PENDING:
                found = Status.ROLLED_BACK
        return TreeStatus(uuid, name, found, reason)

    return list(parallel(of_tree, wanted, workers))


def _left_alone(tree: TreePlan, record: Record, found: Status, obstacle: str) -> TreeStatus:
    """Where a tree is that was left alone; why that was, as far as it is still so.

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


def _obstacle(client: Client, tree: TreePlan) -> str:
    """Why the plan of a tree cannot be carried out as it is, now; empty if it can."""
    listed = live_state.listing(client, live_state.roots_of(tree))
    try:
        found = preconditions.found(client, live_state.read_tree_state(client, tree, listed))
    except (LeftAlone, UnstableRead) as reason:
        return str(reason)
    return '' if isinstance(found, Preconditions) else found


def _changed_later(plan: Plan) -> dict[str, set[str]]:
    """The providers and consumers of each tree that trees after it change again, by UUID."""
    result: dict[str, set[str]] = {}
    changed: set[str] = set()
    for tree in reversed(plan.trees):
        own = {change.uuid for change in tree.providers}
        own.update(change.uuid for change in tree.consumers)
        result[tree.root_provider_uuid] = own & changed
        changed |= own
    return result


def _without(tree: TreePlan, uuids: set[str]) -> TreePlan:
    """A plan without what it does not have the last word on."""
    if not uuids:
        return tree
    return replace(
        tree,
        providers=tuple(change for change in tree.providers if change.uuid not in uuids),
        consumers=tuple(change for change in tree.consumers if change.uuid not in uuids),
    )


def of_tree_state(tree_state: TreeState) -> list[Deviation]:
    """What a look at the providers of a plan tells, right after the reshape."""
    result = list(_of_inventories(tree_state.tree, tree_state.providers))
    names = {change.uuid: change.name for change in tree_state.tree.providers}
    for consumer in tree_state.tree.consumers:
        there = {
            uuid: live_provider.held(consumer.uuid)
            for uuid, live_provider in tree_state.providers.items()
        }
        wanted = {
            uuid: held for uuid, held in consumer.after.items() if uuid in tree_state.providers
        }
        held = {uuid: resources for uuid, resources in there.items() if resources}
        result += _of_consumer(tree_state.tree, names, consumer, held, wanted)
    return result


def of_snapshot(tree: TreePlan, snapshot: Snapshot) -> Iterator[Deviation]:
    """What is different in a snapshot of all trees that a plan of one tree concerns."""
    yield from _of_inventories(tree, live_state.tree_state_of(tree, snapshot).providers)
    for change in tree.providers:
        if change.uuid in snapshot.providers:
            yield from _of_sets(tree, change, snapshot)
    for consumer in tree.consumers:
        there = snapshot.consumers.get(consumer.uuid)
        held = there.allocations if there else {}
        names = {uuid: state.name for uuid in held if (state := snapshot.providers.get(uuid))}
        yield from _of_consumer(tree, names, consumer, held, consumer.after)
        if there is not None and (there.project_id, there.user_id, there.type) != (
            consumer.project_id,
            consumer.user_id,
            consumer.type,
        ):
            yield Deviation(
                tree.root_provider_name,
                'owner',
                f'consumer {consumer.uuid} has another project, user or type than before',
                {'consumer_uuid': consumer.uuid},
            )


def _of_inventories(tree: TreePlan, providers: Mapping[str, LiveProvider]) -> Iterator[Deviation]:
    for change in tree.providers:
        if change.uuid not in providers:
            if change.after.inventories or not change.is_created:
                yield Deviation(
                    tree.root_provider_name,
                    'missing',
                    f'{change.name} does not exist',
                    {'provider': change.name},
                )
            continue
        there, after = providers[change.uuid].inventories, change.after.inventories
        moving = change.changed_classes
        for name in sorted({*there, *after}):
            if there.get(name) != after.get(name):
                yield Deviation(
                    tree.root_provider_name,
                    'inventory',
                    f'the inventory of {name} on {change.name} is not that of the plan: '
                    f'{_difference(there.get(name), after.get(name))}',
                    {
                        'provider': change.name,
                        'resource_class': name,
                        'expected': _fields(after.get(name)),
                        'actual': _fields(there.get(name)),
                    },
                    # Other trees change a sharing provider too.
                    name in moving and change.root_provider_uuid == tree.root_provider_uuid,
                )


def _difference(there: Inventory | None, planned: Inventory | None) -> str:
    """What differs, in figures."""
    if there is None or planned is None:
        return 'it is not there' if there is None else 'it should not be there'
    fields, wanted = there.as_fields(), planned.as_fields()
    return ', '.join(
        f'{field} {fields[field]} instead of {wanted[field]}'
        for field in fields
        if fields[field] != wanted[field]
    )


def _fields(inventory: Inventory | None) -> dict[str, int | float] | None:
    return None if inventory is None else inventory.as_fields()


def _of_sets(tree: TreePlan, change: ProviderChange, snapshot: Snapshot) -> Iterator[Deviation]:
    """Traits and aggregates: those that the plan changes, and those of others."""
    state, before = snapshot.providers[change.uuid], change.content_before
    for kind, there, was, after in (
        ('trait', state.traits, before.traits, change.after.traits),
        ('aggregate', state.aggregates, before.aggregates, change.after.aggregates),
    ):
        for name in sorted(there ^ after):
            verb = 'has' if name in there else 'lacks'
            yield Deviation(
                tree.root_provider_name,
                kind,
                f'{change.name} {verb} the {kind} {name}',
                {'provider': change.name, kind: name, 'present': name in there},
                name in was ^ after,
            )


def _of_consumer(
    tree: TreePlan,
    names: Mapping[str, str],
    consumer: ConsumerChange,
    held: Allocations,
    wanted: Allocations,
) -> Iterator[Deviation]:
    if held == wanted:
        return
    facts = {'consumer_uuid': consumer.uuid, 'expected': dict(wanted), 'actual': dict(held)}
    if not held:
        kind, message, is_damage = 'gone', 'has gone since', False
    elif _sums(held) != _sums(wanted):
        kind, message = 'amount', 'holds other amounts than it was given'
        # Who has more or less than before, but not what has moved, was resized since.
        is_damage = _is_untouched(consumer, held)
    else:
        places = sorted(names.get(uuid, uuid) for uuid in held if held[uuid] != wanted.get(uuid))
        kind, message = 'misplaced', f'is not where the plan put it, but on {", ".join(places)}'
        # Who has left the tree altogether was migrated since.
        is_damage = not held.keys().isdisjoint(_own(tree))
    yield Deviation(
        tree.root_provider_name, kind, f'consumer {consumer.uuid} {message}', facts, is_damage
    )


def _own(tree: TreePlan) -> set[str]:
    """The providers that a plan is about, without the sharing ones of other trees."""
    root = tree.root_provider_uuid
    return {change.uuid for change in tree.providers if change.root_provider_uuid == root}


def _sums(allocations: Allocations) -> Counter[str]:
    result: Counter[str] = Counter()
    for resources in allocations.values():
        result.update(resources)
    return result


def _is_untouched(consumer: ConsumerChange, held: Allocations) -> bool:
    """Whether it still holds something that the plan took off a provider."""
    return any(
        name in held.get(uuid, {})
        for uuid, resources in consumer.before.items()
        for name in resources
        if name not in consumer.after.get(uuid, {})
    )


def _status(source: Source, tree: TreePlan) -> tuple[Status, str]:
    listed = source.listed(tree)
    if live_state.is_as_planned(tree, listed):
        return Status.PENDING, ''
    for change in tree.providers:
        if not change.is_created and change.uuid not in listed:
            return Status.DIFFERS, f'{change.name} does not exist any more'
    tree_state = source.tree_state(tree, listed)
    if tree_state.phase is Phase.BEFORE:
        return Status.PENDING, ''
    if tree_state.phase is Phase.NEITHER:
        damage = next((d for d in _of_inventories(tree, tree_state.providers) if d.is_damage), None)
        return Status.DIFFERS, damage.message if damage else ''
    for change in tree.providers:
        lost = change.content_before.traits - change.after.traits
        if lost and not lost.isdisjoint(source.traits(change.uuid)):
            names = ', '.join(sorted(lost))
            return Status.DIFFERS, f'{change.name} still has {names}: apply the plan again'
    return Status.APPLIED, ''
