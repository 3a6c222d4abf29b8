# SPDX-License-Identifier: Apache-2.0
"""Maximum flow: the most units that users get from sources, if each reaches only some."""

from collections import Counter
from collections.abc import Mapping

#: A unit of a user moves from one source to another; from ``None``: it is a new unit.
_Shift = tuple[str | None, frozenset[str], str]


def compute_max_flow(
    available: Mapping[str, int], demands: Mapping[frozenset[str], int]
) -> dict[frozenset[str], int]:
    """Return how many units each group of users gets, if all groups together get the most.

    The key of a group is the set of the sources that it reaches. A group never gets less because
    of those after it in ``demands``.

    :param available: the units of each source
    :param demands: the units that each group wants
    """
    free, granted = dict(available), dict.fromkeys(demands, 0)
    drawn = {source: Counter[frozenset[str]]() for source in free}
    for user, amount in demands.items():
        while granted[user] < amount and (shifts := _find_shifts(user, free, drawn)):
            shares = (drawn[source][mover] for source, mover, _ in shifts if source is not None)
            number = min(amount - granted[user], free[shifts[0][2]], *shares)
            free[shifts[0][2]] -= number
            for source, mover, target in shifts:
                drawn[target][mover] += number
                if source is not None:
                    drawn[source][mover] -= number
            granted[user] += number
    return granted


def _find_shifts(
    user: frozenset[str], free: Mapping[str, int], drawn: Mapping[str, Counter[frozenset[str]]]
) -> list[_Shift]:
    """Return the fewest shifts that give a group of users more units; empty if it can get none.

    The shift ``(source, user, target)`` lets a group of users draw units from a target in place
    of a source; these are additional units if the source is ``None``.

    :param user: the group, as the set of the sources that it reaches
    :param free: the units that nobody has, by source
    :param drawn: the units of each source that each group has
    """
    shifts: dict[str, _Shift] = {source: (None, user, source) for source in sorted(user)}
    pending = list(shifts)
    for source in pending:
        if free[source]:
            path = [shifts[source]]
            while (before := path[-1][0]) is not None:
                path.append(shifts[before])
            return path
        for mover in +drawn[source]:
            for target in sorted(mover - shifts.keys()):
                shifts[target] = (source, mover, target)
                pending.append(target)
    return []
