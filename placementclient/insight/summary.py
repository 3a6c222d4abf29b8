"""The content of a snapshot, in numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from placementclient.insight.capacity import totals
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing


def of(snapshot: Snapshot) -> dict[str, Any]:
    """The numbers by what they count; capacity and use by class."""
    states = snapshot.providers.values()
    types = Counter(consumer.type or 'unknown' for consumer in snapshot.consumers.values())
    return {
        'trees': len(snapshot.roots()),
        'providers': len(states),
        'sharing_providers': sum(map(is_sharing, states)),
        'aggregates': len({aggregate for state in states for aggregate in state.aggregates}),
        'traits': len({trait for state in states for trait in state.traits}),
        'consumers': len(snapshot.consumers),
        'consumer_types': dict(sorted(types.items())),
        'resource_classes': {
            line.resource_class: {'used': line.amounts.used, 'capacity': line.amounts.capacity}
            for line in totals.by_class(snapshot)
        },
    }
