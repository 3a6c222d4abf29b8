"""Resource classes."""

from __future__ import annotations

import argparse

from placementclient import api
from placementclient.api.conflict import is_gone
from placementclient.client import endpoints
from placementclient.client.microversion import Microversion
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.render import columns

_NAME = Option('name', help='Name of the resource class')
_CREATE_OR_VALIDATE = Microversion(1, 7)


class ListClass(base.Lister):
    """List all resource classes.

    Example:

      openstack resource class list
    """

    endpoint = endpoints.LIST_CLASSES

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        return columns.NAME.rows(api.resource_class.list(self.client))


class _Write(base.Command):
    def exists(self, name: str) -> bool:
        return not is_gone(lambda: api.resource_class.show(self.client, name))


class CreateClass(_Write):
    """Create a custom resource class. Its name has to be of the form CUSTOM_NAME.

    Example:

      openstack resource class create CUSTOM_FPGA
    """

    endpoint = endpoints.CREATE_CLASS
    options = (_NAME,)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        name = parsed_args.name
        self.confirmed(
            lambda: api.resource_class.create(self.client, name), lambda: self.exists(name)
        )


class ShowClass(base.ShowOne):
    """Show whether a resource class exists.

    Example:

      openstack resource class show CUSTOM_FPGA
    """

    endpoint = endpoints.SHOW_CLASS
    options = (_NAME, option.LONG)

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        shown = api.resource_class.show(self.client, parsed_args.name)
        output = columns.NAME.fields(shown.value)
        return base.with_last_modified(output, shown) if parsed_args.long else output


class SetClass(_Write):
    """Create a custom resource class unless it exists already.

    Up to API version 1.6 the service can rename a class instead, and no more than that.

    Example:

      openstack resource class set CUSTOM_FPGA
    """

    endpoint = endpoints.SET_CLASS
    options = (
        _NAME,
        Option('--name <name>', dest='new_name', help='New name', until='1.6'),
    )

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        return super().since(parsed_args) if parsed_args.new_name else _CREATE_OR_VALIDATE

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        name, new_name = parsed_args.name, parsed_args.new_name
        if new_name:
            self.confirmed(
                lambda: api.resource_class.rename(self.client, name, new_name),
                lambda: self.exists(new_name) and not self.exists(name),
            )
        else:
            self.confirmed(
                lambda: api.resource_class.ensure(self.client, name), lambda: self.exists(name)
            )


class DeleteClass(_Write):
    """Delete a custom resource class. No provider may have inventory of it.

    Example:

      openstack resource class delete CUSTOM_FPGA
    """

    endpoint = endpoints.DELETE_CLASS
    options = (_NAME,)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        name = parsed_args.name
        self.confirmed(
            lambda: api.resource_class.delete(self.client, name), lambda: not self.exists(name)
        )
