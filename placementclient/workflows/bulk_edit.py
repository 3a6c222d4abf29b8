"""One edit of the inventories of many providers."""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placementclient import errors
from placementclient.api import inventory, resource_class, resource_provider
from placementclient.api.conflict import retried
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import LARGEST_RATIO, UNLIMITED
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.wording import meant
from placementclient.workflows.run import Run

#: The fields of inventories by class, as they are sent.
Inventories = Mapping[str, Mapping[str, Any]]
#: Before and after, by class and field; None where there is nothing.
Changes = Mapping[str, Mapping[str, tuple[Any, Any]]]

#: The smallest and the largest value of each field that the service takes.
BOUNDS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(('total', 'min_unit', 'max_unit', 'step_size'), (1, UNLIMITED)),
    'reserved': (0, UNLIMITED),
    'allocation_ratio': (-LARGEST_RATIO, LARGEST_RATIO),
}


class State(enum.StrEnum):
    """Where an edit is."""

    UNCHANGED = 'unchanged'
    PLANNED = 'would change'
    CHANGED = 'changed'
    FAILED = 'failed'
    NOT_STARTED = 'not started'


@dataclass(frozen=True, slots=True)
class Selection:
    """Which providers; all conditions that are given have to hold.

    :param match: a pattern of their names, as of files
    :param trait: one that they have; from microversion 1.18
    :param resource_class: one that they have inventory of
    """

    match: str | None = None
    trait: str | None = None
    resource_class: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done to one provider.

    :param there: what it has, and the generation that this was decided on
    :param wanted: what it shall have
    :param reason: why it failed
    """

    provider: Provider
    there: Read[Inventories]
    wanted: Inventories
    state: State
    reason: str = ''

    @property
    def changes(self) -> Changes:
        """What differs."""
        before, changes = self.there.value, {}
        for name in sorted({*before, *self.wanted}):
            old, new = before.get(name, {}), self.wanted.get(name, {})
            fields = {
                field: (old.get(field), new.get(field))
                for field in sorted({*old, *new})
                if old.get(field) != new.get(field)
            }
            if fields:
                changes[name] = fields
        return changes

    @property
    def dropped(self) -> set[str]:
        """The classes of which nothing would be left."""
        return set(self.there.value) - set(self.wanted)


def check(given: Inventories) -> None:
    """Look for values that no provider can be given.

    :raises errors.BadArgument: if there are some
    """
    for name, fields in given.items():
        for field, value in fields.items():
            least, most = BOUNDS[field]
            if not least <= value <= most:
                raise errors.BadArgument(
                    f'{name}:{field}={value} is not between {least} and {most}'
                )


def exit_status(edits: Sequence[Edit], run: Run) -> ExitStatus:
    """0: all is done; 1: nothing of what was tried; 6: some."""
    states = {edit.state for edit in edits}
    return run.exit_status(
        is_failed=State.FAILED in states, is_done=bool(states & {State.CHANGED, State.PLANNED})
    )


def plan(
    client: Client, selection: Selection, change: Callable[[Inventories], Inventories]
) -> list[Edit]:
    """What would be done to each provider, by name.

    :param change: what a provider shall have, by what it has
    :raises errors.NoSuchProvider: if none is selected
    """
    wanted = Filter(required=(selection.trait,) if selection.trait else ())
    providers = resource_provider.list(client, matching=wanted)
    edits = []
    for provider in sorted(providers, key=lambda provider: provider.name):
        if not fnmatch.fnmatchcase(provider.name, selection.match or '*'):
            continue
        there = _read(client, provider.uuid)
        if selection.resource_class and selection.resource_class not in there.value:
            continue
        edits.append(_judged(provider, there, change))
    if not edits:
        raise errors.NoSuchProvider('No resource provider is selected')
    _check_classes(client, edits)
    return edits


def _judged(
    provider: Provider, there: Read[Inventories], change: Callable[[Inventories], Inventories]
) -> Edit:
    """What would be done to a provider, and whether the service would take it."""
    edit = Edit(provider, there, change(there.value), State.UNCHANGED)
    if not edit.changes:
        return edit
    for name, fields in edit.wanted.items():
        total, reserved = fields.get('total'), fields.get('reserved', 0)
        if total is None:
            return replace(edit, state=State.FAILED, reason=f'{name} needs a total')
        if reserved > total:
            reason = f'{name}: reserved {reserved} is above the total of {total}'
            return replace(edit, state=State.FAILED, reason=reason)
    return replace(edit, state=State.PLANNED)


def _check_classes(client: Client, edits: Sequence[Edit]) -> None:
    there = {name for edit in edits for name in edit.there.value}
    new = {name for edit in edits for name in edit.wanted} - there
    known = resource_class.list(client) if new else []
    for name in sorted(new.difference(known)):
        raise errors.BadArgument(f'There is no resource class {name!r}{meant(name, known)}')


def carry_out(
    client: Client,
    edits: Iterable[Edit],
    change: Callable[[Inventories], Inventories],
    run: Run,
) -> Iterator[Edit]:
    """Do it, and go on where one fails; where somebody else came first, decide that one anew.

    :return: how each has ended, in order; none is begun any more once the run is over
    """
    for edit in edits:
        if edit.state is not State.PLANNED:
            yield edit
        elif run.is_over:
            yield replace(edit, state=State.NOT_STARTED)
        else:
            yield _ended(client, edit, change, run)


def _ended(
    client: Client, edit: Edit, change: Callable[[Inventories], Inventories], run: Run
) -> Edit:
    ended = replace(edit, state=State.CHANGED)

    def make() -> None:
        nonlocal ended
        ended = _written(client, edit, change)

    def is_reached() -> bool:
        there = _read(client, edit.provider.uuid).value
        return change(there) == there

    reason = run.failure(make, is_reached)
    return replace(edit, state=State.FAILED, reason=reason) if reason else ended


def _written(client: Client, edit: Edit, change: Callable[[Inventories], Inventories]) -> Edit:
    # The first attempt is made at the generation that the edit was decided on.
    decided = [edit]

    def attempt() -> Edit:
        current = decided.pop() if decided else _anew(client, edit, change)
        if current.state is not State.PLANNED:
            return current
        uuid, generation = edit.provider.uuid, current.there.generation
        assert generation is not None
        written = _shown(inventory.set_all(client, uuid, current.wanted, generation))
        return replace(current, wanted=written.value, state=State.CHANGED)

    return retried(attempt, max_retries=client.max_retries)


def _anew(client: Client, edit: Edit, change: Callable[[Inventories], Inventories]) -> Edit:
    """An edit by what there is now; it drops nothing that was not there when it was shown."""
    anew = _judged(edit.provider, _read(client, edit.provider.uuid), change)
    if anew.state is State.UNCHANGED:
        return replace(edit, state=State.CHANGED)
    come = anew.dropped - edit.dropped
    if come:
        reason = f'{", ".join(sorted(come))} has come meanwhile and would be dropped'
        return replace(anew, state=State.FAILED, reason=reason)
    return anew


def _read(client: Client, provider_uuid: str) -> Read[Inventories]:
    return _shown(inventory.list(client, provider_uuid))


def _shown(there: Read[inventory.Inventories]) -> Read[Inventories]:
    fields = {name: item.as_fields() for name, item in there.value.items()}
    return Read(fields, there.generation, there.last_modified)
