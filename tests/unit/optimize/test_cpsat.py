# SPDX-License-Identifier: Apache-2.0
"""The behaviour of OR-tools that searches rely on: bounded, deterministic, interruptible."""

import os
import subprocess
import sys
import time

import pytest

from placementclient.basis import errors
from placementclient.optimize import cpsat

pytest.importorskip('ortools')


def packing(sizes=100, bins=8):
    """So many sizes into bins without room to spare: nobody knows."""
    model = cpsat.load_cp_model().CpModel()
    amounts = [1000 + (7919 * number * number) % 99991 for number in range(sizes)]
    total = sum(amounts)
    inside = [[model.new_bool_var('') for _ in range(bins)] for _ in amounts]
    for row in inside:
        model.add_exactly_one(row)
    for where in range(bins):
        room = total // bins + (where < total % bins)
        model.add(sum(a * row[where] for a, row in zip(amounts, inside, strict=True)) <= room)
    return model


def test_the_best_solution_or_that_there_is_none():
    model = cpsat.load_cp_model().CpModel()
    variable = model.new_int_var(0, 7, '')
    model.maximize(variable)
    solved = cpsat.solve(model)
    assert (solved.status, solved.is_feasible) == ('OPTIMAL', True)
    assert solved.solver.value(variable) == 7
    model.add(variable >= 8)
    solved = cpsat.solve(model)
    assert (solved.status, solved.is_feasible) == ('INFEASIBLE', False)


@pytest.mark.slow
def test_the_search_ends_after_the_same_work_each_time():
    first, second = cpsat.solve(packing(), 0.2), cpsat.solve(packing(), 0.2)
    assert first.status == second.status == 'UNKNOWN'
    assert first.effort == second.effort


def test_the_search_ends_by_the_clock():
    start = time.monotonic()
    assert cpsat.solve(packing(), seconds=0.2).status == 'UNKNOWN'
    assert time.monotonic() - start < 30


def test_a_budget_is_used_up_by_work_or_by_the_clock(monkeypatch):
    now, calls = [100.0], list[tuple[float, float]]()

    def solve(model, effort, seconds):
        calls.append((effort, seconds))
        now[0] += 2.0
        return cpsat.SearchResult('FEASIBLE', None, 1.0)

    monkeypatch.setattr(cpsat, 'solve', solve)
    monkeypatch.setattr(cpsat.time, 'monotonic', lambda: now[0])
    budget = cpsat.Budget(5.0)
    results = [budget.solve(None, 3.0), *(budget.solve(None) for _ in range(3))]
    assert [result.is_feasible for result in results] == [True, True, True, False]
    assert calls == [(3.0, 5.0), (4.0, 3.0), (3.0, 1.0)]


def test_an_invalid_model_is_an_error():
    model = cpsat.load_cp_model().CpModel()
    model.proto.objective.vars.append(99)
    with pytest.raises(errors.PlacementError, match='does not take'):
        cpsat.solve(model)


INTERRUPTED = """
import os, signal, threading
from placementclient.optimize import cpsat
from tests.unit.optimize.test_cpsat import packing
model = packing()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    cpsat.solve(model)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.mark.slow
def test_after_ctrl_c_the_program_can_end():
    """The solver's thread has ended by then: to end with it would be an abort."""
    command = [sys.executable, '-c', INTERRUPTED]
    assert subprocess.run(command, env=os.environ, check=False).returncode == 130
