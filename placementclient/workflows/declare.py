"""Make provider trees as they are declared, beside other writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from placementclient import errors
from placementclient.api import aggregate, inventory, resource_class, resource_provider, trait
from placementclient.api.conflict import retried
from placementclient.declaration.changes import (
    Change,
    Create,
    Delete,
    SetInventories,
    SetNames,
    SetProvider,
    changes,
)
from placementclient.declaration.declared import Declared
from placementclient.http import Client
from placementclient.model.snapshots import Snapshot
from placementclient.snapshot.capture import capture


def plan(
    client: Client, declared: Sequence[Declared], *, prune: bool = False
) -> tuple[Change, ...]:
    """What would be done.

    :raises errors.BadArgument: if a declaration contradicts what is there
    :raises declaration.changes.InUse: if something would go that is used
    """
    return changes(declared, _there(client, declared), prune=prune)


def carry_out(
    client: Client,
    declared: Sequence[Declared],
    *,
    prune: bool = False,
    report: Callable[[Change], None] | None = None,
) -> None:
    """Do it. Where somebody else writes in between, what is left to do is looked for anew.

    :param report: told each change that was made
    :raises: what :func:`plan` does
    :raises errors.HTTPError: if the service refuses
    """

    def attempt() -> None:
        snapshot = _there(client, declared)
        writer = _Writer(client, snapshot)
        for change in changes(declared, snapshot, prune=prune):
            writer.write(change)
            if report:
                report(change)

    retried(attempt, max_retries=client.max_retries)


def _there(client: Client, declared: Sequence[Declared]) -> Snapshot:
    """The whole trees of all that is declared, as far as it exists."""
    roots = dict.fromkeys(_roots(client, declared))
    return capture(client, list(roots)) if roots else Snapshot((), ())


def _roots(client: Client, declared: Sequence[Declared]) -> Iterator[str]:
    for each in (each for root in declared for each in root.all()):
        found = resource_provider.list(client, name=each.name) if each.name else []
        if each.uuid:
            found += resource_provider.list(client, uuid=each.uuid)
        for provider in found:
            yield provider.root_uuid


class _Writer:
    """Writes changes, each at the generation that it was decided on, or that the last one left."""

    def __init__(self, client: Client, snapshot: Snapshot) -> None:
        self._client = client
        states = snapshot.providers.values()
        self._generations: dict[str, int | None] = {
            state.uuid: state.provider.generation for state in states
        }
        # The UUIDs of the providers that were made, by name.
        self._made: dict[str, str] = {}
        self._known: set[tuple[str, str]] = set()

    def write(self, change: Change) -> None:
        """Make one change."""
        client = self._client
        match change:
            case Create():
                self._create(change)
            case SetProvider():
                # The generation stays the one that the rest was decided on: this moves none.
                resource_provider.set(
                    client,
                    change.uuid,
                    change.provider,
                    parent_provider_uuid=self._uuid_of(change.new_parent_uuid, change.new_parent),
                )
            case SetInventories():
                self._ensure('class', change.after)
                fields = {name: each.as_fields() for name, each in change.after.items()}
                uuid, generation = self._at(change)
                written = inventory.set_all(client, uuid, fields, generation)
                self._generations[uuid] = written.generation
            case SetNames(kind='traits'):
                self._ensure('trait', change.after)
                uuid, generation = self._at(change)
                answer = trait.set_on_provider(client, uuid, sorted(change.after), generation)
                self._generations[uuid] = answer.generation
            case SetNames():
                uuid, generation = self._at(change)
                answer = aggregate.set(client, uuid, sorted(change.after), generation)
                self._generations[uuid] = answer.generation
            case Delete():
                try:
                    resource_provider.delete(client, change.uuid)
                except errors.NotFound:
                    return

    def _create(self, change: Create) -> None:
        made = resource_provider.create(
            self._client,
            change.provider,
            uuid=change.uuid or None,
            parent_provider_uuid=self._uuid_of(change.parent_uuid, change.parent),
        )
        self._made[change.provider] = made.uuid
        self._generations[made.uuid] = made.generation

    def _uuid_of(self, uuid: str, name: str | None) -> str | None:
        """The UUID of a provider that exists, or that was made under this name."""
        return uuid or (self._made[name] if name else None)

    def _at(self, change: SetInventories | SetNames) -> tuple[str, int]:
        uuid = change.uuid or self._made[change.provider]
        generation = self._generations[uuid]
        assert generation is not None
        return uuid, generation

    def _ensure(self, kind: str, names: Iterable[str]) -> None:
        """Make the custom classes or traits that there may not be yet."""
        for name in sorted(names):
            if name.startswith('CUSTOM_') and (kind, name) not in self._known:
                if kind == 'class':
                    resource_class.ensure(self._client, name)
                else:
                    trait.create(self._client, name)
                self._known.add((kind, name))
