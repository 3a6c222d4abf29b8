"""One operation of a plan, as requests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import singledispatchmethod
from typing import Any

from placementclient import errors
from placementclient.api import aggregate, reshaper, resource_class, resource_provider, trait
from placementclient.changes.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.http import Client
from placementclient.microversion import KEEPS_CONSUMER_TYPE
from placementclient.reshape.journal import Journal
from placementclient.reshape.preconditions import Preconditions


class Names:
    """The custom classes and traits that exist for sure, as this run has seen to it."""

    def __init__(self) -> None:
        self._ensured: set[EnsureClass | EnsureTrait] = set()
        self._lock = threading.Lock()

    def __contains__(self, operation: EnsureClass | EnsureTrait) -> bool:
        with self._lock:
            return operation in self._ensured

    def add(self, operation: EnsureClass | EnsureTrait) -> None:
        """Note that what an operation sees to exists."""
        with self._lock:
            self._ensured.add(operation)


class OperationRunner:
    """Carries out operations for one tree, each noted in the journal: intent, request, outcome.

    Nothing is retried here, and nothing is read: whoever runs operations decides what a refusal
    or a lost answer means.

    :param client: of the service; its microversion is at least 1.30
    :param journal: gets the intent before the request is sent, and the outcome after it
    :param names: the custom classes and traits that this run has seen to, of all trees
    :param root_uuid: of the tree, for the journal
    :param conditions: what is known of the tree; kept up to date with every answer
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        names: Names,
        root_uuid: str,
        conditions: Preconditions,
    ) -> None:
        self._client, self._journal, self._names = client, journal, names
        self._root_uuid, self.conditions = root_uuid, conditions
        self._is_joint = False

    @contextlib.contextmanager
    def joint(self) -> Iterator[None]:
        """Make one transaction of all operations until the end, where the service can do that.

        Then one sync of the journal is enough for them: nothing is done before it.

        :raises errors.PlacementError: what an operation raised; then all of them are taken back,
            which the journal says
        """
        if self._client.transaction is None:
            yield
            return
        self._is_joint = True
        try:
            with self._client.transaction():
                yield
                self._journal.sync()
        except errors.PlacementError:
            self._journal.note(self._root_uuid, 'taken back')
            raise
        finally:
            self._is_joint = False

    def run(self, operation: Operation) -> None:
        """Carry out an operation, unless it is done already.

        :raises errors.HTTPError: if the service refuses, which the journal says
        :raises errors.NoAnswer: if it is not known whether it was done
        """
        if self._is_done(operation):
            return
        self._journal.intend(self._root_uuid, operation, synced=not self._is_joint)
        try:
            self._perform(operation)
        except errors.NoAnswer as lost:
            # Among them a 502: it is an answer, but not the service's.
            self._journal.note(self._root_uuid, f'not known: {lost}')
            raise
        except errors.HTTPError as refusal:
            self._journal.note(self._root_uuid, f'refused: {refusal}')
            raise
        self._journal.note(self._root_uuid, 'done')

    def _is_done(self, operation: Operation) -> bool:
        match operation:
            case EnsureClass() | EnsureTrait():
                return operation in self._names
            case CreateProvider(uuid):
                return uuid in self.conditions.existing
            case SetTraits(uuid):
                return self._traits(operation) == self.conditions.traits.get(uuid, operation.before)
            case SetAggregates(uuid):
                return self._aggregates(operation) == self.conditions.aggregates.get(
                    uuid, operation.before
                )
        return False

    @singledispatchmethod
    def _perform(self, operation: Operation) -> None:
        raise TypeError(f'no request carries out {operation}')

    @_perform.register
    def _(self, operation: EnsureClass) -> None:
        resource_class.ensure(self._client, operation.name)
        self._names.add(operation)

    @_perform.register
    def _(self, operation: EnsureTrait) -> None:
        trait.create(self._client, operation.name)
        self._names.add(operation)

    @_perform.register
    def _(self, operation: CreateProvider) -> None:
        provider = resource_provider.create(
            self._client,
            operation.name,
            uuid=operation.uuid,
            parent_provider_uuid=operation.parent_provider_uuid,
        )
        self.conditions.existing.add(operation.uuid)
        self.conditions.generations[operation.uuid] = provider.generation

    @_perform.register
    def _(self, operation: DeleteProvider) -> None:
        resource_provider.delete(self._client, operation.uuid)

    @_perform.register
    def _(self, operation: SetTraits) -> None:
        uuid = operation.provider_uuid
        answer = trait.set_on_provider(
            self._client, uuid, sorted(self._traits(operation)), self.conditions.generations[uuid]
        )
        self.conditions.traits[uuid] = frozenset(answer.value)
        self._moved_to(uuid, answer.generation)

    @_perform.register
    def _(self, operation: SetAggregates) -> None:
        uuid = operation.provider_uuid
        answer = aggregate.set(
            self._client,
            uuid,
            sorted(self._aggregates(operation)),
            self.conditions.generations[uuid],
        )
        self.conditions.aggregates[uuid] = frozenset(answer.value)
        self._moved_to(uuid, answer.generation)

    @_perform.register
    def _(self, operation: Reshape) -> None:
        # At 1.37 for all: a body has one version, later ones cannot say that a consumer has no
        # type, and this one leaves every type as it is stored. An older service stores none.
        version = min(KEEPS_CONSUMER_TYPE, self._client.microversion)
        reshaper.submit(self._client, self._body(operation), version=version)
        # The service has moved them all, by how much is its own affair.
        self.conditions.generations.clear()

    def _moved_to(self, provider_uuid: str, generation: int | None) -> None:
        assert generation is not None
        self.conditions.generations[provider_uuid] = generation

    def _traits(self, operation: SetTraits) -> frozenset[str]:
        return operation.onto(self.conditions.traits.get(operation.provider_uuid, operation.before))

    def _aggregates(self, operation: SetAggregates) -> frozenset[str]:
        return operation.onto(
            self.conditions.aggregates.get(operation.provider_uuid, operation.before)
        )

    def _body(self, operation: Reshape) -> dict[str, Any]:
        consumers = (
            self.conditions.consumers.get(change.uuid, change) for change in operation.consumers
        )
        return {
            'inventories': {
                change.provider_uuid: {
                    'resource_provider_generation': self.conditions.generations[
                        change.provider_uuid
                    ],
                    'inventories': {
                        name: value.as_fields() for name, value in sorted(change.after.items())
                    },
                }
                for change in operation.inventories
            },
            'allocations': {
                consumer.uuid: {
                    'allocations': {
                        uuid: {'resources': dict(resources)}
                        for uuid, resources in consumer.after.items()
                    },
                    'project_id': consumer.project_id,
                    'user_id': consumer.user_id,
                    'consumer_generation': consumer.generation,
                }
                for consumer in consumers
            },
        }
