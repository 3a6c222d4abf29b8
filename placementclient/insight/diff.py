"""The differences between two snapshots."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import ProviderState, Snapshot

T = TypeVar('T')

#: The fields in which a difference counts.
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two snapshots.

    Generations are of no account: they move without anything being different, and begin again after
    a restore.

    :param kind: ``'provider'`` or ``'consumer'``
    :param name: of the provider; the UUID of a consumer
    :param field: ``''`` where all of it was added or removed
    :param before: ``None`` where it was not there
    :param after: ``None`` where it is not there any more
    """

    kind: str
    name: str
    uuid: str
    field: str
    before: Any
    after: Any

    @property
    def change(self) -> str:
        if self.before is None:
            return 'added'
        return 'removed' if self.after is None else 'changed'


def differences(before: Snapshot, after: Snapshot) -> Iterator[Difference]:
    """Return the differences of two snapshots: providers, then consumers."""
    names = _names(before, after)
    consumers = _changed(before.consumers, after.consumers, _held)
    providers = _changed(before.providers, after.providers, _had)
    for snapshot in (before, after):
        # With a consumer's record changes how much of a provider's usage has none.
        for uuid in consumers & snapshot.consumers.keys():
            providers |= snapshot.consumers[uuid].allocations.keys()
    sides = [
        (
            {
                uuid: _of_provider(snapshot, state, names)
                for uuid, state in snapshot.providers.items()
                if uuid in providers
            },
            {
                uuid: _of_consumer(consumer, names)
                for uuid, consumer in snapshot.consumers.items()
                if uuid in consumers
            },
        )
        for snapshot in (before, after)
    ]
    for kind, old, new in zip(('provider', 'consumer'), *sides, strict=True):
        yield from _between(kind, old, new)


def _changed(
    before: Mapping[str, T], after: Mapping[str, T], content: Callable[[T], Any]
) -> set[str]:
    gone = before.keys() - after.keys()
    return gone | {
        uuid
        for uuid, now in after.items()
        if uuid not in before or content(before[uuid]) != content(now)
    }


def _held(consumer: Consumer) -> tuple[Any, ...]:
    return consumer.allocations, consumer.project_id, consumer.user_id, consumer.type


def _had(state: ProviderState) -> tuple[Any, ...]:
    return *state.content, state.usages


def _names(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Return the last name of each provider, with the UUID where two have had it."""
    names = {uuid: state.name for uuid, state in (before.providers | after.providers).items()}
    counts = Counter(names.values())
    return {uuid: name if counts[name] == 1 else f'{name} ({uuid})' for uuid, name in names.items()}


def _between(
    kind: str, before: Mapping[str, Facts], after: Mapping[str, Facts]
) -> Iterator[Difference]:
    def name(uuid: str) -> str:
        facts = after.get(uuid) or before.get(uuid) or {}
        return str(facts.get('name', uuid))

    for uuid in sorted(before.keys() | after.keys(), key=lambda uuid: (name(uuid), uuid)):
        old, new = before.get(uuid), after.get(uuid)
        if old is None or new is None:
            yield Difference(kind, name(uuid), uuid, '', _whole(old), _whole(new))
            continue
        for field in sorted(old.keys() | new.keys()):
            if old.get(field) != new.get(field):
                yield Difference(kind, name(uuid), uuid, field, old.get(field), new.get(field))


def _whole(facts: Facts | None) -> Facts | None:
    """All that a thing is, without what is nothing."""
    if facts is None:
        return None
    return {field: value for field, value in facts.items() if value not in (None, [], '')}


def _of_provider(snapshot: Snapshot, state: ProviderState, names: Mapping[str, str]) -> Facts:
    parent = state.provider.parent_provider_uuid
    facts: dict[str, Any] = {
        'name': state.name,
        'parent': names.get(parent, parent) if parent else None,
        'traits': sorted(state.traits),
        'aggregates': sorted(state.aggregates),
    }
    for resource_class, inventory in sorted(state.inventories.items()):
        for field, value in sorted(inventory.as_fields().items()):
            facts[f'inventories.{resource_class}.{field}'] = value
    listed: Counter[str] = Counter()
    for consumer in snapshot.consumers_on(state.uuid):
        listed.update(consumer.allocations[state.uuid])
    for resource_class, used in sorted(state.usages.items()):
        # Allocations are differences of their consumers.
        if used != listed[resource_class]:
            facts[f'unlisted.{resource_class}'] = used - listed[resource_class]
    return facts


def _of_consumer(consumer: Consumer, names: Mapping[str, str]) -> Facts:
    facts: dict[str, Any] = {
        'project_id': consumer.project_id,
        'user_id': consumer.user_id,
        'type': consumer.type,
    }
    for uuid, resources in consumer.allocations.items():
        for resource_class, amount in resources.items():
            facts[f'allocations.{names.get(uuid, uuid)}.{resource_class}'] = amount
    return facts
