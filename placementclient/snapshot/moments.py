"""The parts of a history about one consumer or provider, in each snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from placementclient.codec import histories
from placementclient.model.providers import normalized
from placementclient.model.snapshots import Snapshot
from placementclient.snapshot.history import Entry, Warn, walk

#: When a snapshot was read, as ISO 8601, and some of it.
Moment = tuple[str, Snapshot]


def of_consumer(found: Sequence[Entry], uuid: str, warn: Warn) -> list[Moment]:
    """Return a consumer as it was in each snapshot, and the providers that it was ever on."""
    key = histories.consumer_key(uuid)
    on = {
        histories.provider_key(provider)
        for _, snapshot in _moments(found, warn, {key})
        for consumer in snapshot.consumers.values()
        for provider in consumer.allocations
    }
    return _moments(found, warn, {key, *on})


def of_provider(
    found: Sequence[Entry], name_or_uuid: str, warn: Warn
) -> tuple[set[str], list[Moment]]:
    """Return the UUIDs of all providers that ever had a name, and these in each snapshot.

    Their parents are in the snapshots too.
    """
    key = histories.name_key(name_or_uuid)
    uuids = {histories.text(had[key]) for _, had in walk(found, warn, {key}) if key in had}
    uuids = uuids or {normalized(name_or_uuid)}
    keys = set(map(histories.provider_key, uuids))
    parents = {
        histories.provider_key(parent)
        for _, snapshot in _moments(found, warn, keys)
        for state in snapshot.providers.values()
        if (parent := state.provider.parent_provider_uuid)
    }
    return uuids, _moments(found, warn, keys | parents)


def _moments(found: Sequence[Entry], warn: Warn, keys: Collection[str]) -> list[Moment]:
    return [
        (entry.at, histories.snapshot(records, entry.header.origin, entry.path))
        for entry, records in walk(found, warn, keys)
    ]
