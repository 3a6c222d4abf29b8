"""Parts of a change that other clients have changed since the decision. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from placementclient.client import errors
from placementclient.client.wording import first


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A part of a change that another client has changed since the decision.

    :param name: of the provider; ``consumer UUID``
    :param message: a clause about it
    :param is_drift: whether a new plan may take it into account
    """

    name: str
    message: str
    is_drift: bool = False

    def __str__(self) -> str:
        return self.message


class LeftAlone(errors.Differs):
    """The tree has changed since the plan, and the plan no longer fits."""


class Obstructed(LeftAlone):
    """Another client has changed parts of the change since the review."""

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        super().__init__(first(obstacles))
        #: Whether a new plan may take all obstacles into account.
        self.is_drift = all(obstacle.is_drift for obstacle in obstacles)
