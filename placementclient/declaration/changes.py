"""What has to change so that a Placement is as it is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_traits
from os_resource_classes import STANDARDS

from placementclient import errors
from placementclient.declaration.declared import Declared
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.wording import first, meant


@dataclass(frozen=True, slots=True)
class Create:
    """A provider is to be made.

    :param uuid: empty where the service chooses it
    :param parent_uuid: empty where there is none, or it is to be made, too
    """

    provider: str
    uuid: str
    parent: str | None
    parent_uuid: str = ''

    def row(self) -> tuple[str, Any, Any]:
        """What changes, before, and after."""
        return 'create', None, {'parent': self.parent}


@dataclass(frozen=True, slots=True)
class SetProvider:
    """A provider gets another name or another parent.

    :param name: the one that it has
    :param parent: the name of its parent now; ``None`` for a root
    :param new_parent: that of its parent then; ``None`` where that is not touched
    :param new_parent_uuid: empty where there is none, or it is to be made
    """

    provider: str
    uuid: str
    name: str
    parent: str | None = None
    new_parent: str | None = None
    new_parent_uuid: str = ''

    def row(self) -> tuple[str, Any, Any]:
        """What changes, before, and after."""
        if self.name != self.provider:
            return 'rename', self.name, self.provider
        return 'parent', self.parent, self.new_parent


@dataclass(frozen=True, slots=True)
class SetInventories:
    """A provider gets other inventories.

    :param uuid: empty where it is to be made, and the service chooses it
    """

    provider: str
    uuid: str
    before: Mapping[str, Inventory]
    after: Mapping[str, Inventory]

    def row(self) -> tuple[str, Any, Any]:
        """What changes, before, and after."""
        names = [
            n for n in {**self.before, **self.after} if self.before.get(n) != self.after.get(n)
        ]
        return (
            'inventories',
            {name: self.before[name].as_fields() for name in names if name in self.before},
            {name: self.after[name].as_fields() for name in names if name in self.after},
        )


@dataclass(frozen=True, slots=True)
class SetNames:
    """A provider gets other traits, or is in other aggregates.

    :param uuid: empty where it is to be made, and the service chooses it
    :param kind: ``'traits'`` or ``'aggregates'``
    """

    provider: str
    uuid: str
    kind: str
    before: frozenset[str]
    after: frozenset[str]

    def row(self) -> tuple[str, Any, Any]:
        """What changes, before, and after."""
        return self.kind, sorted(self.before - self.after), sorted(self.after - self.before)


@dataclass(frozen=True, slots=True)
class Delete:
    """A provider that is not declared, and that nobody uses, goes."""

    provider: str
    uuid: str

    def row(self) -> tuple[str, Any, Any]:
        """What changes, before, and after."""
        return 'delete', {'uuid': self.uuid}, None


Change = Create | SetProvider | SetInventories | SetNames | Delete


class InUse(errors.PlacementError):
    """Inventory that is used would go, or shrink below its use. Nothing was written.

    :param facts: of each: provider, resource class, what is used, the capacity that it would have
    """

    def __init__(self, facts: Sequence[tuple[str, str, int, int]]) -> None:
        self.facts = tuple(facts)
        shown = [
            f'{used} {name} of {provider} is in use, and there would be {room}'
            for provider, name, used, room in self.facts
        ]
        provider, name, _, _ = self.facts[0]
        super().__init__(
            f'{first(shown)}. Allocations go along with inventory in a reshape: '
            f'"- {{from_resource_provider: {provider}, to_resource_provider: NAME, '
            f'moved_resources: {{{name}: AMOUNT}}}}" in the specification of '
            '"resource provider reshape plan"'
        )


def changes(
    declared: Sequence[Declared], snapshot: Snapshot, *, prune: bool = False
) -> tuple[Change, ...]:
    """What has to be done, in this order.

    :param snapshot: has the trees of all that is declared, as far as they exist
    :param prune: whether providers below that are not declared, and that nobody uses, go
    :raises errors.BadArgument: if a declaration contradicts what is there
    :raises errors.UsageError: if what is declared cannot be pruned
    :raises InUse: if something would go that is used
    """
    if prune and any(root.adds for root in declared):
        raise errors.UsageError(
            'A provider configuration file of Nova names no children: --prune would delete them all'
        )
    _check_names(declared, snapshot)
    _check_identities(declared, snapshot)
    found: list[Change] = []
    for root in declared:
        found += _of_provider(root, None, snapshot)
    if prune:
        # Two that are declared at the top may be in one tree.
        found += dict.fromkeys(_surplus(declared, snapshot))
    used = list(_used(found, snapshot))
    if used:
        raise InUse(used)
    # Providers first, so that all the rest can be set; what goes, goes last.
    rank = {Create: 0, SetProvider: 1, SetInventories: 2, SetNames: 2, Delete: 3}
    return tuple(sorted(found, key=lambda change: rank[type(change)]))


def there(declared: Declared, snapshot: Snapshot) -> ProviderState | None:
    """The provider that is declared, if it exists.

    :raises errors.BadArgument: if its name is that of another one
    """
    state = snapshot.providers.get(declared.uuid) if declared.uuid else None
    named = snapshot.named(declared.name) if declared.name else None
    if declared.uuid and named is not None and named.uuid != declared.uuid:
        raise errors.BadArgument(
            f'{declared.name} exists, with the UUID {named.uuid}, not {declared.uuid}'
        )
    return state or named


def _check_names(declared: Sequence[Declared], snapshot: Snapshot) -> None:
    """Refuse classes and traits that no service can have, before anything is made.

    :raises errors.BadArgument: for the first of them
    """
    states = snapshot.providers.values()
    classes = {*STANDARDS, *(name for state in states for name in state.inventories)}
    traits = {*os_traits.get_traits(), *(name for state in states for name in state.traits)}
    for each in (each for root in declared for each in root.all()):
        for what, names, known in (
            ('resource class', each.inventories or (), classes),
            ('trait', each.traits or (), traits),
        ):
            for name in sorted(names):
                if name not in known and not name.startswith('CUSTOM_'):
                    raise errors.BadArgument(
                        f'{each.name or each.uuid}: {name} is no standard {what}, and does not '
                        f'begin with CUSTOM_{meant(name, known)}'
                    )


def _check_identities(declared: Sequence[Declared], snapshot: Snapshot) -> None:
    """Refuse what is declared twice, by its name and by its UUID.

    :raises errors.BadArgument: for the first of them
    """
    seen = set()
    for each in (each for root in declared for each in root.all()):
        state = there(each, snapshot)
        if state is not None and state.uuid in seen:
            raise errors.BadArgument(
                f'{state.name} is declared twice, by its name and by its UUID {state.uuid}'
            )
        seen.add(state.uuid if state else None)


def _of_provider(
    declared: Declared, parent: Declared | None, snapshot: Snapshot
) -> Iterator[Change]:
    state = there(declared, snapshot)
    if state is None and declared.adds:
        raise errors.NoSuchProvider(
            f'No resource provider is called {declared.name or declared.uuid!r}'
        )
    above = there(parent, snapshot) if parent else None
    name, uuid = declared.name, declared.uuid
    if state is None:
        yield Create(name, uuid, parent.name if parent else None, above.uuid if above else '')
    else:
        name, uuid = name or state.name, state.uuid
        if not declared.adds:
            yield from _placed(state, declared, parent, above, snapshot)
    yield from _content(name, uuid, declared, state)
    for child in declared.children:
        yield from _of_provider(child, declared, snapshot)


def _placed(
    state: ProviderState,
    declared: Declared,
    parent: Declared | None,
    above: ProviderState | None,
    snapshot: Snapshot,
) -> Iterator[SetProvider]:
    """A provider that exists is where it is declared.

    :param above: the declared parent, if it exists
    """
    if state.name != declared.name:
        yield SetProvider(declared.name, state.uuid, state.name)
    own = snapshot.providers.get(state.provider.parent_provider_uuid or '')
    # Who is declared at the top may be anywhere: its parent is not given.
    if parent is not None and (above is None or above is not own):
        yield SetProvider(
            declared.name,
            state.uuid,
            declared.name,
            own.name if own else None,
            parent.name,
            above.uuid if above else '',
        )


def _content(
    name: str, uuid: str, declared: Declared, state: ProviderState | None
) -> Iterator[Change]:
    before = state.inventories if state else {}
    if declared.inventories is not None:
        after = dict(before) if declared.adds else {}
        for resource_class, fields in declared.inventories.items():
            was = before.get(resource_class)
            if was is None and 'total' not in fields:
                raise errors.BadArgument(f'{name}: {resource_class} has no total')
            after[resource_class] = (was or Inventory(0)).with_fields(fields)
        if after != before:
            yield SetInventories(name, uuid, before, after)
    for kind, wanted in (('traits', declared.traits), ('aggregates', declared.aggregates)):
        there = getattr(state, kind) if state else frozenset()
        after_names = there | (wanted or frozenset()) if declared.adds else wanted
        if after_names is not None and after_names != there:
            yield SetNames(name, uuid, kind, there, after_names)


def _surplus(declared: Sequence[Declared], snapshot: Snapshot) -> Iterator[Delete]:
    """What is below the declared providers without being declared; children first."""
    kept = {
        state.uuid
        for root in declared
        for each in root.all()
        if (state := there(each, snapshot)) is not None
    }
    roots = [state for root in declared if (state := there(root, snapshot)) is not None]
    for root in roots:
        needed = set(kept)
        for state in reversed(list(snapshot.tree(root.uuid))):
            is_used = any(state.usages.values()) or snapshot.consumers_on(state.uuid)
            if state.uuid in needed or is_used:
                # A parent stays for its children.
                needed.add(state.provider.parent_provider_uuid or '')
            else:
                yield Delete(state.name, state.uuid)


def _used(found: Sequence[Change], snapshot: Snapshot) -> Iterator[tuple[str, str, int, int]]:
    for change in found:
        state = snapshot.providers.get(change.uuid)
        if state is None or not isinstance(change, SetInventories):
            continue
        for name, used in state.usages.items():
            was, now = change.before.get(name), change.after.get(name)
            room = now.capacity if now else 0
            # Who is over already may stay so, but not get less.
            if used > room and (was is None or was != now) and room < (was.capacity if was else 0):
                yield state.name, name, used, room
