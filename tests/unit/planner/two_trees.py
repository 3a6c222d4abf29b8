"""Small random clouds of two trees with a specification, and all that can come of them by trying.

Consumers hold something in both trees, get additions, and the specification changes inventories.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import cloud, uuid_of

ROOTS = ('h0', 'h1')
GPU, CPU, DEVICE = 'VGPU', 'VCPU', 'CUSTOM_DEVICE'
#: A provider's name and a class.
Where = tuple[str, str]
Held = dict[str, dict[Where, int]]
Inventories = dict[Where, Inventory]


@dataclass(frozen=True)
class Instance:
    """A cloud and a specification.

    :param inventories: what there is
    :param held: by consumer
    :param moves: by root, the targets with the amounts of ``VGPU``
    :param stated: fields that the specification states
    :param added: by consumer
    """

    inventories: Inventories
    held: Held
    moves: dict[str, list[tuple[str, int]]]
    stated: dict[Where, dict[str, int]]
    added: Held

    def snapshot(self) -> Snapshot:
        """The cloud."""
        trees: dict[str, Any] = {root: {'inventories': {}, 'children': {}} for root in ROOTS}
        for (name, resource_class), inventory in self.inventories.items():
            record = trees.get(name)
            if record is None:
                record = trees[name[:2]]['children'].setdefault(name, {'inventories': {}})
            fields = inventory.as_fields()
            record['inventories'][resource_class] = fields
        consumers: dict[str, Any] = {}
        for name, amounts in self.held.items():
            record = consumers[name] = {}
            for (provider, resource_class), amount in amounts.items():
                record.setdefault(provider, {})[resource_class] = amount
        return cloud(trees, consumers)

    def spec(self) -> Spec:
        """The specification."""
        entries: dict[str, Any] = {}
        for (name, resource_class), fields in self.stated.items():
            entry = entries.setdefault(name, {'name': name, 'inventories': {}})
            entry['inventories'][resource_class] = dict(fields)
        for name, entry in entries.items():
            if name not in ROOTS:
                entry['parent'] = name[:2]
        moves = [
            {
                'from_resource_provider': root,
                'to_resource_provider': target,
                'moved_resources': {GPU: amount},
            }
            for root, targets in self.moves.items()
            for target, amount in targets
        ]
        additions = [
            {
                'resource_provider': f'{root}_dev',
                'parent': root,
                'inventories': {DEVICE: {'total': 2}},
                'consumers': {
                    uuid_of(name): {DEVICE: amounts[f'{root}_dev', DEVICE]}
                    for name, amounts in self.added.items()
                    if (f'{root}_dev', DEVICE) in amounts
                },
            }
            for root in ROOTS
            if any((f'{root}_dev', DEVICE) in amounts for amounts in self.added.values())
        ]
        document = {
            'trees': {'name': ['h*']},
            'providers': list(entries.values()),
            'moves': moves,
            'additions': additions,
        }
        return specification.from_document(document, 'spec')

    def outcomes(self) -> Iterator[Held]:
        """What consumers may hold after both trees, by all ways that the service grants."""
        after, movers = self.inventories, list[tuple[str, str, list[Where]]]()
        for root in ROOTS:
            after = self._inventories(root, after)
            places = [(target, GPU) for target, _ in self.moves.get(root, [])]
            if places and (root, GPU) in after:
                places.append((root, GPU))
            movers += (
                (name, root, places)
                for name, amounts in self.held.items()
                if places and amounts.get((root, GPU))
            )
        for chosen in itertools.product(*(places for _, _, places in movers)):
            now = {name: dict(amounts) for name, amounts in self.held.items()}
            for (name, root, _), place in zip(movers, chosen, strict=True):
                amount = now[name].pop((root, GPU))
                now[name][place] = now[name].get(place, 0) + amount
            for name, amounts in self.added.items():
                now[name] |= amounts
            if self._is_granted(self.inventories, after, self.held, now):
                yield now

    def _inventories(self, root: str, before: Inventories) -> Inventories:
        after = dict(before)
        source = before.get((root, GPU))
        for target, amount in self.moves.get(root, []):
            assert source is not None
            left = after[root, GPU].total - amount
            if left:
                after[root, GPU] = replace(after[root, GPU], total=left)
            else:
                del after[root, GPU]
            there = after.get((target, GPU))
            after[target, GPU] = (
                replace(there, total=there.total + amount)
                if there
                else replace(source, total=amount, max_unit=min(source.max_unit, amount))
            )
        for where, fields in self.stated.items():
            if where[0][:2] == root:
                there = after.get(where)
                after[where] = (there or Inventory(fields['total'])).with_fields(fields)
        if any((f'{root}_dev', DEVICE) in amounts for amounts in self.added.values()):
            after[f'{root}_dev', DEVICE] = Inventory(2)
        return after

    def _is_granted(self, before: Inventories, after: Inventories, held: Held, now: Held) -> bool:
        """The service judges the units of all that it writes; capacity is not to get worse."""
        for name, amounts in now.items():
            if amounts != held[name] and not all(
                after[where].admits(amount) for where, amount in amounts.items()
            ):
                return False
        for where in {where for amounts in (*now.values(), *held.values()) for where in amounts}:
            was = sum(amounts.get(where, 0) for amounts in held.values())
            used = sum(amounts.get(where, 0) for amounts in now.values())
            room = after[where].capacity if where in after else 0
            excess = max(0, was - (before[where].capacity if where in before else 0))
            if used > room + (excess if used <= was else 0):
                return False
        return True


def instance(seed: int) -> Instance:
    """An instance; the same for the same seed."""
    dice = random.Random(seed)
    inventories: Inventories = {}
    moves: dict[str, list[tuple[str, int]]] = {}
    stated: dict[Where, dict[str, int]] = {}
    for root in ROOTS:
        inventories[root, CPU] = _inventory(dice, dice.choice((4, 6)))
        total = dice.randint(2, 5)
        inventories[root, GPU] = _inventory(dice, total)
        targets = [f'{root}_g{number}' for number in range(dice.randint(1, 2))]
        if dice.random() < 0.3:
            inventories[targets[0], GPU] = _inventory(dice, dice.randint(1, 3))
        if dice.random() < 0.85:
            moves[root] = _divided(dice, targets, total)
        for where in (
            (root, CPU),
            (root, GPU),
            *((target, GPU) for target, _ in moves.get(root, ())),
        ):
            if dice.random() < 0.3:
                stated[where] = _fields(dice)
        gone = sum(amount for _, amount in moves.get(root, ())) == total
        if gone:
            stated.pop((root, GPU), None)
    held = _held(dice, inventories)
    added = _added(dice, held)
    if not moves:
        moves['h0'] = [('h0_g0', inventories['h0', GPU].total)]
        stated.pop(('h0', GPU), None)
    return Instance(inventories, held, moves, stated, added)


def _added(dice: random.Random, held: Held) -> Held:
    """What consumers get: no more than there is of a device, in both trees together."""
    added: Held = {}
    for name in held:
        for root in ROOTS:
            if dice.random() < 0.2:
                added.setdefault(name, {})[f'{root}_dev', DEVICE] = 1
    return added if sum(map(len, added.values())) <= 2 else {}


def _inventory(dice: random.Random, total: int) -> Inventory:
    return Inventory(
        total,
        max_unit=dice.choice((2, 3, total, total)),
        min_unit=dice.choice((1, 1, 1, 2)),
        step_size=dice.choice((1, 1, 1, 2)),
    )


def _divided(dice: random.Random, targets: list[str], total: int) -> list[tuple[str, int]]:
    moved = dice.randint(len(targets), total) if total > len(targets) else total
    if len(targets) == 1 or moved < 2:
        return [(targets[0], moved)]
    first = dice.randint(1, moved - 1)
    return [(targets[0], first), (targets[1], moved - first)]


def _fields(dice: random.Random) -> dict[str, int]:
    fields = {
        'max_unit': dice.randint(1, 4),
        'min_unit': dice.randint(1, 2),
        'step_size': dice.randint(1, 2),
    }
    return {name: fields[name] for name in dice.sample(sorted(fields), dice.randint(1, 2))}


def _held(dice: random.Random, inventories: Inventories) -> Held:
    """What consumers hold: within the totals, not always within the units."""
    left = {where: inventory.total for where, inventory in inventories.items()}
    held: Held = {}
    for number in range(dice.randint(1, 4)):
        amounts = {}
        for where in left:
            if left[where] and dice.random() < 0.4:
                amounts[where] = dice.randint(1, min(3, left[where]))
                left[where] -= amounts[where]
        if amounts:
            held[f'c{number}'] = amounts
    return held
