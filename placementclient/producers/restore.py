# SPDX-License-Identifier: Apache-2.0
"""Restore a snapshot: create what the service lacks."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.api.parallel import call_in_parallel
from placementclient.basis import errors
from placementclient.basis.wording import join_names
from placementclient.changes.at_once import apply_at_once
from placementclient.changes.diff import diff
from placementclient.changes.merge import merge
from placementclient.changes.obstacles import find_unplanned_parts
from placementclient.changes.simulation import simulate
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.consumers import Allocations, Consumer, Resources
from placementclient.model.findings import Finding, Severity
from placementclient.model.providers import Provider
from placementclient.model.servers import Server
from placementclient.model.snapshots import Snapshot
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import capture_named_trees

#: Trees, and consumers, that are read at a time, to see what is there.
WORKERS = 4
_NOTHING = Snapshot((), ())


class Unrestorable(errors.PlacementError):
    """The service cannot have the state of this snapshot; nothing was written."""


class ExistingProviders(Unrestorable):
    """Providers of the snapshot exist already in the service; nothing was written.

    :ivar is_altered: whether the restore would have to change them
    :param names: of these providers, in the service
    """

    def __init__(self, message: str, names: Sequence[str], *, is_altered: bool) -> None:
        super().__init__(f'{message}: {join_names(names, 3, "others")}')
        self.names, self.is_altered = names, is_altered


class RestoreProducer(StateProducer):
    """Plans the creation of all objects of a snapshot that the service lacks.

    Generations begin again. Usage that no consumer accounts for cannot be restored. A consumer that
    has moved or changed since is left alone.

    :param only_missing: complete an interrupted restore
    :param trees: names or UUIDs of the only trees to restore; none: all
    :param only_allocations: restore only allocations, on the providers that exist
    :param servers: Nova's, by UUID; deleted ones are left alone; ``None``: they are not known
    :ivar untyped_count: how many consumers have a type that the service cannot store
    """

    command = 'resource provider snapshot restore'
    has_notes = True

    def __init__(
        self,
        client: Client,
        snapshot: Snapshot,
        *,
        only_missing: bool = False,
        trees: Collection[str] = (),
        only_allocations: bool = False,
        servers: Mapping[str, Server] | None = None,
    ) -> None:
        super().__init__(client)
        self._roots = snapshot.root_uuids(trees)
        #: How many consumers have a type, which the service cannot store.
        self.untyped_count = 0
        if client.microversion < TYPED:
            snapshot, self.untyped_count = _drop_consumer_types(snapshot, self._roots)
        self._snapshot = snapshot
        self._only_missing = only_missing or bool(trees)
        self._only_allocations = only_allocations
        self._servers = servers
        #: All providers of the service, by UUID.
        self._listed: Mapping[str, Provider] = {}

    def read_live_state(self) -> Snapshot:
        """Read the existing trees of the snapshot, and its consumers that are on other trees now.

        :raises Unrestorable: if providers exist that the restore does not complete
        """
        self._listed = {item.uuid: item for item in resource_provider.list(self.client)}
        if self._only_allocations:
            uuids = _map_to_existing_uuids(self._snapshot, self._listed)
            self._snapshot = _replace_uuids(self._snapshot, uuids)
            self._roots = [uuids.get(uuid, uuid) for uuid in self._roots]
        part = self._snapshot.select_trees(self._roots)
        if self._only_allocations:
            trees = {self._listed[u].root_uuid for u in part.providers.keys() & self._listed.keys()}
        else:
            _require_inventories(part)
            trees = _find_existing_roots(self._listed.values(), part, self._only_missing)
        live = capture_named_trees(self.client, sorted(trees), workers=WORKERS)
        if self._listed.keys() <= live.providers.keys():
            return live
        unseen = part.consumers.keys() - live.consumers.keys()
        shown = call_in_parallel(
            lambda uuid: allocation.show(self.client, uuid), sorted(unseen), WORKERS
        )
        elsewhere = (consumer for answer in shown if (consumer := answer.value).allocations)
        consumers = [*live.consumers.values(), *elsewhere]
        return Snapshot(live.providers.values(), consumers, live.origin)

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the existing state with the missing objects.

        :raises Unrestorable: if existing objects differ from those of the snapshot
        """
        part = self._snapshot.select_trees(self._roots)
        chosen = list(self._choose_consumers(part, live))
        merged = live if self._only_allocations else self._add_providers(part, chosen, live)
        # Each keeps its present owner.
        owners = ((live.consumers.get(consumer.uuid, consumer), consumer) for consumer in chosen)
        restored = {c.uuid: replace(owner, allocations=c.allocations) for owner, c in owners}
        consumers = {**live.consumers, **restored}
        return Snapshot(merged.providers.values(), consumers.values(), live.origin)

    def _add_providers(
        self, part: Snapshot, chosen: Sequence[Consumer], live: Snapshot
    ) -> Snapshot:
        """Return the live state with the missing providers and the chosen consumers.

        :param part: the trees of the snapshot to restore
        :param chosen: the consumers that are unchanged or can be restored
        :raises Unrestorable: if the restore would change a provider or a consumer
        """
        desired = Snapshot(part.providers.values(), chosen)
        # Consumers to restore that exist on other trees are no obstacle: make_desired_state() gives
        # them their allocations.
        to_restore = {c.uuid for c in chosen if not self._has_restored_allocations(part, c, live)}
        consumers = (c for c in live.consumers.values() if c.uuid not in to_restore)
        live = Snapshot(live.providers.values(), consumers)
        merged = merge(_NOTHING, desired, live, diff(_NOTHING, desired))
        states = part.providers.items()
        existing = (
            (state, live.providers[uuid]) for uuid, state in states if uuid in live.providers
        )
        added = itertools.starmap(find_unplanned_parts, existing)
        altered = [obstacle.subject for obstacle in itertools.chain(*added, merged.obstacles)]
        if altered:
            message = 'Nothing was done: these have changed since, and restore changes no objects'
            raise ExistingProviders(message, list(dict.fromkeys(altered)), is_altered=True)
        return simulate(live, merged.operations)

    def _choose_consumers(self, part: Snapshot, live: Snapshot) -> Iterator[Consumer]:
        """Yield the consumers that are unchanged or can be restored, and note the others."""
        notes = {note.subject: note for note in self.notes}
        for uuid, consumer in sorted(part.consumers.items()):
            subject, server = f'consumer {uuid}', (self._servers or {}).get(uuid)
            if self._has_restored_allocations(part, consumer, live):
                yield live.consumers[uuid]
            elif reason := self._explain_left_alone(part, consumer, live, server):
                notes[subject] = Finding('left alone', subject, reason=reason)
            else:
                if self._servers is not None and server is None:
                    reason = 'restored, though the list of servers lacks it'
                    note = Finding('not known', subject, reason=reason, severity=Severity.WARNING)
                    notes[subject] = note
                yield consumer
        self.notes = list(notes.values())

    def _has_restored_allocations(self, part: Snapshot, consumer: Consumer, live: Snapshot) -> bool:
        """Return whether a consumer holds what the snapshot gives it on providers of ``part``."""
        current = live.consumers.get(consumer.uuid)
        return current is not None and all(
            current.allocations.get(uuid) == resources
            for uuid, resources in consumer.allocations.items()
            if uuid in part.providers
        )

    def _explain_left_alone(
        self, part: Snapshot, consumer: Consumer, live: Snapshot, server: Server | None
    ) -> str:
        """Return the reason why a consumer is left alone; empty if it can be restored."""
        if server is not None and server.is_deleted:
            return 'Nova has deleted the server'
        current = live.consumers.get(consumer.uuid)
        present = self._group_by_tree(current.allocations if current else {})
        planned = self._group_by_tree(consumer.allocations)
        # What a purge has freed is a whole tree, not a part of one.
        if any(planned.get(root) != allocations for root, allocations in present.items()):
            names = sorted(map(self._get_provider_name, current.allocations if current else ()))
            return f'it has moved or changed since, and is on {", ".join(names)}'
        for uuid, resources in consumer.allocations.items():
            name = self._get_provider_name(uuid)
            if uuid not in self._listed and (self._only_allocations or uuid not in part.providers):
                return f'{name} does not exist'
            state = live.providers.get(uuid) if self._only_allocations else None
            if state is not None and (lacking := resources.keys() - state.inventories.keys()):
                return f'{name} has no inventory of {", ".join(sorted(lacking))}'
        return ''

    def _group_by_tree(self, allocations: Allocations) -> dict[str, dict[str, Resources]]:
        """Return allocations by the UUID of the root in the snapshot, then by provider."""
        trees: dict[str, dict[str, Resources]] = {}
        for uuid, resources in allocations.items():
            state = self._snapshot.providers.get(uuid)
            trees.setdefault(state.provider.root_uuid if state else uuid, {})[uuid] = resources
        return trees

    def _get_provider_name(self, provider_uuid: str) -> str:
        """Return the present name of a provider, or else that in the snapshot."""
        state, item = self._snapshot.providers.get(provider_uuid), self._listed.get(provider_uuid)
        return item.name if item else state.name if state else provider_uuid


def _drop_consumer_types(snapshot: Snapshot, roots: Collection[str]) -> tuple[Snapshot, int]:
    """Return a snapshot as a service before 1.38 stores it, and how many consumers lose a type.

    :param roots: UUIDs of the roots of the trees whose consumers are counted
    """
    stored = [replace(consumer, type=None) for consumer in snapshot.consumers.values()]
    consumers = snapshot.select_trees(roots).consumers.values()
    lost = sum(consumer.type is not None for consumer in consumers)
    return Snapshot(snapshot.providers.values(), stored, snapshot.origin), lost


def load_snapshot(client: Client, snapshot: Snapshot) -> None:
    """Create the classes, traits, providers and allocations of a snapshot.

    :raises Unrestorable: if some of it cannot be created
    """
    restoring = RestoreProducer(client, snapshot)
    plan = restoring.plan()
    if restoring.has_errors:
        reasons = [f'{note.subject}: {note.reason}' for note in restoring.notes]
        raise Unrestorable(f'Not restored: {join_names(reasons, 3, "others")}')
    apply_at_once(client, plan).raise_first_error()


def _map_to_existing_uuids(snapshot: Snapshot, existing: Mapping[str, Provider]) -> dict[str, str]:
    """Return the UUID to use for each provider of a snapshot that the service lacks by its UUID.

    It is the UUID of the existing provider with the same name, or else its own.

    :param existing: all providers of the service, by UUID
    """
    present = {item.name: uuid for uuid, item in existing.items()}
    return {
        uuid: present.get(state.name, uuid)
        for uuid, state in snapshot.providers.items()
        if uuid not in existing and present.get(state.name) not in snapshot.providers
    }


def _replace_uuids(snapshot: Snapshot, new_uuids_by_old: Mapping[str, str]) -> Snapshot:
    """Return a snapshot in which some providers, and allocations on them, have other UUIDs."""

    def change_uuids(provider: Provider) -> Provider:
        parent = provider.parent_provider_uuid
        return replace(
            provider,
            uuid=new_uuids_by_old.get(provider.uuid, provider.uuid),
            parent_provider_uuid=new_uuids_by_old.get(parent, parent) if parent else None,
            root_provider_uuid=new_uuids_by_old.get(provider.root_uuid, provider.root_uuid),
        )

    consumers = (
        replace(
            consumer,
            allocations={new_uuids_by_old.get(u, u): r for u, r in consumer.allocations.items()},
        )
        for consumer in snapshot.consumers.values()
    )
    states = snapshot.providers.values()
    renamed_states = (replace(state, provider=change_uuids(state.provider)) for state in states)
    return Snapshot(renamed_states, consumers, snapshot.origin)


def _require_inventories(snapshot: Snapshot) -> None:
    """Refuse a snapshot with allocations of which it has no inventory.

    :raises Unrestorable: names the consumer and the classes
    """
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            state = snapshot.providers.get(uuid)
            lacking = resources.keys() - state.inventories.keys() if state else set()
            if lacking:
                raise Unrestorable(
                    f'Consumer {consumer.uuid} holds {", ".join(sorted(lacking))} on the provider '
                    f'{uuid}, of which the snapshot has no inventory'
                )


def _find_existing_roots(
    listed: Collection[Provider], snapshot: Snapshot, only_missing: bool
) -> set[str]:
    """Return the UUIDs of the roots of those providers of the snapshot that exist.

    :param listed: all providers of the service
    :param only_missing: whether providers of the snapshot may exist; otherwise none may
    :raises Unrestorable: if providers exist that must not
    """
    roots, occupied = set[str](), []
    for provider in listed:
        state = snapshot.providers.get(provider.uuid) or snapshot.find_by_name(provider.name)
        if state is None:
            continue
        if only_missing and (state.uuid, state.name) == (provider.uuid, provider.name):
            roots.add(provider.root_uuid)
        else:
            occupied.append(provider.name)
    if occupied:
        how = ' with other UUIDs or names' if only_missing else ''
        message = f'Nothing was done: providers of the snapshot exist already{how}'
        raise ExistingProviders(message, occupied, is_altered=only_missing)
    return roots
