# SPDX-License-Identifier: Apache-2.0
"""Reading and writing again where somebody else came between, or where no answer came."""

from collections.abc import Iterator
from functools import partial

import pytest

from placementclient.api import attempts
from placementclient.api.attempts import DEADLINE, LONGEST_PAUSE
from placementclient.basis.errors import PlacementError
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.freshness import Read

CLIENT = Client(None)
retried = partial(attempts.retry_conflicts, CLIENT)
confirmed = partial(attempts.confirm_write, CLIENT)
edited = partial(attempts.edit_object, CLIENT)

STALE = errors.ConcurrentUpdate(409, 'Stale')


def lost(retry_after=None, *, may_be_done=True):
    """A request without an answer."""
    failure = errors.Unreachable('No answer')
    failure.may_be_done, failure.retry_after = may_be_done, retry_after
    return failure


def failing(*failures):
    pending: Iterator[Exception] = iter(failures)

    def attempt():
        for failure in pending:
            raise failure
        return 'done'

    return attempt


class Clock:
    """Time that goes on by pauses alone."""

    def __init__(self):
        self.pauses: list[float] = []

    def sleep(self, seconds):
        self.pauses.append(seconds)

    def monotonic(self):
        return sum(self.pauses)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(attempts, 'time', clock)
    monkeypatch.setattr('random.uniform', lambda lowest, highest: highest)
    return clock


@pytest.mark.parametrize('conflicts', [0, 1, 4, 24])
def test_conflicts_are_tried_again_after_pauses_that_grow(clock, conflicts):
    assert retried(failing(*[STALE] * conflicts)) == 'done'
    expected = [min(0.1 * 2**number, LONGEST_PAUSE) for number in range(1, conflicts + 1)]
    assert clock.pauses == expected


def test_conflicts_are_repeated_until_the_deadline(clock):
    with pytest.raises(errors.ConcurrentUpdate):
        retried(failing(*[STALE] * 1000))
    assert DEADLINE <= clock.monotonic() <= DEADLINE + LONGEST_PAUSE


def test_a_conflict_is_not_repeated_with_a_generation_of_the_operator(clock):
    with pytest.raises(errors.ConcurrentUpdate):
        retried(failing(STALE), generation=7)
    assert clock.pauses == []


@pytest.mark.parametrize('max_retries', [0, 5])
def test_lost_writes_are_attempted_as_often_as_the_client_allows(clock, max_retries):
    with pytest.raises(errors.Unreachable):
        attempts.retry_conflicts(Client(None, max_retries=max_retries), failing(*[lost()] * 9))
    assert len(clock.pauses) == max_retries


@pytest.mark.parametrize(
    'failure', [lost(may_be_done=False), errors.AuthenticationFailed('the token has expired')]
)
def test_a_lost_write_is_reported_when_it_cannot_be_read_back(clock, failure):
    write = lost()
    with pytest.raises(errors.Unreachable) as raised:
        retried(failing(write, failure))
    assert raised.value is write
    assert raised.value.may_be_done
    assert raised.value.__cause__ is failure


@pytest.mark.parametrize(('retry_after', 'pause'), [('7', 7), ('86400', 30), ('soon', 0.2)])
def test_attempts_honour_retry_after_up_to_a_limit(clock, retry_after, pause):
    assert retried(failing(lost(retry_after))) == 'done'
    assert clock.pauses == [pause]


def test_a_conflict_after_a_lost_answer_reports_the_lost_answer(clock):
    failure = lost()
    with pytest.raises(errors.Unreachable) as raised:
        retried(failing(failure, STALE), generation=7)
    assert raised.value is failure


@pytest.mark.parametrize(
    'failure',
    [
        errors.Conflict(409, 'x'),
        errors.InventoryInUse(409, 'x'),
        errors.ForeignAnswer(404, 'x'),
        errors.InvalidAnswer('x'),
        KeyError(),
    ],
    ids=repr,
)
def test_other_errors_are_not_repeated(clock, failure):
    with pytest.raises(type(failure)):
        retried(failing(failure))
    assert clock.pauses == []


@pytest.mark.parametrize(
    ('failures', 'done', 'result', 'looked'),
    [
        ([], [], 'done', 0),
        ([STALE], [], 'done', 0),
        ([lost()], [True], None, 1),
        ([lost()], [False], 'done', 1),
        ([lost(), lost()], [False, True], None, 2),
    ],
)
def test_a_lost_write_is_read_back_before_it_is_sent_again(clock, failures, done, result, looked):
    pending = iter(done)
    assert confirmed(failing(*failures), lambda: next(pending)) == result
    assert len(list(pending)) == len(done) - looked


@pytest.mark.parametrize('generation', [None, 3])
def test_an_edit_that_was_carried_out_without_an_answer_is_done(clock, generation):
    stored = [Read(['A'], 3)]

    def write(desired, generation):
        stored[0] = Read(desired, generation + 1)
        raise lost()

    written = edited(lambda: stored[0], lambda traits: sorted({*traits, 'B'}), write, generation)
    assert (written.value, written.generation) == (['A', 'B'], 4)


@pytest.mark.parametrize('desired', [['A'], ['A', 'B']])
def test_an_edit_at_another_generation_is_refused(desired):
    with pytest.raises(PlacementError, match='The generation is 4, not 3'):
        edited(lambda: Read(['A'], 4), lambda _: desired, lambda *_: pytest.fail('sent'), 3)
