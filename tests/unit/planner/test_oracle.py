# SPDX-License-Identifier: Apache-2.0
"""Random reshapes, against trying every assignment of them: :mod:`tests.unit.planner.oracle`."""

from collections import Counter

import pytest

from tests.unit.planner.oracle import disagreement
from tests.unit.planner.random_reshapes import cases
from tests.unit.planner.service import NotAccepted, allocations_of, reshaped

pytest.importorskip('ortools')


@pytest.mark.parametrize(
    ('kind', 'seed', 'count'),
    [
        ('wild', 2400, 100),
        ('wild', 3700, 100),
        pytest.param('wild', 0, 300, marks=pytest.mark.slow),
        pytest.param('tame', 0, 300, marks=pytest.mark.slow),
    ],
)
def test_planner_agrees_with_trying_every_assignment(kind, seed, count):
    counts: Counter[str] = Counter()
    wrong = {
        number: reason
        for number, case in cases(kind, seed, count)
        if case is not None and (reason := disagreement(case, counts))
    }
    assert not wrong
    assert counts['planned'] > count / 2
    assert counts['infeasible'] > count / 20
    assert counts['Undetermined'] < count / 50


def test_the_oracle_refuses_as_placement_does():
    ((_, case),) = cases('tame', 0, 1)
    assert case is not None
    allocations = allocations_of(case.snapshot)
    provider = next(iter(next(iter(allocations.values()))))
    with pytest.raises(NotAccepted, match='in use'):
        reshaped(case.snapshot, {provider: {}}, {})
    with pytest.raises(NotAccepted):
        reshaped(case.snapshot, {provider: {}}, allocations)
