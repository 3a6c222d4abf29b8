"""The story of one consumer or provider: came, moved, grew, went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from placementclient.insight import diff
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import Snapshot

#: What happened to a field of a provider; anything else has changed.
_EVENTS = {'name': 'renamed', 'parent': 'moved'}


@dataclass(frozen=True, slots=True)
class Event:
    """A difference between two snapshots of a history.

    :param previous: when the last snapshot was read that does not have it, as ISO 8601; ``''``:
        there is none
    :param at: when the first one was read that has it
    :param event: ``there`` in the first snapshot, ``came``, ``gone``, ``moved``, ``grew``,
        ``shrank``, ``renamed`` or ``changed``
    :param name: of the provider; the UUID of a consumer
    :param field: ``''`` where it is about all of it
    """

    previous: str
    at: str
    event: str
    name: str
    uuid: str
    field: str
    before: Any
    after: Any


#: A snapshot that has the one that the story is about, those that it is on, and maybe nothing else.
Moment = tuple[str, Snapshot]


def of_consumer(uuid: str, moments: Iterable[Moment]) -> Iterator[Event]:
    """Return the story of a consumer.

    :param moments: when snapshots were read, as ISO 8601, and what they have, in their order
    """
    for (previous, old), (at, new) in _steps(moments):
        before, after = old.consumers.get(uuid), new.consumers.get(uuid)

        def line(
            event: str, field: str, was: Any, now: Any, previous: str = previous, at: str = at
        ) -> Event:
            return Event(previous, at, event, uuid, uuid, field, was, now)

        was, now = _held(before, old), _held(after, new)
        if was != now:
            yield line(_event(was, now, previous), 'allocations', was or None, now or None)
        for field in ('project_id', 'user_id', 'type') if before and after else ():
            if getattr(before, field) != getattr(after, field):
                yield line('changed', field, getattr(before, field), getattr(after, field))


def of_providers(uuids: Iterable[str], moments: Iterable[Moment]) -> Iterator[Event]:
    """Return the story of some providers; allocations belong to the stories of consumers.

    :param moments: as for :func:`of_consumer`
    """
    chosen = set(uuids)
    for (previous, old), (at, new) in _steps(moments):
        for each in diff.differences(old, new):
            if each.kind == 'provider' and each.uuid in chosen and 'unlisted' not in each.field:
                was, now = (
                    (each.before, each.after)
                    if each.field
                    else (_summary(old, each.uuid), _summary(new, each.uuid))
                )
                event = _of_difference(each, previous)
                yield Event(previous, at, event, each.name, each.uuid, each.field, was, now)


def _summary(snapshot: Snapshot, uuid: str) -> Mapping[str, int] | None:
    """Return the total of each class of a provider; ``None`` where there is no provider."""
    state = snapshot.providers.get(uuid)
    if state is None:
        return None
    return {name: each.total for name, each in sorted(state.inventories.items())}


def _steps(moments: Iterable[Moment]) -> Iterator[tuple[Moment, Moment]]:
    nothing: Moment = ('', Snapshot((), ()))
    return pairwise([nothing, *moments])


def _held(consumer: Consumer | None, snapshot: Snapshot) -> dict[str, Mapping[str, int]]:
    """Return what a consumer holds, by the names of the providers as far as they are known."""
    found = {}
    for uuid, resources in consumer.allocations.items() if consumer else ():
        state = snapshot.providers.get(uuid)
        found[state.name if state else uuid] = dict(sorted(resources.items()))
    return dict(sorted(found.items()))


def _event(
    was: Mapping[str, Mapping[str, int]], now: Mapping[str, Mapping[str, int]], previous: str
) -> str:
    if not was:
        return 'came' if previous else 'there'
    if not now:
        return 'gone'
    if was.keys() != now.keys():
        return 'moved'
    steps = {
        now[name].get(each, 0) - was[name].get(each, 0)
        for name in was
        for each in was[name].keys() | now[name].keys()
    }
    if min(steps) >= 0:
        return 'grew'
    return 'shrank' if max(steps) <= 0 else 'changed'


def _of_difference(each: diff.Difference, previous: str) -> str:
    if not each.field:
        if each.change == 'removed':
            return 'gone'
        return 'came' if previous else 'there'
    if each.field.endswith('.total'):
        return 'grew' if (each.after or 0) > (each.before or 0) else 'shrank'
    return _EVENTS.get(each.field, 'changed')
