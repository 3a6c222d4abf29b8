# SPDX-License-Identifier: Apache-2.0
"""The fewest moves that make room are those of a search through all moves in every order."""

from collections import Counter

import pytest

from placementclient.insight.drain import groups, room_order, room_search
from placementclient.insight.drain.plan import DrainVerdict
from tests.unit.insight.drain import room_oracle

#: Clouds with and without room, and up to three moves are among so many.
CASES = 500


@pytest.mark.parametrize('first', range(0, CASES, 50))
def test_make_room_finds_as_few_moves_as_brute_force(first):
    faults = {seed: room_oracle.fault(seed) for seed in range(first, first + 50)}
    assert {seed: fault for seed, fault in faults.items() if fault} == {}


def test_random_clouds_need_moves_and_proofs():
    numbers = Counter(room_oracle.fewest(*room_oracle.case(seed)) for seed in range(0, CASES, 5))
    assert numbers[None] >= 20
    assert numbers[1] >= 15
    assert numbers[2] >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ('module', 'name', 'value'),
    [
        (groups, 'MAX_OPTIONS', 0),
        (room_search, 'LARGEST', 0),
        (room_search, 'MOST_ORDERS', 0),
        (room_order, 'MOST_STEPS', 0),
    ],
)
def test_make_room_proves_nothing_wrong_after_too_many_steps(monkeypatch, module, name, value):
    monkeypatch.setattr(module, name, value)
    for seed in range(200):
        case = room_oracle.case(seed)
        expected, answer = room_oracle.fewest(*case), room_oracle.decision(*case, is_certain=True)
        if expected is None:
            assert answer.verdict is not DrainVerdict.YES
        else:
            assert answer.verdict is not DrainVerdict.NO
            assert answer.bound <= max(1, expected)
