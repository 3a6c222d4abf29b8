"""Lays out one tree: its providers and their inventories, and where amounts may go."""

from __future__ import annotations

import fnmatch
import uuid
from collections.abc import Iterator, Mapping

from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT, is_uuid
from placementclient.model.snapshots import ProviderState
from placementclient.planner import infeasibility
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.spec import specification as specs
from placementclient.planner.spec.specification import Addition, Move, ProviderSpec, Spec
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import (
    InventoryFlow,
    Place,
    TargetProvider,
    TargetState,
    Where,
)


def build_target_state(overlay: SnapshotOverlay, spec: Spec, root: ProviderState) -> TargetState:
    """Lay out one tree.

    :raises Refused: if the specification does not suit it
    """
    builder = _Builder(overlay, spec, root)
    builder.build()
    if builder.causes:
        raise Refused(builder.causes)
    return builder.target_state


class _Builder:
    def __init__(self, overlay: SnapshotOverlay, spec: Spec, root: ProviderState) -> None:
        self._overlay, self._spec, self._root = overlay, spec, root
        self._members = {
            state.uuid: state for state in map(overlay.state, _uuids(overlay, root)) if state
        }
        self._made: dict[str, TargetProvider] = {}
        self._pending: set[str] = set()
        self._entries = {self._named(entry.name): entry for entry in spec.providers}
        self._additions = dict(self._own_additions())
        self.causes: list[Cause] = []
        self.target_state = TargetState(root)

    def build(self) -> None:
        for index, name in enumerate(self._entries):
            if not specs.has_placeholder(name):
                self._provider(name)
                if index < len(self._spec.providers):
                    self._check_length(name, 'providers', index, 'name')
        moves = [
            (index, source)
            for index, move in enumerate(self._spec.moves)
            for source in self._sources(move)
        ]
        taken = self._explicit(moves)
        for index, source in moves:
            self._flow(index, source, taken)
        self._check_totals()
        for index, addition in self._additions.items():
            self._add(index, addition)
        if self.causes:
            return
        self._find_places()
        kept = dict(self._shrink())
        self._fill(kept)
        for target_provider in self.target_state.providers.values():
            self._state_rest(target_provider)
        self._check_reserved(kept)
        self._parents_first()

    # Additions

    def _own_additions(self) -> Iterator[tuple[int, Addition]]:
        """The additions of this tree, with their indexes; they are entries like the others."""
        for index, addition in enumerate(self._spec.additions):
            name = self._named(addition.name)
            parent = self._named(addition.parent or specs.ROOT)
            there = self._overlay.find(name) or self._overlay.find(parent)
            if there.uuid in self._members if there else parent in self._entries:
                self._entries[name] = addition
                yield index, addition

    def _add(self, index: int, addition: Addition) -> None:
        target = self._provider(self._named(addition.name))
        if target is None:
            return
        self._check_length(target.name, 'additions', index, 'resource_provider')
        gained = {flow.destination for flow in self.target_state.flows}
        for name in addition.inventories:
            if name in target.inventories or Where(target.uuid, name) in gained:
                keys = 'additions', index, 'inventories', name
                self.causes.append(
                    infeasibility.HasAlready(self._root.name, keys, target.name, name)
                )
        for consumer_uuid, amounts in addition.consumers.items():
            if consumer_uuid not in self._overlay.snapshot.consumers:
                at = 'additions', index, 'consumers', consumer_uuid
                self.causes.append(infeasibility.NoConsumer(self._root.name, at, consumer_uuid))
            added = self.target_state.added.setdefault(consumer_uuid, {})
            added.update({Where(target.uuid, name): amount for name, amount in amounts.items()})

    # Providers

    def _named(self, template: str, source: ProviderState | None = None) -> str:
        """The name or UUID that a template means; a root may be named like another's UUID."""
        sources = {'source': source.name} if source else {}
        exact = {specs.ROOT: self._root.uuid, **({'{source}': source.uuid} if source else {})}
        return exact.get(template) or specs.filled(template, root=self._root.name, **sources)

    def _sources(self, move: Move) -> Iterator[ProviderState]:
        name = self._named(move.source)
        exact = self._overlay.find(name)
        if exact is not None and exact.uuid in self._members:
            yield exact
        elif exact is None and specs.is_pattern(name):
            for state in self._members.values():
                if fnmatch.fnmatchcase(state.name, name) and any(
                    resource_class in state.inventories for resource_class in move.resources
                ):
                    yield state
        elif exact is None or move.source != name:
            self.causes.append(infeasibility.NoSource(self._root.name, name))

    def _entry(
        self, name: str, there: ProviderState | None, source: ProviderState | None
    ) -> ProviderSpec | None:
        """What the specification says of a provider, by its UUID or its name."""
        for own in (there.uuid, there.name) if there else (name,):
            if own in self._entries:
                return self._entries[own]
            if source is not None:
                for template, entry in self._entries.items():
                    if self._named(template, source) == own:
                        return entry
        return None

    def _provider(self, name: str, source: ProviderState | None = None) -> TargetProvider | None:
        """The provider of a name or UUID, to be made if there is none; ``None``: impossible."""
        there = self._overlay.find(name)
        entry = self._entry(name, there, source)
        key = there.uuid if there else name
        target_provider = self._made.get(key)
        if target_provider is None:
            target_provider = (
                self._existing(there, entry) if there else self._new(name, entry, source)
            )
        if target_provider is not None:
            self._made[key] = self.target_state.providers[target_provider.uuid] = target_provider
            if entry is not None:
                self.target_state.entries.add(entry.name)
                target_provider.traits.update(entry.traits)
                target_provider.aggregates.update(entry.aggregates)
                target_provider.stated.update(entry.inventories)
        return target_provider

    def _refuse_foreign(self, name: str, root: str) -> None:
        state = self._overlay.state(root)
        self.causes.append(
            infeasibility.ForeignTarget(self._root.name, name, state.name if state else root)
        )

    def _existing(self, state: ProviderState, entry: ProviderSpec | None) -> TargetProvider | None:
        if state.uuid in self._members:
            if entry is not None and entry.parent is not None:
                self._check_parent(state, entry.parent)
        elif SHARING_TRAIT not in state.traits:
            self._refuse_foreign(state.name, self._overlay.root_of(state))
            return None
        return TargetProvider(
            state.uuid,
            state.name,
            state.provider.parent_provider_uuid,
            self._overlay.root_of(state),
            state,
            dict(state.inventories),
            set(state.traits),
            set(state.aggregates),
        )

    def _check_parent(self, state: ProviderState, template: str) -> None:
        wanted = self._named(template)
        parent = self._members.get(state.provider.parent_provider_uuid or '')
        if specs.has_placeholder(wanted) or parent is None:
            return
        if self._overlay.find(wanted) != parent:
            self.causes.append(
                infeasibility.WrongParent(self._root.name, state.name, parent.name, wanted)
            )

    def _new(
        self, name: str, entry: ProviderSpec | None, source: ProviderState | None
    ) -> TargetProvider | None:
        if is_uuid(name):
            self.causes.append(infeasibility.NoTarget(self._root.name, name))
            return None
        if (owner := self._overlay.created_in(name)) is not None:
            self.causes.append(infeasibility.ForeignTarget(self._root.name, name, owner))
            return None
        template = specs.ROOT if entry or source is None else '{source}'
        if entry is not None and entry.parent is not None:
            template = entry.parent
        parent_name = self._named(template, source)
        self._pending.add(name)
        parent = self._parent_uuid(parent_name, source)
        if parent is None:
            self.causes.append(infeasibility.NoParent(self._root.name, name, parent_name))
            return None
        own = uuid.uuid5(uuid.UUID(self._root.uuid), name)
        return TargetProvider(str(own), name, parent, self._root.uuid, None)

    def _parent_uuid(self, parent: str, source: ProviderState | None) -> str | None:
        there = self._overlay.find(parent)
        if there is not None:
            return there.uuid if there.uuid in self._members else None
        if parent in self._made:
            return self._made[parent].uuid
        if parent in self._pending or self._entry(parent, None, source) is None:
            return None
        target_provider = self._provider(parent, source)
        return target_provider.uuid if target_provider else None

    def _parents_first(self) -> None:
        providers = self.target_state.providers

        def depth(target_provider: TargetProvider) -> int:
            parent = providers.get(target_provider.parent_provider_uuid or '')
            return 0 if parent is None else 1 + depth(parent)

        self.target_state.providers = {
            target_provider.uuid: target_provider
            for target_provider in sorted(providers.values(), key=depth)
        }

    # Inventories

    def _explicit(self, moves: list[tuple[int, ProviderState]]) -> dict[Where, int]:
        """What moves with a figure take of each source and class; ``all`` is what they leave."""
        taken: dict[Where, int] = {}
        for index, source in moves:
            for name, amount in self._spec.moves[index].resources.items():
                where = Where(source.uuid, name)
                taken[where] = taken.get(where, 0) + (amount or 0)
        return taken

    def _flow(self, index: int, source: ProviderState, taken: dict[Where, int]) -> None:
        move = self._spec.moves[index]
        target_name = self._named(move.target, source)
        target, origin = self._provider(target_name, source), self._provider(source.uuid)
        if target is None or origin is None:
            return
        if target.before is None and target_name not in self._entries:
            self._check_length(target_name, *self._keys(index, 'to_resource_provider'))
        gone = [trait for trait in move.traits if trait in source.traits]
        if target is not origin:
            origin.traits.difference_update(gone)
            target.traits.update(gone)
        is_pattern = move.source not in (source.name, source.uuid) and '{' not in move.source
        for name, amount in move.resources.items():
            inventory = source.inventories.get(name)
            if inventory is None and is_pattern:
                continue
            if amount is None and inventory is not None:
                where = Where(source.uuid, name)
                amount = max(inventory.total - taken[where], 0)
                taken[where] += amount
            if inventory is None or not amount:
                self.causes.append(infeasibility.NoInventory(self._root.name, source.name, name))
                continue
            target_class = move.name_at_target(name)
            if target is origin and target_class == name:
                keys = self._keys(index, 'moved_resources', name)
                self.causes.append(
                    infeasibility.SamePlace(self._root.name, keys, source.name, name)
                )
                continue
            self.target_state.flows.append(
                InventoryFlow(source.uuid, name, target.uuid, target_class, amount, index)
            )

    def _keys(self, move: int, *keys: str) -> tuple[str | int, ...]:
        """What leads to a part of a move in the specification."""
        return 'moves', move, *keys

    def _check_length(self, name: str, *keys: str | int) -> None:
        if len(name) > specs.LONGEST_NAME:
            self.causes.append(
                infeasibility.LongName(self._root.name, keys, name, specs.LONGEST_NAME)
            )

    def _check_totals(self) -> None:
        """Refuse to move more than there is."""
        moved: dict[Where, int] = {}
        for flow in self.target_state.flows:
            origin = flow.origin
            moved[origin] = moved.get(origin, 0) + flow.amount
            before = self.target_state.providers[flow.source].before
            assert before is not None
            total = before.inventories[flow.resource_class].total
            if moved[origin] > total >= moved[origin] - flow.amount:
                keys = self._keys(flow.move, 'moved_resources', flow.resource_class)
                self.causes.append(
                    infeasibility.TooMuch(
                        self._root.name,
                        keys,
                        before.name,
                        flow.resource_class,
                        moved[origin],
                        total,
                    )
                )

    def _find_places(self) -> None:
        flows: dict[Where, list[InventoryFlow]] = {}
        for flow in self.target_state.flows:
            flows.setdefault(flow.origin, []).append(flow)
        for origin, own in flows.items():
            source = self.target_state.providers[origin.provider_uuid]
            amount = sum(flow.amount for flow in own)
            left = source.inventories[origin.resource_class].total > amount
            places: dict[Where, Place] = {}
            for flow in own:
                target = self.target_state.providers[flow.target]
                places[flow.destination] = Place(
                    target.uuid,
                    target.name,
                    flow.target_class,
                    only_mapped=left and target is source,
                )
            if left:
                places[origin] = Place(source.uuid, source.name, origin.resource_class, stays=True)
            self.target_state.places[origin] = list(places.values())

    def _shrink(self) -> Iterator[tuple[Where, Inventory]]:
        """Take what moves off the sources; yields what they had."""
        for flow in self.target_state.flows:
            inventories = self.target_state.providers[flow.source].inventories
            before = self.target_state.providers[flow.source].before
            assert before is not None
            inventory = inventories.get(flow.resource_class)
            if inventory is not None:
                left = inventory.total - flow.amount
                if left > 0:
                    inventories[flow.resource_class] = _with(inventory, total=left)
                else:
                    del inventories[flow.resource_class]
            yield flow.origin, before.inventories[flow.resource_class]

    def _fill(self, sources: Mapping[Where, Inventory]) -> None:
        """Give the targets what moves, with what the specification leaves out filled in."""
        received: dict[Where, list[InventoryFlow]] = {}
        for flow in self.target_state.flows:
            received.setdefault(flow.destination, []).append(flow)
        for (target_uuid, name), flows in received.items():
            target = self.target_state.providers[target_uuid]
            there = target.inventories.get(name)
            origins = [sources[flow.origin] for flow in flows]
            stated = target.stated.pop(name, {})
            if 'reserved' in stated:
                now = there.reserved if there else 0
                self._release(flows, int(stated['reserved']) - now)
            total = sum(flow.amount for flow in flows) + (there.total if there else 0)
            total = int(stated.get('total', total))
            base = there or Inventory(
                total,
                min_unit=origins[0].min_unit,
                max_unit=min(max(origin.max_unit for origin in origins), total),
                step_size=origins[0].step_size,
                allocation_ratio=origins[0].allocation_ratio,
            )
            target.inventories[name] = _with(base, **{'total': total, **stated})

    def _release(self, flows: list[InventoryFlow], amount: int) -> None:
        """What a target is stated to reserve, its sources need not reserve any more.

        :param amount: units that the target reserves more than it did
        """
        for origin in dict.fromkeys(flow.origin for flow in flows):
            inventories = self.target_state.providers[origin.provider_uuid].inventories
            left = inventories.get(origin.resource_class)
            released = min(amount, left.reserved) if left else 0
            if left is not None and released > 0:
                inventories[origin.resource_class] = _with(left, reserved=left.reserved - released)
                amount -= released

    def _state_rest(self, target_provider: TargetProvider) -> None:
        """What the specification says of inventories that nothing is moved into."""
        for name, stated in target_provider.stated.items():
            there = target_provider.inventories.get(name)
            if there is not None:
                target_provider.inventories[name] = _with(there, **stated)
            elif 'total' in stated:
                target_provider.inventories[name] = _with(Inventory(int(stated['total'])), **stated)
            else:
                self.causes.append(
                    infeasibility.NoTotal(self._root.name, target_provider.name, name)
                )

    def _check_reserved(self, sources: Mapping[Where, Inventory]) -> None:
        """Nothing that was reserved is lost without a word."""
        for where, inventory in sources.items():
            source = self.target_state.providers[where.provider_uuid]
            left = source.inventories.get(where.resource_class)
            if left is not None and left.reserved <= left.total:
                continue
            kept = left.total if left else 0
            if kept < inventory.reserved and not self._says_reserved(where):
                self.causes.append(
                    infeasibility.ReservedUnplaced(
                        self._root.name,
                        source.name,
                        where.resource_class,
                        inventory.reserved,
                        kept,
                    )
                )
            elif left is not None and 'reserved' not in source.stated.get(where.resource_class, {}):
                source.inventories[where.resource_class] = _with(left, reserved=left.total)

    def _says_reserved(self, where: Where) -> bool:
        for flow in self.target_state.flows:
            if flow.origin == where:
                target = self.target_state.providers[flow.target]
                source = self.target_state.providers[flow.source].before
                entry = self._entry(target.name, target.before, source)
                if entry and 'reserved' in entry.inventories.get(flow.target_class, {}):
                    return True
        return False


def _with(inventory: Inventory, **fields: int | float) -> Inventory:
    return Inventory.from_json({**inventory.to_json(), **fields})


def _uuids(overlay: SnapshotOverlay, root: ProviderState) -> Iterator[str]:
    return (state.uuid for state in overlay.snapshot.tree(root.uuid))
