# SPDX-License-Identifier: Apache-2.0
"""Aggregates of resource providers, and their copies from Nova."""

import shlex

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client import endpoints
from placementclient.client.microversion import Microversion
from placementclient.commands.framework import (
    base,
    change_command,
    filter_options,
    nova_outages,
    option,
    provider_edits,
    service_lists,
)
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.catalog import NOVA
from placementclient.render import columns

_AGGREGATES = provider_edits.TraitsOrAggregates(
    'aggregates',
    Option(
        'aggregate', nargs='+', is_checked_later=True, help='Aggregates: UUIDs or names in Nova'
    ),
    api.aggregate.list,
    api.aggregate.set,
    columns.UUID,
    filter_options.find_aggregate_uuids,
)


class ListAggregate(base.Lister):
    """List the aggregates that a resource provider is in."""

    examples = ('compute1 --long',)
    endpoint = endpoints.LIST_AGGREGATES
    options = (
        option.PROVIDER,
        Flag('--long', help='Also print the names of the aggregates in Nova'),
    )

    def execute(self) -> columns.Output:
        output = columns.UUID.make_table(api.aggregate.list(self.client, self.provider_uuid).value)
        return self.add_names(output, self._read_names)

    def _read_names(self) -> dict[str, str]:
        """Return the names of Nova's aggregates by UUID."""
        from placementclient.producers.names import read_aggregate_names

        return read_aggregate_names(self.client)


class SetAggregate(base.Lister):
    """Replace the aggregates of a resource provider."""

    examples = ('compute1 --generation 7 --aggregate 42896e0d-205d-4fe3-bd1e-100924931787',)
    endpoint = endpoints.SET_AGGREGATES
    column_names = columns.UUID.names
    options = (
        option.PROVIDER,
        Option('--aggregate <aggregate>...', help='Aggregate: UUID or name in Nova; default: none'),
        Option(
            '--generation',
            type=int,
            since='1.19',
            help='Write only if the provider still has this generation, as Placement requires',
        ),
    )

    def execute(self) -> columns.Output:
        generation = self.args.generation
        if generation is None and self.client.microversion >= api.aggregate.GUARDED:
            missing = errors.BadArgument('A generation must be specified.')
            names = shlex.join([self.args.provider, *(self.args.aggregate or ['AGGREGATE'])])
            provider = shlex.quote(self.args.provider)
            options = ' '.join(f'--aggregate {name}' for name in self.args.aggregate or ())
            missing.next_steps = (
                f'Add without a generation: placement resource provider aggregate add {names}',
                f'Or replace all: placement resource provider aggregate set {provider} {options} '
                f'--generation "$(placement resource provider show {provider} -f value -c '
                'generation)"',
            )
            raise missing
        aggregates = filter_options.find_aggregate_uuids(
            self.client, self.args.aggregate, is_checked=False
        )
        uuid = self.provider_uuid
        written = attempts.retry_conflicts(
            self.client,
            lambda: api.aggregate.set(self.client, uuid, aggregates, generation),
            generation,
        )
        return columns.UUID.make_table(written.value)


class AddAggregate(ChangeCommand):
    """Add one or many resource providers to aggregates."""

    examples = (
        'compute1 42896e0d-205d-4fe3-bd1e-100924931787',
        "--match 'compute7*' 42896e0d-205d-4fe3-bd1e-100924931787 --dry-run",
    )
    # Below, no generation shows a change between the reading and the writing.
    first_version = api.aggregate.GUARDED
    column_names = columns.UUID.names
    options = _AGGREGATES.options
    shows_changes = provider_edits.is_bulk_edit

    def execute(self) -> columns.Output:
        return provider_edits.edit_traits_or_aggregates(self, _AGGREGATES, removes=False)


class RemoveAggregate(ChangeCommand):
    """Remove one or many resource providers from aggregates."""

    examples = (
        'compute1 42896e0d-205d-4fe3-bd1e-100924931787',
        '--all 42896e0d-205d-4fe3-bd1e-100924931787 --plan plan.json',
    )
    first_version = api.aggregate.GUARDED
    column_names = columns.UUID.names
    options = _AGGREGATES.options
    shows_changes = provider_edits.is_bulk_edit

    def execute(self) -> columns.Output:
        return provider_edits.edit_traits_or_aggregates(self, _AGGREGATES, removes=True)


class SyncAggregate(ChangeCommand):
    """Copy the host aggregates of Nova to the resource providers of the hosts.

    The command leaves sharing providers alone, and aggregates that Nova does not have. It names a
    host that Placement does not know; --remove then takes no other host out of its aggregate.
    """

    examples = ('--remove --dry-run',)
    # From here on the trait distinguishes sharing providers from hosts.
    first_version = Microversion(1, 22)
    options = (
        Option('--aggregates <file>|nova', help='All host aggregates; default: nova, ask Nova'),
        Flag('--remove', help='Also take hosts out of aggregates in which Nova does not have them'),
        *change_command.OPTIONS,
    )
    empty_message = 'All hosts are in the aggregates that Nova says'

    def execute(self) -> columns.Output:
        from placementclient.producers.sync import SyncProducer

        source = service_lists.get_sources().aggregates
        aggregates = source.read(self, self.args.aggregates or NOVA)
        is_from_nova = self.args.aggregates in (None, NOVA)
        notes = nova_outages.report_cells_down(self) if is_from_nova else []
        return self.plan_and_apply(
            SyncProducer(self.client, aggregates, remove=self.args.remove, notes=notes)
        )
