"""Take a provider out of service for good."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base, ending, migrations, option
from placementclient.commands.option import Option
from placementclient.microversion import GUARDS_CONSUMERS, Microversion
from placementclient.render import columns
from placementclient.wording import counted

if TYPE_CHECKING:
    from placementclient.render.columns import Output
    from placementclient.workflows.purge import Purge, Step


class PurgeProvider(base.Lister):
    """Delete a resource provider with all below it, and free what is allocated there.

    Of each consumer only what it holds on this tree is freed; what it holds on another host, as one
    that was evacuated does, stays as it is. Refused unless --force is given: a consumer that would
    be left with nothing, or that goes on to use what is freed, as those of a child or of a sharing
    provider do that hold something in the tree that it belongs to or serves. A migration that is
    not over is refused always, as far as it is known to be one. Killed in the middle, it can be run
    again.

    Example:

      openstack resource provider purge compute1 --dry-run
    """

    prints = columns.PURGE.names
    statuses = (
        base.WOULD_DO,
        (errors.ExitStatus.PARTIAL, 'something is freed or deleted, something could not be'),
    )
    options = (
        option.PROVIDER,
        option.DRY_RUN,
        Option(
            '--force',
            action='store_true',
            help='Even if consumers are left with nothing, or go on to use what is freed',
        ),
        migrations.option('to tell them by, as Nova gives them no type'),
        option.YES,
    )

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        return GUARDS_CONSUMERS

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.workflows import purge

        listed = migrations.given(self, parsed_args.migrations)
        planned = purge.plan(self.client, parsed_args.provider, listed)
        if parsed_args.dry_run:
            self._warn(planned, parsed_args.force)
            return columns.PURGE.rows(planned.steps(force=parsed_args.force))
        planned.check(force=parsed_args.force)
        self.confirm(_question(planned), parsed_args)
        done: list[Step] = []
        with ending.telling(self, done), base.naming(planned.names):
            for step in purge.execute(
                self.client, planned, force=parsed_args.force, progress=self.log.info
            ):
                done.append(step)
        return columns.PURGE.rows(done)

    def _warn(self, planned: Purge, force: bool) -> None:
        """Say what would be refused, and end as the purge would then."""
        self.end_dry_run(True)  # the provider is there, so there is something to do
        try:
            planned.check(force=force)
        except errors.PlacementError as refusal:
            self.log.error(str(refusal))
            self.exit_status = refusal.exit_status


def _question(planned: Purge) -> str:
    names = ', '.join(provider.name for provider in reversed(planned.deletes))
    return (
        f'Free the allocations of {counted(len(planned.losses), "consumer")}, and delete {names}?'
    )
