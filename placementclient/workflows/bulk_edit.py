"""One edit of the inventories of many providers."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placementclient import errors
from placementclient.api import inventory, resource_class, resource_provider
from placementclient.api.conflict import edited
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import UNLIMITED
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.wording import meant

#: The fields of inventories by class, as they are sent.
Inventories = Mapping[str, Mapping[str, Any]]
#: Before and after, by class and field; None where there is nothing.
Changes = Mapping[str, Mapping[str, tuple[Any, Any]]]

CHANGED, UNCHANGED, PLANNED, FAILED = 'changed', 'unchanged', 'would change', 'failed'
NOT_STARTED = 'not started'

#: The smallest value of each field that the service takes.
LEAST = {'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1}


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
    :param state: one of the constants of this module
    :param reason: why it failed
    """

    provider: Provider
    there: Read[Inventories]
    wanted: Inventories
    state: str
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
        for field, least in LEAST.items():
            value = fields.get(field, least)
            if not least <= value <= UNLIMITED:
                raise errors.BadArgument(
                    f'{name}:{field}={value} is not between {least} and {UNLIMITED}'
                )


def exit_status(edits: Sequence[Edit]) -> ExitStatus:
    """0: all is done; 1: nothing of what was tried; 6: some."""
    states = {edit.state for edit in edits}
    if FAILED not in states:
        return ExitStatus.DONE
    return ExitStatus.PARTIAL if states & {CHANGED, PLANNED} else ExitStatus.ERROR


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
        edits.append(_judged(Edit(provider, there, change(there.value), UNCHANGED)))
    if not edits:
        raise errors.NoSuchProvider('No resource provider is selected')
    _check_classes(client, edits)
    return edits


def _judged(edit: Edit) -> Edit:
    """Whether there is anything to do, and whether the service would take it."""
    if not edit.changes:
        return edit
    for name, fields in edit.wanted.items():
        total, reserved = fields.get('total'), fields.get('reserved', 0)
        if total is None:
            return replace(edit, state=FAILED, reason=f'{name} needs a total')
        if reserved > total:
            reason = f'{name}: reserved {reserved} is above the total of {total}'
            return replace(edit, state=FAILED, reason=reason)
    return replace(edit, state=PLANNED)


def _check_classes(client: Client, edits: Sequence[Edit]) -> None:
    there = {name for edit in edits for name in edit.there.value}
    new = {name for edit in edits for name in edit.wanted} - there
    known = resource_class.list(client) if new else []
    for name in sorted(new.difference(known)):
        raise errors.BadArgument(f'There is no resource class {name!r}{meant(name, known)}')


def carry_out(
    client: Client, edits: Sequence[Edit], change: Callable[[Inventories], Inventories]
) -> Iterator[Edit]:
    """Do it, and go on where one fails; where somebody else came first, decide that one anew.

    :return: how each has ended, in order
    """
    for edit in edits:
        if edit.state != PLANNED:
            yield edit
            continue
        try:
            yield _done(client, edit, change)
        except errors.PlacementError as failure:
            yield _looked_at(client, edit, change, failure)


def _looked_at(
    client: Client,
    edit: Edit,
    change: Callable[[Inventories], Inventories],
    failure: errors.PlacementError,
) -> Edit:
    """How an edit has ended of which the answer says that it failed, or which has none."""
    try:
        there = _read(client, edit.provider.uuid).value
    except errors.PlacementError:
        there = edit.there.value
    if change(there) == there:
        return replace(edit, state=CHANGED)
    return replace(edit, state=FAILED, reason=str(failure))


def interrupted(edits: Sequence[Edit]) -> Iterator[Edit]:
    """How those have ended that were left when somebody ended it all; the first was under way."""
    under_way = True
    for edit in edits:
        if edit.state != PLANNED:
            yield edit
        elif under_way:
            under_way = False
            yield replace(edit, state=FAILED, reason='interrupted: it may be done')
        else:
            yield replace(edit, state=NOT_STARTED)


def _done(client: Client, edit: Edit, change: Callable[[Inventories], Inventories]) -> Edit:
    uuid, reads = edit.provider.uuid, list[Read[Inventories]]()

    def read() -> Read[Inventories]:
        # The first attempt is made at the generation that the edit was decided on.
        reads.append(_read(client, uuid) if reads else edit.there)
        return reads[-1]

    written = edited(
        read,
        change,
        lambda wanted, generation: _shown(inventory.set_all(client, uuid, wanted, generation)),
        max_retries=client.max_retries,
    )
    return Edit(edit.provider, reads[-1], written.value, CHANGED)


def _read(client: Client, provider_uuid: str) -> Read[Inventories]:
    return _shown(inventory.list(client, provider_uuid))


def _shown(there: Read[inventory.Inventories]) -> Read[Inventories]:
    fields = {name: item.as_fields() for name, item in there.value.items()}
    return Read(fields, there.generation, there.last_modified)
