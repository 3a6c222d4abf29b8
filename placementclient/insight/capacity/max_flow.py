"""The most that can be drawn from pools of which each buyer reaches only some."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

#: What is wanted, by the pools that it may come from.
Demands = Mapping[frozenset[str], int]


def transported(demands: Demands, pools: Mapping[str, int]) -> dict[frozenset[str], int]:
    """How much of each demand can be had, so that it is the most in all.

    :param pools: what each pool has
    """
    network = _Network(demands, pools)
    return {reachable: network.drawn(reachable) for reachable in demands}


class _Network:
    """What flows from each pool to each demand; what has been drawn may be drawn elsewhere."""

    def __init__(self, demands: Demands, pools: Mapping[str, int]) -> None:
        self._wanted = dict(demands)
        self._left = dict(pools)
        self._flows: dict[str, dict[frozenset[str], int]] = {pool: {} for pool in pools}

    def drawn(self, demand: frozenset[str]) -> int:
        """Satisfy as much of a demand as is possible without taking from what others have."""
        total = 0
        while self._wanted[demand] and (path := self._path(demand)):
            amount = min(self._wanted[demand], self._left[path[-1][1]])
            # All but the last pool are freed by a demand that goes on to the next one.
            for (_, pool), (behind, _) in pairwise(path):
                amount = min(amount, self._flows[pool][behind])
            for index, (behind, pool) in enumerate(path):
                self._flows[pool][behind] = self._flows[pool].get(behind, 0) + amount
                if index:
                    self._flows[path[index - 1][1]][behind] -= amount
            self._left[path[-1][1]] -= amount
            self._wanted[demand] -= amount
            total += amount
        return total

    def _path(self, demand: frozenset[str]) -> list[tuple[frozenset[str], str]]:
        """The shortest way to a pool that has something left; empty if there is none."""
        ways: list[list[tuple[frozenset[str], str]]] = [[(demand, pool)] for pool in sorted(demand)]
        seen = set(demand)
        for way in ways:
            pool = way[-1][1]
            if self._left[pool]:
                return way
            for behind, amount in self._flows[pool].items():
                for other in sorted(behind - seen) if amount else ():
                    seen.add(other)
                    ways.append([*way, (behind, other)])
        return []
