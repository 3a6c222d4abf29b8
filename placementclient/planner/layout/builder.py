"""The target state of trees: providers, inventories, and possible targets."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import ALL, Addition, Spec
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout import inventories
from placementclient.planner.layout.providers import TargetProviders
from placementclient.planner.layout.target_state import (
    InventoryFlow,
    InventoryKey,
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
    """Return the target state of trees that change together.

    :param planned: the names of the providers in the plan that is made again; ``None``: it is the
        first plan
    :param created: the names of the trees in which plans make providers, by the names of these; it
        gets those that are made here
    :raises Refused: if the specification does not suit it
    """
    created = {} if created is None else created
    target_state = TargetState(roots, spec.together)
    causes: list[Cause] = []
    for root in roots:
        _Builder(snapshot, spec, root, target_state, causes, created, planned).build()
        for provider in target_state.providers.values():
            if provider.before is None:
                created.setdefault(provider.name, root.name)
    if not causes:
        causes += inventories.move_inventories(target_state)
    if causes:
        raise Refused(causes)
    providers = target_state.providers

    def depth(provider: TargetProvider) -> int:
        parent = providers.get(provider.parent_provider_uuid or '')
        return 0 if parent is None else 1 + depth(parent)

    parents_first = sorted(providers.values(), key=depth)
    target_state.providers = {provider.uuid: provider for provider in parents_first}
    return target_state


class _Builder(TargetProviders):
    """Takes one of the trees into a target state."""

    def build(self) -> None:
        self.provide_stated()
        flows = [*self._flows()]
        self._check_totals(flows)
        self._target_state.flows += flows
        for index, addition in self.additions.items():
            self._add(index, addition)

    def _flows(self) -> Iterator[InventoryFlow]:
        moves = [
            (index, source)
            for index in self.moves
            if self._spec.moves[index].moves_anything
            for source in self.sources(self._spec.moves[index])
        ]
        #: the amounts that moves with a figure take of each source and class
        taken = Counter[InventoryKey]()
        for index, source in moves:
            for name, amount in self._spec.moves[index].resources.items():
                taken[InventoryKey(source.uuid, name)] += 0 if amount == ALL else amount
        for index, source in moves:
            yield from self._flows_of(index, source, taken)

    def _flows_of(
        self, index: int, source: ProviderState, taken: Counter[InventoryKey]
    ) -> Iterator[InventoryFlow]:
        """Lead what one move takes off one source to its target."""
        move = self._spec.moves[index]
        keys = 'moves', index, 'to_resource_provider'
        target = self.provide(self.named(move.target, source), source, keys)
        origin = self.provide(source.uuid)
        if target is None or origin is None:
            return
        if target is not origin:
            gone = [trait for trait in move.traits if trait in source.traits]
            origin.traits.difference_update(gone)
            target.traits.update(gone)
        is_pattern = move.source not in (source.name, source.uuid) and '{' not in move.source
        for name, specified in move.resources.items():
            key, inventory = InventoryKey(source.uuid, name), source.inventories.get(name)
            if inventory is None and is_pattern:
                continue
            amount = 0 if specified == ALL else specified
            if inventory and specified == ALL:  # the first such move takes what others leave
                amount = max(inventory.total - taken[key], 0)
                taken[key] += amount
            target_class = move.name_at_target(name)
            if inventory is None or not amount:
                self.refuse('no-inventory', provider=source.name, resource_class=name)
            elif target is origin and target_class == name:
                place = 'moves', index, 'moved_resources', name
                self.refuse('same-place', place, resource_class=name, provider=source.name)
            else:
                yield InventoryFlow(key, InventoryKey(target.uuid, target_class), amount, index)

    def _check_totals(self, flows: Sequence[InventoryFlow]) -> None:
        moved = Counter[InventoryKey]()
        for flow in flows:
            moved[flow.origin] += flow.amount
            source_uuid, name = flow.origin
            source = self._snapshot.providers[source_uuid]
            total = source.inventories[name].total
            if moved[flow.origin] > total >= moved[flow.origin] - flow.amount:
                self.refuse(
                    'too-much',
                    ('moves', flow.move, 'moved_resources', name),
                    moved=moved[flow.origin],
                    resource_class=name,
                    provider=source.name,
                    total=total,
                )

    def _add(self, index: int, addition: Addition) -> None:
        target = self.provide(self.named(addition.name))
        if target is None:
            return
        gained = {flow.destination for flow in self._target_state.flows}
        for name in addition.inventories:
            if name in target.inventories or InventoryKey(target.uuid, name) in gained:
                keys = 'additions', index, 'inventories', name
                self.refuse('has-already', keys, provider=target.name, resource_class=name)
        for consumer_uuid, amounts in addition.consumers.items():
            if consumer_uuid not in self._snapshot.consumers:
                at = 'additions', index, 'consumers', consumer_uuid
                self.refuse('no-consumer', at, consumer_uuid=consumer_uuid)
            added = self._target_state.additions.setdefault(consumer_uuid, {})
            for name, amount in amounts.items():
                added[InventoryKey(target.uuid, name)] = amount
