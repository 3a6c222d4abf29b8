"""The providers of a target state: existing and new ones."""

import fnmatch
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from placementclient.model.aside import LONGEST_NAME
from placementclient.model.patterns import is_pattern
from placementclient.model.providers import SHARING_TRAIT, is_uuid
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import (
    ROOT,
    SOURCE,
    Addition,
    Move,
    ProviderSpec,
    Spec,
    TreeScope,
    filled,
    has_placeholder,
)
from placementclient.planner.infeasibility import Cause
from placementclient.planner.layout.target_state import TargetProvider, TargetState


class TargetProviders:
    """Finds or creates the providers of a specification for one tree.

    :param created: the names of the trees in which plans make providers, by the names of these
    :param planned: the names of the providers in the plan that is made again; ``None``: it is the
        first plan
    """

    def __init__(
        self,
        snapshot: Snapshot,
        spec: Spec,
        root: ProviderState,
        target_state: TargetState,
        causes: list[Cause],
        created: Mapping[str, str],
        planned: Collection[str] | None = None,
    ) -> None:
        self._snapshot, self._spec, self._root = snapshot, spec, root
        self._target_state, self._causes, self._created = target_state, causes, created
        self._members = {state.uuid: state for state in snapshot.tree(root.uuid)}
        self._made: dict[str, TargetProvider] = {}
        #: the entry that was applied to each provider, by its key
        self._applied: dict[str, ProviderSpec] = {}
        self._pending: set[str] = set()
        names = {name for state in self._members.values() for name in (state.name, state.uuid)}
        scope = spec.index.scope((root.uuid, root.name), names)
        #: the indexes of the moves that may be about this tree
        self.moves = scope.moves
        #: what leads to the name of each entry in the specification, by its key in this tree: the
        #: UUID of a provider that is there, else the name
        self.places: dict[str, tuple[str | int, ...]] = {}
        #: the entries themselves, those of additions among them
        self.entries: dict[str, ProviderSpec] = {}
        self._find_entries(scope, planned)
        #: the additions of this tree, by their indexes
        self.additions = dict(self._own_additions(scope.additions))
        self._by_source = [key for key in self.entries if has_placeholder(key)]

    def _find_entries(self, scope: TreeScope, planned: Collection[str] | None) -> None:
        targets = {self.named(self._spec.moves[index].target) for index in scope.moves}
        entries = {index: self._spec.providers[index] for index in scope.providers}
        parents = {
            name: self.named(entry.parent)
            for entry in entries.values()
            if (name := self.named(entry.name)) not in targets and entry.parent is not None
        }
        for index, entry in entries.items():
            name = self.named(entry.name)
            if not self._is_of_tree(name, planned) or self._is_below_other(name, parents):
                continue
            self._keep(name, entry, 'providers', index, 'name')

    def _is_of_tree(self, name: str, planned: Collection[str] | None) -> bool:
        """Return whether a provider may be in this tree, or is one that shares with it."""
        there = self._snapshot.find(name)
        if there is None:
            return planned is None or has_placeholder(name) or name in planned
        return there.uuid in self._members or SHARING_TRAIT in there.traits

    def _is_below_other(self, name: str, parents: Mapping[str, str]) -> bool:
        """Return whether a provider is to be made below one that another tree has."""
        if has_placeholder(name):
            return False  # a move of this tree leads there, or nothing uses the entry
        there, seen = self._snapshot.find(name), {name}
        while there is None and (parent := parents.get(name)) is not None and parent not in seen:
            name, there = parent, self._snapshot.find(parent)
            seen.add(name)
            if there is not None:
                return there.uuid not in self._members
        return False

    def _own_additions(self, indexes: Iterable[int]) -> Iterator[tuple[int, Addition]]:
        for index in indexes:
            addition = self._spec.additions[index]
            name = self.named(addition.name)
            parent = self.named(addition.parent or ROOT)
            there = self._snapshot.find(name) or self._snapshot.find(parent)
            is_of_each = has_placeholder(f'{addition.name}{addition.parent}')
            if there.uuid in self._members if there else is_of_each or parent in self.entries:
                self._keep(name, addition, 'additions', index, 'resource_provider')
                yield index, addition

    def _keep(self, name: str, entry: ProviderSpec, *keys: str | int) -> None:
        """Keep an entry; refuse it if one before is about the same provider in another spelling."""
        there = self._snapshot.find(name)
        key = there.uuid if there else name
        other = self.entries.get(key)
        if other is None:
            self.places[key], self.entries[key] = keys, entry
        elif other.name != entry.name:  # else it is a fault of the file alone
            self._refuse_twice(key, other, *keys)

    def _refuse_twice(self, key: str, other: ProviderSpec, *keys: str | int) -> None:
        there = self._snapshot.find(key)
        section = 'additions' if isinstance(other, Addition) else 'providers'
        self.refuse(
            'named-twice',
            keys,
            provider=there.name if there else key,
            section=section,
            other=other.name,
        )

    def refuse(self, kind: str, keys: tuple[str | int, ...] | None = None, **values: Any) -> None:
        """Record why the tree cannot be planned."""
        self._causes.append(Cause(kind, self._root.name, keys, **values))

    def named(self, template: str, source: ProviderState | None = None) -> str:
        """Return the name or UUID of a template, which may contain the root."""
        root = self._root.uuid, self._root.name
        return filled(template, root, (source.uuid, source.name) if source else None)

    def sources(self, move: Move) -> Iterator[ProviderState]:
        """Return the providers of this tree that are sources of a move."""
        name = self.named(move.source)
        exact = self._snapshot.find(name)
        if exact is not None and exact.uuid in self._members:
            yield exact
        elif exact is None and is_pattern(name):
            for state in self._members.values():
                if fnmatch.fnmatchcase(state.name, name) and any(
                    resource_class in state.inventories for resource_class in move.resources
                ):
                    yield state
        elif exact is None or move.source != name:
            self.refuse('no-source', provider=name)

    def provide(
        self, name: str, source: ProviderState | None = None, *keys: str | int
    ) -> TargetProvider | None:
        """Return the provider of a name or UUID; create it if it does not exist.

        :param keys: what leads to its name in the specification; by default to that of its entry
        :returns: ``None`` if that is impossible
        """
        there = self._snapshot.find(name)
        key = there.uuid if there else name
        entries = self._entries_of(name, there, source)
        for template, other in entries.items():
            first = self._applied.setdefault(key, other)
            if other is not first:
                self._refuse_twice(key, first, *self.places[template])
        template, entry = next(iter(entries.items()), ('', None))
        if entry is not None and self._has_other_uuid(entry, there, *self.places[template]):
            return None
        if there is None and is_uuid(name):
            keys = keys or self.places[template]
            self.refuse('no-target', keys, provider=name)
            return None
        provider = self._made.get(key)
        if provider is None:
            provider = self._existing(there, entry) if there else self._new(name, entry, source)
        if provider is not None:
            self._made[key] = self._target_state.providers[provider.uuid] = provider
            if entry is not None:
                self._target_state.entries.add(entry.name)
                provider.traits.update(entry.traits)
                provider.aggregates.update(entry.aggregates)
                provider.stated.update(entry.inventories)
        return provider

    def _has_other_uuid(
        self, entry: ProviderSpec, there: ProviderState | None, *keys: str | int
    ) -> bool:
        """Refuse a UUID that another provider has, or that the provider itself does not have."""
        there = there or self._snapshot.providers.get(entry.uuid or '')
        if (
            there is None
            or entry.uuid is None
            or (there.uuid, there.name) == (entry.uuid, entry.name)
        ):
            return False
        keys = *keys[:-1], 'uuid'
        self.refuse('other-uuid', keys, provider=there.name, uuid=there.uuid)
        return True

    def check_length(self, name: str, *keys: str | int) -> None:
        """Raise an error for a name that is too long for the service."""
        if len(name) > LONGEST_NAME:
            self.refuse('long-name', keys, name=name, longest=LONGEST_NAME)

    def _entries_of(
        self, name: str, there: ProviderState | None, source: ProviderState | None
    ) -> dict[str, ProviderSpec]:
        names = (there.uuid, there.name) if there else (name,)
        keys = [names[0]] if names[0] in self.entries else []
        if source is not None:
            keys += [key for key in self._by_source if self.named(key, source) in names]
        return {key: self.entries[key] for key in keys}

    def _existing(self, state: ProviderState, entry: ProviderSpec | None) -> TargetProvider | None:
        if state.uuid in self._members:
            if entry is not None and entry.parent is not None:
                self._check_parent(state, entry.parent)
        elif SHARING_TRAIT not in state.traits:
            root = state.provider.root_uuid
            owner = self._snapshot.providers.get(root)
            self.refuse('foreign-target', provider=state.name, root=owner.name if owner else root)
            return None
        return self._target_state.providers.get(state.uuid) or TargetProvider(
            state.uuid,
            state.name,
            state.provider.parent_provider_uuid,
            state.provider.root_uuid,
            state,
            dict(state.inventories),
            set(state.traits),
            set(state.aggregates),
        )

    def _check_parent(self, state: ProviderState, template: str) -> None:
        wanted = self.named(template)
        parent = self._members.get(state.provider.parent_provider_uuid or '')
        if has_placeholder(wanted) or parent is None:
            return
        if self._snapshot.find(wanted) != parent:
            self.refuse('wrong-parent', provider=state.name, parent=parent.name, wanted=wanted)

    def _new(
        self, name: str, entry: ProviderSpec | None, source: ProviderState | None
    ) -> TargetProvider | None:
        owner = self._created.get(name, self._root.name)
        if owner != self._root.name:
            self.refuse('made-twice', provider=name, root=owner)
            return None
        template = ROOT if entry or source is None else SOURCE
        if entry is not None and entry.parent is not None:
            template = entry.parent
        parent_name = self.named(template, source)
        self._pending.add(name)
        parent = self._parent_uuid(parent_name, source)
        if parent is None:
            self.refuse('no-parent', parent=parent_name, provider=name)
            return None
        chosen = str(uuid.uuid5(uuid.UUID(self._root.uuid), name))
        stated = entry.uuid if entry is not None else None
        return TargetProvider(stated or chosen, name, parent, self._root.uuid, None)

    def _parent_uuid(self, name: str, source: ProviderState | None) -> str | None:
        there = self._snapshot.find(name)
        if there is not None:
            return there.uuid if there.uuid in self._members else None
        if name in self._made:
            return self._made[name].uuid
        if name in self._pending or is_uuid(name) or not self._entries_of(name, None, source):
            return None
        parent = self.provide(name, source)
        return parent.uuid if parent else None
