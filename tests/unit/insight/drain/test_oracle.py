# SPDX-License-Identifier: Apache-2.0
"""The answers of a drain are those of a search through everything that servers could do."""

from collections import Counter

import pytest

from placementclient.insight.drain import groups, proof
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.optimize import cpsat
from tests.unit.insight.drain import oracle

#: Both verdicts and every kind of cloud are among so many.
CASES = 500


@pytest.mark.parametrize('first', range(0, CASES, 50))
def test_drain_moves_as_many_as_brute_force_and_gives_the_same_verdict(first):
    faults = {seed: oracle.fault(seed) for seed in range(first, first + 50)}
    assert {seed: fault for seed, fault in faults.items() if fault} == {}


@pytest.mark.slow
def test_random_clouds_reach_every_step_of_the_proof(monkeypatch):
    calls: Counter[str] = Counter()
    solve, patterns = cpsat.solve, groups.find_patterns
    monkeypatch.setattr(cpsat, 'solve', lambda *a: calls.update(['solve']) or solve(*a))
    monkeypatch.setattr(
        groups, 'find_patterns', lambda *a: calls.update(['patterns']) or patterns(*a)
    )
    verdicts = Counter(
        decide_drain(DrainCloud(snapshot), emptied).verdict
        for snapshot, emptied in map(oracle.case, range(CASES))
    )
    assert calls['solve'] >= 20
    assert calls['patterns'] >= 3
    for verdict in (DrainVerdict.YES, DrainVerdict.NO, DrainVerdict.DEPENDS):
        assert verdicts[verdict] >= 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ('module', 'name', 'value'),
    [
        (groups, 'MAX_OPTIONS', 0),
        (groups, 'MAX_PATTERNS', 0),
        (proof, 'LARGEST', 0),
        (proof, 'MOST_PAIRS', 0),
    ],
)
def test_relaxed_groups_of_hosts_never_prove_too_low_a_bound(monkeypatch, module, name, value):
    monkeypatch.setattr(module, name, value)
    for seed in range(300):
        snapshot, emptied = oracle.case(seed)
        decision = decide_drain(DrainCloud(snapshot), emptied)
        packing = decision.strict
        assert packing.placed_count <= oracle.strict(snapshot, emptied) <= packing.bound
        if decision.lax:
            assert oracle.lax(snapshot, emptied) <= decision.lax.bound
