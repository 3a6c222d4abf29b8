"""Delete a provider with everything below it."""

from __future__ import annotations

from placementclient.client.microversion import GUARDS_CONSUMERS
from placementclient.commands.framework import base, changing, compute, option
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.option import Flag


class PurgeProvider(Changing):
    """Delete a resource provider, its children, and all allocations on them.

    Only allocations on this tree are deleted: an evacuated server keeps those on its new host. If
    the command is killed, run it again: it continues. Without --force it refuses to purge if

      * a consumer would be left without any allocation,
      * a consumer of a child, or of a sharing provider, still has allocations in the tree that the
        provider belongs to or serves.

    It always refuses to delete the allocations of a migration that is known to be under way. The
    table has the reason for each consumer. With --force a consumer may keep shared resources only;
    if its server is gone, the table has the command that frees them.
    """

    examples = ('compute1 --dry-run',)
    first_version = GUARDS_CONSUMERS
    options = (
        option.PROVIDER,
        Flag('--force', help='Purge although consumers lose all, or use freed resources'),
        compute.migrations_option('to find them, as Nova gives them no type'),
        *changing.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.producers.purge import PurgeRefused, Purging
        from placementclient.render import changes

        purging = Purging(
            self.client,
            self.args.provider,
            compute.records(self, 'migrations', self.args.migrations),
            force=self.args.force,
            is_dry_run=self.args.dry_run,
        )
        try:
            shown = self.change(purging)
        except PurgeRefused:
            shown = changes.carried((), purging.notes)
        if purging.refusal is not None:
            for line in (str(purging.refusal), purging.refusal.advice):
                if line:
                    self.log.error(line)
            self.exit_status = purging.refusal.exit_status
        return shown
