# SPDX-License-Identifier: Apache-2.0
"""Resource classes."""

from __future__ import annotations

from placementclient import api
from placementclient.api import attempts
from placementclient.client import endpoints
from placementclient.client.microversion import Microversion
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.render import columns

_NAME = Option('name', help='Name of the resource class')
_CREATE_OR_VALIDATE = Microversion(1, 7)


class ListClass(base.Lister):
    """List all resource classes.

    With --long, also print how many providers and hosts have inventory of each class, the most used
    first, the amount, and the usage. The units are those of Placement: MEMORY_MB in MiB, DISK_GB in
    GiB. The column burned counts the devices for one-time use that were used and wait to be
    cleaned.
    """

    examples = ('', '--long --snapshot cloud.json')
    spare_columns = ('burned',)
    needed_columns = ('only_on',)
    endpoint = endpoints.LIST_CLASSES
    auth_required = False
    options = option.PRESENCE

    def execute(self) -> base.Output:
        if not (self.args.long or self.args.snapshot):
            self.client.require_feature('', endpoints.LIST_CLASSES.since)
            return columns.NAME.make_table(api.resource_class.list(self.client))
        from placementclient.commands.framework import cloud_options
        from placementclient.insight import summary
        from placementclient.insight.capacity import totals

        names = None if self.args.snapshot else api.resource_class.list(self.client)
        snapshot = cloud_options.read_snapshot(self, self.args.snapshot)
        presences = summary.list_presences(snapshot, lambda state: state.inventories, names)
        burned = summary.count_burned_devices(snapshot)
        amounts = {line.resource_class: line for line in totals.sum_by_class(snapshot)}
        rows = [
            (name, *where, amounts[name].capacity, amounts[name].used, burned[name])
            if where.providers
            else (name, *where, 0, 0, 0)
            for name, where in presences
        ]
        return ('name', *summary.Presence._fields, 'capacity', 'used', 'burned'), rows


class CreateClass(base.CreateOrDeleteCommand):
    """Create a custom resource class. Its name has to be of the form CUSTOM_NAME."""

    examples = ('CUSTOM_FPGA',)
    endpoint = endpoints.CREATE_CLASS
    options = (_NAME,)
    functions = base.ObjectFunctions(api.resource_class.create, api.resource_class.show)


class ShowClass(base.ShowOne):
    """Show whether a resource class exists."""

    examples = ('CUSTOM_FPGA',)
    endpoint = endpoints.SHOW_CLASS
    options = (_NAME, option.LONG)

    def execute(self) -> columns.Output:
        shown = api.resource_class.show(self.client, self.args.name)
        return self.add_modified_date(columns.NAME.make_row(shown.value), shown)


class SetClass(base.PlacementCommand):
    """Create a custom resource class unless it exists already.

    Up to API version 1.6, the service can only rename a class.
    """

    examples = ('CUSTOM_FPGA',)
    endpoint = endpoints.SET_CLASS
    options = (_NAME, Option('--name <name>', dest='new_name', help='New name', until='1.6'))

    def find_lowest_version(self) -> Microversion:
        """Return the lowest microversion of the command, which is an earlier one for a rename."""
        return super().find_lowest_version() if self.args.new_name else _CREATE_OR_VALIDATE

    def execute(self) -> None:
        name, new_name = self.args.name, self.args.new_name

        def class_exists(name: str) -> bool:
            return not attempts.is_gone_or_empty(lambda: api.resource_class.show(self.client, name))

        def write_class() -> None:
            if new_name:
                api.resource_class.rename(self.client, name, new_name)
            else:
                api.resource_class.ensure(self.client, name)

        def is_written() -> bool:
            return class_exists(new_name or name) and not (new_name and class_exists(name))

        attempts.confirm_write(self.client, write_class, is_written)


class DeleteClass(base.CreateOrDeleteCommand):
    """Delete a custom resource class. No provider may have inventory of it."""

    examples = ('CUSTOM_FPGA',)
    endpoint = endpoints.DELETE_CLASS
    options = (_NAME,)
    functions = base.ObjectFunctions(
        api.resource_class.delete, api.resource_class.show, deletes=True
    )
