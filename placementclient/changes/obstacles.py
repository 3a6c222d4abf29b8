"""Parts of a change that other clients have changed since the decision. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from placementclient.changes.summary import shown
from placementclient.client import errors
from placementclient.client.wording import first


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A part of a change that another client has changed since the decision.

    :param kind: ``'provider'`` or ``'consumer'``
    :param name: of the provider; the UUID of the consumer
    :param field: ``'name'``, ``'parent'``, ``'VCPU'``, ``'VCPU:total'``, ``'allocations'``, …
    :param before: the value that the change begins with; ``None`` where there is none
    :param after: the value that it leads to
    :param found: the live value, which is neither
    :param message: the clause about it, where the values do not make one
    :param is_drift: whether a new plan may take it into account
    """

    kind: str
    uuid: str
    name: str
    field: str = ''
    before: Any = None
    after: Any = None
    found: Any = None
    message: str = ''
    is_drift: bool = False

    def __str__(self) -> str:
        thing = self.name if self.kind == 'provider' else f'consumer {self.name}'
        if self.message:
            return self.message
        if not self.field:
            return f'{thing}: {self.found}'
        if self.before is None and self.after is None:
            return f'{thing} has {self.field}: {self.found}'
        found, before, after = map(shown, (self.found, self.before, self.after))
        return f'{thing}: {self.field} is {found}, neither {before} nor {after}'


class LeftAlone(errors.Differs):
    """The tree has changed since the plan, and the plan no longer fits."""


class Obstructed(LeftAlone):
    """Another client has changed parts of the change since the review."""

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        self.obstacles = tuple(obstacles)
        super().__init__(first(self.obstacles))

    @property
    def is_drift(self) -> bool:
        """Return whether a new plan may take all obstacles into account."""
        return all(obstacle.is_drift for obstacle in self.obstacles)
