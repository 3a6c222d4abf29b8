"""Host aggregates of Nova."""

from __future__ import annotations

import argparse

from placementclient.client import errors
from placementclient.client.microversion import Microversion
from placementclient.commands.framework import base, changing, compute
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.host_aggregates import HostAggregate


class SyncAggregate(Changing):
    """Copy the host aggregates of Nova to the resource providers of the hosts.

    Without a file the command asks Nova. It leaves sharing providers alone, and aggregates that
    Nova does not have. It names a host that Placement does not know; --remove then takes no other
    host out of the aggregate of that host.

    Example:

      openstack resource provider aggregate sync --remove --dry-run
    """

    # From here on the trait distinguishes sharing providers from hosts.
    first_version = Microversion(1, 22)
    options = (
        Option(
            '--aggregates <file>|nova',
            help='The list of all host aggregates, with UUIDs; default: nova, ask Nova',
        ),
        Flag('--remove', help='Also take hosts out of aggregates in which Nova does not have them'),
        *changing.OPTIONS,
    )
    nothing = 'All hosts are in the aggregates that Nova says'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient.producers.sync import Sync

        aggregates = self._aggregates(parsed_args.aggregates)
        return self.change(parsed_args, Sync(self.client, aggregates, remove=parsed_args.remove))

    def _aggregates(self, path: str | None) -> list[HostAggregate]:
        from placementclient.nova import service

        try:
            aggregates: list[HostAggregate] = compute.records(self, 'aggregates', path or NOVA)
            return aggregates
        except service.NoCompute as reason:
            raise errors.BadArgument(f'{reason}: give --aggregates') from None
