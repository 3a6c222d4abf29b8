# SPDX-License-Identifier: Apache-2.0
"""Inventories: of one class or all, of one resource provider or many."""

import contextlib
import re
import shlex
from collections.abc import Callable, Mapping

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.client import endpoints
from placementclient.client.errors import BadRequest, InventoryInUse
from placementclient.commands.framework import (
    base,
    change_command,
    filter_options,
    option,
    provider_edits,
)
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.providers.inventory_fields import FIELD_OPTIONS, Fields, parse_fields
from placementclient.model.freshness import Read
from placementclient.model.inventories import FIELDS, Inventories, Inventory
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.producers.edited import (
    InventoryEdit,
    describe_effects,
    describe_high_ratios,
    describe_wrong_fields,
)
from placementclient.render import columns


class ListInventory(base.Lister):
    """List the inventories of a resource provider, and how much of each is used."""

    examples = ('compute1',)
    endpoint = endpoints.LIST_INVENTORIES
    options = (option.PROVIDER,)

    def execute(self) -> columns.Output:
        inventories = api.inventory.list(self.client, self.provider_uuid).value
        used = api.usage.show_provider(self.client, self.provider_uuid).value
        return columns.USED_INVENTORY_OF_CLASS.make_table(
            {'resource_class': name, 'used': used.get(name), **item.as_fields()}
            for name, item in inventories.items()
        )


class ShowInventory(base.ShowOne):
    """Show the inventory of one class of a resource provider, and how much of it is used."""

    examples = ('compute1 VCPU',)
    endpoint = endpoints.SHOW_INVENTORY
    options = (option.PROVIDER, option.RESOURCE_CLASS, option.LONG)

    def execute(self) -> columns.Output:
        name = self.args.resource_class
        shown = api.inventory.show(self.client, self.provider_uuid, name)
        used = api.usage.show_provider(self.client, self.provider_uuid).value
        output = columns.USED_INVENTORY.make_row(
            {'used': used.get(name), **shown.value.as_fields()}
        )
        return self.add_modified_date(output, shown)


class CreateInventory(base.ShowOne):
    """Add the inventory of a class that a resource provider does not have yet."""

    examples = ('compute1 VGPU --total 8 --max_unit 1',)
    endpoint = endpoints.CREATE_INVENTORY
    column_names = columns.INVENTORY.names
    options = (option.PROVIDER, option.RESOURCE_CLASS, *FIELD_OPTIONS, option.GENERATION)

    def execute(self) -> columns.Output:
        return _write_inventory(self, api.inventory.create, self._refuse_existing_class)

    def _refuse_existing_class(self, present: Mapping[str, Inventory]) -> None:
        name, provider, total = self.args.resource_class, self.args.provider, self.args.total
        if name in present:
            raise errors.BadArgument(
                f'{provider} has an inventory of {name} already: "placement resource provider '
                f'inventory set {provider} --amend --resource {name}={total}" changes its total'
            )


class SetInventory(base.ShowOne):
    """Replace the inventory of one class of a resource provider.

    Fields without an option get the default of Placement, not their present value: without
    --allocation_ratio the ratio becomes 1.0. To change some fields only, use "resource provider
    inventory set PROVIDER --amend --resource CLASS:FIELD=VALUE".
    """

    examples = ('compute1 VCPU --total 48 --allocation_ratio 16',)
    endpoint = endpoints.SET_INVENTORY
    column_names = columns.INVENTORY.names
    options = (option.PROVIDER, option.RESOURCE_CLASS, *FIELD_OPTIONS, option.GENERATION)

    def execute(self) -> columns.Output:
        return _write_inventory(self, api.inventory.set, lambda present: None)


def _write_inventory(
    command: base.ShowOne,
    send: Callable[..., Read[Inventory]],
    check: Callable[[Mapping[str, Inventory]], None],
) -> columns.Output:
    """Create or replace the inventory that the options describe; return its fields.

    :param send: the function of the API that creates or replaces it
    :param check: raises an error because of the present inventories of the provider, by class; not
        called with ``--generation``, as then the operator knows them
    """
    client, uuid = command.client, command.provider_uuid
    name, expected = command.args.resource_class, command.args.generation
    values = {field: getattr(command.args, field) for field in FIELDS}
    fields = {field: value for field, value in values.items() if value is not None}
    for sentence in describe_high_ratios({name: fields}):
        command.log_hint(sentence)
    before: dict[str, Inventory] = {}

    def send_inventory() -> Read[Inventory]:
        generation = expected
        if generation is None:
            read = api.inventory.list(client, uuid)
            check(read.value)
            before.update(read.value)
            generation = read.generation or 0
        return send(client, uuid, name, fields, generation)

    def is_written() -> bool:
        return api.inventory.list(client, uuid).value.get(name) == Inventory(**fields)

    try:
        written = attempts.confirm_write(client, send_inventory, is_written, expected)
    except BadRequest as refusal:
        raise _explain_refusal(refusal, {name: fields}) from None
    written = written or api.inventory.show(client, uuid, name)
    _log_effects(command, before, {name: written.value}, {name: fields})
    return columns.INVENTORY.make_row(written.value.as_fields())


def _explain_refusal(
    refusal: BadRequest, requested: Mapping[str, Fields], *, amend: bool = False
) -> BadRequest:
    """Return a refusal whose sentence begins with each wrong field, its class and the way out."""
    faults = describe_wrong_fields(requested, amend)
    return refusal.with_sentence('. '.join([*faults, refusal.sentence]))


def _log_effects(
    command: base.PlacementCommand,
    before: Inventories,
    after: Inventories,
    requested: Mapping[str, Fields],
) -> None:
    """Log the effects of a change of ``<provider>`` that were hardly meant."""
    if not command.prints_hints:
        return
    used: Mapping[str, int] = {}
    if any(after[name].capacity < before[name].capacity for name in before.keys() & after):
        # Without them the hints are fewer; an error would hide a change that is made.
        with contextlib.suppress(errors.PlacementError):
            used = api.usage.show_provider(command.client, command.provider_uuid).value
    for sentence in describe_effects(before, after, requested, used):
        command.log_hint(sentence)


class DeleteInventory(base.CreateOrDeleteCommand):
    """Delete the inventory of one class of a resource provider, or all its inventories."""

    examples = ('compute1 --resource-class VGPU',)
    endpoint = endpoints.DELETE_INVENTORY
    functions = base.ObjectFunctions(api.inventory.delete_all, api.inventory.list, deletes=True)
    options = (
        option.PROVIDER,
        Option('--resource-class', help='Only this class; required up to API version 1.4'),
    )

    def execute(self) -> None:
        name = self.args.resource_class
        is_old = self.client.assumed_microversion < endpoints.DELETE_INVENTORIES.since
        if name is None and is_old:
            self.exit_with_usage('the following arguments are required: --resource-class')
        provider = self.client, self.provider_uuid
        try:
            if name is None:
                super().execute()
                return
            attempts.confirm_write(
                self.client,
                lambda: api.inventory.delete(*provider, name),
                lambda: attempts.is_gone_or_empty(lambda: api.inventory.show(*provider, name)),
            )
        except InventoryInUse as refusal:
            show = f'placement resource provider tree show {shlex.quote(self.args.provider)}'
            refusal.next_steps = (f'See who uses it: {show} --allocations',)
            raise


class ReplaceInventories(ChangeCommand):
    """Replace all inventories of a resource provider, of all in an aggregate, or of many.

    VCPU=16 means VCPU:total=16. --amend keeps other classes, and other fields of the named classes.

    With selectors such as --match, --amend skips providers that lack a class, unless you give its
    total, and only --replace deletes other classes. The command shows the changes before it asks.
    If a tree fails, it continues with the others.
    """

    examples = (
        'compute1 --amend --resource VCPU:reserved=2',
        "--match 'compute[1-9]' --amend --resource VCPU:allocation_ratio=4 --dry-run",
    )
    endpoint = endpoints.SET_INVENTORIES
    column_names = (*columns.INVENTORY_OF_PROVIDER.names, 'name')
    spare_columns = ('step_size', 'min_unit', 'max_unit', 'resource_provider')
    options = (
        Option(
            'provider',
            nargs='?',
            help='Name or UUID of the resource provider; UUID of the aggregate with --aggregate',
        ),
        Option(
            '--resource <resource_class>[:<field>]=<value>...',
            help=f'Field of a class, one of {", ".join(FIELDS)}; default: delete all inventories',
        ),
        Flag('--aggregate', since='1.3', help='Set those of every provider of the aggregate'),
        Flag('--amend', help='Keep other classes, and other fields of the named classes'),
        Flag('--replace', help='With a selector: delete the inventories of other classes'),
        option.GENERATION,
        *provider_edits.OPTIONS,
    )
    shows_changes = provider_edits.is_bulk_edit

    def execute(self) -> columns.Output:
        self._refuse_wrong_option_combinations()
        fields = parse_fields(self.args.resource)
        if self.shows_changes():
            edit = InventoryEdit(fields, self.args.amend, self.args.replace)
            return provider_edits.edit_selected_providers(
                self, 'resource provider inventory set', edit
            )
        for sentence in describe_high_ratios(fields):
            self.log_hint(sentence)
        if self.args.dry_run:
            self.log_hint('Dry run: nothing is written')
        if self.args.aggregate:
            return self._set_aggregate_members(fields)
        return self._set_one_provider(fields)

    def _refuse_wrong_option_combinations(self) -> None:
        provider, is_aggregate = self.args.provider, self.args.aggregate
        bare = [text for text in self.args.resource or () if '=' not in text]
        if provider and bare and re.fullmatch('[0-9.]+', provider):
            raise errors.UsageError(
                f'{provider} was taken as a provider. Write {bare[-1]}={provider}'
            )
        if self.shows_changes():
            if provider is not None or is_aggregate:
                raise errors.UsageError('Give either a provider, or --aggregate, or selectors')
        elif provider is None:
            self.exit_with_usage('the following arguments are required: <provider>')
        provider_edits.refuse_options_of_other_edits(self, [change_command.PLAN])
        if is_aggregate and self.args.generation is not None:
            raise errors.UsageError(
                '--generation is for one provider, and --aggregate selects several'
            )

    def _set_one_provider(self, fields: Mapping[str, Fields]) -> columns.Output:
        """Set the inventories of the provider ``<provider>``; return their table."""
        uuid = self.provider_uuid
        try:
            rows = _make_inventory_rows(uuid, self._set_or_preview_inventories(uuid, fields))
        except InventoryInUse as refusal:
            if self.args.resource and not self.args.amend:
                typed = (f'--resource {shlex.quote(text)}' for text in self.args.resource)
                words = ' '.join([shlex.quote(self.args.provider), '--amend', *typed])
                command = f'placement resource provider inventory set {words}'
                refusal.next_steps = (f'Keep the other classes: {command}',)
            raise
        except BadRequest as refusal:
            raise _explain_refusal(refusal, fields, amend=self.args.amend) from None
        return columns.INVENTORY_OF_CLASS.make_table(rows)

    def _set_aggregate_members(self, fields: Mapping[str, Fields]) -> columns.Output:
        """Set the inventories of each provider in the aggregate ``<provider>``; return their table.

        :raises errors.PlacementError: at the end, if some providers failed
        """
        selection = Filter(
            member_of=filter_options.resolve_aggregate_groups([self.args.provider], self.client)
        )
        members = api.resource_provider.list(self.client, matching=selection)
        if not members:
            raise errors.BadArgument(
                f'No resource providers found in aggregate with uuid {self.args.provider}.'
            )
        rows: list[dict[str, object]] = []
        failed = 0
        for member in members:
            try:
                rows += _make_inventory_rows(
                    member.uuid, self._set_or_preview_inventories(member.uuid, fields)
                )
            except errors.PlacementError as failure:
                failed += 1
                self.log.error(
                    f'Failed to set inventory for resource provider {member.uuid}: {failure}.'
                )
        if failed:
            raise errors.PlacementError(
                f'Failed to set inventory for {failed} of {len(members)} resource providers.'
            )
        output = columns.INVENTORY_OF_PROVIDER.make_table(rows)
        names = {member.uuid: member.name for member in members}
        return self.add_names(output, lambda: names, for_people=True)

    def _set_or_preview_inventories(
        self, uuid: str, fields: Mapping[str, Fields]
    ) -> Mapping[str, Fields]:
        """Set the inventories of a provider, or with ``--dry-run`` not; return all, by class."""

        def read_and_write() -> Mapping[str, Fields]:
            current = api.inventory.list(self.client, uuid)
            present = _list_fields(current.value)
            desired = fields
            if self.args.amend:
                self._log_classes_without_total(present, fields)
                amended = {name: {**present.get(name, {}), **fields[name]} for name in fields}
                desired = present | amended
            if self.args.dry_run:
                faults = list(describe_wrong_fields(fields, self.args.amend))
                for fault in faults:
                    self._log_provider_hint(f'Placement would refuse this: {fault}')
                if removed := sorted(present.keys() - desired):
                    self._log_provider_hint(
                        f'This removes {", ".join(removed)}; --amend keeps the other classes'
                    )
                if not (faults or self.args.aggregate):
                    after = {name: Inventory(0).with_fields(desired[name]) for name in desired}
                    self._log_planned_parts(current.value, after)
                    _log_effects(self, current.value, after, fields)
                return desired
            generation = self.args.generation
            if generation is None:
                generation = current.generation
            written = api.inventory.set_all(self.client, uuid, desired, generation).value
            if not self.args.aggregate:
                _log_effects(self, current.value, written, fields)
            return _list_fields(written)

        return attempts.retry_conflicts(self.client, read_and_write, self.args.generation)

    def _log_planned_parts(self, before: Inventories, after: Inventories) -> None:
        """Log the fields of ``<provider>`` that would change, before and after."""
        from placementclient.changes.summary import list_change_rows
        from placementclient.model.snapshots import ProviderState, Snapshot
        from placementclient.render.changes import format_planned_parts

        provider = Provider(self.provider_uuid, self.args.provider, 0)
        sides = (Snapshot([ProviderState(provider, part)], ()) for part in (before, after))
        for line in format_planned_parts(list_change_rows(*sides)):
            self.log_hint(line)

    def _log_classes_without_total(
        self, present: Mapping[str, Fields], fields: Mapping[str, Fields]
    ) -> None:
        """Log each class that a provider lacks and whose total is not given."""
        for name in sorted(fields.keys() - present):
            if 'total' not in fields[name]:
                near = suggest_similar(name, present)
                lacks = f'{self.args.provider} has no inventory of {name}'
                self._log_provider_hint(f'{lacks}{near or ": give its total"}')

    def _log_provider_hint(self, sentence: str) -> None:
        """Log a hint about a provider, unless it is one of many in an aggregate."""
        if not self.args.aggregate:
            self.log_hint(sentence)


def _make_inventory_rows(
    provider_uuid: str, inventories: Mapping[str, Fields]
) -> list[dict[str, object]]:
    return [
        {'resource_provider': provider_uuid, 'resource_class': name, **fields}
        for name, fields in inventories.items()
    ]


def _list_fields(inventories: Mapping[str, Inventory]) -> dict[str, dict[str, int | float]]:
    """Return the fields of inventories by resource class."""
    return {name: item.as_fields() for name, item in inventories.items()}
