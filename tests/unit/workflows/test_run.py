"""A run of changes: why one has failed, what ends it, and how the command ends."""

from __future__ import annotations

import pytest

from placementclient import errors
from placementclient.errors import ExitStatus
from placementclient.workflows.run import Run


def lost() -> errors.Unreachable:
    failure = errors.Unreachable('gone')
    failure.may_be_done = True
    return failure


def raising(failure: BaseException) -> bool:
    raise failure


UNKNOWN = 'gone; whether it was done is not known'


@pytest.mark.parametrize(
    ('failure', 'found', 'reason', 'is_over'),
    [
        (errors.Conflict(409, 'In use'), AssertionError(), 'In use (HTTP 409)', False),
        (errors.Forbidden(403, 'No'), AssertionError(), 'No (HTTP 403)', True),
        (errors.Unreachable('gone'), AssertionError(), 'gone', True),
        (lost(), True, '', False),
        (lost(), False, UNKNOWN, True),
        (lost(), errors.Unreachable('gone'), UNKNOWN, True),
        (lost(), errors.NotFound(404, 'None'), UNKNOWN, False),
        (lost(), KeyboardInterrupt(), 'interrupted: it may be done', True),
        (KeyboardInterrupt(), AssertionError(), 'interrupted: it may be done', True),
    ],
    ids=repr,
)
def test_why_a_change_has_failed(
    failure: BaseException, found: bool | BaseException, reason: str, is_over: bool
) -> None:
    run = Run()

    def is_made() -> bool:
        return found if isinstance(found, bool) else raising(found)

    assert run.failure(lambda: raising(failure), is_made) == reason
    assert run.is_over is is_over


def test_one_that_is_made_has_not_failed() -> None:
    run = Run()
    assert run.failure(lambda: None, lambda: raising(AssertionError())) == ''
    assert not run.is_over


@pytest.mark.parametrize(
    ('is_failed', 'is_done', 'status'),
    [
        (False, False, ExitStatus.DONE),
        (False, True, ExitStatus.DONE),
        (True, True, ExitStatus.PARTIAL),
        (True, False, ExitStatus.ERROR),
    ],
)
def test_how_a_command_ends(is_failed: bool, is_done: bool, status: ExitStatus) -> None:
    run = Run()
    assert run.exit_status(is_failed=is_failed, is_done=is_done) is status
    run.failure(lambda: raising(KeyboardInterrupt()), lambda: False)
    assert run.exit_status(is_failed=is_failed, is_done=is_done) is ExitStatus.INTERRUPTED
