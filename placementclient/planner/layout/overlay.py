"""A snapshot, and the providers that plans make."""

from __future__ import annotations

from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import ProviderState, Snapshot


class SnapshotOverlay:
    """The state of the cloud when trees are laid out.

    :ivar created: the names of the trees in which plans make providers, by the names of these
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.created: dict[str, str] = {}

    def state(self, provider_uuid: str) -> ProviderState | None:
        """A provider, or ``None`` if the snapshot has none of this UUID."""
        return self.snapshot.providers.get(provider_uuid)

    def find(self, name_or_uuid: str) -> ProviderState | None:
        return self.snapshot.find(name_or_uuid)

    def root_of(self, state: ProviderState) -> str:
        if state.provider.root_provider_uuid:
            return state.provider.root_provider_uuid
        while (parent := state.provider.parent_provider_uuid) is not None:
            state = self.snapshot.providers[parent]
        return state.uuid

    def roots_of(self, consumer: Consumer) -> set[str]:
        """The UUIDs of the roots of the trees in which a consumer holds something."""
        states = [state for uuid in consumer.allocations if (state := self.state(uuid))]
        return {self.root_of(state) for state in states}
