"""The largest amount that users can draw from sources, if each user reaches only some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """A step that frees a source: a user's share that can come from elsewhere."""

    source: int
    user: int


class Flow:
    """A maximum flow by augmenting paths, for demands that are added one by one.

    Users and sources are numbered from 0. Deterministic: shortest paths, in the order given.

    :param available: units that each source has
    :param reachable: of each user the sources, in the order of preference
    """

    def __init__(self, available: Sequence[int], reachable: Sequence[Sequence[int]]) -> None:
        #: of each source, the units that are left
        self.free = list(available)
        #: of each source, how many units each user draws from it
        self.drawn: list[dict[int, int]] = [{} for _ in available]
        self._reachable = reachable

    def draw(self, user: int, amount: int) -> int:
        """Draw units for a user without reducing the total of the other users.

        :return: how many it gets: the most that is possible, up to ``amount``
        """
        left = amount
        for source in self._reachable[user]:
            number = min(left, self.free[source])
            if number:
                self.free[source] -= number
                self._add(source, user, number)
                left -= number
        while left and (number := self._augment(user, left)):
            left -= number
        return amount - left

    def reach(self, starts: Iterable[int]) -> dict[int, Step | None]:
        """The sources in which a unit can be freed for some of ``starts`` by moving shares on,
        each with the share that has to go there; the nearest first.

        Sources that never had any are not reached: nothing could be moved there.
        """
        reached: dict[int, Step | None] = {
            source: None for source in starts if self.free[source] or self.drawn[source]
        }
        pending = list(reached)
        for source in pending:
            for user in self.drawn[source]:
                for other in self._reachable[user]:
                    if other not in reached and (self.free[other] or self.drawn[other]):
                        reached[other] = Step(source, user)
                        pending.append(other)
        return reached

    def _augment(self, user: int, most: int) -> int:
        """Draw some units more, if need be by moving the shares of others out of the way."""
        reach = self.reach(self._reachable[user])
        end = next((source for source in reach if self.free[source]), None)
        if end is None:
            return 0
        steps: list[tuple[Step, int]] = []
        start = end
        while (step := reach[start]) is not None:
            steps.append((step, start))
            start = step.source
        shares = (self.drawn[step.source][step.user] for step, _ in steps)
        number = min(most, self.free[end], *shares)
        self.free[end] -= number
        for step, to in steps:
            self._add(to, step.user, number)
            self._add(step.source, step.user, -number)
        self._add(start, user, number)
        return number

    def _add(self, source: int, user: int, number: int) -> None:
        drawn = self.drawn[source]
        drawn[user] = drawn.get(user, 0) + number
        if not drawn[user]:
            del drawn[user]
