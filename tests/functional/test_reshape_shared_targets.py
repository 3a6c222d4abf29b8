# SPDX-License-Identifier: Apache-2.0
"""Random reshapes on the real service: it takes every plan, and every way back."""

import pytest

from placementclient.basis import errors
from placementclient.model.outcomes import State
from placementclient.planner import planner
from placementclient.runs.rehearse import rehearse
from tests.unit.planner.random_reshapes import cases

pytestmark = pytest.mark.slow


def plan_of(case):
    """The plan of a case; ``None`` if there is none, or no trees that change together."""
    try:
        plan = planner.plan_reshape(
            case.snapshot, case.spec, case.rows, allow_inferred=True, migrations=()
        )
    except errors.PlacementError:
        return None
    return plan if any(len(change.roots) > 1 for change in plan.changes) else None


@pytest.mark.parametrize(
    ('kind', 'ends'),
    [
        ('tame', {State.ROLLED_BACK}),
        # The service may not admit any more what a consumer held.
        ('wild', {State.ROLLED_BACK, State.LEFT_ALONE, State.NOT_STARTED}),
    ],
)
def test_the_service_takes_trees_that_share_targets_and_their_way_back(kind, ends):
    tried = 0
    for _, case in cases(kind, 0, 50):
        plan = plan_of(case) if case else None
        if case is None or plan is None:
            continue
        rehearsal = rehearse(plan, case.snapshot)
        assert {tree.state for tree in rehearsal.applied.trees} == {State.APPLIED}, case.notation
        assert not rehearsal.differences
        states = {tree.state for tree in rehearsal.rolled_back.trees}
        assert states <= ends, case.notation
        assert not rehearsal.remains or State.LEFT_ALONE in states
        tried += 1
    assert tried >= 4
