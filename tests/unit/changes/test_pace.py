"""The pace of a run, on a service whose answers take as long as the test says."""

from __future__ import annotations

from itertools import pairwise

from placementclient.changes.pace import FEWEST_ANSWERS, Pacer, RunPace

LIMIT = 0.5
#: As many answers as any decision takes.
ENOUGH = FEWEST_ANSWERS + 2 * 8


def observed(pacer: Pacer, seconds: float, times: int = 1) -> list[RunPace]:
    """The paces after so many decisions."""
    paces = []
    for _ in range(times):
        pacer.observe([seconds] * ENOUGH)
        paces.append(pacer.pace)
    return paces


def test_slow_answers_halve_the_workers_and_then_lengthen_the_pauses() -> None:
    paces = observed(Pacer(8, LIMIT), 0.6, 12)
    assert [pace.workers for pace in paces] == [4, 2, 1, *[1] * 9]
    assert [pace.pause for pace in paces] == [0, 0, 0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_fast_answers_shorten_the_pauses_and_then_add_workers_up_to_what_was_given() -> None:
    pacer = Pacer(4, LIMIT)
    observed(pacer, 0.6, 4)
    assert pacer.pace == RunPace(1, 1.0)
    assert observed(pacer, 0.1, 7) == [
        *(RunPace(1, 0.5), RunPace(1), RunPace(2), RunPace(3)),
        *(RunPace(4), RunPace(4), RunPace(4)),
    ]


def test_answers_just_below_the_limit_change_nothing() -> None:
    pacer = Pacer(4, LIMIT)
    observed(pacer, 0.6)
    assert observed(pacer, 0.45, 3) == [RunPace(2)] * 3


def test_it_settles_where_the_service_is_fast_enough() -> None:
    """On a service that takes 100 ms for each tree that is under way."""
    pacer = Pacer(16, LIMIT)
    paces = []
    for _ in range(20):
        pacer.observe([0.1 * pacer.pace.workers] * 50)
        paces.append(pacer.pace)
    assert paces[-10:] == [RunPace(4)] * 10


def test_it_hardly_tries_again_what_was_too_fast() -> None:
    """On a service that is fast enough for one tree and too slow for two."""
    pacer = Pacer(4, LIMIT)
    paces = [pacer.pace.workers]
    for _ in range(200):
        pacer.observe([0.15 * pacer.pace.workers**2] * 50)
        paces.append(pacer.pace.workers)
    attempts = [i for i, (before, now) in enumerate(pairwise(paces)) if now > before]
    assert [later - one for one, later in pairwise(attempts)][:6] == [3, 5, 9, 17, 17, 17]
    assert observed(pacer, 0.1, 19)[-1] == RunPace(4), 'the service is fast again'


def test_outliers_change_nothing() -> None:
    pacer = Pacer(4, LIMIT)
    assert pacer.observe([60.0] * 8 + [0.1] * 10) is None
    assert pacer.pace == RunPace(4)


def test_a_decision_waits_for_answers_enough_and_forgets_them() -> None:
    pacer = Pacer(2, LIMIT)
    needed = FEWEST_ANSWERS + 2 * 2
    for _ in range(needed - 1):
        assert pacer.observe([0.6]) is None
    assert pacer.observe([0.8]) == 0.6
    assert pacer.pace == RunPace(1)
    assert pacer.observe([0.6] * (FEWEST_ANSWERS + 1)) is None
    assert pacer.pace == RunPace(1)


def test_the_operator_changes_the_most_workers() -> None:
    pacer = Pacer(4, LIMIT)
    pacer.allow(8)
    assert pacer.pace == RunPace(8)
    observed(pacer, 0.6)
    pacer.allow(6)
    assert pacer.pace == RunPace(4), 'the service is still slow'
    pacer.allow(2)
    assert pacer.pace == RunPace(2)
    assert observed(pacer, 0.1, 2)[-1] == RunPace(2)


def test_a_pacer_holds_rests_and_goes_on() -> None:
    pacer = Pacer(2)
    assert pacer.permitted(0) == 2
    pacer.allow(3)
    pacer.ended(10)
    assert pacer.permitted(10) == 3, 'no pause without slow answers'
    pacer.is_held = True
    assert pacer.permitted(11) == 0
    pacer.is_held = False
    pacer = Pacer(1, LIMIT)
    observed(pacer, 0.6, 2)
    pacer.ended(20)
    assert (pacer.permitted(20.5), pacer.rest(20.5)) == (0, 0.5)
    assert (pacer.permitted(21), pacer.rest(21)) == (1, 0)
