# SPDX-License-Identifier: Apache-2.0
"""Parts of a change that other clients have changed since the decision. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from placementclient.basis import errors
from placementclient.basis.wording import join_first_sentences
from placementclient.model.findings import Finding, Severity
from placementclient.model.snapshots import ProviderState

#: The kind of the finding about a consumer that has changed since it was judged.
_RETAINED = 'retained'


def make_obstacle(name: str, message: str, *, is_drift: bool = False) -> Finding:
    """Return the finding that another client has changed a part of a change since the plan.

    :param name: the name of the provider; of a consumer ``consumer`` and its UUID
    :param message: a clause about it
    :param is_drift: whether apply may plan again and so take it into account: a warning
    """
    severity = Severity.WARNING if is_drift else Severity.ERROR
    return Finding('obstacle', name, reason=message, severity=severity)


def make_retained_obstacle(consumer_uuid: str) -> Finding:
    """Return the finding that a consumer keeps its allocations, as it has changed since."""
    name = f'consumer {consumer_uuid}'
    return Finding(
        _RETAINED,
        name,
        reason=f'{name}: it has changed since it was checked',
        severity=Severity.WARNING,
    )


def is_retained_consumer(obstacle: Finding) -> bool:
    """Return whether an obstacle is a consumer that keeps its allocations, and stops nothing."""
    return obstacle.kind == _RETAINED


def find_unplanned_parts(
    planned: ProviderState, live: ProviderState, *, is_own_position: bool = False
) -> Iterator[Finding]:
    """Yield an obstacle for each facet that has more than planned, and for a new name or parent.

    Whatever others have taken off the provider is no obstacle.

    :param is_own_position: whether this plan has written the live name and parent
    """
    added: dict[str, Iterable[str]] = {
        'inventory': live.inventories.keys() - planned.inventories.keys(),
        'traits': live.traits - planned.traits,
        'aggregates': live.aggregates - planned.aggregates,
    }
    if not is_own_position:
        for label, was, now in zip(
            ('name', 'parent'), planned.position, live.position, strict=True
        ):
            added[label] = {now or 'none'} - {was or 'none'}
    for label, values in added.items():
        if values:
            yield make_obstacle(
                planned.name, f'{planned.name} has {label}: {", ".join(sorted(values))}'
            )


def describe_obstacles(obstacles: Sequence[Finding]) -> str:
    """Return the first obstacles in words."""
    return join_first_sentences([obstacle.reason for obstacle in obstacles])


class LeftAlone(errors.Differs):
    """The plan does not fit the tree as it is now."""


class Obstructed(LeftAlone):
    """Another client has changed parts of the change since the plan."""

    def __init__(self, obstacles: Sequence[Finding]) -> None:
        super().__init__(describe_obstacles(obstacles))
        #: Whether apply may plan again, as a new plan may take all obstacles into account.
        self.is_drift = not any(obstacle.is_error for obstacle in obstacles)
