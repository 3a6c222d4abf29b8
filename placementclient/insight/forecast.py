"""Forecasts by a plain trend whose error is measured on the past.

The trend is a straight line through the last value. Its slope is the median of the slopes between
all pairs of values (Theil-Sen), so that single outliers do not matter. No forecast looks further
ahead than the values go back.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

T = TypeVar('T')

#: How many values, and how many days between the first and the last, a trend needs.
LEAST_VALUES, LEAST_DAYS = 14, 13.0
#: How many values a slope is made of at most, evenly chosen: the time grows with their square.
_MOST_VALUES = 120
#: How far ahead forecasts of the past look: a fraction of the days that the values go back.
_HORIZON = 0.25
#: How many of these have a smaller error than the one that counts.
_QUANTILE = 0.9


class Value(NamedTuple):
    """The room that was left at a moment.

    :param day: the moment, in days since any other
    """

    day: float
    left: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """The day when nothing is left. Days are counted from the last value.

    :param per_day: how much the trend changes in a day
    :param reach: how many days it looks ahead
    :param horizon: how many days ahead forecasts of the past looked, to measure their errors
    :param error: nine in ten of these were at most so far off, in the unit of the values
    :param days: until nothing is left; ``None``: not within :attr:`reach`
    :param earliest: the same where the trend is wrong by the error; ``None``: not within reach
    :param latest: likewise
    """

    per_day: float
    reach: float
    horizon: float
    error: float
    days: float | None
    earliest: float | None
    latest: float | None


def in_order(items: Sequence[T], time: Callable[[T], Any]) -> list[T]:
    """Return the most items whose times are in their order: a clock may have been wrong.

    :param time: of an item
    """
    ends: list[Any] = []
    places = []
    for each in items:
        places.append(bisect_right(ends, time(each)))
        ends[places[-1] : places[-1] + 1] = [time(each)]
    found: list[T] = []
    for each, place in zip(reversed(items), reversed(places), strict=True):
        is_before = not found or time(each) <= time(found[-1])
        if place == len(ends) - 1 - len(found) and is_before:
            found.append(each)
    return found[::-1]


def thinned(items: Sequence[T], most: int = _MOST_VALUES) -> list[T]:
    """Return at most so many items, evenly chosen; the first and the last are among them."""
    if len(items) <= most:
        return list(items)
    step = (len(items) - 1) / (most - 1)
    return [items[round(number * step)] for number in range(most)]


def forecast(values: Sequence[Value]) -> Forecast | None:
    """Return when nothing is left; ``None``: there is too little data.

    :param values: in the order of their time
    """
    values = thinned(list({each.day: each for each in values}.values()))
    if len(values) < LEAST_VALUES or values[-1].day - values[0].day < LEAST_DAYS:
        return None
    left, reach = values[-1].left, values[-1].day - values[0].day
    per_day, errors = _slope(values), sorted(_errors(values, reach * _HORIZON))
    error = errors[min(len(errors) - 1, int(_QUANTILE * len(errors)))]

    def days(slope: float) -> float | None:
        if left <= 0:
            return 0.0
        return -left / slope if slope < 0 and -left / slope <= reach else None

    return Forecast(
        per_day,
        reach,
        reach * _HORIZON,
        error * reach * _HORIZON,
        days(per_day),
        days(per_day - error),
        days(per_day + error),
    )


def _slope(values: Sequence[Value]) -> float:
    return statistics.median(
        (b.left - a.left) / (b.day - a.day) for a, b in combinations(values, 2)
    )


def _errors(values: Sequence[Value], horizon: float) -> Iterator[float]:
    """Forecast the later half of the past from what precedes it.

    :param horizon: how many days ahead
    :return: how far off each forecast was, for a day that it looked ahead
    """
    days = [each.day for each in values]
    for number in range(len(values) // 2, len(values)):
        later = bisect_left(days, days[number] + horizon)
        if later == len(values):
            return
        ahead = days[later] - days[number]
        predicted = values[number].left + _slope(values[: number + 1]) * ahead
        yield abs(values[later].left - predicted) / ahead
