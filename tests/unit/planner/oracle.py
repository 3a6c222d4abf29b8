"""Random reshapes, every assignment of them by trying, and what the planner says beside it.

    python -m tests.unit.planner.oracle --kind wild --seed 0 --count 60000

A reshape of this size has few assignments. Each is sent to a service of a few lines that judges as
Placement does.
"""

import argparse
import contextlib
import functools
import itertools
import random
import sys
import time
from collections import Counter
from typing import Any

from msgspec.structs import replace

from placementclient.client import errors
from placementclient.model.assignments import AssignmentRow
from placementclient.model.plans import Label
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import planner, replan
from placementclient.planner.infeasibility import Refused
from placementclient.planner.layout.builder import build_target_state
from placementclient.planner.layout.target_state import InventoryKey
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import cloud, uuid_of, with_usages

#: A consumer, and the provider and the class of what it holds.
Holding = tuple[str, str, str]
#: How much of a holding goes to which provider and class.
Parts = tuple[tuple[str, str, int], ...]
#: All holdings of all trees.
Solution = dict[Holding, Parts]


class NotAccepted(Exception):
    """Placement refuses it."""


class TooMany(Exception):
    """There are too many assignments to try."""


def reshaped(snapshot, inventories, allocations):
    """Return a snapshot after a ``POST /reshaper``, of whose rules a few lines are here.

    :raises NotAccepted: if the service refuses the request
    """
    states, consumers = snapshot.providers, snapshot.consumers
    after = {uuid: state.inventories for uuid, state in states.items()} | inventories
    before = allocations_of(snapshot)
    was, used = usages(before), usages(before | allocations)
    for uuid, changed in allocations.items():
        for (provider, name), amount in usages({uuid: changed}).items():
            inventory, now = after.get(provider, {}).get(name), used[provider, name]
            if inventory is None or not inventory.admits(amount):
                raise NotAccepted(f'{amount} {name} at {provider}')
            if now > inventory.capacity and now > was[provider, name]:
                raise NotAccepted(f'{now} {name} at {provider}')
    for provider, name in used:
        if name not in after.get(provider, {}):
            raise NotAccepted(f'{name} of {provider} is in use')
    return with_usages(
        [replace(state, inventories=dict(after[uuid])) for uuid, state in states.items()],
        [
            replace(consumer, allocations=allocations.get(uuid, consumer.allocations))
            for uuid, consumer in consumers.items()
        ],
    )


def carried_out(snapshot, tree):
    """Return a snapshot after the plan of a tree."""
    return reshaped(
        with_empty(snapshot, tree.created()),
        {change.uuid: change.content_after.inventories for change in tree.providers},
        {change.uuid: change.after.allocations for change in tree.consumers},
    )


def with_empty(snapshot, providers):
    """Return a snapshot with providers that were just made, unless they are there."""
    made = [
        ProviderState(
            Provider(
                provider.uuid,
                provider.name,
                1,
                provider.parent_provider_uuid,
                provider.root_provider_uuid,
            )
        )
        for provider in providers
        if provider.uuid not in snapshot.providers
    ]
    return Snapshot([*snapshot.providers.values(), *made], snapshot.consumers.values())


def usages(allocations):
    """Return the used amount of each class of each provider, of consumers by UUID."""
    sums: Counter[tuple[str, str]] = Counter()
    for by_provider in allocations.values():
        for provider_uuid, resources in by_provider.items():
            for name, amount in resources.items():
                sums[provider_uuid, name] += amount
    return sums


def allocations_of(snapshot):
    """Return the allocations of all consumers, by UUID."""
    return {uuid: consumer.allocations for uuid, consumer in snapshot.consumers.items()}


class Case:
    """One reshape: a cloud, a specification, and what is known of who goes where."""

    def __init__(self, trees, consumers, document, rows):
        self.notation = trees, consumers, document, rows
        self.snapshot, self.rows = cloud(trees, consumers), rows
        self.spec: Spec = specification.from_document(document, 'spec')


#: More assignments are not tried.
MOST = 6000


def solutions_of(case):
    """Return every assignment of a case that the service accepts, by trying.

    Trees that share nothing may be carried out as one, as well as those that do.
    """
    roots = planner.selected(case.snapshot, case.spec)
    for root in roots:
        build_target_state(case.snapshot, case.spec, [root])  # each has to be right by itself
    target = build_target_state(case.snapshot, case.spec, roots)
    solutions: list[Solution] = []
    for number, solution in enumerate(_assignments(case, target)):
        if number == MOST:
            raise TooMany
        with contextlib.suppress(NotAccepted):
            _try(case, target, solution)
            solutions.append(solution)
    return solutions


def _assignments(case, target):
    by_source: dict[tuple[str, str], list[Holding]] = {}
    for source, name in target.targets:
        for consumer in case.snapshot.consumers_on(source):
            if consumer.amount(source, name):
                holdings = by_source.setdefault((consumer.uuid, source), [])
                holdings.append((consumer.uuid, source, name))
    options = [list(_options(case, target, holdings)) for holdings in by_source.values()]
    for chosen in itertools.product(*options):
        yield {holding: parts for option in chosen for holding, parts in option.items()}


def _options(case, target, holdings):
    """Yield where the allocations of one consumer on one source may go."""
    groups, choices = [set(group) for group in case.spec.together], []
    names = {name for _, _, name in holdings}
    for uuid, source, name in holdings:
        amount = case.snapshot.consumers[uuid].amount(source, name)
        targets = target.targets[InventoryKey(source, name)]
        rows = [
            row
            for row in case.rows
            if (row.consumer_uuid, row.resource_class) == (uuid, name)
            and any(row.to_provider == target.provider for target in targets)
        ]
        is_grouped = any(name in group and len(group & names) > 1 for group in groups)
        is_whole = not case.spec.split or is_grouped
        if rows:
            choices.append([assigned_parts(rows, targets, amount)])
        else:
            choices.append(list(parts_of(targets, amount, is_whole)))
    for chosen in itertools.product(*choices):
        solution = dict(zip(holdings, chosen, strict=True))
        if all(_is_together(solution, group) for group in groups):
            yield solution


def _is_together(solution, group):
    places = {
        frozenset(provider for provider, _, _ in parts)
        for (_, _, name), parts in solution.items()
        if name in group
    }
    return len(places) < 2


def _try(case, target, solution):
    """Carry out an assignment.

    :raises NotAccepted: if the service refuses it, or a plan would
    """
    before, moving = allocations_of(case.snapshot), set(target.additions)
    amounts = {uuid: usages({uuid: allocations}) for uuid, allocations in before.items()}
    for (uuid, source, name), parts in solution.items():
        if [part[:2] for part in parts] != [(source, name)]:
            moving.add(uuid)
        for provider, to_name, amount in parts:
            amounts[uuid][source, name] -= amount
            amounts[uuid][provider, to_name] += amount
    for uuid, added in target.additions.items():
        amounts[uuid].update(added)
    allocations: dict[str, dict[str, dict[str, int]]] = {uuid: {} for uuid in moving}
    for uuid in moving:
        for (provider, name), amount in amounts[uuid].items():
            if amount:
                allocations[uuid].setdefault(provider, {})[name] = amount
    start = with_empty(case.snapshot, target.providers.values())
    inventories = {
        provider.uuid: provider.inventories
        for provider in target.providers.values()
        if start.providers[provider.uuid].inventories != provider.inventories
    }
    after = reshaped(start, inventories, allocations)
    check_rooms(start, after, target, case.spec.names.moved)


def places(solutions, holding):
    """Where a holding goes in any of the solutions."""
    return {solution[holding] for solution in solutions if holding in solution}


def check_rooms(before, after, target, moved):
    """What a plan guarantees beyond what Placement checks: nobody is left without room.

    :raises NotAccepted: if somebody is
    """
    for uuid in target.providers:
        was, now = before.providers[uuid], after.providers[uuid]
        for name in was.inventories.keys() | now.inventories.keys():
            old, new = was.inventories.get(name), now.inventories.get(name)
            if old == new and now.used(name) == was.used(name):
                continue
            used, had, room = now.used(name), was.used(name), now.capacity(name)
            excess = max(0, had - was.capacity(name)) if used <= had and new else 0
            is_short = used > room + excess and (used != had or name in moved)
            if is_short or room < 0:
                raise NotAccepted(f'{used} of {name} at {uuid}')


def assigned_parts(rows, targets, amount):
    """Return where rows send an amount."""
    parts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        matching = [
            target
            for target in targets
            if target.provider == row.to_provider
            and row.to_resource_class in (None, target.key.resource_class)
        ]
        if not matching:
            raise Refused([])
        target = ([target for target in matching if not target.stays] or matching)[0]
        parts[target.key] += row.amount or amount
    return tuple(sorted((*key, part) for key, part in parts.items()))


def parts_of(targets, amount, is_whole):
    """Yield all ways to divide an amount over targets, or to leave it whole."""
    keys = [target.key for target in targets if not target.only_mapped]
    for amounts in divisions(amount, len(keys)) if keys else ():
        if not is_whole or amount in amounts:
            yield tuple(
                sorted((*key, part) for key, part in zip(keys, amounts, strict=True) if part)
            )


def divisions(amount, count):
    """All ways to write an amount as so many summands."""
    if count == 1:
        yield (amount,)
        return
    for first in range(amount + 1):
        for rest in divisions(amount - first, count - 1):
            yield (first, *rest)


# --- what is tried -------------------------------------------------------------------------------


#: Reshapes as operators have them: enough room, no odd units; and anything that files can say.
KINDS = ('tame', 'wild')


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


# --- what the planner says -----------------------------------------------------------------------


def disagreement(case, counts=None):
    """What the planner says of a case that is not so; ``None``: it is right, or does not know.

    :param counts: of the planner's answers
    """
    counts = Counter() if counts is None else counts
    try:
        solutions = solutions_of(case)
    except Refused:
        counts['(the specification does not suit the cloud)'] += 1
        return None
    except TooMany:
        counts['(too many to try)'] += 1
        return None
    try:
        plan = planner.make(case.snapshot, case.spec, case.rows, allow_inferred=True, migrations=())
    except errors.BadFile:
        counts['bad file'] += 1
        return None
    except errors.Undetermined:
        counts['undetermined'] += 1
        return None
    except errors.Infeasible:
        counts['infeasible'] += 1
        return 'false infeasible' if solutions else None
    except errors.PlacementError as failure:
        counts['failed'] += 1
        return f'failed: {failure}'
    counts['planned'] += 1
    return (
        wrong_plan(case, plan, solutions)
        or wrong_choices(case, solutions)
        or wrong_way_back(case, plan)
    )


def rows_of(plan):
    """Where a plan sends all holdings, and the labels of each."""
    parts: dict[Holding, Counter[tuple[str, str]]] = {}
    labels: dict[Holding, set[str]] = {}
    for tree in plan.trees:
        uuids = {change.name: change.uuid for change in tree.providers}
        for row in tree.rows:
            if row.from_provider is None or row.to_provider is None:
                continue  # an addition, or its way back
            holding = (row.consumer_uuid, uuids[row.from_provider], row.resource_class)
            where = (uuids[row.to_provider], row.to_resource_class)
            parts.setdefault(holding, Counter())[where] += row.amount
            labels.setdefault(holding, set()).add(row.label)
    solution = {
        holding: tuple(sorted((*where, amount) for where, amount in amounts.items()))
        for holding, amounts in parts.items()
    }
    return solution, labels


def wrong_plan(case, plan, solutions):
    """What is wrong with a plan."""
    live = case.snapshot
    for tree in plan.trees:
        try:
            live = carried_out(live, tree)
        except NotAccepted as reason:
            return f'the service refuses the plan of {tree.root_provider_name}: {reason}'
    solution, labels = rows_of(plan)
    if not any(
        all(solution.get(holding) == parts for holding, parts in accepted.items())
        for accepted in solutions
    ):
        return 'no such assignment'
    for holding, certainty in labels.items():
        if certainty == {Label.MAPPED}:
            continue
        is_forced = len(places(solutions, holding)) == 1
        if Label.FORCED in certainty and not is_forced:
            return f'false forced: {holding}'
    return None


def wrong_choices(case, solutions):
    """What is wrong with the choices that rows are said to have."""
    try:
        plan = planner.make(case.snapshot, case.spec, case.rows, migrations=())
    except errors.Undecided as undecided:
        for row in undecided.rows:
            source = case.snapshot.find(row.from_provider)
            assert source is not None
            holding = row.consumer_uuid, source.uuid, row.resource_class
            accepted = places(solutions, holding)
            providers = {part[0] for parts in accepted for part in parts}
            if len(accepted) == 1 or len(providers) < len(row.choices):
                return f'false choice: {row}'
    except errors.Undetermined:
        pass
    else:
        if any(Label.INFERRED in labels for labels in rows_of(plan)[1].values()):
            return 'a choice that nobody was told of'
    return None


def wrong_way_back(case, plan):
    """Return what is wrong with the way back, each tree while those after it stay."""
    live = functools.reduce(carried_out, plan.trees, case.snapshot)
    for tree in plan.trees:
        try:
            back = replan.rollback(live, plan, tree)
        except (errors.Infeasible, errors.Undecided, errors.Undetermined) as reason:
            if is_accepted_back(live, tree):
                return f'there is a way back of {tree.root_provider_name}: {reason}'
            return None
        except errors.PlacementError as failure:
            return f'the way back failed: {failure}'
        try:
            live = carried_out(live, back)
        except NotAccepted as refusal:
            return f'the service refuses the way back of {tree.root_provider_name}: {refusal}'
    if allocations_of(live) != allocations_of(case.snapshot):
        return 'the way back leads elsewhere'
    for uuid, state in live.providers.items():
        was = case.snapshot.providers.get(uuid)
        if state.inventories != (was.inventories if was else {}):
            return f'the way back leaves other inventories of {state.name}'
    return None


def is_accepted_back(live, tree):
    """Return whether the service would take what a tree was before its plan."""
    try:
        reshaped(
            live,
            {change.uuid: change.content_before.inventories for change in tree.providers},
            {change.uuid: change.before.allocations for change in tree.consumers},
        )
    except NotAccepted:
        return False
    return True


def cases(kind, seed, count):
    """Cases by their numbers; ``None`` where the specification has faults."""
    for number in range(seed, seed + count):
        try:
            yield number, _Draw(random.Random(f'{kind} {number}'), wild=kind == 'wild').case()
        except errors.BadFile:
            yield number, None


def main():
    """Try many, and print where the planner is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--kind', choices=KINDS, default='wild')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--count', type=int, default=1000)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    start = time.perf_counter()
    for number, case in cases(options.kind, options.seed, options.count):
        if case is None:
            counts['bad specification'] += 1
            continue
        try:
            result = disagreement(case, counts)
        except Exception as failure:
            result = f'raised: {type(failure).__name__} {failure}'
        if result:
            wrong[result.split(':')[0]] += 1
            print(number, result[:200], *case.notation, sep='\n', flush=True)
    print(f'{options.count} in {time.perf_counter() - start:.0f} seconds')
    for tally in (counts, wrong):
        print(dict(tally))
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
