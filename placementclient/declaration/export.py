"""Trees that are there, in the form in which they are declared."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot


def document(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return all trees of a snapshot; declared so, they stay as they are."""
    records: dict[str, dict[str, Any]] = {}
    # Most hosts have inventories in common: these are one mapping, which is laid out once.
    fields = functools.cache(Inventory.as_fields)
    roots = snapshot.roots()
    # Parents come first. No recursion: a tree may be as deep as its providers are many.
    for state in (state for root in roots for state in snapshot.tree(root.uuid)):
        records[state.uuid] = _record(state, fields)
        if state.provider.parent_provider_uuid is not None:
            parent = records[state.provider.parent_provider_uuid]
            parent.setdefault('children', []).append(records[state.uuid])
    return [records[root.uuid] for root in roots]


def _record(
    state: ProviderState, fields: Callable[[Inventory], Mapping[str, float]]
) -> dict[str, Any]:
    return {
        'name': state.name,
        'uuid': state.uuid,
        'inventories': {
            name: fields(inventory) for name, inventory in sorted(state.inventories.items())
        },
        'traits': sorted(state.traits),
        'aggregates': sorted(state.aggregates),
    }
