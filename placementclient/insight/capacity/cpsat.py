"""The most servers that fit, where several classes come from pools and run short together.

For one class that is a flow. For several it is a search, by OR-tools' CP-SAT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from placementclient import errors
from placementclient.optimize import cpsat

#: How long to search, in the solver's deterministic unit (about a second).
EFFORT = 60.0


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
    :raises errors.PlacementError: if OR-tools is not installed, or has no answer in time
    """
    model = cpsat.load(
        'Several of these classes are shared and run short together, which'
    ).CpModel()
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
    solved = cpsat.solve(model, EFFORT)
    if solved.status != 'OPTIMAL':
        raise errors.PlacementError(
            'How many fit was not found out in time: ask for fewer trees, or for one class'
        )
    return int(solved.solver.objective_value + 0.5)
