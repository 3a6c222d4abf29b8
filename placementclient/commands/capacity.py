"""Room for more."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base
from placementclient.commands.base import Option
from placementclient.commands.snapshot import SNAPSHOT, taken

if TYPE_CHECKING:
    from placementclient.render.columns import Output


class ShowCapacity(base.Lister):
    """Show how much there is, what is used, what is free, and the largest amount that still fits.

    Capacity is what can be allocated: (total - reserved) * allocation_ratio. What several trees
    share counts once in the lines for (all).

    With --fits it shows how many servers of a shape can still be had: for each tree, if they all
    go there, and in all; and which class runs out first. Servers are granted as the service grants
    a request without traits and groups: each class from one provider of a tree, or from one that
    shares with the tree.

    Example:

      openstack resource capacity show --fits VCPU=4,MEMORY_MB=8192 --snapshot cloud.json
    """

    auth_required = False
    options = (
        Option(
            '--by',
            choices=('tree', 'aggregate', 'class'),
            default='tree',
            help='What to show a line for: each provider tree, each aggregate (what the service '
            'grants of it to a request with --member-of), or each resource class; tree without it',
        ),
        Option(
            '--fits',
            metavar='<resource_class>=<value>[,...]',
            help='Show how many servers of this shape still fit',
        ),
        SNAPSHOT,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        # Loaded only here: OpenStackClient loads every command's module before it runs one.
        from placementclient.insight.capacity import fits, totals
        from placementclient.render import capacity as tables

        by = parsed_args.by
        if parsed_args.fits is None:
            return tables.lines(totals.GROUPED[by](taken(self, parsed_args)), by)
        shape, snapshot = _shape(parsed_args.fits), taken(self, parsed_args)
        known = {name for state in snapshot.providers.values() for name in state.inventories}
        if unknown := sorted(shape.keys() - known):
            self.log.warning(f'No resource provider has inventory of {", ".join(unknown)}')
        return tables.fits(fits.GROUPED[by](snapshot, shape), by)


def _shape(text: str) -> dict[str, int]:
    """``'VCPU=4,MEMORY_MB=8192'`` as amounts by class.

    :raises errors.BadArgument: if it is not of that form
    """
    shape: dict[str, int] = {}
    for part in text.split(','):
        name, _, amount = part.strip().partition('=')
        if not name or not amount.isdecimal() or not int(amount) or name in shape:
            raise errors.BadArgument(
                f'--fits must be of form <resource_class>=<value>,..., each class once, each value '
                f'above 0: {text!r}'
            )
        shape[name] = int(amount)
    return shape
