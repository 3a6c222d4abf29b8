# SPDX-License-Identifier: Apache-2.0
"""The only code that sends the requests of operations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from placementclient.api import (
    aggregate,
    allocation,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    trait,
)
from placementclient.basis.errors import PlacementError
from placementclient.changes import operations as ops
from placementclient.changes.records import operations as records
from placementclient.changes.records.journals import UNKNOWN
from placementclient.changes.written_values import get_compared_values
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import KEEPS_CONSUMER_TYPE
from placementclient.model.consumers import Consumer
from placementclient.model.freshness import Read
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading.facets import CONTENT, Facets, read_facets

if TYPE_CHECKING:
    from placementclient.changes.journal import Journal


class Applier:
    """Applies operations; for each it notes the intent, sends the request, notes the outcome.

    An operation is sent only if the state that it begins with was compared: by a generation, which
    goes from the read that the operations were decided on to the write, or by a read directly
    before it. It retries nothing:
    :func:`placementclient.api.attempts.retry_conflicts` reads and decides again.

    :param live: the providers, as the operations were decided on
    :param tree_uuid: of the root of the tree to which entries of the journal belong
    :param record_of: returns the record of an operation for the journal
    :param made_names: creations of classes and traits that are done, so not sent again; extended
    :ivar done: the operations that the service has carried out, and not taken back
    :ivar lost: the operation that may be carried out, as its answer is lost
    """

    def __init__(
        self,
        client: Client,
        live: Snapshot,
        *,
        journal: Journal | None = None,
        tree_uuid: str = '',
        record_of: Callable[[ops.Operation], Mapping[str, object]] = records.encode_brief,
        made_names: set[ops.Operation] | None = None,
    ) -> None:
        self._client, self._journal = client, journal
        self._tree_uuid, self._record_of = tree_uuid, record_of
        self._made_names = set() if made_names is None else made_names
        providers = [state.provider for state in live.providers.values()]
        self._generations: dict[str, int | None] = {
            provider.uuid: provider.generation for provider in providers
        }
        self._roots = {provider.root_uuid for provider in providers}
        self._is_in_transaction = False
        # The providers and consumers whose generations an earlier operation has moved.
        self._outdated: set[str] = set()
        self.done: list[ops.Operation] = []
        self.lost: list[ops.Operation] = []

    def apply(self, operations: Iterable[ops.Operation]) -> None:
        """Apply operations in order.

        :raises errors.ConcurrentUpdate: if another client has changed something since it was read
        :raises errors.HTTPError: if Placement refuses
        :raises errors.NoAnswer: if it is not known whether the last one was done
        """
        for operation in operations:
            if isinstance(operation, ops.EnsureName) and operation in self._made_names:
                continue
            with self._record_in_journal(operation):
                self._send_operation(operation)

    @contextlib.contextmanager
    def in_transaction(self) -> Iterator[None]:
        """Put all operations of the block into one transaction, if the service can.

        Then one sync of the journal is enough for them: nothing is done before it. If an operation
        fails, all of them are taken back, which the journal says. There is no transaction without
        the file of a journal.
        """
        journal, transaction = self._journal, self._client.transaction
        if transaction is None or journal is None or journal.file is None:
            yield
            return
        self._is_in_transaction, count = True, len(self.done)
        try:
            with transaction():
                yield
                journal.sync()
        except BaseException as failure:
            undone = self.done[count:]
            del self.done[count:]
            if isinstance(failure, PlacementError):
                self._note_outcome('taken back', undone=len(undone))
            raise
        finally:
            self._is_in_transaction = False

    @contextlib.contextmanager
    def _record_in_journal(self, operation: ops.Operation) -> Iterator[None]:
        """Write the intent of an operation before the block of ``with``, its outcome after."""
        if self._journal:
            intent = self._record_of(operation)
            self._journal.write_intent(self._tree_uuid, intent, synced=not self._is_in_transaction)
        try:
            yield
        except (errors.NoAnswer, KeyboardInterrupt) as lost:
            # Among them a 502: it is an answer, but not the service's.
            if getattr(lost, 'may_be_done', True):
                self.lost.append(operation)
            self._note_outcome(f'{UNKNOWN}: {lost or "interrupted"}')
            raise
        except PlacementError as refusal:
            self._note_outcome(f'refused: {refusal}', undone=1)
            raise
        self._note_outcome('done')
        self.done.append(operation)

    def _note_outcome(self, outcome: str, *, undone: int = 0) -> None:
        """Write the outcome of the last operation to the journal, if there is one.

        :param undone: how many of the last operations were not carried out
        :param outcome: in words: ``done``, ``taken back``, ``refused: …``
        """
        if self._journal:
            self._journal.write_outcome(self._tree_uuid, outcome, self._client, undone=undone)

    def _send_operation(self, operation: ops.Operation) -> None:
        match operation:
            case ops.EnsureClass(name):
                resource_class.ensure(self._client, name)
                self._made_names.add(operation)
            case ops.EnsureTrait(name):
                trait.create(self._client, name)
                self._made_names.add(operation)
            case ops.CreateProvider(uuid, name, parent):
                made = resource_provider.create(
                    self._client, name, uuid=uuid, parent_provider_uuid=parent
                )
                self._generations[uuid] = made.generation
                self._roots.add(made.root_uuid)
            case ops.UpdateProvider():
                self._update_provider(operation)
            case ops.DeleteProvider():
                self._delete_provider(operation)
            case ops.SetTraits() | ops.SetAggregates() | ops.SetInventories():
                self._set_facet(operation)
            case ops.SetAllocations():
                self._set_allocations(operation)
            case ops.Reshape():
                self._send_reshape(operation)

    def _update_provider(self, operation: ops.UpdateProvider) -> None:
        """Rename or move a provider, after a check that it has not moved."""
        self._require_position(operation.uuid, operation.before)
        name, parent = operation.after
        if parent is None:
            self._roots.add(operation.uuid)
        resource_provider.set(
            self._client,
            operation.uuid,
            name,
            parent_provider_uuid=parent if parent != operation.before[1] else None,
            orphan=parent is None and operation.before[1] is not None,
        )

    def _delete_provider(self, operation: ops.DeleteProvider) -> None:
        """Delete a provider, after a check that its content has not changed."""
        uuid, position = operation.uuid, (operation.name, operation.parent_provider_uuid)
        with _turn_missing_into_conflict(uuid):
            if uuid in self._outdated or uuid not in self._generations:
                live = self._read_facets(uuid, CONTENT).require_one_generation().state
                expected = operation.inventories, operation.traits, operation.aggregates
                if expected != (live.inventories, live.traits, live.aggregates):
                    raise _make_conflict_error(uuid)
                self._generations[uuid] = live.provider.generation
            generation = self._generations[uuid]
            # This moves the generation: clients that have read the provider before get a conflict.
            proved = aggregate.set(self._client, uuid, sorted(operation.aggregates), generation)
        self._require_position(uuid, position, proved.generation)
        resource_provider.delete(self._client, uuid)

    def _set_facet(self, operation: ops.SetTraits | ops.SetAggregates | ops.SetInventories) -> None:
        uuid = operation.provider_uuid
        facet, write, body = _WRITERS[type(operation)]
        is_guarded = facet != 'aggregates' or self._client.microversion >= aggregate.GUARDED
        if uuid in self._outdated or not is_guarded:
            read = self._read_facets(uuid, (facet,))
            if getattr(read.state, facet) != operation.before:
                raise _make_conflict_error(uuid)
            self._learn_generation(uuid, read.generations[facet])
        generation = self._generations.get(uuid)
        written = write(self._client, uuid, body(operation.after), generation)
        self._learn_generation(uuid, written.generation)

    def _learn_generation(self, provider_uuid: str, generation: int | None) -> None:
        """Remember the generation of a provider that an answer has shown.

        :param generation: ``None`` if the answer has none
        """
        self._outdated.discard(provider_uuid)
        if generation is not None:
            self._generations[provider_uuid] = generation

    def _read_facets(self, uuid: str, facets: Collection[str]) -> Facets:
        return read_facets(self._client, ProviderState(Provider(uuid, uuid, 0)), facets)

    def _set_allocations(self, operation: ops.SetAllocations) -> None:
        pairs = list(zip(operation.before, operation.after, strict=True))
        # Before 1.38 a body leaves each type as it is stored.
        keeps_types = all(b.type == after.type or not after.allocations for b, after in pairs)
        version = self._client.microversion
        if keeps_types:
            version = min(version, KEEPS_CONSUMER_TYPE)
        consumers = [
            replace(a, generation=self._find_consumer_generation(before)) for before, a in pairs
        ]

        def replace_consumers(consumers: Iterable[Consumer]) -> None:
            body = {
                consumer.uuid: allocation.make_body(consumer, version) for consumer in consumers
            }
            allocation.replace(self._client, body, version=version)

        try:
            replace_consumers(consumers)
        except errors.ConcurrentUpdate as conflict:
            is_new = all(consumer.generation is None for consumer in consumers)
            if not is_new or 'consumer generation' not in str(conflict):
                raise
            # A service that was killed may have records of new consumers, without allocations. No
            # answer shows these, and they need a write with their generation.
            for consumer in consumers:
                try:
                    replace_consumers([consumer])
                except errors.ConcurrentUpdate:
                    replace_consumers([replace(consumer, generation=0)])
        self._mark_outdated((*operation.before, *operation.after))

    def _send_reshape(self, operation: ops.Reshape) -> None:
        # At 1.37 for all: a body has one version, later ones cannot say that a consumer has no
        # type, and this one leaves every type as it is stored. An older service stores none.
        version = min(KEEPS_CONSUMER_TYPE, self._client.microversion)
        inventories = {
            change.provider_uuid: {
                'resource_provider_generation': self._generations[change.provider_uuid],
                'inventories': _make_inventories_body(change.after),
            }
            for change in operation.inventories
        }
        consumers = [change.after for change in operation.consumers]
        allocations = {item.uuid: allocation.make_body(item, version) for item in consumers}
        body = {'inventories': inventories, 'allocations': allocations}
        reshaper.submit(self._client, body, version=version)
        self._outdated.update(inventories)
        self._mark_outdated(consumers)

    def _mark_outdated(self, consumers: Iterable[Consumer]) -> None:
        """Note that a request has changed the generations of consumers and of their providers."""
        for consumer in consumers:
            self._outdated.update((consumer.uuid, *consumer.allocations))

    def _require_position(
        self, uuid: str, position: tuple[str, str | None], generation: int | None = None
    ) -> None:
        """Refuse a provider that has moved; no generation guards its name, parent and root.

        :param position: the name and the UUID of the parent that it has to have
        :param generation: the one that it has to have; ``None``: any
        :raises errors.ConcurrentUpdate: if one of them differs, or the provider is gone
        """
        with _turn_missing_into_conflict(uuid):
            provider = resource_provider.show(self._client, uuid).value
        is_same = (provider.name, provider.parent_provider_uuid) == position
        is_same &= provider.root_uuid in self._roots
        if not is_same or provider.generation != (generation or provider.generation):
            raise _make_conflict_error(uuid)

    def _find_consumer_generation(self, consumer: Consumer) -> int | None:
        """Return the generation of a consumer, read again if it is outdated; ``None``: it is new.

        :raises errors.ConcurrentUpdate: if it has other allocations or another owner now
        """
        if consumer.uuid not in self._outdated:
            return consumer.generation
        live = allocation.show(self._client, consumer.uuid).value
        if get_compared_values(live) != get_compared_values(consumer):
            raise _make_conflict_error(consumer.uuid)
        return live.generation


def _make_conflict_error(uuid: str) -> errors.ConcurrentUpdate:
    return errors.ConcurrentUpdate(409, f'{uuid} was changed in between')


@contextlib.contextmanager
def _turn_missing_into_conflict(uuid: str) -> Iterator[None]:
    """Turn a missing provider in this block into a conflict with another client."""
    try:
        yield
    except errors.NotFound:
        raise _make_conflict_error(uuid) from None


def _make_inventories_body(
    inventories: Mapping[str, Inventory],
) -> dict[str, dict[str, int | float]]:
    return {name: item.as_fields() for name, item in sorted(inventories.items())}


#: For the operations on one facet of a provider: the facet, the request, and its body.
_WRITERS: Mapping[type[ops.Operation], tuple[str, Callable[..., Read[Any]], Callable[..., Any]]] = {
    ops.SetTraits: ('traits', trait.set_on_provider, sorted),
    ops.SetAggregates: ('aggregates', aggregate.set, sorted),
    ops.SetInventories: ('inventories', inventory.set_all, _make_inventories_body),
}
