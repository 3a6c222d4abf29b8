"""Warnings for an operator before a tree is reshaped."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from placementclient.client.wording import counted
from placementclient.model.nova import (
    CHILD_FORMS,
    COMPUTE_NODE,
    INSTANCE,
    MANY_SIBLINGS,
    MIGRATION,
    OWNER_NOVA,
    is_child_name,
)
from placementclient.model.plans import Notice, TreeChange
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.layout.target_state import TargetState, Where

#: Of some kinds the names of their facts, and the sentence, with the facts in braces.
_KINDS = {
    'total-differs': (
        'provider resource_class moved total',
        '{moved} {resource_class} are moved off {provider}, which has {total}',
    ),
    'target-total-differs': (
        'provider resource_class moved total',
        '{provider} gets {total} {resource_class} in all, what is there and moved in is {moved}',
    ),
    'capacity-lost': (
        'provider resource_class before after',
        'the capacity of {provider} for {resource_class} is {before}, and {after} after it is '
        'divided',
    ),
    'overcommitted': (
        'provider resource_class usage capacity',
        '{provider} has {usage} {resource_class} in use, its capacity is {capacity}: what moves '
        'off cannot come back in a rollback before its consumers shrink',
    ),
    'many-siblings': (
        'parent_provider_uuid resource_class count',
        '{count} siblings will have {resource_class}: see the options '
        '[placement]max_allocation_candidates and '
        '[placement]allocation_candidates_generation_strategy of the service',
    ),
}


def _notice(kind: str, *values: str | int) -> Notice:
    fields, sentence = _KINDS[kind]
    facts = dict(zip(fields.split(), values, strict=True))
    return Notice(kind, sentence.format(**facts), facts)


def warnings_of(
    snapshot: Snapshot,
    target_state: TargetState,
    tree: TreeChange,
    migrations: Sequence[ServerMigration] | None = (),
) -> Iterator[Notice]:
    """Return the warnings about trees that change together, by kind.

    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    """
    yield from _totals(target_state)
    yield from _capacity(target_state)
    yield from _overcommitted(target_state)
    yield from _several_trees(snapshot, tree)
    yield from _migrations(tree, migrations)
    for root in target_state.roots:
        yield from _unowned(target_state, root)
    for root in target_state.roots:
        yield from _foreign_names(target_state, root)
    yield from _siblings(snapshot, target_state)


def _moved(target_state: TargetState) -> Counter[Where]:
    moved = Counter[Where]()
    for flow in target_state.flows:
        moved[flow.origin] += flow.amount
    return moved


def _totals(target_state: TargetState) -> Iterator[Notice]:
    for (source, name), moved in _moved(target_state).items():
        before = target_state.providers[source].before
        assert before is not None
        total = before.inventories[name].total
        if moved != total:
            yield _notice('total-differs', before.name, name, moved, total)
    received = Counter[Where]()
    for flow in target_state.flows:
        received[flow.destination] += flow.amount
    for where, moved in received.items():
        target_uuid, name = where
        provider = target_state.providers[target_uuid]
        total = provider.inventories[name].total
        there = provider.before.inventories.get(name) if provider.before else None
        moved += there.total if there and where not in target_state.places else 0
        if moved != total and where not in target_state.places:
            yield _notice('target-total-differs', provider.name, name, moved, total)


def _capacity(target_state: TargetState) -> Iterator[Notice]:
    """Each target floors its own capacity, which may lose some."""
    moved = _moved(target_state)
    for (source, name), amount in moved.items():
        before = target_state.providers[source].before
        assert before is not None
        inventory = before.inventories[name]
        targets = {flow.destination for flow in target_state.flows if flow.origin == (source, name)}
        after = total = 0
        for target, target_class in targets | ({Where(source, name)} & target_state.places.keys()):
            provider = target_state.providers[target]
            new = provider.inventories.get(target_class)
            was = provider.before.inventories.get(target_class) if provider.before else None
            if (target, target_class) == (source, name):
                was = None
            after += (new.capacity if new else 0) - (was.capacity if was else 0)
            total += (new.total if new else 0) - (was.total if was else 0)
        if amount <= inventory.total <= total and after < inventory.capacity:
            yield _notice('capacity-lost', before.name, name, inventory.capacity, after)


def _overcommitted(target_state: TargetState) -> Iterator[Notice]:
    for source, name in target_state.places:
        before = target_state.providers[source].before
        assert before is not None
        usage, capacity = before.usages.get(name, 0), before.inventories[name].capacity
        if usage > capacity:
            yield _notice('overcommitted', before.name, name, usage, capacity)


def _several_trees(snapshot: Snapshot, tree: TreeChange) -> Iterator[Notice]:
    own = set(tree.roots)
    several = [
        change.uuid
        for change in tree.consumers
        if _trees(snapshot, change.before.allocations) - own
    ]
    if several:
        yield Notice(
            'several-trees',
            f'consumers that hold something on other trees too, which stays: {len(several)}',
            {'consumers': several},
        )


def _migrations(tree: TreeChange, migrations: Sequence[ServerMigration] | None) -> Iterator[Notice]:
    """Migrations under way hold allocations that no host knows of."""
    pending = [migration for migration in migrations or () if not migration.is_over]
    involved = {uuid for it in pending for uuid in (it.uuid, it.server_uuid)}
    known = {change.uuid for change in tree.consumers if change.uuid in involved}
    known |= {change.uuid for change in tree.consumers if change.before.type == MIGRATION}
    if known:
        yield Notice(
            'migration',
            f'migrations that are under way: {len(known)}',
            {'consumers': sorted(known)},
        )
    others = [
        change.uuid
        for change in tree.consumers
        if change.before.type not in (None, INSTANCE, MIGRATION) and change.uuid not in known
    ]
    if others:
        yield Notice(
            'no-server', f'consumers that are no servers: {len(others)}', {'consumers': others}
        )
    untyped = [change.uuid for change in tree.consumers if change.before.type is None]
    if migrations is None and untyped:
        yield Notice(
            'migrations-unknown',
            f'whether a migration is under way is not known, as {_having(len(untyped))} no '
            'type: add --migrations',
            {'consumers': untyped},
        )


def _trees(snapshot: Snapshot, providers: Iterable[str]) -> set[str]:
    """The trees that providers are in, those left aside that share with other trees."""
    trees = set()
    for provider_uuid in providers:
        state = snapshot.providers.get(provider_uuid)
        if state is None:
            trees.add(provider_uuid)
        elif SHARING_TRAIT not in state.traits:
            trees.add(state.provider.root_uuid)
    return trees


def _unowned(target_state: TargetState, root: ProviderState) -> Iterator[Notice]:
    if OWNER_NOVA not in root.traits:
        return
    targets = {flow.target for flow in target_state.flows}
    targets |= {each.uuid for each in target_state.providers.values() if each.before is None}
    unowned = [
        provider.name
        for provider in target_state.providers.values()
        if provider.uuid in targets
        and provider.root_provider_uuid == root.uuid
        and OWNER_NOVA not in provider.traits
    ]
    if unowned:
        yield Notice(
            'no-owner',
            f'{root.name} has the trait {OWNER_NOVA}, {", ".join(unowned)} will not: '
            'the scheduler of Nova 34 and later passes such providers over',
            {'providers': unowned, 'trait': OWNER_NOVA},
        )


def _foreign_names(target_state: TargetState, root: ProviderState) -> Iterator[Notice]:
    """Beside a child of another name than its own, nova-compute makes a second one."""
    if COMPUTE_NODE not in root.traits:
        return
    foreign = [
        provider.name
        for provider in target_state.providers.values()
        if provider.before is None
        and provider.root_provider_uuid == root.uuid
        and not is_child_name(provider.name, root.name)
    ]
    if foreign:
        forms = ', '.join(f'{root.name}_{form}' for form in CHILD_FORMS)
        yield Notice(
            'foreign-name',
            f"Nova's libvirt driver gives no provider the name {' or '.join(foreign[:8])}; the "
            f'forms of its names are {forms}',
            {'providers': foreign},
        )


def _siblings(snapshot: Snapshot, target_state: TargetState) -> Iterator[Notice]:
    families: dict[str, set[str]] = {}
    for flow in target_state.flows:
        parent = target_state.providers[flow.target].parent_provider_uuid
        if parent is not None:
            families.setdefault(parent, set()).add(flow.target_class)
    for parent, names in families.items():
        children = {state.uuid: set(state.inventories) for state in snapshot.children(parent)}
        for provider in target_state.providers.values():
            if provider.parent_provider_uuid == parent:
                children[provider.uuid] = set(provider.inventories)
        for name in sorted(names):
            count = sum(name in classes for classes in children.values())
            if count >= MANY_SIBLINGS:
                yield _notice('many-siblings', parent, name, count)


def _having(number: int) -> str:
    return f'{counted(number, "consumer")} {"has" if number == 1 else "have"}'
