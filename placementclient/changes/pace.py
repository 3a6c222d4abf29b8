"""The pace of a run: how many trees may be under way, by orders and by answer times. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Final, NamedTuple

#: A decision about the pace takes so many answers, and so many more for each tree under way.
FEWEST_ANSWERS: Final = 10
_OF_EACH_TREE = 2
#: From this part of the limit down, answers are fast enough to go on faster.
_FAST = 0.75
#: The shortest and the longest pause between two trees, in seconds.
_SHORTEST, _LONGEST = 0.5, 30.0
#: A pace that was too fast is tried again after so many fast decisions at most.
_MOST_PATIENCE = 16


class RunPace(NamedTuple):
    """A pace.

    :param workers: trees under way at most
    :param pause: seconds between the end of a tree and the beginning of the next
    """

    workers: int
    pause: float = 0.0


class Pacer:
    """Says how many trees may be under way: by orders and, where there is a limit, answer times.

    Each decision takes the median of the answers since the last one: an outlier changes nothing,
    and answers of the old pace do not count twice. Slow answers halve the number of workers; at one
    worker they double the pauses. Fast answers shorten the pauses, then add one worker. A pace that
    was too fast is tried again after more and more decisions without slow answers.

    :param workers: the most workers that it may allow
    :param max_latency: the limit, in seconds; ``None``: no limit
    :ivar pace: of a run that is not held
    :ivar is_held: whether none may begin: the operator has paused or stopped the run
    """

    def __init__(self, workers: int, max_latency: float | None = None) -> None:
        self._most, self._max_latency = workers, max_latency
        self._times: list[float] = []
        self._resting_until = 0.0
        self._too_fast: RunPace | None = None
        self._patience, self._fast = 1, 0
        self.pace, self.is_held = RunPace(workers), False

    def allow(self, workers: int) -> None:
        """Take another number for the most workers."""
        is_full = self.pace.workers >= self._most
        self._most = workers
        allowed = workers if is_full else min(workers, self.pace.workers)
        self.pace = self.pace._replace(workers=allowed)

    def observe(self, times: Iterable[float]) -> float | None:
        """Decide about the pace, if there are answers enough.

        :param times: of the answers since the last call, in seconds
        :return: the median, if it has changed the pace
        """
        if self._max_latency is None:
            return None
        self._times += times
        if len(self._times) < FEWEST_ANSWERS + _OF_EACH_TREE * self.pace.workers:
            return None
        before, median = self.pace, statistics.median(self._times)
        self._times.clear()
        if median > self._max_latency:
            if before == self._too_fast:
                self._patience = min(2 * self._patience, _MOST_PATIENCE)
            self._too_fast, self._fast, self.pace = before, 0, self._slower()
        elif median < _FAST * self._max_latency:
            if before == self._too_fast:
                self._too_fast, self._patience = None, 1
            self._fast += 1
            faster = self._faster()
            if faster != self._too_fast or self._fast >= self._patience:
                self._fast, self.pace = 0, faster
        return median if self.pace != before else None

    def _slower(self) -> RunPace:
        workers, pause = self.pace
        if workers > 1:
            return RunPace(workers // 2)
        return RunPace(1, min(max(2 * pause, _SHORTEST), _LONGEST))

    def _faster(self) -> RunPace:
        workers, pause = self.pace
        if pause:
            return RunPace(workers, pause / 2 if pause > _SHORTEST else 0.0)
        return RunPace(min(workers + 1, self._most))

    def ended(self, now: float) -> None:
        """Begin the pause after a tree.

        :param now: the time in seconds, on any clock that never goes back
        """
        self._resting_until = now + self.pace.pause

    def rest(self, now: float) -> float:
        """Return the seconds until the pause after a tree is over.

        :param now: as for :meth:`ended`
        """
        return max(0.0, self._resting_until - now)

    def permitted(self, now: float) -> int:
        """Return how many trees may be under way.

        :param now: as for :meth:`ended`
        """
        return 0 if self.is_held or self.rest(now) else self.pace.workers
