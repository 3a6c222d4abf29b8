# SPDX-License-Identifier: Apache-2.0
"""The target state of trees: providers, inventories, and possible targets."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.model.inventories import Inventory, InventoryKey
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import ALL, Addition, Spec
from placementclient.planner.infeasibility import Cause, PlanRefusal
from placementclient.planner.layout.providers import TargetProviders
from placementclient.planner.layout.target_state import (
    InventoryFlow,
    SpecEntry,
    Target,
    TargetProvider,
    TargetState,
)


def build_target_state(
    snapshot: Snapshot,
    spec: Spec,
    roots: Sequence[ProviderState],
    planned: Collection[str] | None = None,
    created: dict[str, str] | None = None,
) -> TargetState:
    """Return the providers and inventories of trees that change together after the reshape.

    :param planned: the names of the providers in the plan that is made again; ``None``: it is the
        first plan
    :param created: by the name of a new provider the name of the tree that gets it; extended here
    :raises PlanRefusal: if the trees do not suit the specification
    """
    created = {} if created is None else created
    target_state = TargetState(roots, spec.together)
    causes: list[Cause] = []
    for root in roots:
        _TreeBuilder(snapshot, spec, root, target_state, causes, created, planned).add_tree()
        for provider in target_state.providers.values():
            if provider.before is None:
                created.setdefault(provider.name, root.name)
    if not causes:
        moved = _take_amounts_from_sources(target_state)
        reserving = _give_amounts_to_targets(target_state, moved)
        causes += _apply_stated_inventories(target_state)
        causes += _apply_whole_entries(target_state)
        causes += _limit_reserves(target_state, moved, reserving)
    if causes:
        raise PlanRefusal(causes)
    providers = target_state.providers

    def count_ancestors(provider: TargetProvider) -> int:
        parent = providers.get(provider.parent_provider_uuid or '')
        return 0 if parent is None else 1 + count_ancestors(parent)

    parents_first = sorted(providers.values(), key=count_ancestors)
    target_state.providers = {provider.uuid: provider for provider in parents_first}
    return target_state


class _TreeBuilder(TargetProviders):
    """Adds one of the trees to a target state."""

    def add_tree(self) -> None:
        """Add the providers, the flows and the additions of the tree; record what is impossible."""
        self.find_or_create_stated_providers()
        flows = [*self._apply_moves()]
        self._record_excessive_moves(flows)
        self._target_state.flows += flows
        for index, addition in self.additions.items():
            self._apply_addition(index, addition)

    def _apply_moves(self) -> Iterator[InventoryFlow]:
        """Move the traits of all moves, creating missing targets; yield the flows of amounts."""
        moves = [
            (index, source)
            for index in self.moves
            if self._spec.moves[index].moves_anything
            for source in self.find_sources(self._spec.moves[index])
        ]
        #: the amounts that moves with a figure take of each source and class
        taken = Counter[InventoryKey]()
        for index, source in moves:
            for name, amount in self._spec.moves[index].resources.items():
                taken[InventoryKey(source.uuid, name)] += 0 if amount == ALL else amount
        for index, source in moves:
            yield from self._apply_move_from(index, source, taken)

    def _apply_move_from(
        self, index: int, source: ProviderState, taken: Counter[InventoryKey]
    ) -> Iterator[InventoryFlow]:
        """Move the traits of one move from one source; yield the flows of its amounts.

        :param index: of the move in the specification
        :param taken: by source and class, the amounts that moves with a figure take
        """
        move = self._spec.moves[index]
        keys = 'moves', index, 'to_resource_provider'
        target = self.find_or_create_provider(self.fill_name(move.target, source), source, keys)
        origin = self.find_or_create_provider(source.uuid)
        if target is None or origin is None:
            return
        if target is not origin:
            self._move_traits(index, origin, target)
        for name in move.resources:
            flow = self._make_flow(index, name, origin, target, taken)
            if flow is not None:
                yield flow

    def _make_flow(
        self,
        index: int,
        name: str,
        origin: TargetProvider,
        target: TargetProvider,
        taken: Counter[InventoryKey],
    ) -> InventoryFlow | None:
        """Return the flow of one class by a move; ``None`` if there is nothing to take.

        :param index: of the move in the specification
        :param taken: by source and class, the amounts that other moves take; extended here
        :param name: the class at the source
        """
        move, key = self._spec.moves[index], InventoryKey(origin.uuid, name)
        specified, target_class = move.resources[name], move.name_at_target(name)
        inventory = origin.inventories_before.get(name)
        has_moved = origin.has_inventory_as_stated(name) and target.has_inventory_as_stated(
            target_class
        )
        is_pattern = move.source not in (origin.name, origin.uuid) and '{' not in move.source
        if has_moved or (inventory is None and is_pattern):
            return None
        amount = 0 if specified == ALL else specified
        if inventory and specified == ALL:  # the first such move takes what others leave
            amount = max(inventory.total - taken[key], 0)
            taken[key] += amount
        if inventory is None or not amount:
            self.record_cause('no-inventory', provider=origin.name, resource_class=name)
        elif target is origin and target_class == name:
            place = 'moves', index, 'moved_resources', name
            self.record_cause('same-place', place, resource_class=name, provider=origin.name)
        else:
            return InventoryFlow(key, InventoryKey(target.uuid, target_class), amount, index)
        return None

    def _move_traits(self, move_index: int, origin: TargetProvider, target: TargetProvider) -> None:
        """Move the traits of a move from its source to its target."""
        moved = self._spec.moves[move_index].traits
        gone = origin.before.traits.intersection(moved) if origin.before else frozenset()
        for stated, how, contradicting in (
            (origin, 'with', gone & origin.traits),
            (target, 'without', gone - target.traits),
        ):
            entry = stated.entry
            if contradicting and entry is not None and 'traits' in entry.spec.whole:
                self.record_cause(
                    'moved-trait',
                    (*entry.keys[:-1], 'traits'),
                    trait=min(contradicting),
                    provider=origin.name,
                    target=target.name,
                    stated=stated.name,
                    how=how,
                )
        origin.traits -= gone
        target.traits |= gone

    def _record_excessive_moves(self, flows: Sequence[InventoryFlow]) -> None:
        """Record a cause where a move, with earlier ones, takes more off a source than it has."""
        moved = Counter[InventoryKey]()
        for flow in flows:
            moved[flow.origin] += flow.amount
            source_uuid, name = flow.origin
            source = self._snapshot.providers[source_uuid]
            total = source.inventories[name].total
            if moved[flow.origin] > total >= moved[flow.origin] - flow.amount:
                self.record_cause(
                    'too-much',
                    ('moves', flow.move, 'moved_resources', name),
                    moved=moved[flow.origin],
                    resource_class=name,
                    provider=source.name,
                    total=total,
                )

    def _apply_addition(self, index: int, addition: Addition) -> None:
        """Add the amounts that an addition gives consumers; record what contradicts it."""
        target = self.find_or_create_provider(self.fill_name(addition.name))
        if target is None:
            return
        gained = {flow.destination for flow in self._target_state.flows}
        for name in addition.inventories:
            if name in target.inventories or InventoryKey(target.uuid, name) in gained:
                keys = 'additions', index, 'inventories', name
                self.record_cause('has-already', keys, provider=target.name, resource_class=name)
        for consumer_uuid, amounts in addition.consumers.items():
            if consumer_uuid not in self._snapshot.consumers:
                at = 'additions', index, 'consumers', consumer_uuid
                self.record_cause('no-consumer', at, consumer_uuid=consumer_uuid)
            added = self._target_state.additions.setdefault(consumer_uuid, {})
            for name, amount in amounts.items():
                added[InventoryKey(target.uuid, name)] = amount


def _take_amounts_from_sources(target_state: TargetState) -> dict[InventoryKey, Inventory]:
    """Take the moved amounts off the sources; return the inventories that they had before.

    :return: by provider and class
    """
    moved: dict[InventoryKey, Inventory] = {}
    by_origin: dict[InventoryKey, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        by_origin.setdefault(flow.origin, []).append(flow)
    for origin, flows in by_origin.items():
        source_uuid, name = origin
        source = target_state.providers[source_uuid]
        before = source.inventories[name]
        left = before.total - sum(flow.amount for flow in flows)
        targets: dict[InventoryKey, Target] = {}
        for flow in flows:
            target_uuid = flow.destination.provider_uuid
            is_renamed = left > 0 and target_uuid == source_uuid
            provider = target_state.providers[target_uuid].name
            targets[flow.destination] = Target(flow.destination, provider, only_mapped=is_renamed)
        if left > 0:
            targets[origin] = Target(origin, source.name, stays=True)
            source.inventories[name] = _set_fields(before, {'total': left}, before)
        else:
            del source.inventories[name]
        target_state.targets[origin] = list(targets.values())
        moved[origin] = before
    return moved


def _give_amounts_to_targets(
    target_state: TargetState, moved: Mapping[InventoryKey, Inventory]
) -> set[InventoryKey]:
    """Add the moved amounts to the targets.

    :param moved: the inventories of the sources before
    :return: the keys of the sources whose target states its own reserved amount
    """
    reserving: set[InventoryKey] = set()
    received: dict[InventoryKey, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        received.setdefault(flow.destination, []).append(flow)
    for (target_uuid, name), flows in received.items():
        target = target_state.providers[target_uuid]
        present = target.inventories.get(name)
        origins = [moved[flow.origin] for flow in flows]
        stated = target.stated.pop(name, {})
        if 'reserved' in stated:
            reserving.update(flow.origin for flow in flows)
            now = present.reserved if present else 0
            _release_reserves(target_state, flows, int(stated['reserved']) - now)
        total = sum(flow.amount for flow in flows) + (present.total if present else 0)
        total = int(stated.get('total', total))
        base = present or Inventory(
            total,
            min_unit=origins[0].min_unit,
            max_unit=min(max(origin.max_unit for origin in origins), total),
            step_size=origins[0].step_size,
            allocation_ratio=origins[0].allocation_ratio,
        )
        before = target.inventories_before.get(name, base)
        target.inventories[name] = _set_fields(base, {'total': total, **stated}, before)
    return reserving


def _set_fields(inventory: Inventory, fields: Mapping[str, object], before: Inventory) -> Inventory:
    """Return an inventory with other fields; a max_unit that equaled the total follows it.

    Nova's drivers report both alike.

    :param before: the inventory before the reshape: between two moves, both may be equal by chance
    :param fields: their new values
    """
    follows = before.max_unit == before.total and 'total' in fields
    return inventory.with_fields({'max_unit': fields['total'], **fields} if follows else fields)


def _release_reserves(target_state: TargetState, flows: list[InventoryFlow], amount: int) -> None:
    """Lower the reserved amounts of sources by an amount that a target reserves from now on."""
    for source_uuid, name in dict.fromkeys(flow.origin for flow in flows):
        inventories = target_state.providers[source_uuid].inventories
        left = inventories.get(name)
        released = min(amount, left.reserved) if left else 0
        if left is not None and released > 0:
            inventories[name] = replace(left, reserved=left.reserved - released)
            amount -= released


def _apply_stated_inventories(target_state: TargetState) -> Iterator[Cause]:
    """Apply stated inventories that no move goes into; yield a cause for each without a total."""
    for target in target_state.providers.values():
        for name, stated in target.stated.items():
            present = target.inventories.get(name)
            if present is None and 'total' in stated:
                # All of it moves, and the specification states it again: other fields stay.
                present = target.inventories_before.get(name) or Inventory(int(stated['total']))
            if present is None:
                tree = target_state.name
                yield Cause('no-total', tree, resource_class=name, provider=target.name)
                continue
            before = target.inventories_before.get(name, present)
            target.inventories[name] = _set_fields(present, stated, before)


def _apply_whole_entries(target_state: TargetState) -> Iterator[Cause]:
    """Remove unused inventories that entries with ``whole: [inventories]`` leave out.

    Yield a cause for each such entry that contradicts moves or usages.
    """
    net = Counter[InventoryKey]()
    for flow in target_state.flows:
        net[flow.origin] -= flow.amount
        net[flow.destination] += flow.amount
    for target in target_state.providers.values():
        if target.entry is not None and 'inventories' in target.entry.spec.whole:
            yield from _apply_whole_inventories(target_state, target, target.entry, net)


def _apply_whole_inventories(
    target_state: TargetState,
    target: TargetProvider,
    entry: SpecEntry,
    net: Mapping[InventoryKey, int],
) -> Iterator[Cause]:
    """Remove the unused inventories that one entry leaves out; yield its contradictions.

    :param net: by how much the moves change each inventory
    """
    stated, keys = entry.spec.inventories, (*entry.keys[:-1], 'inventories')
    for name in sorted({*target.inventories_before, *target.inventories, *stated}):
        key, before = InventoryKey(target.uuid, name), target.inventories_before.get(name)
        facts = {'provider': target.name, 'resource_class': name}
        if key not in net:
            used = target.before.used(name) if target.before else 0
            if name not in stated and used:
                yield Cause('left-out', target_state.name, keys, used=used, **facts)
            elif name not in stated:
                target.inventories.pop(name, None)
            continue
        left = (before.total if before else 0) + net[key]
        total = stated[name].get('total', left) if name in stated else 0
        if total != left and (name not in stated or key in target_state.targets):
            at = (*keys, name) if name in stated else keys
            yield Cause('contradicted', target_state.name, at, total=total, left=left, **facts)


def _limit_reserves(
    target_state: TargetState,
    moved: Mapping[InventoryKey, Inventory],
    reserving: set[InventoryKey],
) -> Iterator[Cause]:
    """Lower the reserved amounts of sources to the totals that are left there.

    Yield a cause for each reserved amount that is lost: no target states it instead.

    :param moved: the inventories of the sources before
    :param reserving: the inventories of sources whose reserved amount a target states
    """
    for key, before in moved.items():
        source, name = target_state.providers[key.provider_uuid], key.resource_class
        left = source.inventories.get(name)
        if left is not None and left.reserved <= left.total:
            continue
        total = left.total if left else 0
        if total < before.reserved and key not in reserving:
            yield Cause(
                'reserved-unplaced',
                target_state.name,
                provider=source.name,
                reserved=before.reserved,
                resource_class=name,
                left=total,
            )
        elif left is not None and 'reserved' not in source.stated.get(name, {}):
            source.inventories[name] = replace(left, reserved=left.total)
