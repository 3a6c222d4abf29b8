"""Inventories of resource providers."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from typing import Any

from placementclient import endpoints, errors
from placementclient.api import inventory, resource_provider, usage
from placementclient.api.conflict import retried
from placementclient.commands import base
from placementclient.commands.base import Option
from placementclient.commands.filters import whole
from placementclient.model.inventories import FIELDS, Inventory
from placementclient.model.requests import Filter
from placementclient.render import columns
from placementclient.render.columns import Output

Fields = Mapping[str, int | float]


def _ratio(text: str) -> float:
    """An allocation ratio; the service fails on numbers that are not finite.

    :raises ValueError: if the text is no such number
    """
    ratio = float(text)
    if not math.isfinite(ratio):
        raise ValueError(text)
    return ratio


_FIELD_OPTIONS = (
    Option(
        '--allocation_ratio',
        '--allocation-ratio',
        metavar='<allocation_ratio>',
        type=_ratio,
        help='How many times what is not reserved can be allocated',
    ),
    Option(
        '--min_unit',
        '--min-unit',
        metavar='<min_unit>',
        type=int,
        help='The smallest amount that one allocation may have',
    ),
    Option(
        '--max_unit',
        '--max-unit',
        metavar='<max_unit>',
        type=int,
        help='The largest amount that one allocation may have',
    ),
    Option(
        '--reserved',
        metavar='<reserved>',
        type=int,
        help='How much the provider keeps for itself',
    ),
    Option(
        '--step_size',
        '--step-size',
        metavar='<step_size>',
        type=int,
        help='The amount of an allocation has to be a multiple of it',
    ),
    Option(
        '--total',
        metavar='<total>',
        type=int,
        required=True,
        help='How much the provider has in all',
    ),
)


class ListInventory(base.Lister):
    """List the inventories of a resource provider, and how much of each is used.

    Example:

      openstack resource provider inventory list compute1
    """

    endpoint = endpoints.LIST_INVENTORIES
    options = (base.PROVIDER,)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        uuid = resource_provider.find(self.client, parsed_args.provider)
        inventories = inventory.list(self.client, uuid).value
        used = usage.of_provider(self.client, uuid).value
        return columns.USED_INVENTORY_OF_CLASS.rows(
            {'resource_class': name, 'used': used.get(name), **item.to_json()}
            for name, item in inventories.items()
        )


class ShowInventory(base.ShowOne):
    """Show the inventory of one class of a resource provider, and how much of it is used.

    Example:

      openstack resource provider inventory show compute1 VCPU
    """

    endpoint = endpoints.SHOW_INVENTORY
    options = (base.PROVIDER, base.RESOURCE_CLASS, base.LONG)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        uuid = resource_provider.find(self.client, parsed_args.provider)
        name = parsed_args.resource_class
        shown = inventory.show(self.client, uuid, name)
        used = usage.of_provider(self.client, uuid).value
        output = columns.USED_INVENTORY.fields({'used': used.get(name), **shown.value.to_json()})
        return base.with_last_modified(output, shown) if parsed_args.long else output


class CreateInventory(base.ShowOne):
    """Add the inventory of a class that a resource provider does not have yet.

    Example:

      openstack resource provider inventory class create compute1 VGPU --total 8 --max_unit 1
    """

    endpoint = endpoints.CREATE_INVENTORY
    options = (base.PROVIDER, base.RESOURCE_CLASS, *_FIELD_OPTIONS, base.generation())
    write = staticmethod(inventory.create)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        uuid = resource_provider.find(self.client, parsed_args.provider)
        fields = {
            name: value
            for name in FIELDS
            if (value := getattr(parsed_args, name)) is not None
        }
        name = parsed_args.resource_class
        written = base.guarded(
            lambda generation: self.write(self.client, uuid, name, fields, generation),
            parsed_args.generation,
            lambda: resource_provider.generation(self.client, uuid),
        )
        return columns.INVENTORY.fields(written.value.to_json())


class SetInventory(CreateInventory):
    """Replace the inventory of one class of a resource provider.

    What is not given falls back to the service's default.

    Example:

      openstack resource provider inventory class set compute1 VCPU --total 48 \\
        --allocation_ratio 16
    """

    endpoint = endpoints.SET_INVENTORY
    write = staticmethod(inventory.set)


class DeleteInventory(base.Command):
    """Delete the inventory of one class of a resource provider, or all its inventories.

    Example:

      openstack resource provider inventory delete compute1 --resource-class VGPU
    """

    endpoint = endpoints.DELETE_INVENTORY
    options = (
        base.PROVIDER,
        Option(
            '--resource-class',
            metavar='<resource_class>',
            required_until='1.4',
            help='Only the inventory of this class',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        uuid = resource_provider.find(self.client, parsed_args.provider)
        if parsed_args.resource_class is not None:
            inventory.delete(self.client, uuid, parsed_args.resource_class)
        else:
            inventory.delete_all(self.client, uuid)


class SetInventories(base.Lister):
    """Replace all inventories of a resource provider, or of all in an aggregate.

    A field that is not named is the total: VCPU=16 is VCPU:total=16. With --amend what is not
    given stays as it is: other classes, and other fields of the classes given.

    Example:

      openstack resource provider inventory set compute1 --amend --resource VCPU:reserved=2
    """

    endpoint = endpoints.SET_INVENTORIES
    options = (
        Option(
            'provider',
            metavar='<provider>',
            help='Name or UUID of the resource provider; UUID of the aggregate with --aggregate',
        ),
        Option(
            '--resource',
            metavar='<resource_class>[:<field>]=<value>',
            action='append',
            default=[],
            help=f'A field of the inventory of a class, one of {", ".join(FIELDS)}; may be '
            'repeated; without it, all inventories go',
        ),
        Option(
            '--aggregate',
            action='store_true',
            since='1.3',
            help='Set the inventories of every resource provider of the aggregate',
        ),
        Option('--amend', action='store_true', help='Leave what is not given as it is'),
        Option(
            '--dry-run', action='store_true', help='Print what would be set, and set nothing'
        ),
        base.generation(),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        given = _parsed(parsed_args.resource)
        if not parsed_args.aggregate:
            uuid = resource_provider.find(self.client, parsed_args.provider)
            written = self._set(uuid, given, parsed_args)
            return columns.INVENTORY_OF_CLASS.rows(_rows(uuid, written))
        if parsed_args.generation is not None:
            raise errors.UsageError('--generation is one provider\'s, and --aggregate has several')
        return self._set_members(given, parsed_args)

    def _set_members(
        self, given: Mapping[str, Fields], parsed_args: argparse.Namespace
    ) -> Output:
        """Set every member of the aggregate; what fails for one is left, and told at the end."""
        members = resource_provider.list(
            self.client, matching=Filter(member_of=(parsed_args.provider,))
        )
        if not members:
            raise errors.BadArgument(
                f'No resource providers found in aggregate with uuid {parsed_args.provider}.'
            )
        rows: list[dict[str, Any]] = []
        failed = 0
        for member in members:
            try:
                rows += _rows(member.uuid, self._set(member.uuid, given, parsed_args))
            except errors.PlacementError as failure:
                failed += 1
                self.log.error(
                    f'Failed to set inventory for resource provider {member.uuid}: {failure}.'
                )
        if failed:
            raise errors.PlacementError(
                f'Failed to set inventory for {failed} of {len(members)} resource providers.'
            )
        return columns.INVENTORY_OF_PROVIDER.rows(rows)

    def _set(
        self, uuid: str, given: Mapping[str, Fields], parsed_args: argparse.Namespace
    ) -> Mapping[str, Mapping[str, Any]]:
        """Set the inventories of one provider, in the way that the options say."""

        def attempt() -> Mapping[str, Mapping[str, Any]]:
            there = inventory.list(self.client, uuid)
            wanted = _amended(there.value, given) if parsed_args.amend else given
            if parsed_args.dry_run:
                return wanted
            generation = parsed_args.generation
            if generation is None:
                generation = there.generation
            written = inventory.set_all(self.client, uuid, wanted, generation)
            return {name: item.to_json() for name, item in written.value.items()}

        return attempt() if parsed_args.generation is not None else retried(attempt)


def _parsed(arguments: Iterable[str]) -> dict[str, dict[str, int | float]]:
    """``['VCPU=16', 'VCPU:reserved=2']`` as fields by class.

    :raises errors.BadArgument: if one is not of that form
    """
    inventories: dict[str, dict[str, int | float]] = {}
    for argument in arguments:
        parts = argument.split('=')
        if len(parts) != 2:
            raise errors.BadArgument('Resource argument must have "name=value" format')
        name, colon, field = parts[0].partition(':')
        if ':' in field:
            raise errors.BadArgument('Resource argument can contain only one colon')
        field = field if colon else 'total'
        if not (name and field and parts[1]):
            raise errors.BadArgument('Name, field and value must be not empty')
        if field not in FIELDS:
            raise errors.BadArgument(f'Unknown inventory field {field}')
        inventories.setdefault(name, {})[field] = _field_value(field, parts[1])
    return inventories


def _field_value(field: str, text: str) -> int | float:
    if field != 'allocation_ratio':
        return whole(text)
    try:
        return _ratio(text)
    except ValueError:
        raise errors.BadArgument(f'{text!r} is not a number') from None


def _amended(
    there: Mapping[str, Inventory], given: Mapping[str, Fields]
) -> dict[str, dict[str, int | float]]:
    amended = {name: item.to_json() for name, item in there.items()}
    for name, fields in given.items():
        amended[name] = {**amended.get(name, {}), **fields}
    return amended


def _rows(
    provider_uuid: str, inventories: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {'resource_provider': provider_uuid, 'resource_class': name, **fields}
        for name, fields in inventories.items()
    ]
