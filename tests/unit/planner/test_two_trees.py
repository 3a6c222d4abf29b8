"""Plans of two trees against trying everything; see :mod:`tests.unit.planner.two_trees`."""

from __future__ import annotations

import pytest

from placementclient.client import errors
from placementclient.model.plans import Label, Plan
from placementclient.planner import planner
from tests.unit.planner.clouds import uuid_of
from tests.unit.planner.two_trees import Held, Instance, instance


def held_after(plan: Plan, case: Instance) -> Held:
    """What consumers hold once a plan is carried out, by names."""
    snapshot = case.snapshot()
    names = {uuid: state.name for uuid, state in snapshot.providers.items()}
    names |= {change.uuid: change.name for tree in plan.trees for change in tree.providers}
    allocations = {
        uuid_of(name): snapshot.consumers[uuid_of(name)].allocations for name in case.held
    }
    for tree in plan.trees:
        for change in tree.consumers:
            assert change.before.allocations == allocations[change.uuid]
            allocations[change.uuid] = change.after.allocations
    return {
        name: {
            (names[provider], resource_class): amount
            for provider, resources in allocations[uuid_of(name)].items()
            for resource_class, amount in resources.items()
        }
        for name in case.held
    }


@pytest.mark.slow
@pytest.mark.parametrize('first', range(0, 1500, 300))
def test_brute_force_says_the_same(first: int) -> None:
    refused = []
    for seed in range(first, first + 300):
        case = instance(seed)
        try:
            plan = planner.make(case.snapshot(), case.spec(), allow_inferred=True)
        except errors.Infeasible:
            refused.append(seed)
            continue
        possible = list(case.outcomes())
        after = held_after(plan, case)
        assert after in possible, seed
    assert [seed for seed in refused if any(instance(seed).outcomes())] == []


@pytest.mark.slow
def test_what_is_forced_has_no_alternative() -> None:
    for seed in range(300, 700):
        case = instance(seed)
        try:
            plan = planner.make(case.snapshot(), case.spec(), allow_inferred=True)
        except errors.Infeasible:
            continue
        possible, after = list(case.outcomes()), held_after(plan, case)
        rows = [row for tree in plan.trees for row in tree.rows]
        inferred = {row.consumer_uuid for row in rows if row.label is Label.INFERRED}
        for name in case.held:
            if uuid_of(name) not in inferred:
                assert all(other[name] == after[name] for other in possible), (seed, name)
