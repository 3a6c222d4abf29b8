# SPDX-License-Identifier: Apache-2.0
"""Entry points of this distribution.

The program ``placement`` finds its commands here, and not among all that is installed: that takes a
multiple of the time of a command.
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import TYPE_CHECKING

from placementclient import DISTRIBUTION

if TYPE_CHECKING:
    from cliff.command import Command

#: The commands, for OpenStackClient too, and those that only the program has.
COMMANDS = 'openstack.placement.v1'
PROGRAM = 'placementclient.program'


@functools.cache
def list_entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of this distribution in a group."""
    return tuple(metadata.distribution(DISTRIBUTION).entry_points.select(group=group))


def load_command(point: metadata.EntryPoint) -> type[Command]:
    """Return the class of the command whose factory an entry point names."""
    command: type[Command] = point.load().load()
    return command
