# SPDX-License-Identifier: Apache-2.0
"""An edit of the allocations of one consumer."""

from __future__ import annotations

from collections.abc import Callable

from placementclient.api import allocation
from placementclient.basis import errors
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider
from placementclient.model.shortfalls import explain_refusal
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import make_origin
from placementclient.reading.facets import read_facets
from placementclient.reading.listing import list_tree_providers


class ConsumerEditProducer(StateProducer):
    """Plans the edit of one consumer, and refuses amounts for which there is no room.

    :param command: the name of the command, for the plan
    :param edit: returns the consumer after the edit, or raises an error if it cannot have it
    """

    def __init__(
        self,
        client: Client,
        command: str,
        consumer_uuid: str,
        edit: Callable[[Consumer], Consumer],
    ) -> None:
        super().__init__(client)
        self.command = command
        self._uuid, self._edit = consumer_uuid, edit

    def read_live_state(self) -> Snapshot:
        """Read the consumer, and the trees of the providers on which its allocations change."""
        origin = make_origin(self.client)
        consumer = allocation.show(self.client, self._uuid).value
        members: dict[str, Provider] = {}
        states = {}
        for uuid in list_changed_providers(consumer, self._edit(consumer)):
            if uuid not in members:
                members |= {item.uuid: item for item in list_tree_providers(self.client, uuid)}
            if uuid in members:
                states[uuid] = read_facets(self.client, ProviderState(members[uuid])).state
        others = {uuid: ProviderState(provider) for uuid, provider in members.items()}
        return Snapshot((others | states).values(), (consumer,), origin)

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with the consumer as the edit leaves it.

        :raises errors.PlacementError: if a provider has no room for it
        """
        consumer = live.consumers[self._uuid]
        after = self._edit(consumer)
        for uuid in list_changed_providers(consumer, after):
            require_room(live.find_existing(uuid), consumer, after)
        return Snapshot(live.providers.values(), (after,), live.origin)


def list_changed_providers(before: Consumer, after: Consumer) -> list[str]:
    """Return the UUIDs of the providers on which the allocations of a consumer change."""
    uuids = {**before.allocations, **after.allocations}
    return [uuid for uuid in uuids if before.allocations.get(uuid) != after.allocations.get(uuid)]


def require_room(state: ProviderState, before: Consumer, after: Consumer) -> None:
    """Refuse changed amounts of a consumer for which a provider has no room.

    :raises errors.PlacementError: if the capacity or the units do not allow an amount
    """
    held = before.allocations.get(state.uuid, {})
    for name, amount in after.allocations.get(state.uuid, {}).items():
        if amount == (had := held.get(name, 0)):
            continue
        if reason := explain_refusal(state, name, amount, amount - had):
            raise errors.PlacementError(f'Consumer {after.uuid}: {reason}')
