"""Inventories of resource providers."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from placementclient import api
from placementclient.api import attempts
from placementclient.client import endpoints, errors
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.model.freshness import Read
from placementclient.model.inventories import FIELDS, Inventory
from placementclient.render import columns


def ratio(text: str) -> float:
    """Return an allocation ratio; the service fails on numbers that are not finite.

    :raises ValueError: if the text is no such number
    """
    ratio = float(text)
    if not math.isfinite(ratio):
        raise ValueError(text)
    return ratio


def _amount(flag: str, help: str, **settings: Any) -> Option:
    # osc-placement has underscores here.
    flags = dict.fromkeys((flag, flag.replace('_', '-')))
    return Option(*flags, type=int, help=help, **settings)


_FIELD_OPTIONS = (
    Option(
        '--allocation_ratio',
        '--allocation-ratio',
        type=ratio,
        help='Overcommit: capacity is (total - reserved) times this ratio; default: 1.0',
    ),
    _amount('--min_unit', 'Smallest amount of one allocation, in units of the class; default: 1'),
    _amount(
        '--max_unit', 'Largest amount of one allocation, in units of the class; default: no limit'
    ),
    _amount('--reserved', 'Amount that is never allocated, in units of the class; default: 0'),
    _amount(
        '--step_size',
        'Amounts of allocations are multiples of this step, in units of the class; default: 1',
    ),
    _amount(
        '--total',
        'Physical amount, in units of the class: MiB for MEMORY_MB, GiB for DISK_GB; required',
        required=True,
    ),
)


class ListInventory(base.Lister):
    """List the inventories of a resource provider, and how much of each is used.

    Example:

      openstack resource provider inventory list compute1
    """

    endpoint = endpoints.LIST_INVENTORIES
    options = (option.PROVIDER,)

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        uuid = api.resource_provider.find(self.client, parsed_args.provider)
        inventories = api.inventory.list(self.client, uuid).value
        used = api.usage.of_provider(self.client, uuid).value
        return columns.USED_INVENTORY_OF_CLASS.rows(
            {'resource_class': name, 'used': used.get(name), **item.as_fields()}
            for name, item in inventories.items()
        )


class ShowInventory(base.ShowOne):
    """Show the inventory of one class of a resource provider, and how much of it is used.

    Example:

      openstack resource provider inventory show compute1 VCPU
    """

    endpoint = endpoints.SHOW_INVENTORY
    options = (option.PROVIDER, option.RESOURCE_CLASS, option.LONG)

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        uuid = api.resource_provider.find(self.client, parsed_args.provider)
        name = parsed_args.resource_class
        shown = api.inventory.show(self.client, uuid, name)
        used = api.usage.of_provider(self.client, uuid).value
        output = columns.USED_INVENTORY.fields({'used': used.get(name), **shown.value.as_fields()})
        return self.dated(output, shown, parsed_args)


class CreateInventory(base.ShowOne):
    """Add the inventory of a class that a resource provider does not have yet.

    Example:

      openstack resource provider inventory class create compute1 VGPU --total 8 --max_unit 1
    """

    endpoint = endpoints.CREATE_INVENTORY
    prints = columns.INVENTORY.names
    options = (option.PROVIDER, option.RESOURCE_CLASS, *_FIELD_OPTIONS, option.GENERATION)

    def write(self, *args: Any) -> Read[Inventory]:
        return api.inventory.create(self.client, *args)

    def generation(self, uuid: str, name: str, fields: Mapping[str, float]) -> int:
        """Return the generation for the write.

        :raises errors.BadArgument: if there is such an inventory: Placement would say that another
            client has changed it
        """
        read = api.inventory.list(self.client, uuid)
        if name in read.value:
            raise errors.BadArgument(
                f'{self.client.names.get(uuid, uuid)} has an inventory of {name} already: '
                f'"resource provider inventory class set {uuid} {name}" replaces it'
            )
        return read.generation or 0

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        uuid = api.resource_provider.find(self.client, parsed_args.provider)
        fields = {
            name: value for name in FIELDS if (value := getattr(parsed_args, name)) is not None
        }
        name = parsed_args.resource_class
        given = parsed_args.generation

        def write() -> Read[Inventory]:
            generation = self.generation(uuid, name, fields) if given is None else given
            return self.write(uuid, name, fields, generation)

        def is_done() -> bool:
            return api.inventory.list(self.client, uuid).value.get(name) == Inventory(**fields)

        written = attempts.confirmed(self.client, write, is_done, given)
        written = written or api.inventory.show(self.client, uuid, name)
        return columns.INVENTORY.fields(written.value.as_fields())


class SetInventory(CreateInventory):
    """Replace the inventory of one class of a resource provider.

    Fields without an option get the default of Placement, not their present value.

    Example:

      openstack resource provider inventory class set compute1 VCPU --total 48 \\
        --allocation_ratio 16
    """

    endpoint = endpoints.SET_INVENTORY
    #: After a conflict it is read again.
    _is_told = False

    def write(self, *args: Any) -> Read[Inventory]:
        return api.inventory.set(self.client, *args)

    def generation(self, uuid: str, name: str, fields: Mapping[str, float]) -> int:
        """Return the generation for the write, and warn about fields that are reset."""
        read = api.inventory.list(self.client, uuid)
        defaults = Inventory(0).as_fields()
        before = read.value.get(name, Inventory(0))
        reset = [
            f'{field} (was {value:g})'
            for field, value in before.as_fields().items()
            if field not in fields and value != defaults.get(field, value)
        ]
        if reset and not self._is_told:
            self._is_told = True
            self.hint(f'Not given, so set to the default: {", ".join(reset)}')
        return read.generation or 0


class DeleteInventory(base.Command):
    """Delete the inventory of one class of a resource provider, or all its inventories.

    Example:

      openstack resource provider inventory delete compute1 --resource-class VGPU
    """

    endpoint = endpoints.DELETE_INVENTORY
    options = (
        option.PROVIDER,
        Option('--resource-class', required_until='1.4', help='Only the inventory of this class'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        uuid = api.resource_provider.find(self.client, parsed_args.provider)
        name = parsed_args.resource_class
        if name is not None:
            attempts.confirmed(
                self.client,
                lambda: api.inventory.delete(self.client, uuid, name),
                lambda: attempts.is_gone(lambda: api.inventory.show(self.client, uuid, name)),
            )
        else:
            attempts.confirmed(
                self.client,
                lambda: api.inventory.delete_all(self.client, uuid),
                lambda: not api.inventory.list(self.client, uuid).value,
            )
