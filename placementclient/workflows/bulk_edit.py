"""One edit of the inventories of many providers."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from placementclient import errors
from placementclient.api import inventory, resource_provider
from placementclient.api.conflict import edited
from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter

#: The fields of inventories by class, as they are sent.
Inventories = Mapping[str, Mapping[str, Any]]
#: Before and after, by class and field; None where there is nothing.
Changes = Mapping[str, Mapping[str, tuple[Any, Any]]]

CHANGED, UNCHANGED, PLANNED, FAILED = 'changed', 'unchanged', 'would change', 'failed'


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


def plan(
    client: Client, selection: Selection, change: Callable[[Inventories], Inventories]
) -> list[Edit]:
    """What would be done to each provider, by name.

    :param change: what a provider shall have, by what it has
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
        edit = Edit(provider, there, change(there.value), UNCHANGED)
        edits.append(replace(edit, state=PLANNED) if edit.changes else edit)
    return edits


def carry_out(
    client: Client, edits: list[Edit], change: Callable[[Inventories], Inventories]
) -> Iterator[Edit]:
    """Do it, and go on where one fails; where somebody else came first, decide that one anew."""
    for edit in edits:
        if edit.state != PLANNED:
            yield edit
            continue
        try:
            yield _done(client, edit, change)
        except errors.PlacementError as failure:
            yield replace(edit, state=FAILED, reason=str(failure))


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
    )
    return Edit(edit.provider, reads[-1], written.value, CHANGED)


def _read(client: Client, provider_uuid: str) -> Read[Inventories]:
    return _shown(inventory.list(client, provider_uuid))


def _shown(there: Read[inventory.Inventories]) -> Read[Inventories]:
    fields = {name: item.to_json() for name, item in there.value.items()}
    return Read(fields, there.generation, there.last_modified)
