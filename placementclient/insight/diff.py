# SPDX-License-Identifier: Apache-2.0
"""The differences between two snapshots."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from placementclient.model.snapshots import Snapshot

#: The fields of a consumer in which a difference counts.
_OF_CONSUMER = ('project_id', 'user_id', 'type', 'allocations')

#: The fields in which a difference counts.
Content = Mapping[str, object]
T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two snapshots.

    Generations do not count: they grow without a difference, and begin again after a restore.

    :param kind: ``'provider'`` or ``'consumer'``
    :param name: of the provider; the UUID of a consumer
    :param field: ``''`` if the whole provider or consumer was added or removed
    :param before: the value in the first snapshot; ``None`` without one
    :param after: the value in the second snapshot; ``None`` without one
    """

    kind: str
    name: str
    uuid: str
    field: str
    before: Any
    after: Any

    @property
    def change_type(self) -> str:
        """One of ``'added'``, ``'removed'`` and ``'changed'``."""
        if self.before is None:
            return 'added'
        return 'removed' if self.after is None else 'changed'


def find_differences(before: Snapshot, after: Snapshot) -> Iterator[Difference]:
    """Yield the differences between two snapshots: of providers, then of consumers."""
    names = _find_last_names(before, after)
    consumers = _find_changed_uuids(before.consumers, after.consumers, attrgetter(*_OF_CONSUMER))
    providers = _find_changed_uuids(
        before.providers, after.providers, attrgetter('content', 'usages')
    )
    for snapshot in (before, after):
        # A new record of a consumer changes the usage of a provider without one.
        for uuid in consumers & snapshot.consumers.keys():
            allocations = snapshot.consumers[uuid].allocations
            providers |= allocations.keys() & snapshot.providers.keys()
    for kind, uuids, content_of in (
        ('provider', providers, _make_provider_content),
        ('consumer', consumers, _make_consumer_content),
    ):
        pairs = ((u, content_of(before, u, names), content_of(after, u, names)) for u in uuids)
        named = ((str((new or old or {}).get('name', u)), u, old, new) for u, old, new in pairs)
        for name, uuid, old, new in sorted(named, key=itemgetter(0, 1)):
            if old is None or new is None:
                yield Difference(
                    kind, name, uuid, '', _drop_empty_fields(old), _drop_empty_fields(new)
                )
                continue
            for field in sorted(old.keys() | new.keys()):
                if old.get(field) != new.get(field):
                    yield Difference(kind, name, uuid, field, old.get(field), new.get(field))


def _find_changed_uuids(
    before: Mapping[str, T], after: Mapping[str, T], content: Callable[[T], object]
) -> set[str]:
    """Return the UUIDs of objects that were added or removed, or whose content differs.

    :param content: returns the part of an object to compare
    :param before: the objects by UUID, as in ``after``
    """
    shared = before.keys() & after.keys()
    changed = (uuid for uuid in shared if content(before[uuid]) != content(after[uuid]))
    return {*changed, *(before.keys() ^ after.keys())}


def _find_last_names(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Return the last name of each provider by UUID; with the UUID if two have had the name."""
    names = {uuid: state.name for uuid, state in (before.providers | after.providers).items()}
    counts = Counter(names.values())
    return {uuid: name if counts[name] == 1 else f'{name} ({uuid})' for uuid, name in names.items()}


def _drop_empty_fields(content: Content | None) -> Content | None:
    if content is None:
        return None
    return {field: value for field, value in content.items() if value not in (None, [], '')}


def _make_provider_content(
    snapshot: Snapshot, uuid: str, names: Mapping[str, str]
) -> Content | None:
    """Return the compared fields of a provider; ``None`` if the snapshot lacks it.

    :param names: of providers, by UUID, to name the parent
    """
    state = snapshot.providers.get(uuid)
    if state is None:
        return None
    parent = state.provider.parent_provider_uuid
    content: dict[str, object] = {
        'name': state.name,
        'parent': names.get(parent, parent) if parent else None,
        'traits': sorted(state.traits),
        'aggregates': sorted(state.aggregates),
    }
    for resource_class, inventory in sorted(state.inventories.items()):
        for field, value in sorted(inventory.as_fields().items()):
            content[f'inventories.{resource_class}.{field}'] = value
    listed: Counter[str] = Counter()
    for consumer in snapshot.consumers_on(state.uuid):
        listed.update(consumer.allocations[state.uuid])
    for resource_class, used in sorted(state.usages.items()):
        # Allocations are differences of their consumers.
        if used != listed[resource_class]:
            content[f'unlisted.{resource_class}'] = used - listed[resource_class]
    return content


def _make_consumer_content(
    snapshot: Snapshot, uuid: str, names: Mapping[str, str]
) -> Content | None:
    """Return the compared fields of a consumer; ``None`` if the snapshot lacks it."""
    consumer = snapshot.consumers.get(uuid)
    if consumer is None:
        return None
    content: dict[str, object] = {
        'project_id': consumer.project_id,
        'user_id': consumer.user_id,
        'type': consumer.type,
    }
    for provider, resources in consumer.allocations.items():
        for resource_class, amount in resources.items():
            content[f'allocations.{names.get(provider, provider)}.{resource_class}'] = amount
    return content
