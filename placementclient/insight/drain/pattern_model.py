# SPDX-License-Identifier: Apache-2.0
"""The model of CP-SAT for the most servers that have a place on groups of equal hosts.

A group is one large host, with the room of all its hosts. That is too much: two hosts with 3 free
units each take no 3 servers of 2 units, though their sum is 6. So a cut for each size rounds down:
of servers with 2 units or more each host takes 3 // 2. Where the cuts are too loose, the patterns
that fill a host replace them: such a group holds one pattern for each host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from placementclient.insight.drain.groups import AlikeHosts, Pattern
from placementclient.insight.drain.numbers import KindNumber, Piece
from placementclient.insight.drain.problem import PackingProblem
from placementclient.optimize import cpsat
from placementclient.placing.requests import Pool

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: The patterns of groups whose cuts are too loose, by index; ``None``: there are too many.
Patterns = dict[int, list[Pattern] | None]


class GroupShare(NamedTuple):
    """The servers that a solution puts on a group of alike hosts.

    :param number: the index of the group
    :param pieces: the number of servers of each piece
    :param patterns: one for each host; ``None`` if the solution has no patterns of the group
    """

    number: int
    group: AlikeHosts
    pieces: Mapping[Piece, int]
    patterns: Sequence[Pattern] | None


class PatternModel:
    """The number of servers of each piece of each group, as the variables of a model of CP-SAT."""

    def __init__(
        self, problem: PackingProblem, groups: Sequence[AlikeHosts], patterns: Patterns
    ) -> None:
        self.model = cpsat.load_cp_model(
            'Where not every server has a place, how many have one'
        ).CpModel()
        self._groups = groups
        self._counts = [self._add_piece_counts(problem, group) for group in groups]
        #: The patterns of each group that is filled by patterns, with their numbers of hosts.
        self._repeats = {
            index: self._limit_hosts_to_patterns(index, listed)
            for index, listed in patterns.items()
            if listed
        }
        self._limit_servers_of_kinds(problem)
        self._limit_pool_usage(problem)
        self.model.maximize(sum(count for counts in self._counts for count in counts.values()))

    def _add_piece_counts(
        self, problem: PackingProblem, group: AlikeHosts
    ) -> dict[Piece, cp_model.IntVar]:
        """Add and return the variables for the number of servers of each piece of a group.

        The free amounts of the group limit them.
        """
        counts = {}
        for piece in group.options:
            fitting = len(group.hosts) * group.count_fitting_servers(piece)
            most = min(problem.server_counts[piece.kind], fitting)
            counts[piece] = self.model.new_int_var(0, most, '')
        self._limit_amounts(group, counts)
        return counts

    def _limit_amounts(self, group: AlikeHosts, counts: Mapping[Piece, cp_model.IntVar]) -> None:
        """Limit the servers to the free amounts of a group.

        Of a size, no more than ``free // size`` servers fit on a host: this makes the bound tight.
        """
        hosts = len(group.hosts)
        by_room = defaultdict[int, list[tuple[int, 'cp_model.IntVar']]](list)
        for piece, count in counts.items():
            for at, amount in group.needs[piece]:
                if amount:
                    by_room[at].append((amount, count))
        for at, terms in by_room.items():
            free = group.room[at]
            self.model.add(sum(amount * count for amount, count in terms) <= hosts * free)
            for size in {amount for amount, _ in terms}:
                if free % size or size > 1:
                    whole = [(amount // size, count) for amount, count in terms if amount >= size]
                    self.model.add(sum(n * count for n, count in whole) <= hosts * (free // size))

    def _limit_hosts_to_patterns(
        self, index: int, patterns: Sequence[Pattern]
    ) -> list[tuple[Pattern, cp_model.IntVar]]:
        """Require that each host of a group holds no more than one of its patterns does.

        :param index: of the group
        :return: each pattern with the number of hosts that hold it, as a variable
        """
        hosts = len(self._groups[index].hosts)
        repeats = [(pattern, self.model.new_int_var(0, hosts, '')) for pattern in patterns]
        self.model.add(sum(count for _, count in repeats) <= hosts)
        for piece, count in self._counts[index].items():
            most = sum(pattern[piece] * n for pattern, n in repeats if piece in pattern)
            self.model.add(count <= most)
        return repeats

    def _limit_servers_of_kinds(self, problem: PackingProblem) -> None:
        """Limit the servers of each kind to those of the problem."""
        by_kind = defaultdict[KindNumber, list['cp_model.IntVar']](list)
        for counts in self._counts:
            for piece, count in counts.items():
                by_kind[piece.kind].append(count)
        for kind, terms in by_kind.items():
            self.model.add(sum(terms) <= problem.server_counts[kind])

    def _limit_pool_usage(self, problem: PackingProblem) -> None:
        pools = defaultdict[Pool, list['cp_model.LinearExpr']](list)
        for group, counts in zip(self._groups, self._counts, strict=True):
            for piece, count in counts.items():
                for pool, amount in group.options[piece].shared:
                    pools[pool].append(amount * count)
        for pool, amounts in pools.items():
            self.model.add(sum(amounts) <= max(0, problem.pools[pool]))

    def read_shares(self, solver: cp_model.CpSolver) -> Iterator[GroupShare]:
        """Yield the servers of each group of hosts in a solution."""
        for index, (group, counts) in enumerate(zip(self._groups, self._counts, strict=True)):
            pieces = {
                piece: n for piece, count in counts.items() if (n := int(solver.value(count)))
            }
            patterns = None
            if index in self._repeats:
                patterns = [
                    pattern
                    for pattern, repeats in self._repeats[index]
                    for _ in range(int(solver.value(repeats)))
                ]
            elif len(group.hosts) == 1 and not group.is_relaxed:
                patterns = [pieces]
            if pieces:
                yield GroupShare(index, group, pieces, patterns)
