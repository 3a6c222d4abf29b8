"""The invariants of one run, of the same command again, and of its way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from placementclient.client.errors import ExitStatus
from tests.interleavings.running import Outcome
from tests.simulation import invariants
from tests.simulation.command import Command
from tests.simulation.invariants import Violation
from tests.simulation.state import Key, State, delta


class Order(NamedTuple):
    """The act and the command one after the other."""

    status: int | None
    state: State


def of_run(
    outcome: Outcome, end: State, orders: list[Order], base: Outcome, *, in_window: bool
) -> Iterator[Violation]:
    """Return what is wrong with a run that has ended.

    :param in_window: whether the act came just before a request that no generation guards: a GET
        cannot come later, so that window stays
    """
    yield from of_any(outcome, end, base)
    if outcome.status == ExitStatus.DONE and not in_window:
        yield from _unordered('0', end, [order for order in orders if order.status == 0], orders)
    elif outcome.status is not None and not outcome.said:
        yield Violation('silent', f'{outcome.status}, and nothing is said')


def of_any(outcome: Outcome, end: State, base: Outcome) -> Iterator[Violation]:
    """Return what is wrong with any run, whatever has happened before."""
    yield from invariants.of_end(Command([]), outcome.ended, outcome.written, end)
    for uuid in sorted(outcome.uneven - base.uneven):
        yield Violation('conserves', f'a request has changed how much {uuid} has in all')


def of_overwriting(outcome: Outcome, since: int, *, in_window: bool) -> Iterator[Violation]:
    """Return what a reviewed command has overwritten of what it had not read."""
    for number, key in outcome.overwritten(since):
        is_shown = outcome.shown is not None and outcome.shown < number
        if not (is_shown or (in_window and number == since)):
            yield Violation('overwritten', f'request {number} changes {key}, which was not read')


def of_again(
    outcome: Outcome, end: State, orders: list[Order], base: Outcome
) -> Iterator[Violation]:
    """Return what is wrong when a command has been run again."""
    yield from of_any(outcome, end, base)
    is_alone = len(orders) == 1
    if outcome.status == ExitStatus.DONE or is_alone:
        yield from _unordered(f'again {outcome.status}', end, orders, orders)


def of_back(
    outcome: Outcome, end: State, expected: list[State], base: Outcome
) -> Iterator[Violation]:
    """Return what is wrong when a plan has been rolled back."""
    yield from of_any(outcome, end, base)
    is_alone = len(expected) == 1
    if outcome.status == ExitStatus.DONE or is_alone:
        orders = [Order(0, state) for state in expected]
        yield from _unordered(f'back {outcome.status}', end, orders, orders)


def _unordered(
    text: str, end: State, allowed: list[Order], orders: list[Order]
) -> Iterator[Violation]:
    """Return the difference from the nearest of some states, if it is none of them."""
    differences = [_kept(delta(order.state, end)) for order in allowed]
    if differences and not all(differences):
        return
    if not differences:
        # The command alone would have failed.
        differences = [_kept(delta(order.state, end)) for order in orders]
    least = min(differences, key=len, default={})
    shown = '; '.join(f'{key} {was!r} -> {now!r}' for key, (was, now) in list(least.items())[:5])
    yield Violation('order', f'{text}, but no order of the two leads here: {shown}')


def _kept(changed: dict[Key, object]) -> dict[Key, object]:
    """Leave out the custom classes and traits: they stay, as others may use them."""
    return {
        key: pair for key, pair in changed.items() if key[0] not in ('class name', 'trait name')
    }
