"""Take a provider out of service for good."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient.client.microversion import GUARDS_CONSUMERS, Microversion
from placementclient.commands.framework import changing, migrations, option
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.render.columns import Output


class PurgeProvider(Changing):
    """Delete a resource provider with all below it, and free what is allocated there.

    Of each consumer only what it holds on this tree is freed; what it holds on another host, as one
    that was evacuated does, stays as it is. Refused unless --force is given: a consumer that would
    be left with nothing, or that goes on to use what is freed, as those of a child or of a sharing
    provider do that hold something in the tree that it belongs to or serves. A migration that is
    not over is refused always, as far as it is known to be one. Killed in the middle, it can be run
    again.

    With --force a consumer may keep shared resources only. If its server is gone, these are leaked
    allocations: "resource provider audit" finds them.

    Example:

      openstack resource provider purge compute1 --dry-run
    """

    options = (
        option.PROVIDER,
        Option(
            '--force',
            action='store_true',
            help='Even if consumers are left with nothing, or go on to use what is freed',
        ),
        migrations.option('to tell them by, as Nova gives them no type'),
        *changing.OPTIONS,
    )

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        return GUARDS_CONSUMERS

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.workflows.purge import Purging

        purging = Purging(
            self.client,
            parsed_args.provider,
            migrations.given(self, parsed_args.migrations),
            force=parsed_args.force,
            is_asked_only=parsed_args.dry_run,
        )
        shown = self.change(parsed_args, purging.plan, purging.notes)
        if purging.refusal is not None and parsed_args.dry_run:
            self.log.error(str(purging.refusal))
            self.exit_status = purging.refusal.exit_status
        return shown
