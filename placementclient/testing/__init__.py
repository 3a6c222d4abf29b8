# SPDX-License-Identifier: Apache-2.0
"""The real Placement service for tests of other programs, in the process of the tests.

`EmbeddedPlacement` is a service without a server: a keystoneauth session, a client for
``placementclient.api``, and what builds hosts and allocations. ``placementclient.testing.fixtures``
has it as fixtures of pytest. Needs the extra ``direct``.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Mapping

from keystoneauth1.session import Session

from placementclient.api import allocation, resource_provider
from placementclient.changes.at_once import apply_at_once
from placementclient.client import http, microversion
from placementclient.client.microversion import Microversion
from placementclient.embedded import Direct
from placementclient.model.consumers import Consumer
from placementclient.model.nova import INSTANCE
from placementclient.model.snapshots import Snapshot
from placementclient.producers.declarations import parse_declarations
from placementclient.producers.declare import DeclarationProducer
from placementclient.reading.capture import capture


class EmbeddedPlacement:
    """Placement with an empty database, which :meth:`close` deletes.

    :ivar session: a keystoneauth session that reaches this service alone, whatever service it asks
        for, as a user with the roles admin and service
    """

    def __init__(self) -> None:
        self._direct = Direct.scratch()
        self.session = Session(auth=self._direct)

    def __enter__(self) -> EmbeddedPlacement:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the service and delete its database."""
        self._direct.close()

    @property
    def url(self) -> str:
        """The endpoint of the service for :attr:`session`; no server listens there."""
        return str(self.session.get_endpoint(service_type='placement'))

    @functools.cached_property
    def client(self) -> http.Client:
        """The client for the functions of ``placementclient.api``, at the highest version."""
        return self.client_at(microversion.HIGHEST)

    def client_at(self, version: Microversion) -> http.Client:
        """Return a client that uses a microversion: ``Microversion(1, 20)``."""
        return http.Client(self.session, version, endpoint_override=self.url)

    def declare(self, *trees: Mapping[str, object]) -> dict[str, str]:
        """Create or change provider trees, and return the UUIDs by name.

        :param trees: each as an entry of the file of ``resource provider tree apply``
        :raises placementclient.basis.errors.PlacementError: if the service refuses a tree
        """
        declaring = DeclarationProducer(self.client, parse_declarations(json.dumps(trees), 'trees'))
        apply_at_once(self.client, declaring.plan()).raise_first_error()
        return {provider.name: provider.uuid for provider in resource_provider.list(self.client)}

    def allocate(
        self,
        allocations: Mapping[str, Mapping[str, int]],
        consumer: str = '',
        *,
        project_id: str | None = None,
        user_id: str | None = None,
        consumer_type: str | None = INSTANCE,
    ) -> str:
        """Give a consumer allocations, and return its UUID.

        :param allocations: amounts by resource class, by the name or UUID of the provider
        :param consumer: its UUID; empty: a new one
        :param project_id: its project; default: its present one, or ``project``
        :param user_id: its user; default: its present one, or ``user``
        :param consumer_type: such as ``INSTANCE``; ``None``: none
        :raises placementclient.basis.errors.PlacementError: if the service refuses the allocations
        """
        by_uuid = {
            resource_provider.find(self.client, provider): dict(resources)
            for provider, resources in allocations.items()
        }
        consumer = consumer or str(uuid.uuid4())
        live = allocation.show(self.client, consumer).value
        owner = project_id or live.project_id or 'project', user_id or live.user_id or 'user'
        desired = Consumer(consumer, by_uuid, *owner, live.generation, consumer_type)
        allocation.set(self.client, desired, replaces_owner=True)
        return consumer

    def snapshot(self) -> Snapshot:
        """Return the whole content of the service."""
        return capture(self.client)
