# SPDX-License-Identifier: Apache-2.0
"""Small reshapes, drawn at random: tame ones as operators have them, and wild ones."""

import random
from typing import Any

from placementclient.basis import errors
from placementclient.files import specifications
from placementclient.model.assignments import AssignmentRow
from placementclient.model.specifications import Spec
from tests.unit.planner.clouds import cloud, uuid_of

#: Reshapes as operators have them: enough room, no odd units; and anything that files can say.
KINDS = ('tame', 'wild')


class Case:
    """One reshape: a cloud, a specification, and what is known of who goes where."""

    def __init__(self, trees, consumers, document, rows):
        self.notation = trees, consumers, document, rows
        self.snapshot, self.rows = cloud(trees, consumers), rows
        self.spec: Spec = specifications.convert_specification(document, 'spec')


class _Draw:
    CLASSES = ('CUSTOM_A', 'CUSTOM_B')

    def __init__(self, chance, wild):
        self._chance, self._wild = chance, wild
        self._hosts = [f'h{n}' for n in range(chance.choice([1, 1, 2, 2, 3]))]
        self._pools = [f's{n}' for n in range(chance.choice([0, 1, 1, 2]))]
        self._trees: dict[str, Any] = {}
        self._allocations: dict[str, dict[str, dict[str, int]]] = {}
        self._moves: list[dict[str, Any]] = []
        self._providers: dict[str, dict[str, Any]] = {}
        self._children: dict[str, list[str]] = {}
        #: whether children are merged back into their root
        self._merging = self._is(20)

    def _is(self, percent):
        return self._chance.randrange(100) < percent

    def _inventory(self, low, high):
        inventory: dict[str, Any] = {'total': self._chance.randint(low, high)}
        if not self._wild:
            return inventory
        if self._is(12):
            inventory['max_unit'] = self._chance.randint(1, 3)
        if self._is(6):
            inventory['min_unit'] = 2
        if self._is(6):
            inventory['step_size'] = 2
        if self._is(10):
            inventory['allocation_ratio'] = self._chance.choice([0.5, 1.5, 2.0])
        if self._is(5):
            inventory['reserved'] = 1
        return inventory

    def case(self):
        """Draw one."""
        for name in self._pools:
            classes = [class_ for class_ in self.CLASSES if self._is(75)]
            self._trees[name] = {
                'traits': ['MISC_SHARES_VIA_AGGREGATE'],
                'inventories': {class_: self._inventory(1, 4) for class_ in classes},
            }
        for name in self._hosts:
            classes = self.CLASSES if self._is(40) else self._chance.sample(self.CLASSES, 1)
            self._trees[name] = {
                'inventories': {class_: self._inventory(1, 6) for class_ in classes}
            }
            if self._merging or self._is(30):
                child = f'{name}c'
                self._trees[name]['children'] = {
                    child: {
                        'inventories': {
                            class_: self._inventory(1, 3) for class_ in self.CLASSES if self._is(50)
                        }
                    }
                }
                self._children[name] = [child]
        self._draw_consumers()
        for name in self._hosts:
            self._draw_moves(name)
        if self._wild and self._pools and self._is(6):
            self._draw_moves(self._pools[0])
        document: dict[str, Any] = {'moves': self._moves}
        if self._providers:
            document['providers'] = list(self._providers.values())
        if self._is(25):
            document['together'] = [list(self.CLASSES)]
        if self._is(25):
            document['split'] = True
        rows = self._draw_rows()
        self._draw_more(document)
        return Case(self._trees, self._allocations, document, rows)

    def _draw_more(self, document):
        """Add, now and then, devices, and units of what stays."""
        if additions := [self._addition(name) for name in self._hosts if self._is(15)]:
            document['additions'] = additions
        if self._wild and self._is(15):
            self._state_units(self._chance.choice(self._hosts))
            document['providers'] = list(self._providers.values())

    def _inventories(self):
        result = {}
        for name, record in self._trees.items():
            result[name] = record['inventories']
            for child, inventory in record.get('children', {}).items():
                result[child] = inventory['inventories']
        return result

    def _draw_consumers(self):
        inventories = self._inventories()
        left = {
            (name, class_): int(
                (inventory.get('total') - inventory.get('reserved', 0))
                * inventory.get('allocation_ratio', 1)
            )
            for name, record in inventories.items()
            for class_, inventory in record.items()
        }
        for number in range(self._chance.randint(1, 4)):
            allocations: dict[str, dict[str, int]] = {}
            spots = self._chance.choice([1, 1, 1, 2]) if self._wild or self._is(20) else 1
            hosts = [name for name in inventories if name.startswith('h')]
            names = self._chance.sample(
                list(inventories) if self._is(35) else hosts, min(spots, len(hosts))
            )
            for name in names:
                for class_ in inventories[name]:
                    amount = self._chance.randint(1, 3)
                    over = self._wild and self._is(8)
                    if self._is(75) and (over or left[name, class_] >= amount):
                        allocations.setdefault(name, {})[class_] = amount
                        left[name, class_] -= amount
            if allocations:
                self._allocations[f'c{number}'] = allocations

    def _draw_moves(self, root):
        inventories = self._inventories()
        children = [f'{root}x', f'{root}y']
        sources = [root, root, root, *self._children.get(root, [])]
        left = {
            (name, class_): inventory['total']
            for name, record in inventories.items()
            for class_, inventory in record.items()
        }
        for _ in range(self._chance.choice([1, 2, 2, 3])):
            source = self._chance.choice(sources)
            choices = [*children, *self._children.get(root, []), root]
            choices += self._pools * 2
            if self._merging:
                source = self._chance.choice([root, *self._children.get(root, [root]) * 2])
                choices = [root, root, root, *children, *self._pools]
            target = self._chance.choice(choices)
            names = [class_ for class_ in inventories[source] if left[source, class_] > 0]
            names = names if self._is(60) else names[:1]
            renamed, moved = {}, {}
            for class_ in names:
                amount = self._chance.randint(1, left[source, class_])
                if self._is(50):
                    amount = left[source, class_]
                if target == source or (self._wild and self._is(8)):
                    renamed[class_] = 'CUSTOM_C'
                moved[class_] = amount
                left[source, class_] -= amount
            if not moved:
                continue
            move: dict[str, Any] = {
                'from_resource_provider': source,
                'to_resource_provider': target,
                'moved_resources': moved,
            }
            if renamed:
                move['as'] = renamed
            self._moves.append(move)
            if target not in self._providers and target != source:
                self._state(
                    target,
                    [renamed.get(class_, class_) for class_ in moved],
                )

    def _addition(self, root):
        """Return a device that Placement never had, with its users."""
        users = [uuid_of(name) for name in self._allocations if self._is(40)]
        return {
            'resource_provider': f'{root}d',
            'parent': root,
            'inventories': {'CUSTOM_D': self._inventory(1, 4)},
            'consumers': {uuid: {'CUSTOM_D': self._chance.randint(1, 2)} for uuid in users},
        }

    def _state(self, target, names):
        """Say, now and then, what becomes of the inventories of a target."""
        present = self._inventories().get(target, {})
        stated: dict[str, Any] = {}
        if self._wild and self._is(25):
            stated = {class_: self._inventory(1, 6) for class_ in names if self._is(70)}
        elif self._is(10) and target in self._pools:
            stated = {
                class_: {'total': present.get(class_, {'total': 3})['total']} for class_ in names
            }
        if stated:
            self._providers[target] = {'name': target, 'inventories': stated}

    def _state_units(self, root):
        """Say which amounts of what stays a host admits from now on."""
        moves = [move for move in self._moves if move['from_resource_provider'] == root]
        moved = {name for move in moves for name in move['moved_resources']}
        entry = self._providers.setdefault(root, {'name': root, 'inventories': {}})
        for name in sorted(self._trees[root]['inventories'].keys() - moved):
            unit = self._chance.choice(['max_unit', 'min_unit', 'step_size'])
            entry['inventories'].setdefault(name, {unit: self._chance.randint(1, 3)})

    def _draw_rows(self):
        rows = []
        for consumer, allocations in self._allocations.items():
            for source, resources in allocations.items():
                for name, amount in resources.items():
                    targets = [
                        (move['to_resource_provider'], move.get('as', {}).get(name, name))
                        for move in self._moves
                        if move['from_resource_provider'] == source
                        and name in move['moved_resources']
                    ]
                    if targets and self._is(20):
                        target, renamed = self._chance.choice(targets)
                        holding = uuid_of(consumer), name, amount
                        rows.append(AssignmentRow(*holding, target, None, 'rows', None, renamed))
        return rows


def cases(kind, seed, count):
    """Cases by their numbers; ``None`` where the specification has faults."""
    for number in range(seed, seed + count):
        try:
            yield number, _Draw(random.Random(f'{kind} {number}'), wild=kind == 'wild').case()
        except errors.BadFile:
            yield number, None
