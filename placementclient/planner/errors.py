# SPDX-License-Identifier: Apache-2.0
"""The exceptions of a tree that cannot be planned, with the reasons."""

from collections.abc import Sequence

from placementclient.basis.errors import ExitStatus, PlacementError
from placementclient.basis.wording import join_first_sentences
from placementclient.planner.infeasibility import Cause, UndecidedRow

#: Begins the reason of a tree that has changed, and that has no plan as it is now. A journal keeps
#: the reason.
IMPOSSIBLE = 'cannot be planned again: '


class Infeasible(PlacementError):
    """No assignment satisfies all constraints, or the trees do not suit the specification.

    :param causes: the reasons, one or more for each tree
    :param slack: the room of each target when the search ended
    """

    exit_status = ExitStatus.INFEASIBLE

    def __init__(self, causes: Sequence[Cause], slack: Sequence[Cause] = ()) -> None:
        self.causes, self.slack = tuple(causes), tuple(slack)
        #: the first causes, as a sentence without its full stop
        self.reason = join_first_sentences(self.causes)
        super().__init__(f'Infeasible: {self.reason}')


class Undecided(PlacementError):
    """Rows have several possible targets, and only the operator knows the right ones."""

    exit_status = ExitStatus.UNDECIDED

    def __init__(self, rows: Sequence[UndecidedRow], warnings: Sequence[str] = ()) -> None:
        self.rows, self.warnings = tuple(rows), tuple(warnings)
        super().__init__(f'Undecided rows: {len(self.rows)}: {join_first_sentences(self.rows)}')


class Undetermined(PlacementError):
    """The search ended before it was known whether there is an assignment, or another one."""

    _MORE_TIME = 'Give the search more time (--solver-timeout)'
    _NO_TIME = 'More time does not help. Plan fewer of these trees at once (--tree)'

    def __init__(self, causes: Sequence[Cause]) -> None:
        self.causes = tuple(causes)
        has_ended = any(cause.kind == 'undetermined' for cause in causes)
        #: what to do next, a sentence without its full stop
        self.advice = (
            f'{self._MORE_TIME if has_ended else self._NO_TIME}, or say where some of it belongs '
            '(--assignments)'
        )
        super().__init__(f'Undetermined: {join_first_sentences(self.causes)}. {self.advice}')
