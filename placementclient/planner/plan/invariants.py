"""The independent check of a plan: nothing lost, nothing invented, nothing else touched.

It uses nothing of what makes plans, only the plan itself, and runs before a plan is written and
before it is applied. Its cost is linear in the plan's size.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from placementclient import errors
from placementclient.model.consumers import Allocations
from placementclient.model.inventories import Inventory
from placementclient.planner.plan.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.planner.plan.plan import Plan, PlannedRow, TreePlan
from placementclient.planner.plan.state_changes import Content, ProviderChange
from placementclient.planner.spec.values import Spec, SpecNames, filled
from placementclient.wording import first

#: Amounts by provider UUID and class.
Amounts = dict[tuple[str, str], int]


class BadPlan(errors.PlacementError):
    """A plan that would lose, invent or touch what it must not: a fault of the program, or a file
    that somebody edited.

    :param facts: every fault, a sentence each
    """

    def __init__(self, facts: list[str]) -> None:
        self.facts = tuple(facts)
        super().__init__(f'The plan does not hold: {first(facts, 5)}')


def check(plan: Plan) -> None:
    """Check every tree of a plan.

    :raises BadPlan: with every fault found
    """
    allowed = _Allowed(plan.spec.names)
    faults = [fault for tree in plan.trees for fault in _Inspector(tree, allowed).faults()]
    roots = Counter(tree.root_provider_uuid for tree in plan.trees)
    faults += [f'{root} is there twice' for root, count in roots.items() if count > 1]
    if faults:
        raise BadPlan(faults)


def check_tree(
    tree: TreePlan,
    spec: Spec,
    *,
    backwards: bool = False,
    overcommitted: Mapping[tuple[str, str], int] | None = None,
) -> None:
    """Check the plan of one tree, as of one that was planned again.

    :param backwards: whether it is the way back
    :param overcommitted: on the way back, by how much places were over-committed before the plan,
        by provider UUID and class
    :raises BadPlan: with every fault found
    """
    allowed = _Allowed(spec.names, backwards, overcommitted)
    faults = list(_Inspector(tree, allowed).faults())
    if faults:
        raise BadPlan(faults)


class _Allowed:
    """What may change, as a specification names it.

    :param backwards: whether on the way back
    :param overcommitted: by how much places may be over-committed where nothing comes to them
    """

    def __init__(
        self,
        names: SpecNames,
        backwards: bool = False,
        overcommitted: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self.overcommitted = overcommitted or {}
        self._names, self.backwards = names, backwards
        self.moved, self.stated = names.moved, names.stated
        traits = names.stated_traits | names.moved_traits, names.moved_traits
        aggregates: tuple[set[str], set[str]] = names.aggregates, set()
        self.gained_traits, self.lost_traits = reversed(traits) if backwards else traits
        self.gained_aggregates, self.lost_aggregates = (
            reversed(aggregates) if backwards else aggregates
        )

    def renames(self, name: str, after: str) -> bool:
        """Whether a move makes one class another."""
        return ((after, name) if self.backwards else (name, after)) in self._names.renamed

    def adds(self, root: str, change: ProviderChange, row: PlannedRow) -> bool:
        """Whether an addition gives a consumer this amount of this provider."""
        return any(
            filled(addition.name, root=root) in (change.name, change.uuid)
            and addition.consumers[row.consumer_uuid].get(row.resource_class) == row.amount
            for addition in self._names.additions_for(row.consumer_uuid)
        )


class _Inspector:
    def __init__(self, tree: TreePlan, allowed: _Allowed) -> None:
        self._tree, self._allowed = tree, allowed
        self._root = tree.root_provider_name
        self._by_name = {change.name: change for change in tree.providers}
        self._by_uuid = {change.uuid: change for change in tree.providers}

    def faults(self) -> Iterator[str]:
        """Every fault, a sentence each."""
        for inspect in (
            self._identities,
            self._conservation,
            self._scope,
            self._capacities,
            self._inverse,
        ):
            for fault in inspect():
                yield f'{self._root}: {fault}'

    def _identities(self) -> Iterator[str]:
        """UUIDs fixed and unique, parents first, generations where there is something to have."""
        tree = self._tree
        if len(self._by_uuid) < len(tree.providers) or len(self._by_name) < len(tree.providers):
            yield 'a provider is there twice'
        if len({change.uuid for change in tree.consumers}) < len(tree.consumers):
            yield 'a consumer is there twice'
        seen: set[str] = set()
        for change in tree.providers:
            if change.is_created:
                yield from self._creation(change)
            elif change.content_before.generation is None:
                yield f'{change.name} has no generation'
            parent = self._by_uuid.get(change.parent_provider_uuid or '')
            if parent is not None and parent.uuid not in seen:
                yield f'{change.name} comes before its parent'
            if change.after.generation is not None:
                yield f'{change.name} has a generation that nobody can know yet'
            seen.add(change.uuid)

    def _creation(self, change: ProviderChange) -> Iterator[str]:
        expected = uuid.uuid5(uuid.UUID(self._tree.root_provider_uuid), change.name)
        if change.uuid != str(expected):
            yield f'{change.name} has not the UUID {expected}'
        if change.parent_provider_uuid is None:
            yield f'{change.name} has no parent'
        if change.root_provider_uuid != self._tree.root_provider_uuid:
            yield f'{change.name} is to be made in another tree'

    def _moved(self, moves: dict[str, Amounts]) -> Iterator[str]:
        """Sum up what the rows move of each consumer, or add to it."""
        added: set[tuple[str, str, str]] = set()
        for row in self._tree.rows:
            if row.from_provider is None or row.to_provider is None:
                yield from self._added(row, moves, added)
                continue
            source = self._by_name.get(row.from_provider)
            target = self._by_name.get(row.to_provider)
            if source is None or target is None:
                yield f'a row of {row.consumer_uuid} names a provider that is not in the plan'
                continue
            if row.amount <= 0:
                yield f'a row of {row.consumer_uuid} moves {row.amount}'
            stays = source is target and row.resource_class == row.to_resource_class
            if not stays and not self._allowed.renames(row.resource_class, row.to_resource_class):
                yield f'no move makes {row.resource_class} {row.to_resource_class}'
            sums = moves.setdefault(row.consumer_uuid, {})
            _add(sums, (source.uuid, row.resource_class), -row.amount)
            _add(sums, (target.uuid, row.to_resource_class), row.amount)

    def _added(
        self, row: PlannedRow, moves: dict[str, Amounts], added: set[tuple[str, str, str]]
    ) -> Iterator[str]:
        """Nothing is added, nor taken back, that the specification does not name, and once."""
        backwards = self._allowed.backwards
        nowhere, name = row.from_provider, row.to_provider
        if backwards:
            nowhere, name = name, nowhere
        change = self._by_name.get(name or '')
        key = (row.consumer_uuid, name or '', row.resource_class)
        if (
            nowhere is not None
            or change is None
            or row.resource_class != row.to_resource_class
            or key in added
            or not self._allowed.adds(self._root, change, row)
        ):
            yield f'no addition gives {row.consumer_uuid} {row.amount} {row.resource_class}'
            return
        added.add(key)
        sums = moves.setdefault(row.consumer_uuid, {})
        _add(sums, (change.uuid, row.resource_class), -row.amount if backwards else row.amount)

    def _conservation(self) -> Iterator[str]:
        """The rows, and they alone, lead from what consumers hold to what they are to hold."""
        moves: dict[str, Amounts] = {}
        yield from self._moved(moves)
        for consumer in self._tree.consumers:
            expected = _amounts(consumer.before)
            for where, amount in moves.pop(consumer.uuid, {}).items():
                _add(expected, where, amount)
            if {where: amount for where, amount in expected.items() if amount} != _amounts(
                consumer.after
            ):
                yield f'what {consumer.uuid} is to hold is not what it holds and its rows move'
            if any(amount <= 0 for amount in _amounts(consumer.after).values()):
                yield f'{consumer.uuid} is to hold an amount that is none'
            if consumer.generation is None:
                yield f'{consumer.uuid} has no generation'
        for uuid_, sums in moves.items():
            if any(sums.values()):
                yield f'{uuid_} has rows, but is not among the consumers'

    def _scope(self) -> Iterator[str]:
        """Nothing changes that the specification does not name."""
        for change in self._tree.providers:
            before, after = change.content_before, change.after
            for name in before.inventories.keys() | after.inventories.keys():
                if before.inventories.get(name) == after.inventories.get(name):
                    continue
                if name not in self._allowed.moved and name not in self._allowed.stated:
                    yield f'{name} of {change.name} changes, the specification does not name it'
            if not before.traits - after.traits <= self._allowed.lost_traits:
                yield f'{change.name} loses traits that the specification does not name'
            if not after.traits - before.traits <= self._allowed.gained_traits:
                yield f'{change.name} gets traits that the specification does not name'
            if not before.aggregates - after.aggregates <= self._allowed.lost_aggregates:
                yield f'{change.name} loses aggregates that the specification does not name'
            if not after.aggregates - before.aggregates <= self._allowed.gained_aggregates:
                yield f'{change.name} gets aggregates that the specification does not name'

    def _capacities(self) -> Iterator[str]:
        """No place gets more than it has room for, or an amount that its units refuse."""
        gained: Amounts = {}
        for consumer in self._tree.consumers:
            before, after = _amounts(consumer.before), _amounts(consumer.after)
            for where in before.keys() | after.keys():
                difference = after.get(where, 0) - before.get(where, 0)
                if difference:
                    _add(gained, where, difference)
                # The service judges all that is written, not only what changes.
                if where in after and (difference > 0 or where[0] in self._by_uuid):
                    yield from self._units(consumer.uuid, where, after[where])
        for change in self._tree.providers:
            yield from self._room(change, gained)
        for provider_uuid, _ in gained:
            if provider_uuid not in self._by_uuid:
                yield f'allocations change on {provider_uuid}, which is not in the plan'

    def _units(self, consumer_uuid: str, where: tuple[str, str], amount: int) -> Iterator[str]:
        change = self._by_uuid.get(where[0])
        inventory = change.after.inventories.get(where[1]) if change else None
        if inventory is None:
            yield f'{consumer_uuid} gets {where[1]} of {where[0]}, which will have none'
        elif not (
            inventory.min_unit <= amount <= inventory.max_unit and amount % inventory.step_size == 0
        ):
            yield f'{consumer_uuid} gets {amount} {where[1]}, which {where[0]} does not admit'

    def _room(self, change: ProviderChange, gained: Amounts) -> Iterator[str]:
        before, after = change.content_before.inventories, change.after.inventories
        for name in before.keys() | after.keys():
            was = change.usages.get(name, 0)
            used = was + gained.get((change.uuid, name), 0)
            room = _capacity(after[name]) if name in after else 0
            over = was - (_capacity(before[name]) if name in before else 0)
            is_changed = before.get(name) != after.get(name) or used != was
            over = max(over, self._allowed.overcommitted.get((change.uuid, name), 0))
            excess = max(0, over) if used <= was and name in after else 0
            is_short = used > room + excess and not self._is_stated(name, used, was)
            if is_changed and (is_short or room < 0):
                yield f'{change.name} has room for {room} {name}, {used} will be in use'

    def _is_stated(self, name: str, used: int, was: int) -> bool:
        """Whether an inventory changes only because the specification says so."""
        return used == was and name in self._allowed.stated and name not in self._allowed.moved

    def _inverse(self) -> Iterator[str]:
        """The operations lead from before to after, and the inverse leads back."""
        before = {
            change.uuid: replace(change.before, generation=None)
            for change in self._tree.providers
            if change.before is not None
        }
        after = {change.uuid: change.after for change in self._tree.providers}
        held = {change.uuid: change.before for change in self._tree.consumers}
        state = _Simulation(dict(before), dict(held))
        state.run(self._tree.operations())
        if state.providers != after or state.consumers != {
            change.uuid: change.after for change in self._tree.consumers
        }:
            yield 'the operations do not lead to what the plan says'
        state.run(self._tree.inverse())
        if state.providers != before or state.consumers != held:
            yield 'the inverse does not lead back'


class _Simulation:
    """A Placement that only knows what a plan is about."""

    def __init__(self, providers: dict[str, Content], consumers: dict[str, Allocations]) -> None:
        self.providers, self.consumers = providers, consumers

    def run(self, operations: tuple[Operation, ...]) -> None:
        for operation in operations:
            match operation:
                case EnsureClass() | EnsureTrait():
                    pass
                case CreateProvider():
                    self.providers[operation.uuid] = Content()
                case DeleteProvider():
                    self.providers.pop(operation.uuid, None)
                case SetTraits():
                    self._change(operation.provider_uuid, traits=operation.after)
                case SetAggregates():
                    self._change(operation.provider_uuid, aggregates=operation.after)
                case Reshape():
                    for change in operation.inventories:
                        self._change(change.provider_uuid, inventories=change.after)
                    for consumer in operation.consumers:
                        self.consumers[consumer.uuid] = consumer.after

    def _change(
        self, provider_uuid: str, **fields: frozenset[str] | Mapping[str, Inventory]
    ) -> None:
        content = self.providers.get(provider_uuid)
        if content is not None:
            self.providers[provider_uuid] = replace(content, **fields)  # type: ignore[arg-type]


def _capacity(inventory: Inventory) -> int:
    return int((inventory.total - inventory.reserved) * inventory.allocation_ratio)


def _amounts(allocations: Allocations) -> Amounts:
    return {
        (provider_uuid, name): amount
        for provider_uuid, resources in allocations.items()
        for name, amount in resources.items()
    }


def _add(sums: Amounts, where: tuple[str, str], amount: int) -> None:
    sums[where] = sums.get(where, 0) + amount
