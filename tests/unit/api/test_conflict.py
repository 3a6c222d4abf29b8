"""Reading and writing again where somebody else came between."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from placementclient import errors
from placementclient.api.conflict import ATTEMPTS, retried

STALE = errors.ConcurrentUpdate(409, 'Stale')


def failing(*failures: Exception) -> Callable[[], str]:
    pending: Iterator[Exception] = iter(failures)

    def attempt() -> str:
        for failure in pending:
            raise failure
        return 'done'

    return attempt


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr('time.sleep', pauses.append)
    return pauses


@pytest.mark.parametrize('conflicts', range(ATTEMPTS))
def test_it_goes_on_until_an_attempt_succeeds(pauses: list[float], conflicts: int) -> None:
    assert retried(failing(*[STALE] * conflicts)) == 'done'
    assert len(pauses) == conflicts
    assert all(0 <= pause <= 0.1 * 2**number for number, pause in enumerate(pauses, 1))


def test_it_gives_up_after_four_attempts(pauses: list[float]) -> None:
    assert ATTEMPTS == 4
    with pytest.raises(errors.ConcurrentUpdate):
        retried(failing(*[STALE] * 4))
    assert len(pauses) == 3


@pytest.mark.parametrize(
    'failure',
    [
        errors.Conflict(409, 'x'),
        errors.InventoryInUse(409, 'x'),
        errors.ServerError(503, 'x'),
        KeyError(),
    ],
    ids=repr,
)
def test_nothing_else_is_repeated(pauses: list[float], failure: Exception) -> None:
    with pytest.raises(type(failure)):
        retried(failing(failure))
    assert pauses == []
