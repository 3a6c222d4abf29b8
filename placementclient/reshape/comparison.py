"""The live state of a tree compared with its change: the side, and the deviations. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from placementclient.model.consumers import Allocations, Resources, together
from placementclient.model.inventories import Inventory
from placementclient.model.outcomes import Deviation, Verdict
from placementclient.model.plans import ConsumerChange, ProviderChange, TreeChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

_Providers = Mapping[str, ProviderState]


class Phase(enum.Enum):
    """The side of the reshape that a tree is on: before or after."""

    BEFORE = 'before'
    AFTER = 'after'
    NEITHER = 'neither'


@dataclass(frozen=True, slots=True)
class TreeState:
    """The existing providers of a change.

    :param live: at least these providers, and all consumers that hold something of them
    :param listed: all providers of their trees, by UUID
    :param is_whole: whether the consumers are there with all that they hold, everywhere
    """

    tree: TreeChange
    live: Snapshot
    listed: Mapping[str, Provider]
    is_whole: bool = False

    @property
    def providers(self) -> dict[str, ProviderState]:
        live = self.live.providers
        return {each.uuid: live[each.uuid] for each in self.tree.providers if each.uuid in live}

    def held(self, consumer_uuid: str, provider_uuid: str) -> Resources:
        consumer = self.live.consumers.get(consumer_uuid)
        return consumer.allocations.get(provider_uuid, {}) if consumer else {}

    def is_empty(self, provider_uuid: str) -> bool:
        """Return True for a provider without inventory and allocations."""
        has_none = not self.live.providers[provider_uuid].inventories
        return has_none and not self.live.consumers_on(provider_uuid)

    @property
    def phase(self) -> Phase:
        """The side of the reshape, decided only by the classes that move."""
        # None: nothing but traits or aggregates.
        phases = {part.phase for part in _moving_parts(self.tree, self.providers)}
        return Phase.NEITHER if len(phases) > 1 else next(iter(phases), Phase.BEFORE)

    @property
    def is_untouched(self) -> bool:
        """Return whether the reshape is not done, even if others have changed its input.

        The providers that the plan makes have something as soon as it has happened.
        """
        created = [
            change.uuid for change in self.tree.created() if change.content_after.inventories
        ]
        are_empty = all(u not in self.live.providers or self.is_empty(u) for u in created)
        return self.phase is Phase.BEFORE or (bool(created) and are_empty)


class _InventoryPart(NamedTuple):
    """The inventory of one class of a provider: on both sides of a change, and as it is."""

    change: ProviderChange
    resource_class: str
    before: Inventory | None
    after: Inventory | None
    live: Inventory | None

    @property
    def phase(self) -> Phase:
        if self.live == self.before:
            return Phase.BEFORE
        return Phase.AFTER if self.live == self.after else Phase.NEITHER

    def deviation(
        self, tree: TreeChange, expected: Inventory | None, planned: str, verdict: Verdict
    ) -> Deviation:
        """Return the deviation from an inventory.

        :param planned: the words for the expected one
        """
        name, provider = self.resource_class, self.change.name
        return _deviation(
            tree,
            'inventory',
            f'the inventory of {name} on {provider} is not {planned}: '
            f'{_difference(self.live, expected)}',
            verdict,
            provider=provider,
            resource_class=name,
            expected=expected and expected.as_fields(),
            actual=self.live and self.live.as_fields(),
        )


def _part(change: ProviderChange, name: str, state: ProviderState | None) -> _InventoryPart:
    before, after = change.content_before.inventories, change.content_after.inventories
    live = state.inventories.get(name) if state else None
    return _InventoryPart(change, name, before.get(name), after.get(name), live)


def _moving_parts(tree: TreeChange, providers: _Providers) -> Iterator[_InventoryPart]:
    """Return the inventories that a plan changes in its own trees.

    Other plans change a sharing provider too, before this one or after it.

    :param providers: the live ones, by UUID
    """
    for change in tree.own_providers():
        for name in sorted(change.changed_classes):
            yield _part(change, name, providers.get(change.uuid))


def is_as_planned(tree: TreeChange, listed: Mapping[str, Provider]) -> bool:
    """Return whether nothing has changed since the plan, except freed allocations.

    These move no generation of a provider. The reshaper finds it out by the consumer's.
    """
    names = {provider.name for provider in listed.values()}
    for change in tree.providers:
        provider = listed.get(change.uuid)
        if change.before is None:
            if provider is not None or change.name in names:
                return False
        elif (
            provider is None
            or provider.name != change.name
            or provider.generation != change.before.provider.generation
        ):
            return False
    return True


def tree_state_of(tree: TreeChange, snapshot: Snapshot) -> TreeState:
    """Return the providers of a change from a snapshot of all its trees."""
    return TreeState(tree, snapshot, listed_in(snapshot, tree), is_whole=True)


def listed_in(snapshot: Snapshot, tree: TreeChange) -> dict[str, Provider]:
    """Return all providers of the trees that a change concerns, by UUID."""
    return {
        state.uuid: state.provider
        for root in tree.concerned_roots
        if root in snapshot.providers
        for state in snapshot.tree(root)
    }


def has_happened(tree: TreeChange, snapshot: Snapshot) -> bool:
    """Return whether a reshape is done, wholly or in part, despite later changes.

    :param snapshot: at least the providers that the plan names
    """
    if tree.changes_inventories:
        return have_moved(tree, snapshot.providers)
    return any(
        live & (after - before) or (before - after) - live
        for change in tree.providers
        if (state := snapshot.providers.get(change.uuid))
        for _, live, before, after in _names(change, state)
    )


def have_moved(tree: TreeChange, providers: _Providers) -> bool:
    """Return the same, decided only by the inventories.

    Inventories that appear or disappear show it; their figures may be a change of another client.
    Only if a plan does neither, the figures show it.
    """
    parts = list(_moving_parts(tree, providers))
    signs = [
        (part.live is None) == (part.after is None)
        for part in parts
        if part.before is None or part.after is None
    ]
    figures = {part.phase for part in parts} - {Phase.NEITHER}
    return any(signs) if signs else figures != {Phase.BEFORE}


def before_apply(tree: TreeChange, providers: _Providers) -> Iterator[Deviation]:
    """Return changes of others to the input of an unapplied plan."""
    for part in _moving_parts(tree, providers):
        if not part.change.is_created and part.live != part.before:
            yield part.deviation(
                tree, part.before, 'what the plan starts from', Verdict.CHANGED_LATER
            )


def after_apply(tree_state: TreeState) -> list[Deviation]:
    """Return the deviations of the providers of a plan, right after the reshape."""
    tree, providers = tree_state.tree, tree_state.providers
    result = list(of_inventories(tree, providers, is_fresh=True))
    names = {change.uuid: change.name for change in tree.providers}
    for consumer in tree.consumers:
        live = {uuid: tree_state.held(consumer.uuid, uuid) for uuid in providers}
        desired = {
            uuid: held for uuid, held in consumer.after.allocations.items() if uuid in providers
        }
        held = {uuid: resources for uuid, resources in live.items() if resources}
        result += _of_allocations(tree, names, consumer, held, desired)
    return result


def first_difference(tree_state: TreeState) -> str:
    """Return the first part that is neither as before nor as after a change."""
    tree, providers = tree_state.tree, tree_state.providers
    if have_moved(tree, providers):
        deviations = of_inventories(tree, providers, is_fresh=True)
        return next((each.message for each in deviations if each.is_damage), '')
    changed = next(before_apply(tree, providers), None)
    return f'not applied, and {changed.message}' if changed else 'not applied'


def of_snapshot(tree: TreeChange, snapshot: Snapshot) -> Iterator[Deviation]:
    """Return the deviations of a tree in a snapshot of all trees of its plan."""
    yield from of_inventories(tree, snapshot.providers)
    for change in tree.providers:
        if change.uuid in snapshot.providers:
            yield from _of_names(tree, change, snapshot.providers[change.uuid])
    for consumer in tree.consumers:
        live = snapshot.consumers.get(consumer.uuid)
        held = live.allocations if live else {}
        names = {uuid: state.name for uuid in held if (state := snapshot.providers.get(uuid))}
        yield from _of_allocations(tree, names, consumer, held, consumer.after.allocations)
        if live and not ConsumerChange(consumer.after, live).keeps_owner:
            # No reshape changes who owns a consumer; a reshape could lose its type.
            is_damage = live.type != consumer.after.type
            yield _deviation(
                tree,
                'owner',
                f'consumer {consumer.uuid} has another project, user or type than before',
                _verdict(is_damage=is_damage),
                consumer_uuid=consumer.uuid,
            )


def of_inventories(
    tree: TreeChange, providers: _Providers, *, is_fresh: bool = False
) -> Iterator[Deviation]:
    """Return the deviations of the inventories of the providers of a plan.

    :param is_fresh: whether the reshape was granted just now, so that no client had time to change
        anything
    """
    own = list(tree.own_providers())
    is_whole = all(change.is_created or change.uuid in providers for change in own)
    for change in tree.providers:
        state = providers.get(change.uuid)
        if state is None:
            if change.content_after.inventories or not change.is_created:
                # No reshape deletes what was there before it; a host that goes takes its children.
                yield _deviation(
                    tree,
                    'missing',
                    f'{change.name} does not exist',
                    _verdict(is_damage=change.is_created and is_whole),
                    provider=change.name,
                )
            continue
        for name in sorted({*state.inventories, *change.content_after.inventories}):
            part = _part(change, name, state)
            if part.live != part.after:
                # Where the plan took it off, or not where it put it.
                is_undone = (part.live is None) != (part.after is None) or part.live == part.before
                # Other plans change a sharing provider too.
                is_moved = change in own and part.before != part.after
                verdict = _verdict(is_damage=is_moved and (is_fresh or is_undone))
                yield part.deviation(tree, part.after, 'that of the plan', verdict)


def _difference(live: Inventory | None, planned: Inventory | None) -> str:
    """Return the difference in figures."""
    if live is None or planned is None:
        return 'it is not there' if live is None else 'it should not be there'
    fields, desired = live.as_fields(), planned.as_fields()
    return ', '.join(
        f'{field} {fields[field]} instead of {desired[field]}'
        for field in fields
        if fields[field] != desired[field]
    )


def _names(
    change: ProviderChange, state: ProviderState
) -> Iterator[tuple[str, frozenset[str], frozenset[str], frozenset[str]]]:
    """Return the traits, then the aggregates of a provider: as they are, before and after."""
    before, after = change.content_before, change.content_after
    yield 'trait', state.traits, before.traits, after.traits
    yield 'aggregate', state.aggregates, before.aggregates, after.aggregates


def _of_names(
    tree: TreeChange, change: ProviderChange, state: ProviderState
) -> Iterator[Deviation]:
    """Traits and aggregates: those that the plan changes, and those of others."""
    for kind, live, before, after in _names(change, state):
        for name in sorted(live ^ after):
            verb = 'has' if name in live else 'lacks'
            yield _deviation(
                tree,
                kind,
                f'{change.name} {verb} the {kind} {name}',
                _verdict(is_damage=name in before ^ after),
                **{'provider': change.name, kind: name, 'present': name in live},
            )


def _of_allocations(
    tree: TreeChange,
    names: Mapping[str, str],
    consumer: ConsumerChange,
    held: Allocations,
    desired: Allocations,
) -> Iterator[Deviation]:
    if held == desired:
        return
    if not held:
        kind, message, is_damage = 'gone', 'has gone since', False
    elif together(held.values()) != together(desired.values()):
        kind, message = 'amount', 'holds other amounts than it was given'
        # Who has more or less than before, but not what has moved, was resized since.
        is_damage = _is_untouched(consumer, held)
    else:
        places = sorted(names.get(uuid, uuid) for uuid in held if held[uuid] != desired.get(uuid))
        kind, message = 'misplaced', f'is not where the plan put it, but on {", ".join(places)}'
        # Who has left the tree altogether was migrated since.
        is_damage = any(change.uuid in held for change in tree.own_providers())
    yield _deviation(
        tree,
        kind,
        f'consumer {consumer.uuid} {message}',
        _verdict(is_damage=is_damage),
        consumer_uuid=consumer.uuid,
        expected=dict(desired),
        actual=dict(held),
    )


def _is_untouched(consumer: ConsumerChange, held: Allocations) -> bool:
    """Return whether it still holds something that the plan took off a provider."""
    return any(
        name in held.get(uuid, {})
        for uuid, resources in consumer.before.allocations.items()
        for name in resources
        if name not in consumer.after.allocations.get(uuid, {})
    )


def _deviation(
    tree: TreeChange, kind: str, message: str, verdict: Verdict, **facts: Any
) -> Deviation:
    return Deviation(tree.root_provider_name, kind, message, facts, verdict)


def _verdict(*, is_damage: bool) -> Verdict:
    return Verdict.DAMAGED if is_damage else Verdict.CHANGED_LATER
