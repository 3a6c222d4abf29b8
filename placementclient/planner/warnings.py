# SPDX-License-Identifier: Apache-2.0
"""Warnings for an operator before a tree is reshaped."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from placementclient.basis.wording import format_count
from placementclient.model.inventories import InventoryKey
from placementclient.model.nova import (
    CHILD_FORMS,
    COMPUTE_NODE,
    INSTANCE,
    MANY_SIBLINGS,
    MIGRATION,
    OWNER_NOVA,
    is_child_name,
)
from placementclient.model.plans import Change, Notice
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.layout.target_state import TargetState

#: The sentence of each kind, with its facts in braces.
SENTENCES = {
    'total-differs': '{moved} {resource_class} are moved off {provider}, which has {total}',
    'target-total-differs': '{provider} gets {total} {resource_class} in all, what is there and '
    'moved in is {moved}',
    'capacity-lost': 'the capacity of {provider} for {resource_class} drops from {before} to '
    '{after}',
    'overcommitted': '{provider} has {usage} {resource_class} in use, its capacity is {capacity}: '
    'what moves off cannot come back in a rollback before its consumers shrink',
    'no-way-back': 'amounts of {resource_class} on {provider} are against its {fields}: what moves '
    'off cannot come back in a rollback before these amounts change ({counted})',
    'several-trees': 'consumers that hold something on other trees too, which stays: {number}',
    'migration': 'migrations in progress: {number}; finish them first if you can',
    'no-server': 'consumers that are no servers: {number}',
    'migrations-unknown': '{counted} no type, and may be part of a migration: plan again with '
    '--migrations FILE, which tells',
    'no-owner': '{root} has the trait {trait}, {names} will not: the scheduler of Nova 34 and '
    'later skips such providers',
    'foreign-name': "Nova's libvirt driver gives no provider the name {names}; the forms of its "
    'names are {forms}',
    'many-siblings': '{count} siblings will have {resource_class}: see the options '
    '[placement]max_allocation_candidates and '
    '[placement]allocation_candidates_generation_strategy of the service',
}


def _make_notice(kind: str, facts: Mapping[str, object], **more: str) -> Notice:
    """Return a warning.

    :param kind: one of :data:`SENTENCES`
    :param facts: for programs, and for the sentence
    :param more: for the sentence alone
    """
    return Notice(kind, SENTENCES[kind].format(**facts, **more), facts)


def _warn_of_consumers(kind: str, consumer_uuids: Sequence[str]) -> Iterator[Notice]:
    """Yield one warning about the given consumers together, if there are any."""
    number = len(consumer_uuids)
    verb = 'has' if number == 1 else 'have'
    if consumer_uuids:
        text = f'{format_count(number, "consumer")} {verb}'
        yield _make_notice(kind, {'consumers': consumer_uuids}, number=str(number), counted=text)


def find_warnings(
    snapshot: Snapshot,
    target_state: TargetState,
    change: Change,
    migrations: Sequence[ServerMigration] | None = (),
) -> Iterator[Notice]:
    """Yield the warnings about trees that change together, one kind after the other.

    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    """
    yield from _warn_of_totals(target_state)
    yield from _warn_of_lost_capacity(target_state)
    yield from _warn_of_overcommitment(target_state)
    yield from _warn_of_refused_amounts(change)
    yield from _warn_of_consumers_in_other_trees(snapshot, change)
    yield from _warn_of_migrations(change, migrations)
    for root in target_state.roots:
        yield from _warn_of_missing_owner_trait(target_state, root)
    for root in target_state.roots:
        yield from _warn_of_foreign_names(target_state, root)
    yield from _warn_of_siblings(snapshot, target_state)


def _sum_moved_amounts(target_state: TargetState) -> Counter[InventoryKey]:
    """Return the amount that moves off each inventory."""
    moved = Counter[InventoryKey]()
    for flow in target_state.flows:
        moved[flow.origin] += flow.amount
    return moved


def _warn_of_totals(target_state: TargetState) -> Iterator[Notice]:
    """Warn of totals of sources and targets that are not the sums of the moves."""
    for (source_uuid, name), moved in _sum_moved_amounts(target_state).items():
        source = target_state.providers[source_uuid]
        facts = {'provider': source.name, 'resource_class': name, 'moved': moved}
        total = source.inventories_before[name].total
        if moved != total:
            yield _make_notice('total-differs', {**facts, 'total': total})
    received = Counter[InventoryKey]()
    for flow in target_state.flows:
        received[flow.destination] += flow.amount
    for key, moved in received.items():
        if key in target_state.targets:
            continue
        provider, name = target_state.providers[key.provider_uuid], key.resource_class
        before = provider.inventories_before.get(name)
        moved += before.total if before else 0
        total = provider.inventories[name].total
        facts = {'provider': provider.name, 'resource_class': name, 'moved': moved}
        if moved != total:
            yield _make_notice('target-total-differs', {**facts, 'total': total})


def _warn_of_lost_capacity(target_state: TargetState) -> Iterator[Notice]:
    """Warn of capacity that is lost: each target rounds its own capacity down."""
    for key, amount in _sum_moved_amounts(target_state).items():
        source = target_state.providers[key.provider_uuid]
        inventory = source.inventories_before[key.resource_class]
        targets = {flow.destination for flow in target_state.flows if flow.origin == key}
        after = total = 0
        for target in targets | ({key} & target_state.targets.keys()):
            provider = target_state.providers[target.provider_uuid]
            new = provider.inventories.get(target.resource_class)
            was = provider.inventories_before.get(target.resource_class) if target != key else None
            after += (new.capacity if new else 0) - (was.capacity if was else 0)
            total += (new.total if new else 0) - (was.total if was else 0)
        if amount <= inventory.total <= total and after < inventory.capacity:
            facts = {'provider': source.name, 'resource_class': key.resource_class}
            yield _make_notice(
                'capacity-lost', {**facts, 'before': inventory.capacity, 'after': after}
            )


def _warn_of_overcommitment(target_state: TargetState) -> Iterator[Notice]:
    """Warn of sources with more usage than capacity: a rollback cannot bring all of it back."""
    for source_uuid, name in target_state.targets:
        before = target_state.providers[source_uuid].before
        if before is not None and before.free(name) < 0:
            facts = {'provider': before.name, 'resource_class': name, 'usage': before.used(name)}
            yield _make_notice('overcommitted', {**facts, 'capacity': before.capacity(name)})


def _warn_of_refused_amounts(change: Change) -> Iterator[Notice]:
    """Warn of amounts that a rollback could not give back: the units of their sources forbid them.

    Placement judges all that a consumer holds whenever it is written.
    """
    #: by provider and class: the limits against which amounts are, and the consumers
    refusing = defaultdict[tuple[str, str], set[str]](set)
    refused = defaultdict[tuple[str, str], set[str]](set)
    for consumer in change.consumers:
        for uuid, resources in consumer.before.allocations.items():
            if (state := change.before.providers.get(uuid)) is None:
                continue
            for name, amount in resources.items():
                if limits := state.inventories[name].units.list_violated_limits(amount):
                    refusing[state.name, name].update(limits)
                    refused[state.name, name].add(consumer.uuid)
    for (provider, name), fields in refusing.items():
        consumers = refused[provider, name]
        facts: dict[str, object] = {'provider': provider, 'resource_class': name}
        facts |= {'limits': sorted(fields), 'consumers': sorted(consumers)}
        number = format_count(len(consumers), 'consumer')
        yield _make_notice('no-way-back', facts, fields=', '.join(sorted(fields)), counted=number)


def _warn_of_consumers_in_other_trees(snapshot: Snapshot, change: Change) -> Iterator[Notice]:
    """Warn of consumers of the change that hold something in trees which it does not change."""
    several = [
        consumer.uuid
        for consumer in change.consumers
        if any(
            _is_in_unchanged_tree(snapshot, uuid, change.roots)
            for uuid in consumer.before.allocations
        )
    ]
    yield from _warn_of_consumers('several-trees', several)


def _is_in_unchanged_tree(
    snapshot: Snapshot, provider_uuid: str, root_uuids: Collection[str]
) -> bool:
    """Return whether a provider that shares nothing is in no tree that changes; True if unknown."""
    state = snapshot.providers.get(provider_uuid)
    if state is None:
        return True
    return SHARING_TRAIT not in state.traits and state.provider.root_uuid not in root_uuids


def _warn_of_migrations(
    change: Change, migrations: Sequence[ServerMigration] | None
) -> Iterator[Notice]:
    """Warn of migrations under way, whose allocations no host reports.

    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    """
    pending = [migration for migration in migrations or () if not migration.is_over]
    involved = {uuid for it in pending for uuid in (it.uuid, it.server_uuid)}
    by_type: dict[str | None, list[str]] = {}
    for consumer in change.consumers:
        kind = MIGRATION if consumer.uuid in involved else consumer.before.type
        by_type.setdefault(kind, []).append(consumer.uuid)
    untyped = by_type.pop(None, [])
    by_type.pop(INSTANCE, None)
    yield from _warn_of_consumers('migration', sorted(by_type.pop(MIGRATION, [])))
    yield from _warn_of_consumers('no-server', sorted(chain(*by_type.values())))
    yield from _warn_of_consumers('migrations-unknown', untyped if migrations is None else ())


def _warn_of_missing_owner_trait(
    target_state: TargetState, root: ProviderState
) -> Iterator[Notice]:
    """Warn of children without OWNER_NOVA below a root with it: Nova's scheduler skips them."""
    targets = {flow.destination.provider_uuid for flow in target_state.flows}
    unowned = [
        provider.name
        for provider in target_state.providers.values()
        if (provider.uuid in targets or provider.before is None)
        and provider.root_provider_uuid == root.uuid
        and OWNER_NOVA not in provider.traits
    ]
    if unowned and OWNER_NOVA in root.traits:
        facts = {'providers': unowned, 'trait': OWNER_NOVA}
        yield _make_notice('no-owner', facts, root=root.name, names=', '.join(unowned))


def _warn_of_foreign_names(target_state: TargetState, root: ProviderState) -> Iterator[Notice]:
    """Warn of children that nova-compute does not recognize: it makes second ones."""
    foreign = [
        provider.name
        for provider in target_state.providers.values()
        if provider.before is None
        and provider.root_provider_uuid == root.uuid
        and not is_child_name(provider.name, root.name)
    ]
    if foreign and COMPUTE_NODE in root.traits:
        forms = ', '.join(f'{root.name}_{form}' for form in CHILD_FORMS)
        names = ' or '.join(foreign[:8])
        yield _make_notice('foreign-name', {'providers': foreign}, names=names, forms=forms)


def _warn_of_siblings(snapshot: Snapshot, target_state: TargetState) -> Iterator[Notice]:
    """Warn of so many siblings with one class that allocation candidates multiply."""
    families: dict[str, set[str]] = {}
    for flow in target_state.flows:
        parent = target_state.providers[flow.destination.provider_uuid].parent_provider_uuid
        if parent is not None:
            families.setdefault(parent, set()).add(flow.destination.resource_class)
    for parent, names in families.items():
        children = {state.uuid: set(state.inventories) for state in snapshot.children(parent)}
        for provider in target_state.providers.values():
            if provider.parent_provider_uuid == parent:
                children[provider.uuid] = set(provider.inventories)
        for name in sorted(names):
            count = sum(name in classes for classes in children.values())
            if count >= MANY_SIBLINGS:
                facts = {'parent_provider_uuid': parent, 'resource_class': name, 'count': count}
                yield _make_notice('many-siblings', facts)
