# SPDX-License-Identifier: Apache-2.0
"""Every assignment of a small reshape that Placement accepts, by trying."""

import contextlib
import itertools
from collections import Counter

from placementclient.model.inventories import InventoryKey
from placementclient.planner import planner
from placementclient.planner.infeasibility import PlanRefusal
from placementclient.planner.layout.builder import build_target_state
from tests.unit.planner.service import NotAccepted, allocations_of, reshaped, usages, with_empty

#: A consumer, and the provider and the class of what it holds.
Holding = tuple[str, str, str]
#: How much of a holding goes to which provider and class.
Parts = tuple[tuple[str, str, int], ...]
#: All holdings of all trees.
Solution = dict[Holding, Parts]
#: More assignments are not tried.
MOST = 6000


class TooMany(Exception):
    """There are too many assignments to try."""


def solutions_of(case):
    """Return every assignment of a case that the service accepts, by trying.

    Trees that share nothing may be carried out as one, as well as those that do.
    """
    roots = planner.select_roots(case.snapshot, case.spec)
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
            raise PlanRefusal([])
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
