"""The most servers that fit, where several classes come from pools and run short together.

For one class that is a flow. For several it is a search, by OR-tools' CP-SAT.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from placementclient import errors


class DemandSite(Protocol):
    """What takes servers: for some it has enough itself, for others it needs pools."""

    @property
    def own(self) -> Mapping[str, int]:
        """For how many servers it has enough of a class itself."""

    @property
    def pools(self) -> Mapping[str, frozenset[str]]:
        """Where more of a class may come from."""


def most(
    sites: Sequence[DemandSite], limits: Sequence[int], stock: Mapping[str, Mapping[str, int]]
) -> int:
    """How many servers fit on all sites together.

    :param limits: the most for each site
    :param stock: what each pool has of the classes that run short, by class
    :raises errors.PlacementError: if OR-tools is not installed
    """
    cp = _cp_model()
    model = cp.CpModel()
    counts = [model.new_int_var(0, limit, '') for limit in limits]
    for name, pools in stock.items():
        taken: dict[str, list[Any]] = {pool: [] for pool in pools}
        for site, limit, count in zip(sites, limits, counts, strict=True):
            shares = {pool: model.new_int_var(0, limit, '') for pool in sorted(site.pools[name])}
            model.add(count <= site.own[name] + sum(shares.values()))
            for pool, share in shares.items():
                taken[pool].append(share)
        for pool, amount in pools.items():
            model.add(sum(taken[pool]) <= amount)
    model.maximize(sum(counts))
    solver = cp.CpSolver()
    # Neither the machine nor the moment may change the answer.
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status == cp.OPTIMAL, solver.status_name(status)
    return int(solver.objective_value + 0.5)


def _cp_model() -> Any:
    try:
        return importlib.import_module('ortools.sat.python.cp_model')
    except ImportError:
        raise errors.PlacementError(
            'Several of these classes are shared and run short together, which needs a search: '
            'pip install python-placementclient[solver]'
        ) from None
