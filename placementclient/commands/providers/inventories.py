"""All inventories of one provider, or of many."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from placementclient import api
from placementclient.api import attempts
from placementclient.client import endpoints, errors
from placementclient.client.wording import suggestion
from placementclient.commands.framework import base, changing, editing, filters, option, selectors
from placementclient.commands.framework.editing import Editing
from placementclient.commands.framework.filters import whole
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.providers.inventory import ratio
from placementclient.model.inventories import FIELDS, Inventory
from placementclient.model.requests import Filter
from placementclient.render import columns

Fields = Mapping[str, int | float]


class ReplaceInventories(Editing):
    """Replace all inventories of a resource provider, of all in an aggregate, or of many.

    VCPU=16 means VCPU:total=16. --amend keeps other classes, and other fields of the named classes.

    --all, --match, --with-trait, --with-class and --member-of select many providers: those that
    meet all of the selectors. Then --amend skips providers that lack a class, unless you give its
    total, and only --replace deletes other classes. The command shows the changes before it asks.
    If a tree fails, it continues with the others.

    Example:

      openstack resource provider inventory set compute1 --amend --resource VCPU:reserved=2

      openstack resource provider inventory set --match 'compute[1-9]' --with-class VCPU \\
        --amend --resource VCPU:allocation_ratio=4 --dry-run
    """

    endpoint = endpoints.SET_INVENTORIES
    prints_one = (*columns.INVENTORY_OF_PROVIDER.names, 'name')
    only_many = (changing.PLAN,)
    options = (
        Option(
            'provider',
            nargs='?',
            help='Name or UUID of the resource provider; UUID of the aggregate with --aggregate',
        ),
        Option(
            '--resource <resource_class>[:<field>]=<value>...',
            help=f'Field of the inventory of a class, one of {", ".join(FIELDS)}; may be repeated. '
            'Default: all inventories are deleted',
        ),
        Flag(
            '--aggregate',
            since='1.3',
            help='Set the inventories of every resource provider of the aggregate',
        ),
        Flag('--amend', help='Keep other classes, and other fields of the named classes'),
        Flag('--replace', help='With a selector: delete the inventories of other classes'),
        option.GENERATION,
        *editing.OPTIONS,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> columns.Output:
        selected = selectors.are_given(parsed_args)
        if not selected and parsed_args.provider is None:
            raise errors.UsageError('the following arguments are required: <provider>')
        if selected and (parsed_args.provider is not None or parsed_args.aggregate):
            raise errors.UsageError('Selectors stand instead of the provider and of --aggregate')
        if selected:
            self.check_many(parsed_args)
        given = _parsed(parsed_args.resource)
        if selected:
            from placementclient.producers.edited import InventoryEdit

            edit = InventoryEdit(given, parsed_args.amend, parsed_args.replace)
            return self.edit(parsed_args, 'resource provider inventory set', edit)
        self.check_one(parsed_args)
        if not parsed_args.aggregate:
            uuid = api.resource_provider.find(self.client, parsed_args.provider)
            written = self._set(uuid, given, parsed_args)
            return columns.INVENTORY_OF_CLASS.rows(_rows(uuid, written))
        if parsed_args.generation is not None:
            raise errors.UsageError("--generation is one provider's, and --aggregate has several")
        return self._set_members(given, parsed_args)

    def _set_members(
        self, given: Mapping[str, Fields], parsed_args: argparse.Namespace
    ) -> columns.Output:
        """Set every member of the aggregate; log each failure, and report them at the end."""
        members = api.resource_provider.list(
            self.client,
            matching=Filter(member_of=filters.any_of([parsed_args.provider], self.client)),
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
        output = columns.INVENTORY_OF_PROVIDER.rows(rows)
        if not base.is_wanted(parsed_args, 'name'):
            return output
        names = {member.uuid: member.name for member in members}
        return base.with_column(output, 'name', lambda row: names[row[0]])

    def _set(
        self, uuid: str, given: Mapping[str, Fields], parsed_args: argparse.Namespace
    ) -> Mapping[str, Mapping[str, Any]]:
        def attempt() -> Mapping[str, Mapping[str, Any]]:
            current = api.inventory.list(self.client, uuid)
            desired = _amended(_fields(current.value), given) if parsed_args.amend else given
            if parsed_args.dry_run:
                if deleted := ', '.join(name for name in current.value if name not in desired):
                    provider = self.client.names.get(uuid, uuid)
                    self.hint(f'{provider} would lose {deleted}: --amend keeps other classes')
                return desired
            generation = parsed_args.generation
            if generation is None:
                generation = current.generation
            written = api.inventory.set_all(self.client, uuid, desired, generation)
            return _fields(written.value)

        return attempts.retried(self.client, attempt, parsed_args.generation)


def _parsed(arguments: Iterable[str]) -> dict[str, dict[str, int | float]]:
    """``['VCPU=16', 'VCPU:reserved=2']`` as fields by class."""
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
            raise errors.BadArgument(f'Unknown inventory field {field}{suggestion(field, FIELDS)}')
        inventories.setdefault(name, {})[field] = _field_value(name, field, parts[1])
    return inventories


def _field_value(name: str, field: str, text: str) -> int | float:
    if field != 'allocation_ratio':
        return whole(text, f'{name}:{field}')
    try:
        return ratio(text)
    except ValueError:
        raise errors.BadArgument(f'{name}:{field}: {text!r} is not a number') from None


def _amended(
    current: Mapping[str, Fields], given: Mapping[str, Fields]
) -> dict[str, dict[str, int | float]]:
    amended = {name: dict(fields) for name, fields in current.items()}
    for name, fields in given.items():
        amended[name] = {**amended.get(name, {}), **fields}
    return amended


def _rows(provider_uuid: str, inventories: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {'resource_provider': provider_uuid, 'resource_class': name, **fields}
        for name, fields in inventories.items()
    ]


def _fields(inventories: Mapping[str, Inventory]) -> dict[str, dict[str, int | float]]:
    return {name: item.as_fields() for name, item in inventories.items()}
