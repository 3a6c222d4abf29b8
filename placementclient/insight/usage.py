# SPDX-License-Identifier: Apache-2.0
"""Usage by project, user, host or consumer."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter

import msgspec

from placementclient.model.consumers import Consumer, sum_resources
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import Snapshot


class UsageLine(msgspec.Struct, frozen=True, gc=False):
    """The amount of one class that a project, a user, a host or a consumer uses.

    :param subject: the ID of the project or user, or the UUID of the host's root or the consumer
    :param consumers: those with a part in the amount, by UUID
    """

    subject: str
    resource_class: str
    used: int
    consumers: tuple[Consumer, ...]


#: The subject of an allocation, from its snapshot, its consumer and the UUID of its provider.
_SUBJECTS: dict[str, Callable[[Snapshot, Consumer, str], str]] = {
    'project': lambda snapshot, consumer, provider_uuid: consumer.project_id or '',
    'user': lambda snapshot, consumer, provider_uuid: consumer.user_id or '',
    'host': lambda snapshot, consumer, provider_uuid: _get_root_uuid(snapshot, provider_uuid),
    'consumer': lambda snapshot, consumer, provider_uuid: consumer.uuid,
}
GROUPINGS = tuple(_SUBJECTS)


def sum_by_subject(snapshot: Snapshot, grouping: str) -> list[UsageLine]:
    """Return the usage of each subject, by class, the largest amounts first.

    :param grouping: one of :data:`GROUPINGS`
    """
    subject_of = _SUBJECTS[grouping]
    amounts: dict[tuple[str, str], int] = {}
    consumers: dict[tuple[str, str], dict[str, Consumer]] = {}
    for consumer in snapshot.consumers.values():
        for provider_uuid, resources in consumer.allocations.items():
            if provider_uuid not in snapshot.providers:
                continue
            subject = subject_of(snapshot, consumer, provider_uuid)
            for name, amount in resources.items():
                key = subject, name
                amounts[key] = amounts.get(key, 0) + amount
                consumers.setdefault(key, {})[consumer.uuid] = consumer
    lines = [
        UsageLine(subject, name, used, tuple(consumers[subject, name].values()))
        for (subject, name), used in amounts.items()
    ]
    return sorted(lines, key=lambda line: (line.resource_class, -line.used, line.subject))


def select_largest_lines(lines: list[UsageLine], count: int) -> Iterator[UsageLine]:
    """Yield the first ``count`` lines of each class, out of lines sorted by class and amount."""
    for _, of_class in groupby(lines, attrgetter('resource_class')):
        yield from list(of_class)[:count]


def count_equal_lines(shown: list[UsageLine], lines: list[UsageLine]) -> Counter[str]:
    """Return the number of lines of each class that are left out and equal the last shown one."""
    least = {line.resource_class: line.used for line in shown}
    equal = Counter(s.resource_class for s in lines if s.used == least[s.resource_class])
    return equal - Counter(s.resource_class for s in shown if s.used == least[s.resource_class])


def sum_capacities(snapshot: Snapshot) -> dict[str, int]:
    """Return the sum of the capacities of all providers, by class."""
    return sum_resources(
        {name: inventory.capacity for name, inventory in state.inventories.items()}
        for state in snapshot.providers.values()
    )


def sum_unlisted_usage(snapshot: Snapshot) -> dict[str, int]:
    """Return the sum of the usage that no consumer accounts for, by class."""
    return sum_resources(map(snapshot.unlisted_usages, snapshot.providers))


def list_hosts(snapshot: Snapshot, consumer: Consumer) -> list[str]:
    """Return the names of the hosts of a consumer; of the sharing providers if it has none."""
    states = [snapshot.providers[uuid] for uuid in consumer.allocations.keys() & snapshot.providers]
    local = [state for state in states if SHARING_TRAIT not in state.traits]
    roots = {_get_root_uuid(snapshot, state.uuid) for state in local or states}
    return sorted(snapshot.providers[uuid].name for uuid in roots)


def _get_root_uuid(snapshot: Snapshot, provider_uuid: str) -> str:
    return snapshot.providers[provider_uuid].provider.root_uuid
