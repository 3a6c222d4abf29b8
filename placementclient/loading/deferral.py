"""Commands that OpenStackClient loads when they are run.

At each start, whatever is to be run, cliff has stevedore load every command of every plugin, and
keeps of each only where it is found. Ours would be most of what this package costs there: of what
is run of another service too.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

from placementclient.loading import coexistence
from placementclient.loading.entry_points import COMMANDS


class CommandFactory:
    """The stand-in for a command's class until one is made, or something is asked of it.

    :param point: where the class is found
    """

    def __init__(self, point: metadata.EntryPoint) -> None:
        self._point = point

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._point.load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._point.load(), name)


class _EntryPoint(metadata.EntryPoint):
    """The entry point of a command, loaded later than it is asked for."""

    def load(self) -> CommandFactory:
        return CommandFactory(metadata.EntryPoint(self.name, self.value, self.group))


def defer() -> None:
    """Have OpenStackClient find our commands so, and none of osc-placement beside them."""
    from stevedore import ExtensionManager

    # Its constructor would load them.
    found = ExtensionManager.make_test_instance([], COMMANDS).list_entry_points()
    ExtensionManager.ENTRY_POINT_CACHE[COMMANDS] = [
        _EntryPoint(point.name, point.value, point.group)
        if _package(point) == coexistence.PACKAGE
        else point
        for point in found
        if _package(point) != coexistence.PEER
    ]


def _package(point: metadata.EntryPoint) -> str:
    return point.value.partition('.')[0]
