# SPDX-License-Identifier: Apache-2.0
"""Allocations that go to another consumer, in one request."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client.microversion import GUARDS_CONSUMERS, KEEPS_CONSUMER_TYPE
from placementclient.commands.allocations.allocation import ConsumerLister
from placementclient.commands.framework import option
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.consumers import Consumer
from placementclient.model.freshness import Read
from placementclient.model.providers import normalized
from placementclient.render import columns


class Relocation(ConsumerLister):
    """A command that reads the allocations of a consumer and writes them elsewhere."""

    first_version = GUARDS_CONSUMERS
    prints: ClassVar[Sequence[str]] = columns.RELOCATED.names
    #: Whether this run has sent a write, which has then made the move.
    is_sent = False

    def output(self, shown: Read[Consumer]) -> columns.Output:
        names = api.resource_provider.names(self.client, shown.value.allocations)
        return columns.relocated(shown, names, self.version)

    def say_done(self, what: str) -> None:
        """Print that the move was made before this run, as after a lost answer."""
        if not self.is_sent:
            self.log.warning(f'{what}: nothing was done')


class TransferAllocation(Relocation):
    """Transfer all allocations of a consumer to another consumer, in one request.

    Nova does so between a server and its migration. The other consumer takes over project, user and
    type. A consumer with allocations is refused, unless you give --replace.
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --to-consumer 8d8f9a0e-2f43-4c57-8f0e-6d2b6c5c2a11',
    )
    options = (
        option.CONSUMER,
        Option(
            '--to-consumer <uuid>',
            type=normalized,
            required=True,
            help='UUID of the consumer that gets the allocations, such as a migration',
        ),
        Option('--consumer-type', since='1.38', help='Its type, such as MIGRATION'),
        Flag('--replace', help='Delete the allocations of the other consumer before'),
    )

    def execute(self) -> columns.Output:
        if self.args.consumer == self.args.to_consumer:
            raise errors.UsageError('--to-consumer is the consumer itself')
        attempts.retried(self.client, self._transfer)
        return self.output(api.allocation.show(self.client, self.args.to_consumer))

    def _transfer(self) -> None:
        giver = self.shown().value
        taker = api.allocation.show(self.client, self.args.to_consumer).value
        if not giver.allocations:
            if not taker.allocations:
                raise errors.PlacementError(f'Consumer {giver.uuid} holds nothing')
            self.say_done(f'Consumer {giver.uuid} holds nothing any more, {taker.uuid} does')
            return
        self.is_sent = True
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
