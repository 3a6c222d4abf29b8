"""The target state of trees: providers, inventories, and possible places."""

from collections.abc import Collection, Iterator, Sequence

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import ALL, Addition, Spec, has_placeholder
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout import inventories
from placementclient.planner.layout.providers import TargetProviders
from placementclient.planner.layout.target_state import InventoryFlow, TargetState, Where


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
    target_state = TargetState(roots)
    causes: list[Cause] = []
    for root in roots:
        _Builder(snapshot, spec, root, target_state, causes, created, planned).build()
        for provider in target_state.providers.values():
            if provider.before is None:
                created.setdefault(provider.name, root.name)
    if not causes:
        inventories.find_places(target_state)
        causes += inventories.move_inventories(target_state)
        target_state.put_parents_first()
    if causes:
        raise Refused(causes)
    return target_state


class _Builder(TargetProviders):
    """Takes one of the trees into a target state."""

    def build(self) -> None:
        self._state_providers()
        flows = [*self._flows()]
        self._check_totals(flows)
        self._target_state.flows += flows
        for index, addition in self.additions.items():
            self._add(index, addition)

    def _state_providers(self) -> None:
        """Apply the entries about providers by name, with moves to them or without."""
        for name in self.entries:
            if not has_placeholder(name):
                self.provide(name)
                self.check_length(name, *self.places[name])

    def _flows(self) -> Iterator[InventoryFlow]:
        moves = [
            (index, source)
            for index in self.moves
            if self._spec.moves[index].moves_anything
            for source in self.sources(self._spec.moves[index])
        ]
        taken = self._explicit(moves)
        for index, source in moves:
            yield from self._flows_of(index, source, taken)

    def _explicit(self, moves: list[tuple[int, ProviderState]]) -> dict[Where, int]:
        """Return the amounts that moves with a figure take of each source and class."""
        taken: dict[Where, int] = {}
        for index, source in moves:
            for name, amount in self._spec.moves[index].resources.items():
                where = Where(source.uuid, name)
                taken[where] = taken.get(where, 0) + (0 if amount == ALL else amount)
        return taken

    def _flows_of(
        self, index: int, source: ProviderState, taken: dict[Where, int]
    ) -> Iterator[InventoryFlow]:
        """Lead what one move takes off one source to its target."""
        move = self._spec.moves[index]
        target_name = self.named(move.target, source)
        keys = _keys(index, 'to_resource_provider')
        target = self.provide(target_name, source, *keys)
        origin = self.provide(source.uuid)
        if target is None or origin is None:
            return
        if target.before is None and target_name not in self.entries:
            self.check_length(target_name, *keys)
        if target is not origin:
            gone = [trait for trait in move.traits if trait in source.traits]
            origin.traits.difference_update(gone)
            target.traits.update(gone)
        is_pattern = move.source not in (source.name, source.uuid) and '{' not in move.source
        for name, amount in move.resources.items():
            inventory = source.inventories.get(name)
            if inventory is None and is_pattern:
                continue
            if amount == ALL:
                amount = _rest(inventory, Where(source.uuid, name), taken) if inventory else 0
            target_class = move.name_at_target(name)
            if inventory is None or not amount:
                self.refuse('no-inventory', provider=source.name, resource_class=name)
            elif target is origin and target_class == name:
                keys = _keys(index, 'moved_resources', name)
                self.refuse('same-place', keys, resource_class=name, provider=source.name)
            else:
                yield InventoryFlow(source.uuid, name, target.uuid, target_class, amount, index)

    def _check_totals(self, flows: Sequence[InventoryFlow]) -> None:
        moved: dict[Where, int] = {}
        for flow in flows:
            origin = flow.origin
            moved[origin] = moved.get(origin, 0) + flow.amount
            before = self._target_state.providers[flow.source].before
            assert before is not None
            total = before.inventories[flow.resource_class].total
            if moved[origin] > total >= moved[origin] - flow.amount:
                self.refuse(
                    'too-much',
                    _keys(flow.move, 'moved_resources', flow.resource_class),
                    moved=moved[origin],
                    resource_class=flow.resource_class,
                    provider=before.name,
                    total=total,
                )

    def _add(self, index: int, addition: Addition) -> None:
        target = self.provide(self.named(addition.name))
        if target is None:
            return
        gained = {flow.destination for flow in self._target_state.flows}
        for name in addition.inventories:
            if name in target.inventories or Where(target.uuid, name) in gained:
                keys = 'additions', index, 'inventories', name
                self.refuse('has-already', keys, provider=target.name, resource_class=name)
        for consumer_uuid, amounts in addition.consumers.items():
            if consumer_uuid not in self._snapshot.consumers:
                at = 'additions', index, 'consumers', consumer_uuid
                self.refuse('no-consumer', at, consumer_uuid=consumer_uuid)
            added = self._target_state.added.setdefault(consumer_uuid, {})
            added.update({Where(target.uuid, name): amount for name, amount in amounts.items()})


def _rest(inventory: Inventory, where: Where, taken: dict[Where, int]) -> int:
    """Return the amount of a class that moves with a figure leave; the first to ask takes it."""
    amount = max(inventory.total - taken[where], 0)
    taken[where] += amount
    return amount


def _keys(move: int, *keys: str) -> tuple[str | int, ...]:
    """Return the way to a part of a move in the specification."""
    return 'moves', move, *keys
