"""Aggregates as the compute service has them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base, compute, option
from placementclient.commands.compute import NOVA
from placementclient.commands.option import Option
from placementclient.microversion import Microversion
from placementclient.render import columns
from placementclient.wording import counted

if TYPE_CHECKING:
    from placementclient.model.host_aggregates import HostAggregate
    from placementclient.render.columns import Output


class SyncAggregate(base.Lister):
    """Put the resource providers of hosts into the aggregates that Nova has them in.

    Without a file the compute service is asked. Aggregates that Nova does not have are left alone,
    and so are sharing providers. A host that Placement does not know is named, and --remove takes
    no other host out of its aggregate.

    Example:

      openstack resource provider aggregate sync --remove --dry-run
    """

    options = (
        Option(
            '--aggregates',
            metavar='<file>|nova',
            help='The list of all host aggregates, with UUIDs; without it, or with nova, the '
            'compute service is asked',
        ),
        Option(
            '--remove',
            action='store_true',
            help='Take hosts out of aggregates of Nova in which Nova does not have them, too',
        ),
        option.DRY_RUN,
        option.YES,
    )
    prints = columns.SYNC.names
    nothing = 'All hosts are in the aggregates that Nova says'
    statuses = (
        base.WOULD_DO,
        (errors.ExitStatus.PARTIAL, 'something is done, something could not be'),
    )

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        # From here on sharing providers can be told from hosts by their trait.
        return Microversion(1, 22)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.workflows import host_aggregates
        from placementclient.workflows.run import Run

        run = Run()
        aggregates = self._aggregates(parsed_args.aggregates)
        changes = list(host_aggregates.plan(self.client, aggregates, remove=parsed_args.remove))
        todo = sum(each.state in host_aggregates.DONE for each in changes)
        if parsed_args.dry_run:
            self.end_dry_run(bool(changes))
            return columns.SYNC.rows(changes)
        if todo:
            places = counted(todo, 'place')
            self.confirm(f'Change the aggregates of hosts in {places}?', parsed_args)
            changes = list(host_aggregates.carry_out(self.client, changes, run))
        self.exit_status = host_aggregates.exit_status(changes, run)
        return columns.SYNC.rows(changes)

    def _aggregates(self, path: str | None) -> list[HostAggregate]:
        from placementclient.nova import records, service

        try:
            return records.aggregates(*compute.document(self, path or NOVA, service.aggregates))
        except service.NoCompute as reason:
            raise errors.BadArgument(f'{reason}: give --aggregates') from None
