# SPDX-License-Identifier: Apache-2.0
"""Random reshapes, every assignment of them by trying, and what the planner says beside it.

    python -m tests.unit.planner.oracle --kind wild --seed 0 --count 60000

A reshape of this size has few assignments. Each is sent to a service of a few lines that judges as
Placement does.
"""

import argparse
import functools
import sys
import time
from collections import Counter

from placementclient.basis import errors
from placementclient.changes.phases import make_rollback
from placementclient.changes.rollback import merge_rollback
from placementclient.model.plans import RowLabel
from placementclient.planner import planner
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.planner.infeasibility import PlanRefusal
from tests.unit.planner.exhaustive import Holding, TooMany, places, solutions_of
from tests.unit.planner.random_reshapes import KINDS, cases
from tests.unit.planner.service import NotAccepted, allocations_of, carried_out, reshaped


def disagreement(case, counts):
    """What the planner says of a case that is not so; ``None``: it is right, or does not know.

    :param counts: of the planner's answers
    """
    try:
        solutions = solutions_of(case)
    except (PlanRefusal, TooMany) as failure:
        counts[type(failure).__name__] += 1
        return None
    try:
        plan = planner.plan_reshape(
            case.snapshot, case.spec, case.rows, allow_inferred=True, migrations=()
        )
    except Infeasible:
        counts['infeasible'] += 1
        return 'false infeasible' if solutions else None
    except (errors.BadFile, Undetermined) as failure:
        counts[type(failure).__name__] += 1
        return None
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
    for tree in plan.changes:
        uuids = {change.name: change.uuid for change in tree.providers}
        for row in tree.reasons:
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
    for tree in plan.changes:
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
        if certainty == {RowLabel.MAPPED}:
            continue
        is_forced = len(places(solutions, holding)) == 1
        if RowLabel.FORCED in certainty and not is_forced:
            return f'false forced: {holding}'
    return None


def wrong_choices(case, solutions):
    """What is wrong with the choices that rows are said to have."""
    try:
        plan = planner.plan_reshape(case.snapshot, case.spec, case.rows, migrations=())
    except Undecided as undecided:
        for row in undecided.rows:
            source = case.snapshot.find(row.from_provider)
            assert source is not None
            holding = row.consumer_uuid, source.uuid, row.resource_class
            accepted = places(solutions, holding)
            providers = {part[0] for parts in accepted for part in parts}
            if len(accepted) == 1 or len(providers) < len(row.choices):
                return f'false choice: {row}'
    except Undetermined:
        pass
    else:
        if any(RowLabel.INFERRED in labels for labels in rows_of(plan)[1].values()):
            return 'a choice that nobody was told of'
    return None


def wrong_way_back(case, plan):
    """Return what is wrong with the way back, each tree while those after it stay."""
    live = functools.reduce(carried_out, plan.changes, case.snapshot)
    for tree in plan.changes:
        returned, merged = merge_rollback(tree, live)
        if merged.obstacles:
            if is_accepted_back(live, tree):
                return f'there is a way back of {tree.root_provider_name}: {merged.obstacles}'
            return None
        try:
            live = carried_out(live, make_rollback(returned))
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
