"""Forecasts: a trend, and an error that was measured."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import pytest

from placementclient.insight import forecast
from placementclient.insight.forecast import LEAST_VALUES, Forecast, Value


def line(days: int, left: float, per_day: float) -> list[Value]:
    return [Value(day, left + per_day * day) for day in range(days)]


def made(values: list[Value]) -> Forecast:
    found = forecast.forecast(values)
    assert found is not None
    return found


def test_a_straight_line_has_no_error() -> None:
    found = made(line(41, left=100, per_day=-2))
    assert found == Forecast(-2, 40, 10, 0, 10, 10, 10)


@pytest.mark.parametrize('values', [line(LEAST_VALUES - 1, 9, -1), line(400, 9, -1)[:1], []])
def test_too_little_data(values: list[Value]) -> None:
    assert forecast.forecast(values) is None


def test_of_several_values_of_one_moment_the_last_counts() -> None:
    values = line(41, left=100, per_day=-2)
    assert made([each for pair in zip(values, values, strict=True) for each in pair]) == made(
        values
    )
    assert forecast.forecast([Value(1, 9)] * 40) is None


def test_too_few_days_are_too_little_data() -> None:
    hourly = [Value(each.day / 24, each.left) for each in line(100, 1000, -1)]
    assert forecast.forecast(hourly) is None
    assert made([Value(each.day / 7, each.left) for each in line(100, 1000, -1)]).per_day == -7


def test_no_forecast_looks_further_ahead_than_the_values_go_back() -> None:
    assert made(line(21, left=41, per_day=-1)).days is None
    assert made(line(21, left=40, per_day=-1)).days == 20
    assert made(line(21, left=40, per_day=1)).days is None
    assert made(line(21, left=40, per_day=0)).days is None


def test_what_has_run_out_has_no_days_left() -> None:
    found = made(line(21, left=10, per_day=-1))
    assert (found.days, found.earliest, found.latest) == (0, 0, 0)


def test_an_outlier_does_not_turn_the_trend() -> None:
    values = line(61, left=200, per_day=-2)
    values[20] = values[20]._replace(left=5000)
    assert made(values).per_day == -2


def test_a_trend_that_broke_has_an_error() -> None:
    values = [*line(40, 1000, 0), *(Value(40 + each.day, each.left) for each in line(40, 1000, -9))]
    found = made(values)
    assert found.error > 100, 'that the fall was not foreseen'
    assert found.earliest is not None
    assert found.latest is None


def test_the_error_is_that_of_forecasts_of_the_past() -> None:
    random = Random(3)
    values = [Value(day, 900 - 3 * day + random.gauss(0, 9)) for day in range(41)]
    found = made(values)
    rates = []
    for number in range(20, 31):
        slopes = sorted(
            (b.left - a.left) / (b.day - a.day) for a, b in combinations(values[: number + 1], 2)
        )
        middle = len(slopes) // 2
        slope = slopes[middle] if len(slopes) % 2 else sum(slopes[middle - 1 : middle + 1]) / 2
        predicted = values[number].left + 10 * slope
        rates.append(abs(values[number + 10].left - predicted) / 10)
    assert found.horizon == 10
    assert found.error == pytest.approx(sorted(rates)[9] * 10)
    left = values[-1].left
    for rate, days in ((-found.error / 10, found.earliest), (found.error / 10, found.latest)):
        expected = -left / (found.per_day + rate)
        assert days == (pytest.approx(expected) if 0 < expected <= 40 else None)


@pytest.mark.slow
def test_what_really_happens_is_most_often_between_earliest_and_latest() -> None:
    random, hits = Random(1), 0
    for _ in range(100):
        per_day, noise = -random.uniform(0.5, 5), random.uniform(0, 20)
        days = random.choice([20, 60, 120])
        begin = -per_day * days * random.uniform(1.1, 1.9)
        values = [Value(day, begin + per_day * day + random.gauss(0, noise)) for day in range(days)]
        found, truth = made(values), begin / -per_day - (days - 1)
        is_early = found.earliest is None or found.earliest <= truth
        hits += is_early and (found.latest is None or found.latest >= truth)
    assert hits >= 90


def test_many_values_are_thinned() -> None:
    assert forecast.thinned(range(10), 4) == [0, 3, 6, 9]
    assert forecast.thinned(range(3), 4) == [0, 1, 2]
    found = made(line(2000, left=4100, per_day=-2))
    assert (found.per_day, found.days) == (-2, pytest.approx(51))


def test_times_that_are_out_of_order_are_left_out() -> None:
    def kept(*times: int) -> list[int]:
        return forecast.in_order(times, lambda time: time)

    assert kept(1, 2, 99, 3, 4) == [1, 2, 3, 4]
    assert kept(1, 2, 2, 0, 3) == [1, 2, 2, 3]
    assert kept() == []
    random = Random(5)
    for _ in range(200):
        times = [random.randrange(6) for _ in range(random.randrange(8))]
        longest = max(
            (
                size
                for size in range(len(times) + 1)
                for some in combinations(times, size)
                if all(a <= b for a, b in pairwise(some))
            ),
            default=0,
        )
        found = kept(*times)
        assert len(found) == longest, times
        assert all(a <= b for a, b in pairwise(found))
        rest = iter(times)
        assert all(each in rest for each in found), 'in their order'
