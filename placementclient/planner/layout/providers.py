# SPDX-License-Identifier: Apache-2.0
"""The providers of a target state: existing and new ones."""

import fnmatch
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping

from placementclient.model.patterns import is_pattern
from placementclient.model.providers import LONGEST_NAME, SHARING_TRAIT, is_uuid
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import (
    ROOT,
    SOURCE,
    Addition,
    Keys,
    Move,
    ProviderSpec,
    Spec,
    fill_template,
    has_placeholder,
)
from placementclient.planner.infeasibility import Cause
from placementclient.planner.layout.target_state import SpecEntry, TargetProvider, TargetState


class TargetProviders:
    """Finds or creates the providers that a specification names for one tree.

    :param created: by the name of a new provider, the name of the tree that gets it
    :param planned: the names of the providers of a plan that is made again; ``None``: no plan
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
        #: the target providers by the UUID of an existing provider, else by the name
        self._made: dict[str, TargetProvider] = {}
        #: the entry that was applied to each provider, likewise
        self._applied: dict[str, SpecEntry] = {}
        #: the names of new providers; one that is its own ancestor has no parent
        self._pending: set[str] = set()
        names = {name for state in self._members.values() for name in (state.name, state.uuid)}
        scope = spec.index.find_scope(root, names)
        #: the indexes of the moves that may be about this tree
        self.moves = scope.moves
        #: the entries about this tree by the UUID of an existing provider, else by the name
        self._entries: dict[str, SpecEntry] = {}
        self._add_tree_entries(scope.providers, planned)
        #: the additions of this tree, by their indexes
        self.additions = dict(self._add_tree_additions(scope.additions))
        #: the names with ``{source}`` in them, which stand for the targets of several sources
        self._source_templates = [key for key in self._entries if has_placeholder(key)]

    def _add_tree_entries(
        self, entry_indexes: Iterable[int], planned_names: Collection[str] | None
    ) -> None:
        """Add those entries of ``providers`` that are about this tree.

        :param entry_indexes: of the entries to look at
        :param planned_names: of the providers of a plan that is made again; ``None``: no plan
        """
        targets = {self.fill_name(self._spec.moves[index].target) for index in self.moves}
        entries = {index: self._spec.providers[index] for index in entry_indexes}
        parents = {
            name: self.fill_name(entry.parent)
            for entry in entries.values()
            if (name := self.fill_name(entry.name)) not in targets and entry.parent is not None
        }
        for index, entry in entries.items():
            name = self.fill_name(entry.name)
            if self._may_concern_tree(name, parents, planned_names):
                self._add_entry(name, SpecEntry(entry, ('providers', index, 'name')))

    def _may_concern_tree(
        self,
        provider_name: str,
        parents_by_name: Mapping[str, str],
        planned_names: Collection[str] | None,
    ) -> bool:
        """Return whether an entry may be about this tree, or about a provider that serves it.

        :param provider_name: the name of the entry
        :param parents_by_name: the names of the parents that entries state, by the entry's name
        :param planned_names: of the providers of a plan that is made again; ``None``: no plan
        """
        state = self._snapshot.find(provider_name)
        if state is not None:
            return state.uuid in self._members or SHARING_TRAIT in state.traits
        if has_placeholder(provider_name):
            return True  # a move of this tree leads there, or nothing uses the entry
        if planned_names is not None and provider_name not in planned_names:
            return False
        above: set[str] = set()
        while (parent := parents_by_name.get(provider_name)) is not None and parent not in above:
            if (state := self._snapshot.find(parent)) is not None:
                return state.uuid in self._members
            above.add(parent)
            provider_name = parent
        return True

    def _add_tree_additions(
        self, addition_indexes: Iterable[int]
    ) -> Iterator[tuple[int, Addition]]:
        """Add and yield those additions that are about this tree, each with its index."""
        for index in addition_indexes:
            addition = self._spec.additions[index]
            name = self.fill_name(addition.name)
            parent = self.fill_name(addition.parent or ROOT)
            state = self._snapshot.find(name) or self._snapshot.find(parent)
            is_of_every_tree = has_placeholder(f'{addition.name}{addition.parent}')
            if (
                state.uuid in self._members
                if state
                else is_of_every_tree or parent in self._entries
            ):
                self._add_entry(
                    name, SpecEntry(addition, ('additions', index, 'resource_provider'))
                )
                yield index, addition

    def _add_entry(self, name: str, entry: SpecEntry) -> None:
        """Add an entry; record a cause if another entry has another name for its provider."""
        state = self._snapshot.find(name)
        key = state.uuid if state else name
        first = self._entries.setdefault(key, entry)
        if first.spec.name != entry.spec.name:  # else it is a fault of the file alone
            self._refuse_duplicate(key, first, entry)

    def _refuse_duplicate(self, uuid_or_name: str, first: SpecEntry, entry: SpecEntry) -> None:
        """Record the cause that two entries are about the same provider.

        :param first: the other entry
        :param uuid_or_name: of the provider
        """
        state = self._snapshot.find(uuid_or_name)
        self.record_cause(
            'named-twice',
            entry.keys,
            provider=state.name if state else uuid_or_name,
            section=first.keys[0],
            other=first.spec.name,
        )

    def record_cause(self, kind: str, keys: Keys | None = None, **values: object) -> None:
        """Record a cause for which the tree cannot be planned.

        :param kind: one of the kinds of :class:`Cause`
        :param keys: the way to the wrong place in the specification
        :param values: the facts that the sentence of the kind names
        """
        self._causes.append(Cause(kind, self._root.name, keys, **values))

    def fill_name(self, template: str, source: ProviderState | None = None) -> str:
        """Return a name or UUID with its placeholders replaced by the root and the source.

        :param source: the source of a move; ``None``: the name has no ``{source}``
        """
        return fill_template(template, self._root, source)

    def find_sources(self, move: Move) -> Iterator[ProviderState]:
        """Yield the providers of this tree that are sources of a move."""
        name = self.fill_name(move.source)
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
            self.record_cause('no-source', provider=name)

    def find_or_create_stated_providers(self) -> None:
        """Find or create the providers of all entries without ``{source}``."""
        for name in self._entries:
            if name not in self._source_templates:
                self.find_or_create_provider(name)

    def find_or_create_provider(
        self, name: str, source: ProviderState | None = None, keys: Keys = ()
    ) -> TargetProvider | None:
        """Return the provider of a name or UUID; create it if it does not exist.

        :param source: the source of the move that leads to the provider
        :param keys: the way to its name in the specification; by default to that of its entry
        :param name: its name or UUID
        :returns: ``None`` if that is impossible; then the cause is recorded
        """
        state = self._snapshot.find(name)
        key = state.uuid if state else name
        entries = self._list_entries(name, state, source)
        for other in entries:
            first = self._applied.setdefault(key, other)
            if other.spec is not first.spec:
                self._refuse_duplicate(key, first, other)
        entry = entries[0] if entries else None
        if entry is not None and self._refuse_other_uuid(entry, state):
            return None
        provider, stated = self._made.get(key), entry.spec if entry else None
        if provider is None and state is not None:
            provider = self._use_existing_provider(state, stated)
        elif provider is None:
            keys = keys or (entry.keys if entry else ())
            provider = self._create_provider(name, stated, source, keys)
        if provider is not None:
            self._made[key] = self._target_state.providers[provider.uuid] = provider
            if entry is not None:
                self._target_state.entries.add(entry.spec.name)
                provider.apply_entry(entry)
        return provider

    def _list_entries(
        self, name: str, state: ProviderState | None, source: ProviderState | None
    ) -> list[SpecEntry]:
        """Return the entries about a provider: by its name, or by a name with ``{source}``.

        :param name: of the provider
        :param state: ``None`` if the provider does not exist
        :param source: the source of the move that leads to it
        """
        names = (state.uuid, state.name) if state else (name,)
        keys = [names[0]] if names[0] in self._entries else []
        if source is not None:
            keys += [key for key in self._source_templates if self.fill_name(key, source) in names]
        return [self._entries[key] for key in keys]

    def _refuse_other_uuid(self, entry: SpecEntry, state: ProviderState | None) -> bool:
        """Record a cause and return True if an entry states another UUID than its provider has.

        :param state: the provider with the entry's name, if it exists
        """
        spec = entry.spec
        state = state or self._snapshot.providers.get(spec.uuid or '')
        if state is None or spec.uuid is None or (state.uuid, state.name) == (spec.uuid, spec.name):
            return False
        keys = *entry.keys[:-1], 'uuid'
        self.record_cause('other-uuid', keys, provider=state.name, uuid=state.uuid)
        return True

    def _use_existing_provider(
        self, state: ProviderState, entry: ProviderSpec | None
    ) -> TargetProvider | None:
        """Return an existing provider for the target state.

        ``None``, and a cause, if it is in another tree and is no sharing provider.

        :param entry: the one about it, if there is one
        """
        if state.uuid in self._members:
            if entry is not None and entry.parent is not None:
                self._check_parent(state, self.fill_name(entry.parent))
        elif SHARING_TRAIT not in state.traits:
            root = state.provider.root_uuid
            owner = self._snapshot.providers.get(root)
            name = owner.name if owner else root
            self.record_cause('foreign-target', provider=state.name, root=name)
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

    def _check_parent(self, state: ProviderState, desired: str) -> None:
        """Record a cause if an entry states another parent than an existing provider has.

        :param desired: the name or UUID of the parent that the entry states
        """
        parent = self._members.get(state.provider.parent_provider_uuid or '')
        is_other = parent is not None and self._snapshot.find(desired) != parent
        if parent is not None and is_other and not has_placeholder(desired):
            self.record_cause(
                'wrong-parent', provider=state.name, parent=parent.name, wanted=desired
            )

    def _create_provider(
        self, name: str, entry: ProviderSpec | None, source: ProviderState | None, keys: Keys
    ) -> TargetProvider | None:
        """Return a new provider for the target state; ``None`` if it cannot be created.

        :param entry: the one about it, if there is one
        :param source: the source of the move that leads to it
        :param keys: the way to its name in the specification
        """
        owner = self._created.get(name, self._root.name)
        if is_uuid(name):
            self.record_cause('no-target', keys, provider=name)
            return None
        if owner != self._root.name:
            self.record_cause('made-twice', provider=name, root=owner)
            return None
        if len(name) > LONGEST_NAME:
            self.record_cause('long-name', keys, name=name, longest=LONGEST_NAME)
        template = ROOT if entry or source is None else SOURCE
        if entry is not None and entry.parent is not None:
            template = entry.parent
        parent_name = self.fill_name(template, source)
        self._pending.add(name)
        parent = self._find_or_create_parent(parent_name, source)
        if parent is None:
            self.record_cause('no-parent', parent=parent_name, provider=name)
            return None
        chosen = str(uuid.uuid5(uuid.UUID(self._root.uuid), name))
        stated = entry.uuid if entry is not None else None
        return TargetProvider(stated or chosen, name, parent, self._root.uuid, None)

    def _find_or_create_parent(self, name: str, source: ProviderState | None) -> str | None:
        """Return the UUID of the provider that is to be the parent of another.

        If no provider has its name, it is created, provided that an entry of the specification is
        about it. ``None``: there is no such entry, or the provider is in another tree.

        :param name: its name or UUID
        :param source: the source of the move whose target is the child
        """
        state = self._snapshot.find(name)
        if state is not None:
            return state.uuid if state.uuid in self._members else None
        if name in self._made:
            return self._made[name].uuid
        if name in self._pending or is_uuid(name) or not self._list_entries(name, None, source):
            return None
        parent = self.find_or_create_provider(name, source)
        return parent.uuid if parent else None
