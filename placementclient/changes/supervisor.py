"""The supervisor of a run: it sees each tree begin and end, and lets trees begin."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from placementclient.api.parallel import parallel
from placementclient.client import errors
from placementclient.client.errors import ExitStatus
from placementclient.model.outcomes import TreeResult
from placementclient.model.planned_trees import PlannedTree

T = TypeVar('T')
U = TypeVar('U')


class Stopped(errors.PlacementError):
    """The operator has stopped the run; the trees that were begun have come to their end."""

    exit_status = ExitStatus.PARTIAL


class Supervisor:
    """Lets every tree begin as soon as it may.

    :param report: called with the result of each tree, by the thread that carries the plan out
    """

    #: How often :meth:`permitted` is asked while trees are under way, in seconds; ``None``: when
    #: one ends.
    interval: float | None = None

    def __init__(self, report: Callable[[TreeResult], None] | None = None) -> None:
        self._report = report

    @contextlib.contextmanager
    def supervising(self, trees: Sequence[PlannedTree]) -> Iterator[None]:
        """A run, from before the first request until all trees have ended.

        :param trees: of the run
        """
        yield

    def parallel(self, function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
        """Read trees, as :func:`placementclient.api.parallel.parallel` does.

        :raises Stopped: if the operator stops the run meanwhile
        """
        return parallel(function, items, workers)

    def permitted(self, workers: int) -> int:
        """Return how many trees may be under way now.

        :param workers: how many the operator wanted when the run began
        """
        return workers

    @property
    def stopped(self) -> Stopped | None:
        """The end of a run of which no further tree may begin."""
        return None

    def rest(self) -> None:
        """Wait until it is worth asking again; none is under way."""

    def begun(self, tree: PlannedTree) -> None:
        """Take note that a tree begins."""

    def ended(self, result: TreeResult) -> None:
        """Take note of how a tree ended."""
        if self._report:
            self._report(result)

    def waiting(self, under_way: int) -> None:
        """Take note that a run ends before its time.

        :param under_way: how many trees it waits for
        """
