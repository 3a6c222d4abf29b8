"""Inventories that a change leaves with less than what is in use. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placementclient.model.snapshots import ProviderState


class Shortfall(NamedTuple):
    """An inventory that would go, or shrink below its use.

    :param used: how much of the class is in use
    :param room: the capacity that there would be
    """

    provider: str
    resource_class: str
    used: int
    room: int

    @property
    def message(self) -> str:
        """A sentence without its full stop."""
        return (
            f'{self.used} {self.resource_class} of {self.provider} is in use, and there would be '
            f'{self.room}'
        )


def shortfalls(
    before: Mapping[str, ProviderState], after: Mapping[str, ProviderState]
) -> Iterator[Shortfall]:
    """Return the inventories that a change leaves with less than what is in use.

    A class that is over-committed may stay so, but not get less.

    :param before: providers by UUID, with their usages
    :param after: the same in their wanted state
    """
    for uuid, state in after.items():
        there = before.get(uuid)
        if there is None or there.inventories == state.inventories:
            continue
        for name, used in there.usages.items():
            room = state.capacity(name)
            if room < used and room < there.capacity(name):
                yield Shortfall(there.name, name, used, room)
