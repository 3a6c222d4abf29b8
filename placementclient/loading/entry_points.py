"""Entry points of the packages that they are known to be in.

The program ``placement`` has these and looks through nothing else that is installed, which takes a
multiple of the time that a command needs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from placementclient import DISTRIBUTION

#: The commands, for OpenStackClient too, and those that only the program has.
COMMANDS = 'openstack.placement.v1'
PROGRAM = 'placementclient.program'


@functools.cache
def of(group: str) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of a group, those of cliff first."""
    return tuple(
        point
        for package in ('cliff', DISTRIBUTION)
        for point in metadata.distribution(package).entry_points.select(group=group)
    )


class FormatterEntry:
    """One way to print, as cliff knows it: by its name, with an object that does it."""

    def __init__(self, point: metadata.EntryPoint) -> None:
        self.name, self.obj = point.name, point.load()()


class Formatters:
    """The formatters of a command, as cliff asks for them.

    :param group: the group of their entry points
    """

    def __init__(self, group: str) -> None:
        self._formatters = {point.name: FormatterEntry(point) for point in of(group)}

    def names(self) -> list[str]:
        """Return the values that ``-f`` takes."""
        return list(self._formatters)

    def __getitem__(self, name: str) -> Any:
        return self._formatters[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._formatters.values())


#: The formatters of a group; they keep nothing, so that commands can share them.
formatters = functools.cache(Formatters)
