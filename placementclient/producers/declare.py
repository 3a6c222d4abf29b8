# SPDX-License-Identifier: Apache-2.0
"""Provider trees that a file declares."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from uuid import uuid4

from msgspec.structs import replace

from placementclient.api import resource_provider
from placementclient.basis import errors
from placementclient.basis.wording import join_first_sentences
from placementclient.client.http import Client
from placementclient.insight.unknown_names import ReportedNames
from placementclient.model.inventories import Inventory
from placementclient.model.nova import add_compute_traits
from placementclient.model.plans import Notice
from placementclient.model.providers import Provider
from placementclient.model.shortfalls import find_shortfalls
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import DeclaredProvider
from placementclient.producers.declarations import walk_declarations
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import capture_named_trees


class DeclarationProducer(StateProducer):
    """Plans the trees that a file declares.

    :param prune: delete providers below declared ones that are not declared and have no consumers
    :param reparent: let a root become a child, and a provider in use move to another tree
    :param previous: what the file declared before; names that it dropped since are removed
    """

    command = 'resource provider tree apply'

    def __init__(
        self,
        client: Client,
        declarations: Sequence[DeclaredProvider],
        *,
        prune: bool = False,
        reparent: bool = False,
        previous: Sequence[DeclaredProvider] = (),
    ) -> None:
        super().__init__(client)
        self._declarations, self._previous = declarations, previous
        self._prune, self._reparent = prune, reparent
        self._new_uuids = choose_new_uuids(declarations)

    def read_live_state(self) -> Snapshot:
        """Read the existing trees of all declared providers."""
        existing = {
            provider.root_uuid: provider
            for declaration in walk_declarations((*self._declarations, *self._previous))
            for key in ('name', 'uuid')
            if (reference := getattr(declaration, key))
            for provider in resource_provider.list(self.client, **{key: reference})
        }
        return capture_named_trees(self.client, list(existing))

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with the declared trees.

        :raises errors.BadArgument: if a provider would move that only ``reparent`` moves
        """
        after = apply_declarations(
            live, self._declarations, self._new_uuids, prune=self._prune, previous=self._previous
        )
        if not self._reparent:
            refuse_moved_providers(live, after)
        return after


class InventoryStillUsed(errors.PlacementError):
    """A change would remove used inventory, or shrink it below its usage; nothing was written.

    :param used: the notice of each such inventory
    """

    def __init__(self, used: Sequence[Notice]) -> None:
        facts = used[0].facts
        super().__init__(
            f'{join_first_sentences([shortfall.message for shortfall in used])}. Move it with its '
            'allocations: write the trees under "trees:", and below them "moves: '
            f'[{{from_resource_provider: {facts["provider"]}, to_resource_provider: NAME, '
            f'moved_resources: {{{facts["resource_class"]}: AMOUNT}}}}]"'
        )


def refuse_moved_providers(before: Snapshot, after: Snapshot) -> None:
    """Refuse a root that becomes a child, and a provider in use that moves to another tree.

    :raises errors.BadArgument: names each of them
    """
    moved = []
    for uuid in before.providers.keys() & after.providers.keys():
        state = before.providers[uuid]
        root_uuid = _find_root_uuid(after, uuid)
        is_used = any(state.usages.values()) or before.consumers_on(uuid)
        is_root = state.provider.parent_provider_uuid is None
        if root_uuid != state.provider.root_uuid and (is_root or is_used):
            kind = 'which is a root' if is_root else 'which is in use'
            moved.append(f'{state.name}, {kind}, below {after.providers[root_uuid].name}')
    if moved:
        raise errors.BadArgument(
            f'The file puts {join_first_sentences(sorted(moved))}. Check the indentation of the '
            'file; --reparent moves it'
        )


def _find_root_uuid(snapshot: Snapshot, uuid: str) -> str:
    """Return the UUID of the root of a provider, found from parent to parent."""
    return [uuid, *snapshot.ancestors(uuid)][-1]


def choose_new_uuids(declarations: Iterable[DeclaredProvider]) -> dict[str, str]:
    """Return a new UUID for each declared provider by name, in case it has to be created."""
    return {declared.name: str(uuid4()) for declared in walk_declarations(declarations)}


def apply_declarations(
    snapshot: Snapshot,
    declarations: Sequence[DeclaredProvider],
    new_uuids: Mapping[str, str],
    *,
    prune: bool = False,
    previous: Sequence[DeclaredProvider] = (),
) -> Snapshot:
    """Return the snapshot with the providers as they are declared.

    Their parents are those of the declaration. A new provider has no ``root_provider_uuid``, and a
    moved one has its old, until Placement sets it.

    :param snapshot: has the trees of all declared providers that exist
    :param new_uuids: by name, the UUIDs of providers to create without a declared UUID
    :param prune: delete unused providers below declared ones that are not declared
    :param previous: what the file declared before; classes and traits that it dropped are removed
    :raises errors.BadArgument: if a declaration contradicts the snapshot
    :raises errors.UsageError: if ``prune`` or ``previous`` does not suit the kind of the file
    :raises InventoryStillUsed: if used inventory would be removed, or get smaller than its usage
    """
    if prune and any(root.adds for root in declarations):
        raise errors.UsageError(
            'A provider configuration file of Nova names no children: --prune would delete them all'
        )
    if previous and not all(root.adds for root in (*declarations, *previous)):
        raise errors.UsageError(
            '--previous is for provider configuration files of Nova: other files state all that a '
            'provider has'
        )
    _refuse_impossible_names(declarations, snapshot)
    state = _DeclaredState(snapshot, new_uuids)
    for root in declarations:
        state.apply_declaration(root, None)
    for root in previous:
        state.withdraw_additions(root, declarations)
    states = state.states
    for uuid in _find_prunable_providers(declarations, snapshot, state.placed) if prune else ():
        states.pop(uuid, None)
    if used := list(find_shortfalls(snapshot.providers, states)):
        raise InventoryStillUsed(used)
    return Snapshot(states.values(), snapshot.consumers.values(), snapshot.origin)


class _DeclaredState:
    """The providers of a snapshot, to which one declaration after the other is applied."""

    def __init__(self, snapshot: Snapshot, new_uuids: Mapping[str, str]) -> None:
        self._snapshot, self._new_uuids = snapshot, new_uuids
        self.states = dict(snapshot.providers)
        #: The UUIDs of the declared providers.
        self.placed = set[str]()

    def apply_declaration(self, declared: DeclaredProvider, parent_uuid: str | None) -> None:
        """Create or change a declared provider, and all below it.

        :param parent_uuid: of the declared parent; ``None`` at the top, where an existing provider
            may be anywhere
        """
        live = _find_declared_provider(declared, self._snapshot)
        if live is None and declared.adds:
            raise errors.NoSuchProvider(
                f'No resource provider is called {declared.name or declared.uuid!r}'
            )
        if live is not None and live.uuid in self.placed:
            raise errors.BadArgument(
                f'{live.name} is declared twice, by its name and by its UUID {live.uuid}'
            )
        uuid = live.uuid if live else declared.uuid or self._new_uuids[declared.name]
        self.placed.add(uuid)
        state = live or ProviderState(Provider(uuid, declared.name, 0))
        name = state.name if declared.adds else declared.name
        parent = parent_uuid or state.provider.parent_provider_uuid
        self.states[uuid] = replace(
            state,
            provider=replace(state.provider, name=name, parent_provider_uuid=parent),
            inventories=_merge_inventories(name, declared, state.inventories),
            traits=_merge_traits(declared, live),
            aggregates=(
                state.aggregates if declared.aggregates is None else frozenset(declared.aggregates)
            ),
        )
        for child in declared.children:
            self.apply_declaration(child, uuid)

    def withdraw_additions(
        self, former: DeclaredProvider, declarations: Sequence[DeclaredProvider]
    ) -> None:
        """Remove classes and traits that a former declaration added and no present one names."""
        live = _find_declared_provider(former, self._snapshot)
        if live is None:
            return
        current = [
            root for root in declarations if _find_declared_provider(root, self._snapshot) == live
        ]
        classes = {name for root in current for name in root.inventories or ()}
        traits = {name for root in current for name in root.traits or ()}
        gone = (former.inventories or {}).keys() - classes
        state = self.states[live.uuid]
        left = {
            name: inventory for name, inventory in state.inventories.items() if name not in gone
        }
        lost = {*(former.traits or ())} - traits
        self.states[live.uuid] = replace(state, inventories=left, traits=state.traits - lost)


def _find_declared_provider(declared: DeclaredProvider, snapshot: Snapshot) -> ProviderState | None:
    """Return the provider that is declared; ``None`` if it does not exist.

    :raises errors.BadArgument: if name and UUID are of different providers
    """
    state = snapshot.providers.get(declared.uuid) if declared.uuid else None
    named = snapshot.find_by_name(declared.name) if declared.name else None
    if declared.uuid and named is not None and named.uuid != declared.uuid:
        raise errors.BadArgument(
            f'{declared.name} exists, with the UUID {named.uuid}, not {declared.uuid}'
        )
    return state or named


def _refuse_impossible_names(declarations: Sequence[DeclaredProvider], snapshot: Snapshot) -> None:
    """Refuse classes and traits that no service can have."""
    names = ReportedNames.from_snapshot(snapshot)
    for declaration in walk_declarations(declarations):
        for sentence in names.explain_impossible(
            declaration.inventories or (), declaration.traits or ()
        ):
            raise errors.BadArgument(f'{declaration.name or declaration.uuid}: {sentence}')


def _merge_inventories(
    name: str, declared: DeclaredProvider, live: Mapping[str, Inventory]
) -> Mapping[str, Inventory]:
    """Return the inventories that a declared provider called ``name`` has afterwards, by class."""
    if declared.inventories is None:
        return live
    after = dict(live) if declared.adds else {}
    for resource_class, fields in declared.inventories.items():
        was = live.get(resource_class)
        if was is None and 'total' not in fields:
            raise errors.BadArgument(f'{name}: {resource_class} has no total')
        after[resource_class] = (was or Inventory(0)).with_fields(fields)
    return after


def _merge_traits(declared: DeclaredProvider, live: ProviderState | None) -> frozenset[str]:
    """Return the traits that a declared provider has afterwards; ``live`` is None if it is new."""
    present = live.traits if live else frozenset()
    if declared.traits is None:
        return present
    if declared.adds:
        return present.union(declared.traits)
    return add_compute_traits(declared.traits, live)


def _find_prunable_providers(
    declarations: Sequence[DeclaredProvider], snapshot: Snapshot, declared_uuids: Set[str]
) -> Iterator[str]:
    """Yield the UUIDs of undeclared, unused providers below declared ones.

    A provider with a declared or a used one below it is none of them.
    """
    for root in filter(None, (_find_declared_provider(root, snapshot) for root in declarations)):
        needed = set(declared_uuids)
        for state in reversed(list(snapshot.tree(root.uuid))):
            is_used = any(state.usages.values()) or snapshot.consumers_on(state.uuid)
            if state.uuid in needed or is_used:
                # A parent stays for its children.
                needed.add(state.provider.parent_provider_uuid or '')
            else:
                yield state.uuid
