"""Trees that are there, in the form in which they are declared."""

from __future__ import annotations

from typing import Any

from placementclient.model.snapshots import ProviderState, Snapshot


def document(snapshot: Snapshot) -> list[dict[str, Any]]:
    """All trees of a snapshot; declared so, they stay as they are."""
    return [_provider(root, snapshot) for root in snapshot.roots()]


def _provider(state: ProviderState, snapshot: Snapshot) -> dict[str, Any]:
    record: dict[str, Any] = {
        'name': state.name,
        'uuid': state.uuid,
        'inventories': {
            name: inventory.as_fields() for name, inventory in sorted(state.inventories.items())
        },
        'traits': sorted(state.traits),
        'aggregates': sorted(state.aggregates),
    }
    children = [_provider(child, snapshot) for child in snapshot.children(state.uuid)]
    return {**record, 'children': children} if children else record
