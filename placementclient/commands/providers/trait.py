# SPDX-License-Identifier: Apache-2.0
"""Traits, and those of resource providers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client import endpoints
from placementclient.commands.framework import base, option, provider_edits
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Option
from placementclient.model.freshness import Read
from placementclient.render import columns

_NAME = Option('name', help='Name of the trait')
_TRAITS = provider_edits.TraitsOrAggregates(
    'traits',
    Option('trait', nargs='+', is_checked_later=True, help='Names of traits that exist'),
    api.trait.list_of_provider,
    api.trait.set_on_provider,
    columns.NAME,
    lambda client, names: names,
)


class ListTrait(base.Lister):
    """List the traits that exist.

    With --long, also print how many providers and hosts have each trait, the most used first. If
    only one host has a trait, servers that require it cannot leave that host.
    """

    examples = ('--name startswith:CUSTOM --associated', '--long --associated')
    needed_columns = ('only_on',)
    endpoint = endpoints.LIST_TRAITS
    auth_required = False
    options = (
        Option('--name', help='startswith:PREFIX, or in:NAME,NAME for those that exist'),
        Option(
            '--associated',
            action=argparse.BooleanOptionalAction,
            help='Only traits that some provider has, or that none has',
        ),
        *option.PRESENCE,
    )

    def execute(self) -> base.Output:
        name, associated = self.args.name or None, self.args.associated
        traits: Sequence[str] | None = None
        if not self.args.snapshot:
            self.client.require_feature('', endpoints.LIST_TRAITS.since)
            traits = api.trait.list(self.client, name=name, associated=associated)
            if not self.args.long:
                return columns.NAME.make_table(traits)
        elif name or associated is not None:
            raise errors.UsageError('--snapshot cannot be combined with other selections of traits')
        from placementclient.commands.framework import cloud_options
        from placementclient.insight import summary

        snapshot = cloud_options.read_snapshot(self, self.args.snapshot)
        presences = summary.list_presences(snapshot, lambda state: state.traits, traits)
        return ('name', *summary.Presence._fields), [(name, *where) for name, where in presences]


class ShowTrait(base.ShowOne):
    """Show whether a trait exists."""

    examples = ('HW_CPU_X86_AVX2',)
    endpoint = endpoints.SHOW_TRAIT
    options = (_NAME, option.LONG)

    def execute(self) -> columns.Output:
        shown = api.trait.show(self.client, self.args.name)
        return self.add_modified_date(columns.NAME.make_row(shown.value), shown)


class CreateTrait(base.CreateOrDeleteCommand):
    """Create a custom trait unless it exists. Its name has to be of the form CUSTOM_NAME."""

    examples = ('CUSTOM_NVIDIA_A40',)
    endpoint = endpoints.CREATE_TRAIT
    options = (_NAME,)
    functions = base.ObjectFunctions(api.trait.create, api.trait.show)


class DeleteTrait(base.CreateOrDeleteCommand):
    """Delete a custom trait. No resource provider may have it."""

    examples = ('CUSTOM_NVIDIA_A40',)
    endpoint = endpoints.DELETE_TRAIT
    options = (_NAME,)
    functions = base.ObjectFunctions(api.trait.delete, api.trait.show, deletes=True)


class ListProviderTrait(base.Lister):
    """List the traits of a resource provider."""

    examples = ('compute1',)
    endpoint = endpoints.LIST_PROVIDER_TRAITS
    options = (option.PROVIDER,)

    def execute(self) -> columns.Output:
        traits = api.trait.list_of_provider(self.client, self.provider_uuid)
        return columns.NAME.make_table(traits.value)


class SetProviderTrait(base.Lister):
    """Replace the traits of a resource provider."""

    examples = ('compute1 --trait HW_CPU_X86_AVX2',)
    endpoint = endpoints.SET_PROVIDER_TRAITS
    column_names = columns.NAME.names
    options = (
        option.PROVIDER,
        Option('--trait <trait>...', help='Name of a trait; default: no traits'),
        option.GENERATION,
    )

    def execute(self) -> columns.Output:
        client, uuid, expected = self.client, self.provider_uuid, self.args.generation

        def write_traits() -> Read[list[str]]:
            live = (
                api.resource_provider.read_generation(client, uuid)
                if expected is None
                else expected
            )
            return api.trait.set_on_provider(client, uuid, self.args.trait, live)

        return columns.NAME.make_table(
            attempts.retry_conflicts(client, write_traits, expected).value
        )


class AddProviderTrait(ChangeCommand):
    """Add traits to one or many resource providers."""

    examples = (
        'compute1 CUSTOM_FAST_DISK CUSTOM_RACK_7',
        "--match 'compute7*' CUSTOM_RACK_7 --dry-run",
    )
    first_version = endpoints.SET_PROVIDER_TRAITS.since
    column_names = columns.NAME.names
    options = _TRAITS.options
    shows_changes = provider_edits.is_bulk_edit

    def execute(self) -> columns.Output:
        return provider_edits.edit_traits_or_aggregates(self, _TRAITS, removes=False)


class RemoveProviderTrait(ChangeCommand):
    """Remove traits from one or many resource providers."""

    examples = ('compute1 CUSTOM_FAST_DISK', '--with-trait CUSTOM_OLD CUSTOM_OLD --plan plan.json')
    first_version = endpoints.SET_PROVIDER_TRAITS.since
    column_names = columns.NAME.names
    options = _TRAITS.options
    shows_changes = provider_edits.is_bulk_edit

    def execute(self) -> columns.Output:
        return provider_edits.edit_traits_or_aggregates(self, _TRAITS, removes=True)


class DeleteProviderTrait(base.CreateOrDeleteCommand):
    """Remove all traits from a resource provider, even if others change it at the same time."""

    examples = ('compute1',)
    endpoint = endpoints.DELETE_PROVIDER_TRAITS
    options = (option.PROVIDER,)
    functions = base.ObjectFunctions(
        api.trait.delete_from_provider, api.trait.list_of_provider, deletes=True
    )
