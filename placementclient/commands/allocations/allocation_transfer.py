# SPDX-License-Identifier: Apache-2.0
"""Allocations that go to another consumer, in one request."""

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client.microversion import GUARDS_CONSUMERS, KEEPS_CONSUMER_TYPE
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.providers import normalized
from placementclient.render import columns


def show_providers(command: base.Lister, consumer: str) -> columns.Output:
    """Return the table of the allocations of a consumer, with the names of the providers."""
    shown = api.allocation.show(command.client, consumer)
    names = api.resource_provider.names(command.client, shown.value.allocations)
    return columns.relocated(shown, names, command.version)


class TransferAllocation(base.Lister):
    """Transfer all allocations of a consumer to another consumer, in one request.

    Nova does so between a server and its migration. The other consumer takes over project, user and
    type. A consumer with allocations is refused, unless you give --replace.
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --to-consumer 8d8f9a0e-2f43-4c57-8f0e-6d2b6c5c2a11',
    )
    first_version = GUARDS_CONSUMERS
    column_names = columns.RELOCATED.names
    #: Whether this run has sent a write, which has then made the transfer.
    _is_sent = False
    options = (
        option.CONSUMER,
        Option(
            '--to-consumer <uuid>',
            type=normalized,
            required=True,
            help='UUID of the consumer that gets the allocations, such as a migration',
        ),
        Option('--consumer-type', since='1.38', help='Its type, such as MIGRATION'),
        Flag('--replace', help='First delete the allocations of the other consumer'),
    )

    def execute(self) -> columns.Output:
        if self.args.consumer == self.args.to_consumer:
            raise errors.UsageError('--to-consumer is the consumer itself')
        attempts.retried(self.client, self._transfer)
        return show_providers(self, self.args.to_consumer)

    def _transfer(self) -> None:
        giver = api.allocation.show(self.client, self.args.consumer).value
        taker = api.allocation.show(self.client, self.args.to_consumer).value
        if not giver.allocations:
            if not taker.allocations:
                raise errors.PlacementError(f'Consumer {giver.uuid} holds nothing')
            if not self._is_sent:
                self.log.warning(
                    f'Consumer {giver.uuid} holds nothing any more, {taker.uuid} does: nothing was '
                    'done'
                )
            return
        self._is_sent = True
        if taker.allocations and not self.args.replace:
            raise errors.PlacementError(
                f'Consumer {taker.uuid} holds something already: --replace would free it'
            )
        kind = self.args.consumer_type or (taker if taker.allocations else giver).type
        taker = replace(giver, uuid=taker.uuid, generation=taker.generation, type=kind)
        version = self.client.microversion
        if kind is None:
            # Types stay as they are stored, or unset.
            version = min(version, KEEPS_CONSUMER_TYPE)
        # A body has to give the one that loses everything a type too, though its record goes.
        giver = replace(giver, allocations={}, type=giver.type or kind)
        body = {
            consumer.uuid: api.allocation.body_of(consumer, version) for consumer in (giver, taker)
        }
        api.allocation.replace(self.client, body, version=version)
