"""The most that users can draw from sources of which each reaches only some."""

from collections.abc import Sequence

#: A user's share moves from one source to another; from ``None``: it is drawn for the first time.
_Move = tuple[int | None, int, int]


class Flow:
    """A maximum flow by augmenting paths, kept while demands are added one by one.

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
        while left and (moves := self._moves(user)):
            end = moves[0][2]
            shares = (self.drawn[source][mover] for source, mover, _ in moves if source is not None)
            number = min(left, self.free[end], *shares)
            self.free[end] -= number
            for source, mover, target in moves:
                self._add(target, mover, number)
                if source is not None:
                    self._add(source, mover, -number)
            left -= number
        return amount - left

    def _moves(self, user: int) -> list[_Move]:
        """Return the fewest moves that let a user draw units, the last one first, if it can."""
        moves: dict[int, _Move] = {source: (None, user, source) for source in self._reachable[user]}
        pending = list(moves)
        for source in pending:
            if self.free[source]:
                path = [moves[source]]
                while (before := path[-1][0]) is not None:
                    path.append(moves[before])
                return path
            for mover in self.drawn[source]:
                for target in self._reachable[mover]:
                    if target not in moves:
                        moves[target] = (source, mover, target)
                        pending.append(target)
        return []

    def _add(self, source: int, user: int, number: int) -> None:
        drawn = self.drawn[source]
        drawn[user] = drawn.get(user, 0) + number
        if not drawn[user]:
            del drawn[user]
