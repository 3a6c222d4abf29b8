# SPDX-License-Identifier: Apache-2.0
"""The invariants of one run, of the same command again, and of its way back."""

from collections.abc import Iterator
from typing import NamedTuple

from placementclient.basis.errors import ExitStatus
from tests.interleavings.running import Outcome
from tests.simulation import invariants
from tests.simulation.invariants import Violation
from tests.simulation.state import Delta, State, delta


class Order(NamedTuple):
    """The act and the command one after the other.

    :param uneven: the consumers that the command has given more or less in all
    """

    status: int | None
    state: State
    uneven: frozenset[str] = frozenset()


def of_run(
    outcome: Outcome, end: State, orders: list[Order], base: Outcome, *, in_window: bool
) -> Iterator[Violation]:
    """Return what is wrong with a run that has ended.

    :param in_window: whether the act came just before a request that no generation guards: a GET
        cannot come later, so that window stays
    """
    uneven = base.uneven.union(outcome.written_by_others, *(order.uneven for order in orders))
    yield from of_any(outcome, end, uneven)
    if outcome.status == ExitStatus.DONE and not in_window:
        succeeding = [order.state for order in orders if order.status == ExitStatus.DONE]
        yield from _unordered('0', end, succeeding)
        # A command that found a provider by its name goes on with its UUID, and shows the name.
        if orders and not succeeding and outcome.shown is None:
            yield Violation(
                'order', '0, but the command fails after the act, and the act after the command'
            )


def of_lost_answer(outcome: Outcome, base: Outcome, *, is_guarded: bool) -> Iterator[Violation]:
    """Return what is wrong with a run that has lost one answer, while nobody else acted.

    :param is_guarded: whether the generation is the operator's: then nobody can tell what happened
    """
    expected = ExitStatus.ERROR if is_guarded else base.status
    if outcome.status != expected:
        yield Violation('lost answer', f'ends with {outcome.status}, not {expected}')
    elif is_guarded and 'it is unknown whether it was done' not in outcome.output:
        yield Violation('lost answer', 'does not say that it is unknown whether it was done')


def of_any(outcome: Outcome, end: State, uneven: set[str]) -> Iterator[Violation]:
    """Return what is wrong with any run, whatever has happened before.

    :param uneven: the consumers that may have more or less in all than before
    """
    yield from invariants.of_end(outcome.ended, outcome.written, end)
    for uuid in sorted(outcome.uneven - uneven):
        yield Violation('conserves', f'a request has changed how much {uuid} has in all')


def of_overwriting(outcome: Outcome, since: int, *, in_window: bool) -> Iterator[Violation]:
    """Return what a reviewed command has overwritten of what it had not read."""
    for number, key in outcome.overwritten(since):
        is_shown = outcome.shown is not None and outcome.shown < number
        if not (is_shown or (in_window and number == since)):
            yield Violation('overwritten', f'request {number} changes {key}, which was not read')


def of_later(
    outcome: Outcome,
    end: State,
    allowed: list[State],
    uneven: set[str],
    *,
    is_alone: bool,
    is_mixed: bool,
    earlier: Outcome | None = None,
) -> Iterator[Violation]:
    """Return what is wrong when a command has been run again, or taken back.

    :param allowed: the states that it may lead to
    :param uneven: see :func:`of_any`
    :param is_alone: whether nobody else has done anything: then it has no reason to refuse
    :param is_mixed: whether the other came in the middle of what was done: then each part may be
        that of another of the states
    :param earlier: the run that this one continues, if it does
    """
    if earlier is not None:
        both = earlier.written
        both.deltas += outcome.written.deltas
        yield from invariants.of_left_alone(outcome.ended, both, end)
    yield from of_any(outcome, end, uneven)
    if outcome.status == ExitStatus.DONE or is_alone:
        yield from _unordered(f'then {outcome.status}', end, allowed, is_mixed=is_mixed)


def _unordered(
    text: str, end: State, allowed: list[State], *, is_mixed: bool = False
) -> Iterator[Violation]:
    """Return the difference from the nearest of some states, if it is none of them."""
    differences = [_without_names(delta(_named(state), _named(end))) for state in allowed]
    if is_mixed:
        differences = [
            {
                key: (was, now)
                for key, (was, now) in difference.items()
                if all(_named(state).get(key) != now for state in allowed)
            }
            for difference in differences
        ]
    if all(differences) and differences:
        least = min(differences, key=len)
        shown = [f'{key} {was!r} -> {now!r}' for key, (was, now) in least.items()]
        text = f'{text}, but no order of the two leads here: {"; ".join(shown[:5])}'
        yield Violation('order', text)


def _named(state: State) -> State:
    """Put the name of a provider in place of a UUID that the service or the product has chosen."""
    names = {key[1]: value[0] for key, value in state.items() if key[0] == 'provider'}
    chosen = {uuid: name for uuid, name in names.items() if uuid[:8] != uuid[0] * 8}

    def shown(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(shown(part) for part in value)
        return chosen.get(value, value) if isinstance(value, str) else value

    return State({shown(key): shown(value) for key, value in state.items()}) if chosen else state


def _without_names(changed: Delta) -> Delta:
    """Leave out the custom classes and traits: they stay, as others may use them."""
    return {
        key: pair for key, pair in changed.items() if key[0] not in ('class name', 'trait name')
    }
