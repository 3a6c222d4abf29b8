# SPDX-License-Identifier: Apache-2.0
"""The changes of a run: those that may start, how many at a time, and the result of each."""

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait

from placementclient.basis.errors import Interrupted, PlacementError, Unexpected
from placementclient.basis.wording import format_count
from placementclient.changes.journal import JournalFailed
from placementclient.client import errors
from placementclient.model.outcomes import Outcome, TreeResult, TreeState
from placementclient.model.plans import Change

LOG = logging.getLogger(__name__)


class OtherService(PlacementError):
    """The plan was made for another service."""


class OutcomeUnknown(PlacementError):
    """It is unknown whether the service carried out the last request: it does not answer."""

    def __init__(self, answer: errors.NoAnswer) -> None:
        self.answer = answer
        super().__init__(
            f'No answer from the service: {answer}. The next run finds out what was done'
        )


#: Called with the result of each change, by the thread that carries the plan out.
Reporter = Callable[[TreeResult], object]

#: After these, the next request would fare no better.
_FATAL = (*errors.SHUT_OUT, JournalFailed, OutcomeUnknown)


class TreeQueue:
    """The changes of a run; several can run at the same time.

    Whatever ends the run, :meth:`make_outcome` has a result of each.

    :param limit: the most changes to begin; those that turn out to be rolled back do not count
    :param max_failures: the number of failed or skipped trees after which no other begins
    :param report: called with each result
    :param warn: called with a sentence that the operator must see while the run goes on
    :param backward: whether the plan is taken back: then the last one is begun first
    """

    def __init__(
        self,
        changes: Sequence[Change],
        *,
        limit: int | None = None,
        max_failures: int | None = None,
        report: Reporter = lambda result: None,
        warn: Callable[[str], object] = LOG.warning,
        backward: bool = False,
    ) -> None:
        self.changes = {change.root_provider_uuid: change for change in changes}
        self._startable = len(changes) if limit is None else limit
        self._failures_left = len(changes) if max_failures is None else max_failures
        self._report, self._warn, self._is_backward = report, warn, backward
        self._begun: set[str] = set()
        self._results: dict[str, TreeResult] = {}
        self._stopped: PlacementError | None = None

    def list_startable_changes(self) -> list[Change]:
        """Return the changes without a result that may start."""
        pending = [change for uuid, change in self.changes.items() if uuid not in self._results]
        return pending if self._is_backward else pending[: self._startable]

    def record_result(self, result: TreeResult) -> None:
        """Record and report the result of a change."""
        self._results[result.root_provider_uuid] = result
        if result.is_unsuccessful:
            self._failures_left -= 1
        self._report(result)

    @contextlib.contextmanager
    def stop_on_error(self) -> Iterator[None]:
        """Keep an exception of the block as the end of the run; :class:`OtherService` is raised."""
        try:
            yield
        except OtherService:
            raise  # nothing has begun
        except KeyboardInterrupt:
            self._stopped = Interrupted('Interrupted')
        except Exception as reason:
            self._stopped = _wrap_exception(reason)

    def run(self, run_change: Callable[[Change], TreeResult], workers: int) -> None:
        """Run all changes until the run must stop.

        :param run_change: carries one, and returns its result
        :param workers: how many to run at the same time
        """
        ready = deque(change for uuid, change in self.changes.items() if uuid not in self._results)
        if self._is_backward:
            ready.reverse()
        running: dict[Future[TreeResult], Change] = {}
        with ThreadPoolExecutor(workers) as pool:
            try:
                while True:
                    while len(running) < workers and ready and self._may_begin_change():
                        change = ready.popleft()
                        self._startable -= 1
                        self._begun.add(change.root_provider_uuid)
                        running[pool.submit(run_change, change)] = change
                    if not running:
                        break
                    self._collect_results(running, wait(running, return_when=FIRST_COMPLETED).done)
            except BaseException:
                # Trees under way come to their end all the same, and are reported.
                if running:
                    trees = format_count(len(running), 'tree')
                    self._warn(f'Waiting for {trees} under way; a second Ctrl-C does not wait')
                self._collect_results(running, as_completed(list(running)))
                raise

    def make_outcome(self) -> Outcome:
        """Return the results of all changes, in the order of the plan."""
        return Outcome(
            [
                self._results.get(uuid) or self._make_result_without_end(change)
                for uuid, change in self.changes.items()
            ],
            self._stopped,
        )

    def _may_begin_change(self) -> bool:
        return self._startable > 0 and self._failures_left > 0 and self._stopped is None

    def _collect_results(
        self, running: dict[Future[TreeResult], Change], ended: Iterable[Future[TreeResult]]
    ) -> None:
        """Record the results of changes that have ended, and remove them from ``running``."""
        for future in ended:
            change = running.pop(future)
            try:
                result = future.result()
            except Exception as failure:
                reason = _wrap_exception(failure)
                if isinstance(reason, (*_FATAL, Unexpected)):
                    self._stopped = self._stopped or reason
                result = make_result(change, TreeState.FAILED, reason)
            if result.state is TreeState.ALREADY_BACK:
                self._startable += 1
            self.record_result(result)

    def _make_result_without_end(self, change: Change) -> TreeResult:
        """Return the result of a change that was interrupted, or never started."""
        if change.root_provider_uuid in self._begun:
            return make_result(
                change,
                TreeState.FAILED,
                Interrupted('interrupted: the next run finds out what was done'),
            )
        return make_result(change, TreeState.NOT_STARTED)


@contextlib.contextmanager
def translate_lost_answers() -> Iterator[None]:
    """Turn the error of a request without an answer in this block into :class:`OutcomeUnknown`."""
    try:
        yield
    except errors.NoAnswer as reason:
        raise OutcomeUnknown(reason) from reason


def make_result(
    change: Change, state: TreeState, error: PlacementError | None = None
) -> TreeResult:
    """Return the result of a change, with an error and its message as the reason.

    :param error: ``None``: the change succeeded, or was not tried
    """
    return TreeResult(
        change.root_provider_uuid, change.root_provider_name, state, str(error or ''), error
    )


def _wrap_exception(reason: Exception) -> PlacementError:
    return reason if isinstance(reason, PlacementError) else Unexpected(reason)
