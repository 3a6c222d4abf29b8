"""All inventories of a provider, or of many, at once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placementclient import api, endpoints, errors
from placementclient.commands import base, option
from placementclient.commands.filters import whole
from placementclient.commands.inventory import FIELDS, ratio
from placementclient.commands.option import Option
from placementclient.microversion import Microversion
from placementclient.render import columns
from placementclient.wording import counted, meant

if TYPE_CHECKING:
    from placementclient.model.inventories import Inventory
    from placementclient.render.columns import Output
    from placementclient.workflows.bulk_edit import Edit

Fields = Mapping[str, int | float]

#: From here on providers are listed by their traits.
_BY_TRAIT = Microversion(1, 18)
#: What finds many providers.
_SELECTORS = (
    Option('--all', action='store_true', help='All resource providers'),
    Option(
        '--match',
        metavar='<pattern>',
        help='Those whose names fit a pattern as of files, such as compute-?',
    ),
    Option('--with-trait', metavar='<trait>', help='Those that have this trait'),
    Option('--with-class', metavar='<resource_class>', help='Those with inventory of this class'),
)


class SetInventories(base.Lister):
    """Replace all inventories of a resource provider, of all in an aggregate, or of many.

    A field that is not named is the total: VCPU=16 is VCPU:total=16. With --amend what is not
    given stays as it is: other classes, and other fields of the classes given.

    Many are selected with --all, --match, --with-trait and --with-class instead of the one; all
    that are given have to hold. There --amend passes over who lacks a class of which no total is
    given, and classes that are not given go only with --replace. What would change is shown before
    it asks. One that fails does not stop the others: the exit status is 6 then, and 1 if all fail.

    Example:

      openstack resource provider inventory set compute1 --amend --resource VCPU:reserved=2

      openstack resource provider inventory set --match 'compute[1-9]' --with-class VCPU \\
        --amend --resource VCPU:allocation_ratio=4 --dry-run
    """

    endpoint = endpoints.SET_INVENTORIES
    prints = tuple(dict.fromkeys((*columns.INVENTORY_OF_PROVIDER.names, *columns.EDIT.names)))
    statuses = (
        (errors.ExitStatus.DIFFERS, 'a dry run of many has found something to do'),
        (errors.ExitStatus.PARTIAL, 'some resource providers are changed, some are not'),
    )
    options = (
        Option(
            'provider',
            metavar='<provider>',
            nargs='?',
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
            '--replace',
            action='store_true',
            help='Of many: drop the inventories of classes that are not given',
        ),
        option.DRY_RUN,
        option.generation(),
        *_SELECTORS,
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        selected = any(each.is_given(parsed_args) for each in _SELECTORS)
        _check(parsed_args, selected)
        given = _parsed(parsed_args.resource)
        if selected:
            return self._set_selected(given, parsed_args)
        if not parsed_args.aggregate:
            uuid = api.resource_provider.find(self.client, parsed_args.provider)
            written = self._set(uuid, given, parsed_args)
            return columns.INVENTORY_OF_CLASS.rows(_rows(uuid, written))
        if parsed_args.generation is not None:
            raise errors.UsageError("--generation is one provider's, and --aggregate has several")
        return self._set_members(given, parsed_args)

    def _set_members(self, given: Mapping[str, Fields], parsed_args: argparse.Namespace) -> Output:
        """Set every member of the aggregate; what fails for one is left, and told at the end."""
        from placementclient.model.requests import Filter

        members = api.resource_provider.list(
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

    def _set_selected(self, given: Mapping[str, Fields], parsed_args: argparse.Namespace) -> Output:
        """Set all that are selected, or only say what differs."""
        from placementclient.render import edits as differences
        from placementclient.workflows import bulk_edit
        from placementclient.workflows.run import Run

        run = Run()
        bulk_edit.check(given)
        if parsed_args.with_trait:
            self.client.require('--with-trait', _BY_TRAIT)

        def change(there: bulk_edit.Inventories) -> bulk_edit.Inventories:
            return _passing_over(there, given) if parsed_args.amend else _complete(given)

        selection = bulk_edit.Selection(
            parsed_args.match, parsed_args.with_trait, parsed_args.with_class
        )
        edits = [_explained(edit, given) for edit in bulk_edit.plan(self.client, selection, change)]
        _check_classes(edits, given)
        dropped = sorted({name for edit in edits for name in edit.dropped})
        if dropped and not parsed_args.replace:
            raise errors.UsageError(
                f'{", ".join(dropped)} would be dropped: --replace does it, --amend keeps what is '
                'not given'
            )
        pending = [edit for edit in edits if edit.state is bulk_edit.State.PLANNED]
        if pending and not parsed_args.dry_run:
            shown = '\n'.join(differences.lines(pending))
            question = f'Change the inventories of {counted(len(pending), "resource provider")}?'
            self.confirm(f'{shown}\n{question}', parsed_args)
            edits = list(bulk_edit.carry_out(self.client, edits, change, run))
        self.exit_status = bulk_edit.exit_status(edits, run)
        if parsed_args.dry_run and not self.exit_status:
            self.end_dry_run(bool(pending))
        return columns.EDIT.rows(edits)

    def _set(
        self, uuid: str, given: Mapping[str, Fields], parsed_args: argparse.Namespace
    ) -> Mapping[str, Mapping[str, Any]]:
        """Set the inventories of one provider, in the way that the options say."""

        def attempt() -> Mapping[str, Mapping[str, Any]]:
            there = api.inventory.list(self.client, uuid)
            wanted = _amended(_fields(there.value), given) if parsed_args.amend else given
            if parsed_args.dry_run:
                return wanted
            generation = parsed_args.generation
            if generation is None:
                generation = there.generation
            written = api.inventory.set_all(self.client, uuid, wanted, generation)
            return _fields(written.value)

        return self.retried(attempt, parsed_args.generation)


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
            raise errors.BadArgument(f'Unknown inventory field {field}{meant(field, FIELDS)}')
        inventories.setdefault(name, {})[field] = _field_value(name, field, parts[1])
    return inventories


def _field_value(name: str, field: str, text: str) -> int | float:
    if field != 'allocation_ratio':
        return whole(text, f'{name}:{field}')
    try:
        return ratio(text)
    except ValueError:
        raise errors.BadArgument(f'{name}:{field}: {text!r} is not a number') from None


def _check(parsed_args: argparse.Namespace, selected: bool) -> None:
    """See whether it is clear which providers are meant.

    :raises errors.UsageError: if it is not
    """
    if not selected and parsed_args.provider is None:
        raise errors.UsageError('the following arguments are required: <provider>')
    if selected and (parsed_args.provider is not None or parsed_args.aggregate):
        raise errors.UsageError('Selectors stand instead of the provider and of --aggregate')
    if selected and parsed_args.generation is not None:
        raise errors.UsageError("--generation is one provider's, and selectors may find several")


def _amended(
    there: Mapping[str, Fields], given: Mapping[str, Fields]
) -> dict[str, dict[str, int | float]]:
    amended = {name: dict(fields) for name, fields in there.items()}
    for name, fields in given.items():
        amended[name] = {**amended.get(name, {}), **fields}
    return amended


def _passing_over(
    there: Mapping[str, Fields], given: Mapping[str, Fields]
) -> dict[str, dict[str, int | float]]:
    """Amended, but for classes that are not there and that cannot be made without a total."""
    possible = {
        name: fields for name, fields in given.items() if name in there or 'total' in fields
    }
    return {name: _with_defaults(item) for name, item in _amended(there, possible).items()}


def _check_classes(edits: Sequence[Edit], given: Mapping[str, Fields]) -> None:
    """See whether there is something to edit of each class.

    :raises errors.BadArgument: if every provider is passed over for one
    """
    there = {name for edit in edits for name in edit.wanted}
    for name in given:
        if name not in there:
            raise errors.BadArgument(
                f'No resource provider that is selected has inventory of {name}{meant(name, there)}'
            )


def _explained(edit: Edit, given: Mapping[str, Fields]) -> Edit:
    """An edit that says why it is none, where a provider is passed over."""
    from dataclasses import replace

    lacking = sorted(set(given).difference(edit.wanted))
    if not lacking or edit.changes:
        return edit
    return replace(edit, reason=f'passed over: it has no {", ".join(lacking)}')


def _complete(given: Mapping[str, Fields]) -> dict[str, dict[str, int | float]]:
    return {name: _with_defaults(fields) for name, fields in given.items()}


def _with_defaults(fields: Fields) -> dict[str, int | float]:
    """All fields, as the service will have them; without a total it will refuse them."""
    from placementclient.model.inventories import Inventory

    return Inventory(0).with_fields(fields).as_fields() if 'total' in fields else dict(fields)


def _rows(provider_uuid: str, inventories: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {'resource_provider': provider_uuid, 'resource_class': name, **fields}
        for name, fields in inventories.items()
    ]


def _fields(inventories: Mapping[str, Inventory]) -> dict[str, dict[str, int | float]]:
    return {name: item.as_fields() for name, item in inventories.items()}
