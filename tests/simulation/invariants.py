# SPDX-License-Identifier: Apache-2.0
"""What holds after each write, and at the end of each command."""

import json
from typing import Any, NamedTuple

from placementclient.basis.errors import ExitStatus
from tests.simulation.state import ABSENT, Delta, Key

#: After these nothing was written.
_UNTOUCHED = (ExitStatus.USAGE, ExitStatus.INFEASIBLE, ExitStatus.UNDECIDED)


class Violation(NamedTuple):
    """Something that must never be."""

    kind: str
    text: str

    def __str__(self):
        return f'{self.kind}: {self.text}'


def of_write(command, before, after, changed):
    """What is wrong with one request of a command."""
    outside = [key for key in changed if not command.scope(before, key)]
    if outside:
        yield Violation('outside', f'{_shown(changed, outside)} is nothing that it names')
    if command.conserves:
        for consumer in sorted({key[1] for key in changed if key[0] == 'allocation'}):
            was, now = before.sums(consumer), after.sums(consumer)
            if was != now:
                yield Violation('lost', f'{consumer} held {dict(was)}, and now {dict(now)}')
    if not command.sets_capacity:
        yield from _exceeded(before, after, changed)


def _exceeded(before, after, changed):
    touched = {key[-2:] for key in changed if key[0] in ('allocation', 'inventory')}
    for provider, name in sorted(touched):
        used, capacity = after.used[provider, name], after.capacity(provider, name)
        was_used, was_capacity = before.used[provider, name], before.capacity(provider, name)
        is_worse = used > was_used or capacity < was_capacity
        if used > capacity and (is_worse or was_used <= was_capacity):
            yield Violation('capacity', f'{provider} gives {used} of {capacity} {name}')


class Written:
    """What one run of a command has written.

    :ivar deltas: of its requests that changed something
    :ivar disturbed: what others have written since it began
    """

    def __init__(self):
        self.deltas: list[Delta] = []
        self.disturbed: set[Key] = set()
        self.violations: list[Violation] = []

    def net(self):
        """What the run has changed in all, before and after."""
        changes: dict[Key, tuple[Any, Any]] = {}
        for changed in self.deltas:
            for key, (was, now) in changed.items():
                changes[key] = changes.get(key, (was, None))[0], now
        return {key: pair for key, pair in changes.items() if pair[0] != pair[1]}


def of_end(ended, written, state):
    """What is wrong with how a command ended."""
    if ended.cause is not None:
        yield Violation('unexpected', repr(ended.cause))
    if 'Traceback' in ended.stderr:
        yield Violation('unexpected', ended.stderr)
    if ended.status is not None:
        yield from _of_status(ended.status, ended, written)
        for row in rows(ended):
            if row.get('state') == 'done' and not _is_so(row, state, written.disturbed):
                yield Violation('status', f'"done" is not true: {row}')
        yield from of_left_alone(ended, written, state)


def of_left_alone(ended, written, state):
    """What was written, and is still so, although every tree was left alone."""
    states = {row.get('state') for row in rows(ended) if {*row} == {'tree', 'state', 'reason'}}
    untold = {
        key: (was, now)
        for key, (was, now) in written.net().items()
        if not _is_name(key) and state.get(key) == now
    }
    if states == {'left alone'} and untold:
        yield Violation('status', f'"left alone", but {_shown(untold)} was written')


def _of_status(status, ended, written):
    """What the exit status says, and is not so."""
    if status not in tuple(ExitStatus):
        yield Violation('status', f'{status} is none')
    if status == ExitStatus.INTERRUPTED and not _was(ended, 'interrupted'):
        yield Violation('status', 'nobody has interrupted it')
    if status in _UNTOUCHED and written.deltas:
        yield Violation('status', f'{status}, but {_shown(written.net())} was written')
    message = f'{ended.stdout}\n{ended.stderr}'
    if status not in (ExitStatus.DONE, ExitStatus.INTERRUPTED) and not message.strip():
        yield Violation('status', f'{status}, and nothing is said')
    is_reported = any(word in message for word in ('not known', 'done', 'is still there', 'left'))
    untold = {key: pair for key, pair in written.net().items() if not _is_name(key)}
    if status == ExitStatus.ERROR and untold and not is_reported:
        text = f'1, but {_shown(untold)} was written: {message.strip()[:400]}'
        yield Violation('untold', text)


def _is_so(row, state, disturbed):
    """Whether what a row says is done is so, or others have changed it since."""
    moved = {key[1] for key in disturbed if key[0] == 'provider'}
    if moved and state.by_name(row['object']) in (None, *moved):
        # Others have deleted it or given its name to another.
        return True
    facts = dict(_facts(row, state))
    return all(
        key in disturbed or (state.get(key, ABSENT) is not ABSENT if value is ... else
                             state.get(key, ABSENT) == value)
        for key, value in facts.items()
    )  # fmt: skip


def _facts(row, state):
    """What a row of the table of changes says of each key; ``...``: that it is there."""
    what, before, after = row['change'], row['before'], row['after']
    if what == 'allocations':
        consumer = row['object'].removeprefix('consumer ')
        for side, exists in ((before, False), (after, True)):
            for name, resources in (side or {}).items():
                for kind, amount in resources.items():
                    key = 'allocation', consumer, state.by_name(name) or '', kind
                    yield key, amount if exists else ABSENT
        return
    uuid = state.by_name(row['object']) or ''
    if what in ('traits', 'aggregates'):
        for side, value in ((before, ABSENT), (after, True)):
            yield from (((what.removesuffix('s'), uuid, name), value) for name in side or ())
    elif what in ('create', 'delete'):
        yield ('provider', uuid), ... if what == 'create' else ABSENT
    elif ':' not in what and what.isupper():
        yield ('inventory', uuid, what), ABSENT if after is None else ...


def of_rollback(plan, state):
    """What was not taken back although nobody else has changed it."""
    consumers = {key[1] for key in plan.disturbed if key[0] in ('allocation', 'consumer')}
    # A provider that the plan has made stays where another client has made one below it.
    made = {key[1] for key, (was, _) in plan.done.items() if key[0] == 'provider' and was == ABSENT}
    staying = made & {state[key][1] for key in state.of('provider')}
    for key, (was, _) in sorted(plan.done.items()):
        if key in plan.disturbed or _is_name(key) or key[1] in staying:
            continue
        # Who goes, or goes elsewhere, in between does not come back.
        if key[0] in ('allocation', 'consumer') and key[1] in consumers:
            continue
        if state.get(key, ABSENT) != was:
            text = f'{key} was {was!r} before the plan, and is {state.get(key)!r} after rollback'
            yield Violation('rollback', text)


def _is_name(key):
    """Classes and traits stay: others may use them by now."""
    return key[0] in ('class name', 'trait name')


def _was(ended, kind):
    return any(fault.startswith(kind) for fault in ended.faults)


def _shown(changed, keys=()):
    chosen = list(keys or changed)[:4]
    return '; '.join(f'{key} {changed[key][0]!r} -> {changed[key][1]!r}' for key in chosen)


def rows(ended):
    """The table that a command printed as JSON."""
    try:
        rows = json.loads(ended.stdout)
    except ValueError:
        return []
    return rows if isinstance(rows, list) else []
