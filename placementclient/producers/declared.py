"""Provider trees as a file declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from placementclient.client import errors
from placementclient.client.wording import first
from placementclient.insight.unknown_names import Names
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.shortfalls import Shortfall, shortfalls
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.declarations import Declared


class InUse(errors.PlacementError):
    """Inventory that is used would go, or shrink below its use. Nothing was written.

    :param facts: of each inventory
    """

    def __init__(self, facts: Sequence[Shortfall]) -> None:
        self.facts = tuple(facts)
        provider, name, _, _ = self.facts[0]
        super().__init__(
            f'{first([each.message for each in facts])}. Allocations go along with inventory in a '
            'reshape: '
            f'"- {{from_resource_provider: {provider}, to_resource_provider: NAME, '
            f'moved_resources: {{{name}: AMOUNT}}}}" in the specification of '
            '"resource provider reshape plan"'
        )


def declared(
    snapshot: Snapshot,
    wanted: Sequence[Declared],
    *,
    new_uuid: Callable[[], str],
    prune: bool = False,
) -> Snapshot:
    """Return the snapshot with the declared providers as they are declared.

    :param snapshot: has the trees of all that is declared, as far as they exist
    :param new_uuid: gives the UUID of a provider that is made and declares none
    :param prune: delete the providers below that are not declared and have no consumers
    :raises errors.BadArgument: if a declaration contradicts the snapshot
    :raises errors.UsageError: if the declaration cannot be pruned
    :raises InUse: if inventory would go that is used
    """
    if prune and any(root.adds for root in wanted):
        raise errors.UsageError(
            'A provider configuration file of Nova names no children: --prune would delete them all'
        )
    _check_names(wanted, snapshot)
    _check_identities(wanted, snapshot)
    declaring = _Declaring(snapshot, new_uuid)
    for root in wanted:
        declaring.place(root, None)
    states = declaring.states
    for uuid in _surplus(wanted, snapshot) if prune else ():
        states.pop(uuid, None)
    used = list(shortfalls(snapshot.providers, states))
    if used:
        raise InUse(used)
    return Snapshot(states.values(), snapshot.consumers.values(), snapshot.origin)


class _Declaring:
    def __init__(self, snapshot: Snapshot, new_uuid: Callable[[], str]) -> None:
        self._snapshot, self._new_uuid = snapshot, new_uuid
        self.states = dict(snapshot.providers)

    def place(self, declared: Declared, parent_uuid: str | None) -> None:
        """Put a declared provider, and all below it, where it is declared.

        :param parent_uuid: of the provider that it is declared below; ``None`` at the top, where
            a provider that exists may be anywhere
        """
        there = _found(declared, self._snapshot)
        if there is None and declared.adds:
            raise errors.NoSuchProvider(
                f'No resource provider is called {declared.name or declared.uuid!r}'
            )
        uuid = there.uuid if there else declared.uuid or self._new_uuid()
        parent = parent_uuid
        if parent is None and there is not None:
            parent = there.provider.parent_provider_uuid
        name = declared.name if there is None or not declared.adds else there.name
        state = there or ProviderState(Provider(uuid, name, 0))
        provider = state.provider._replace(name=name, parent_provider_uuid=parent)
        self.states[uuid] = replace(
            state,
            provider=provider,
            inventories=_inventories(name, declared, state.inventories),
            traits=_names(declared, declared.traits, state.traits),
            aggregates=_names(declared, declared.aggregates, state.aggregates),
        )
        for child in declared.children:
            self.place(child, uuid)


def _found(declared: Declared, snapshot: Snapshot) -> ProviderState | None:
    """Return the provider that is declared, if it exists.

    :raises errors.BadArgument: if its name is that of another one
    """
    state = snapshot.providers.get(declared.uuid) if declared.uuid else None
    named = snapshot.named(declared.name) if declared.name else None
    if declared.uuid and named is not None and named.uuid != declared.uuid:
        raise errors.BadArgument(
            f'{declared.name} exists, with the UUID {named.uuid}, not {declared.uuid}'
        )
    return state or named


def _check_names(wanted: Sequence[Declared], snapshot: Snapshot) -> None:
    """Refuse classes and traits that no service can have, before anything is made.

    :raises errors.BadArgument: for the first of them
    """
    there = Names.of(snapshot)
    for each in (each for root in wanted for each in root.all()):
        for sentence in there.impossible(each.inventories or (), each.traits or ()):
            raise errors.BadArgument(f'{each.name or each.uuid}: {sentence}')


def _check_identities(wanted: Sequence[Declared], snapshot: Snapshot) -> None:
    """Refuse a provider that is declared by its name and again by its UUID.

    :raises errors.BadArgument: for the first of them
    """
    seen = set()
    for each in (each for root in wanted for each in root.all()):
        state = _found(each, snapshot)
        if state is not None and state.uuid in seen:
            raise errors.BadArgument(
                f'{state.name} is declared twice, by its name and by its UUID {state.uuid}'
            )
        seen.add(state.uuid if state else None)


def _inventories(
    name: str, declared: Declared, there: Mapping[str, Inventory]
) -> Mapping[str, Inventory]:
    if declared.inventories is None:
        return there
    after = dict(there) if declared.adds else {}
    for resource_class, fields in declared.inventories.items():
        was = there.get(resource_class)
        if was is None and 'total' not in fields:
            raise errors.BadArgument(f'{name}: {resource_class} has no total')
        after[resource_class] = (was or Inventory(0)).with_fields(fields)
    return after


def _names(
    declared: Declared, wanted: frozenset[str] | None, there: frozenset[str]
) -> frozenset[str]:
    if wanted is None:
        return there
    return there | wanted if declared.adds else wanted


def _surplus(wanted: Sequence[Declared], snapshot: Snapshot) -> Iterator[str]:
    """Return the UUIDs of the providers below the declared ones that are not declared."""
    declared = [
        state for root in wanted for each in root.all() if (state := _found(each, snapshot))
    ]
    for root in filter(None, (_found(each, snapshot) for each in wanted)):
        needed = {state.uuid for state in declared}
        for state in reversed(list(snapshot.tree(root.uuid))):
            is_used = any(state.usages.values()) or snapshot.consumers_on(state.uuid)
            if state.uuid in needed or is_used:
                # A parent stays for its children.
                needed.add(state.provider.parent_provider_uuid or '')
            else:
                yield state.uuid
