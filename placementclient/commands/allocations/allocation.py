# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client import endpoints
from placementclient.client.microversion import GUARDS_CONSUMERS, Microversion
from placementclient.commands.framework import base, option
from placementclient.commands.framework.error_hints import is_part_of_uuid, suggest_whole_uuid
from placementclient.commands.framework.filter_options import parse_whole_number, refuse_plus_sign
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.consumers import Consumer
from placementclient.model.providers import normalize_uuids_in
from placementclient.render import columns

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read

#: Below, allocations are read without their owner, and so cannot be written back.
_SHOWS_OWNER = Microversion(1, 12)
#: The columns of allocations, with those of --long.
_COLUMNS = (*columns.ALLOCATION.names, 'last_modified', 'name')
OWNER = (
    Option('--project-id <project>', required_since='1.8', help='ID of its project'),
    Option('--user-id <user>', required_since='1.8', help='ID of its user'),
    Option('--consumer-type', required_since='1.38', help='Such as INSTANCE; default: its type'),
)

_NO_ALLOCATIONS = 'No consumer {} has allocations'
_BODY = Option('--file', required=True, help='The file; - for standard input')


class ListAllocation(base.Lister):
    """List the consumers of a resource provider with their allocations."""

    examples = ('compute1',)
    endpoint = endpoints.LIST_PROVIDER_ALLOCATIONS
    options = (option.PROVIDER,)

    def execute(self) -> columns.Output:
        holdings = api.allocation.list_of_provider(self.client, self.provider_uuid).value
        return columns.HOLDING.make_table(holdings, self.version)


class ShowAllocation(base.Lister):
    """Show the allocations of a consumer on all resource providers.

    A table on a terminal has the names of the providers, too; elsewhere use --long or -c name.
    """

    examples = ('1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8',)
    endpoint = endpoints.SHOW_ALLOCATIONS
    column_names = _COLUMNS
    options = (
        option.CONSUMER,
        Flag('--long', since='1.15', help='Also print last_modified and names of providers'),
    )

    def execute(self) -> columns.Output:
        shown = api.allocation.show(self.client, self.args.consumer)
        if not shown.value.allocations:
            typed = self.args.consumer
            sentence = _NO_ALLOCATIONS.format(typed)
            if is_part_of_uuid(typed):
                # Status 0 would say of the consumer that is meant that it holds nothing.
                raise errors.BadArgument(sentence)
            self.log_hint(sentence + suggest_whole_uuid(typed))
        return _make_allocation_table(self, shown)


class SetAllocation(base.Lister):
    """Replace all allocations of a consumer."""

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --allocation rp=compute1,VCPU=2,MEMORY_MB=2048 '
        '--project-id 2ee2a1b5ad0c4ae8a1fe14ae25f4b0d5 --user-id a30a1b5f2ee24ac8b1fe14ae25f4b0d5',
    )
    endpoint = endpoints.SET_ALLOCATIONS
    column_names = _COLUMNS
    options = (
        option.CONSUMER,
        Option(
            '--allocation <rp=provider,resource_class=amount>...',
            help='Name or UUID of a provider, and amounts of classes',
        ),
        *OWNER,
        Option(
            '--mapping <group=provider>...',
            since='1.34',
            help='Provider that serves a request group, as a candidate has it',
        ),
        option.CONSUMER_GENERATION,
    )

    def execute(self) -> columns.Output:
        allocations = _parse_allocations(self.client, self.args.allocation)
        mappings = _parse_mappings(self.client, self.args.mapping)
        expected = self.args.generation

        def write_allocations() -> None:
            generation = expected
            if generation is None:
                generation = api.allocation.show(self.client, self.args.consumer).value.generation
            consumer = Consumer(
                self.args.consumer,
                allocations=allocations,
                project_id=self.args.project_id,
                user_id=self.args.user_id,
                generation=generation,
                type=self.args.consumer_type,
            )
            api.allocation.set(self.client, consumer, mappings=mappings, replaces_owner=True)

        attempts.retry_conflicts(self.client, write_allocations, expected)
        return _make_allocation_table(self, api.allocation.show(self.client, self.args.consumer))


class UnsetAllocation(base.Lister):
    """Remove some allocations of a consumer, or all, and leave the rest."""

    examples = ('1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --provider compute1 --resource-class VGPU',)
    endpoint = endpoints.SET_ALLOCATIONS
    column_names = _COLUMNS
    first_version = _SHOWS_OWNER
    options = (
        option.CONSUMER,
        Option('--provider <provider>...', help='Only those on this provider, by name or UUID'),
        Option('--resource-class <resource_class>...', help='Only allocations of this class'),
        option.CONSUMER_GENERATION,
    )

    def execute(self) -> columns.Output:
        providers = {
            api.resource_provider.find(self.client, provider) for provider in self.args.provider
        }
        classes, generation = set(self.args.resource_class), self.args.generation

        def read_consumer_and_remainder() -> tuple[Consumer, Consumer]:
            consumer = api.allocation.show(self.client, self.args.consumer).value
            return consumer, _remove_allocations(consumer, providers, classes)

        def write_remaining() -> None:
            consumer, after = read_consumer_and_remainder()
            if not consumer.allocations:
                raise errors.PlacementError(f"No allocations for consumer '{self.args.consumer}'")
            if after.allocations == consumer.allocations:
                # It is written nevertheless, as osc-placement does: that checks the generation.
                self.log.warning(f'Consumer {consumer.uuid} has no such allocations')
            if not after.allocations and self.client.microversion < GUARDS_CONSUMERS:
                api.allocation.delete(self.client, consumer.uuid)
                return
            if generation is not None:
                after = replace(after, generation=generation)
            api.allocation.set(self.client, after, replaces_owner=True)

        def is_removed() -> bool:
            consumer, after = read_consumer_and_remainder()
            return after.allocations == consumer.allocations

        attempts.confirm_write(self.client, write_remaining, is_removed, generation)
        return _make_allocation_table(self, api.allocation.show(self.client, self.args.consumer))


class DeleteAllocation(base.PlacementCommand):
    """Delete all allocations of a consumer."""

    examples = ('1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8',)
    endpoint = endpoints.DELETE_ALLOCATIONS
    options = (option.CONSUMER,)

    def execute(self) -> None:
        consumer = self.client, self.args.consumer
        attempts.confirm_write(
            self.client,
            lambda: api.allocation.delete(*consumer),
            lambda: not api.allocation.show(*consumer).value.allocations,
        )


class ReplaceAllocation(base.PlacementCommand):
    """Replace the allocations of several consumers in one transaction.

    The file has the body of POST /allocations for the API version in use, as JSON or YAML.
    """

    examples = ('--file allocations.json',)
    endpoint = endpoints.REPLACE_ALLOCATIONS
    options = (_BODY,)

    def execute(self) -> None:
        _send_file_as_body(self, api.allocation.replace)


class SubmitReshape(base.PlacementCommand):
    """Send the body of a reshape: replace inventories and allocations in one transaction.

    The file has the body of POST /reshaper for the API version in use, as JSON or YAML. Placement
    does not check for losses; "resource provider reshape plan" and "apply" do.
    """

    examples = ('--file body.json',)
    endpoint = endpoints.RESHAPE
    options = (_BODY,)

    def execute(self) -> None:
        _send_file_as_body(self, api.reshaper.submit)


def _send_file_as_body(
    command: base.PlacementCommand, send: Callable[[Client, Mapping[str, object]], object]
) -> None:
    """Send the document of ``--file`` as a body with ``send``, a function of the API."""
    from placementclient.files import disk, kinds

    try:
        body = normalize_uuids_in(disk.read_document(command.args.file, kinds.BODY))
    except RecursionError:
        raise errors.BadFile(command.args.file, 'nested too deeply') from None
    # Its generations guard it: where it was carried out, it is refused the second time.
    attempts.retry_conflicts(command.client, lambda: send(command.client, body), body)


def _make_allocation_table(command: base.Lister, answer: Read[Consumer]) -> columns.Output:
    """Return the table of a consumer's allocations, with the columns of ``--long`` and ``-c``."""
    output = columns.list_allocations(answer, command.version)
    if 'long' in command.args:
        output = command.add_modified_date(output, answer)
    names = functools.partial(
        api.resource_provider.read_names, command.client, answer.value.allocations
    )
    return command.add_names(output, names, for_people=True)


def _parse_allocations(client: Client, arguments: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the amounts of ``['rp=compute1,VCPU=2']``, by provider UUID and resource class."""
    allocations: dict[str, dict[str, int]] = {}
    for argument in arguments:
        parts = [part.partition('=') for part in argument.split(',')]
        providers = [value for name, _, value in parts if name == 'rp']
        amounts = [(name, value) for name, _, value in parts if name != 'rp']
        if not providers or not amounts or not all(all(part) for part in parts):
            raise errors.BadArgument(
                f'Incorrect allocation string format: {argument}. Expected rp=PROVIDER,CLASS=AMOUNT'
            )
        # The last one counts, as in osc-placement.
        uuid = api.resource_provider.find(client, providers[-1])
        resources = allocations.setdefault(uuid, {})
        for name, amount in amounts:
            if name in resources:
                raise errors.BadArgument(
                    f'Conflict detected for resource provider {uuid} resource class {name}'
                )
            refuse_plus_sign(name, amount)
            resources[name] = parse_whole_number(amount, name)
    if not allocations:
        raise errors.BadArgument('At least one resource allocation must be specified')
    return allocations


def _parse_mappings(client: Client, arguments: Iterable[str]) -> dict[str, list[str]]:
    """Return the provider UUIDs of ``['_NET=nic1']`` by request group."""
    mappings: dict[str, list[str]] = {}
    for argument in arguments:
        group, equals, provider = argument.partition('=')
        if not (equals and provider):
            raise errors.BadArgument('Arguments to --mapping must be of form <group>=<provider>')
        mappings.setdefault(group, []).append(api.resource_provider.find(client, provider))
    return mappings


def _remove_allocations(consumer: Consumer, providers: set[str], classes: set[str]) -> Consumer:
    """Return a consumer without its allocations of some classes on some providers.

    :param providers: the UUIDs of the providers; empty: all
    :param classes: the resource classes; empty: all
    """
    allocations = {}
    for uuid, resources in consumer.allocations.items():
        if providers and uuid not in providers:
            allocations[uuid] = resources
            continue
        kept = {name: n for name, n in resources.items() if classes and name not in classes}
        if kept:
            allocations[uuid] = kept
    return replace(consumer, allocations=allocations)
