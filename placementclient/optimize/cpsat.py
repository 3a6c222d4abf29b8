# SPDX-License-Identifier: Apache-2.0
"""CP-SAT of OR-tools: loaded on demand, with a time limit, deterministic, interruptible."""

from __future__ import annotations

import importlib
import math
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import errors
from placementclient.basis.wording import format_install_command

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver


class SearchResult(NamedTuple):
    """The result of a search.

    :param status: one of CP-SAT's: ``OPTIMAL``, ``FEASIBLE``, ``INFEASIBLE`` or ``UNKNOWN``
    :param solver: the solver, which has the values of the variables; ``None`` without a search
    :param effort: the work done, in the solver's deterministic unit, which is about a second
    """

    status: str
    solver: Any
    effort: float

    @property
    def is_feasible(self) -> bool:
        """Return whether the search has found a solution."""
        return self.status in ('OPTIMAL', 'FEASIBLE')


def load_cp_model(subject: str = 'This') -> ModuleType:
    """Return the module ``cp_model`` of OR-tools, whose import takes a second.

    :param subject: of the error: the work that needs the module
    :raises errors.PlacementError: if OR-tools is not installed
    """
    try:
        return importlib.import_module('ortools.sat.python.cp_model')
    except ImportError:
        raise errors.PlacementError(
            f'{subject} needs a search by OR-tools: {format_install_command("solver")}'
        ) from None


class Budget:
    """The time for a search of one or several models, from the first :meth:`solve` on.

    :param seconds: by the clock. The search also ends after as many units of deterministic work,
        about a second each: the results until then are the same on every machine.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = self._effort = seconds
        self._end: float | None = None

    def solve(self, model: CpModel, effort: float = math.inf) -> SearchResult:
        """Search as :func:`solve` does, within the remaining time; ``UNKNOWN`` if none remains."""
        now = time.monotonic()
        self._end = self._end or now + self._seconds
        limit, seconds = min(effort, self._effort), self._end - now
        if limit <= 0 or seconds <= 0:
            return SearchResult('UNKNOWN', None, 0.0)
        result = solve(model, limit, seconds)
        self._effort -= result.effort
        return result


def solve(model: CpModel, effort: float = math.inf, seconds: float = math.inf) -> SearchResult:
    """Search for a solution of a model; the best one if it has an objective.

    The same model and effort give the same answer, whatever the machine and the moment, unless
    the clock ends the search.

    :param effort: the most work, in the solver's deterministic unit
    :raises KeyboardInterrupt: on Ctrl-C, at once
    """
    solver = load_cp_model().CpSolver()
    solver.parameters.num_workers = 1  # with more, the answer depends on the race
    solver.parameters.random_seed = 0
    # Its own handler would swallow the interrupt, and leave none behind for the rest of the run.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_deterministic_time = effort
    solver.parameters.max_time_in_seconds = seconds
    status = _solve_interruptibly(solver, model)
    if status == 'MODEL_INVALID':
        raise errors.PlacementError('The solver does not take the model')
    return SearchResult(status, solver, solver.response_proto.deterministic_time)


def _solve_interruptibly(solver: CpSolver, model: CpModel) -> str:
    """Search in another thread, so that Ctrl-C ends the search at once; return the status."""
    # Loaded when a search begins: most commands that can search need not.
    from concurrent.futures import ThreadPoolExecutor

    # Python handles no signal during a call into a library.
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(solver.solve, model)
        try:
            return solver.status_name(future.result())
        except KeyboardInterrupt:
            solver.stop_search()
            raise
