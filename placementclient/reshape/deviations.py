"""The differences of a tree from its plan, with their severity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from placementclient.model.consumers import Allocations, together
from placementclient.model.inventories import Inventory
from placementclient.model.outcomes import Deviation, Verdict
from placementclient.model.plans import ConsumerChange, ProviderChange, TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reshape import live_state
from placementclient.reshape.live_state import InventoryPart, Phase, TreeState

_Providers = Mapping[str, ProviderState]


def has_happened(tree: TreeChange, snapshot: Snapshot) -> bool:
    """Return whether a reshape has been carried out, wholly or in part, whatever others changed
    since.

    :param snapshot: at least the providers that the plan names
    """
    if live_state.moves(tree):
        return have_moved(tree, snapshot.providers)
    for change in tree.providers:
        state, before = snapshot.providers.get(change.uuid), change.content_before
        if state is None:
            continue
        for there, was, after in (
            (state.traits, before.traits, change.content_after.traits),
            (state.aggregates, before.aggregates, change.content_after.aggregates),
        ):
            if there & (after - was) or (was - after) - there:
                return True
    return False


def have_moved(tree: TreeChange, providers: _Providers) -> bool:
    """The same, by the inventories alone.

    Inventories that appear or disappear show it; their figures may be a change of another client.
    Only if a plan does neither, the figures show it.
    """
    parts = list(live_state.inventory_parts(tree, providers))
    signs = [
        (part.there is None) == (part.after is None)
        for part in parts
        if part.before is None or part.after is None
    ]
    figures = {part.phase for part in parts} - {Phase.NEITHER}
    return any(signs) if signs else figures != {Phase.BEFORE}


def before_apply(tree: TreeChange, providers: _Providers) -> Iterator[Deviation]:
    """Return changes of others to the values that an unapplied plan starts from."""
    for part in live_state.inventory_parts(tree, providers):
        if not part.change.is_created and part.there != part.before:
            yield _inventory(
                tree, part, part.before, 'what the plan starts from', Verdict.CHANGED_LATER
            )


def of_tree_state(tree_state: TreeState) -> list[Deviation]:
    """Return the differences in the providers of a plan, right after the reshape."""
    tree, providers = tree_state.tree, tree_state.providers
    result = list(of_inventories(tree, providers, is_fresh=True))
    names = {change.uuid: change.name for change in tree.providers}
    for consumer in tree.consumers:
        there = {uuid: tree_state.held(consumer.uuid, uuid) for uuid in providers}
        wanted = {
            uuid: held for uuid, held in consumer.after.allocations.items() if uuid in providers
        }
        held = {uuid: resources for uuid, resources in there.items() if resources}
        result += _of_consumer(tree, names, consumer, held, wanted)
    return result


def of_snapshot(tree: TreeChange, snapshot: Snapshot) -> Iterator[Deviation]:
    """Return the differences in a snapshot of all trees that a plan of one tree concerns."""
    yield from of_inventories(tree, snapshot.providers)
    for change in tree.providers:
        if change.uuid in snapshot.providers:
            yield from _of_sets(tree, change, snapshot)
    for consumer in tree.consumers:
        there = snapshot.consumers.get(consumer.uuid)
        held = there.allocations if there else {}
        names = {uuid: state.name for uuid in held if (state := snapshot.providers.get(uuid))}
        yield from _of_consumer(tree, names, consumer, held, consumer.after.allocations)
        if there is not None and (there.project_id, there.user_id, there.type) != (
            consumer.after.project_id,
            consumer.after.user_id,
            consumer.after.type,
        ):
            # No reshape changes who owns a consumer; a reshape could lose its type.
            is_damage = there.type != consumer.after.type
            yield Deviation(
                tree.root_provider_name,
                'owner',
                f'consumer {consumer.uuid} has another project, user or type than before',
                {'consumer_uuid': consumer.uuid},
                Verdict.DAMAGED if is_damage else Verdict.CHANGED_LATER,
            )


def of_inventories(
    tree: TreeChange, providers: _Providers, *, is_fresh: bool = False
) -> Iterator[Deviation]:
    """Return the differences in the inventories of the providers of a plan.

    :param is_fresh: whether the reshape was granted just now, so that no client had time to change
        anything
    """
    own = [each for each in tree.providers if each.root_provider_uuid in tree.roots]
    is_whole = all(change.is_created or change.uuid in providers for change in own)
    for change in tree.providers:
        if change.uuid not in providers:
            if change.content_after.inventories or not change.is_created:
                # No reshape deletes what was there before it; a host that goes takes its children.
                is_damage = change.is_created and is_whole
                yield Deviation(
                    tree.root_provider_name,
                    'missing',
                    f'{change.name} does not exist',
                    {'provider': change.name},
                    Verdict.DAMAGED if is_damage else Verdict.CHANGED_LATER,
                )
            continue
        state = providers[change.uuid]
        for name in sorted({*state.inventories, *change.content_after.inventories}):
            part = live_state.inventory_part(change, name, state)
            if part.there != part.after:
                # Where the plan took it off, or not where it put it.
                is_undone = (part.there is None) != (part.after is None)
                is_undone = is_undone or part.there == part.before
                # Other plans change a sharing provider too.
                is_moved = change in own and part.before != part.after
                is_damage = is_moved and (is_fresh or is_undone)
                verdict = Verdict.DAMAGED if is_damage else Verdict.CHANGED_LATER
                yield _inventory(tree, part, part.after, 'that of the plan', verdict)


def _inventory(
    tree: TreeChange,
    part: InventoryPart,
    expected: Inventory | None,
    planned: str,
    verdict: Verdict,
) -> Deviation:
    """An inventory that differs.

    :param planned: what the expected one is
    """
    name, provider = part.resource_class, part.change.name
    return Deviation(
        tree.root_provider_name,
        'inventory',
        f'the inventory of {name} on {provider} is not {planned}: '
        f'{_difference(part.there, expected)}',
        {
            'provider': provider,
            'resource_class': name,
            'expected': _fields(expected),
            'actual': _fields(part.there),
        },
        verdict,
    )


def _difference(there: Inventory | None, planned: Inventory | None) -> str:
    """Return the difference in figures."""
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


def _of_sets(tree: TreeChange, change: ProviderChange, snapshot: Snapshot) -> Iterator[Deviation]:
    """Traits and aggregates: those that the plan changes, and those of others."""
    state, before = snapshot.providers[change.uuid], change.content_before
    for kind, there, was, after in (
        ('trait', state.traits, before.traits, change.content_after.traits),
        ('aggregate', state.aggregates, before.aggregates, change.content_after.aggregates),
    ):
        for name in sorted(there ^ after):
            verb = 'has' if name in there else 'lacks'
            yield Deviation(
                tree.root_provider_name,
                kind,
                f'{change.name} {verb} the {kind} {name}',
                {'provider': change.name, kind: name, 'present': name in there},
                Verdict.DAMAGED if name in was ^ after else Verdict.CHANGED_LATER,
            )


def _of_consumer(
    tree: TreeChange,
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
    elif together(held.values()) != together(wanted.values()):
        kind, message = 'amount', 'holds other amounts than it was given'
        # Who has more or less than before, but not what has moved, was resized since.
        is_damage = _is_untouched(consumer, held)
    else:
        places = sorted(names.get(uuid, uuid) for uuid in held if held[uuid] != wanted.get(uuid))
        kind, message = 'misplaced', f'is not where the plan put it, but on {", ".join(places)}'
        # Who has left the tree altogether was migrated since.
        is_damage = not held.keys().isdisjoint(_own(tree))
    yield Deviation(
        tree.root_provider_name,
        kind,
        f'consumer {consumer.uuid} {message}',
        facts,
        Verdict.DAMAGED if is_damage else Verdict.CHANGED_LATER,
    )


def _own(tree: TreeChange) -> set[str]:
    """The providers that a plan is about, without the sharing ones of other trees."""
    return {change.uuid for change in tree.providers if change.root_provider_uuid in tree.roots}


def _is_untouched(consumer: ConsumerChange, held: Allocations) -> bool:
    """Return whether it still holds something that the plan took off a provider."""
    return any(
        name in held.get(uuid, {})
        for uuid, resources in consumer.before.allocations.items()
        for name in resources
        if name not in consumer.after.allocations.get(uuid, {})
    )
