# SPDX-License-Identifier: Apache-2.0
"""Entry points of this distribution.

The program ``placement`` finds its commands here, and not among all that is installed: that takes a
multiple of the time of a command.
"""

import functools
from importlib import metadata

from placementclient import DISTRIBUTION

#: The commands, for OpenStackClient too, and those that only the program has.
COMMANDS = 'openstack.placement.v1'
PROGRAM = 'placementclient.program'


@functools.cache
def find(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of this distribution in a group."""
    return tuple(metadata.distribution(DISTRIBUTION).entry_points.select(group=group))
