"""Allocations that move to another provider or consumer, in one request."""

import itertools

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.client import errors
from placementclient.client.microversion import GUARDS_CONSUMERS, KEEPS_CONSUMER_TYPE
from placementclient.commands.allocations.allocation import ConsumerLister
from placementclient.commands.framework import option
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.consumers import Consumer
from placementclient.model.freshness import Read
from placementclient.model.providers import normalized
from placementclient.render import columns


class _Relocation(ConsumerLister):
    """A command that reads the allocations of a consumer and writes them elsewhere."""

    first_version = GUARDS_CONSUMERS
    prints = columns.RELOCATED.names
    #: Whether this run has sent a write, which has then made the move.
    is_sent = False

    def output(self, shown: Read[Consumer]) -> columns.Output:
        names = api.resource_provider.names(self.client, shown.value.allocations)
        return columns.relocated(shown, names, self.version)

    def say_done(self, what: str) -> None:
        """Print that the move was made before this run, as after a lost answer."""
        if not self.is_sent:
            self.log.warning(f'{what}: nothing was done')


class MoveAllocation(_Relocation):
    """Move the allocations of a consumer from one resource provider to another, in one request.

    Allocations on other providers stay as they are. Amounts are added to those that the consumer
    has on the target. If the target has no room, Placement refuses and nothing changes.
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --from compute1 --to compute1_gpu0 --class VGPU',
    )
    options = (
        option.CONSUMER,
        Option(
            '--from <provider>',
            dest='source',
            required=True,
            help='Name or UUID of the provider that has the allocations',
        ),
        Option(
            '--to <provider>',
            dest='target',
            required=True,
            help='Name or UUID of the provider that gets them',
        ),
        Option(
            '--class <resource_class>...',
            dest='resource_class',
            help='Only this class; default: all classes',
        ),
    )

    def execute(self) -> columns.Output:
        source = api.resource_provider.find(self.client, self.args.source)
        target = api.resource_provider.find(self.client, self.args.target)
        if source == target:
            raise errors.UsageError('--from and --to are the same resource provider')

        def attempt() -> None:
            consumer = self.shown().value
            if not consumer.allocations:
                raise errors.PlacementError(f'Consumer {consumer.uuid} holds nothing')
            if self._is_made(consumer, source, target):
                self.say_done(f'Consumer {consumer.uuid} holds that on {self.args.target} already')
                return
            self.is_sent = True
            moved = self._moved(consumer, source, target)
            api.allocation.set(self.client, moved, replaces_owner=True)

        attempts.retried(self.client, attempt)
        return self.output(self.shown())

    def _is_made(self, consumer: Consumer, source: str, target: str) -> bool:
        """Return whether the move was made already, as far as the allocations show."""
        classes = set(self.args.resource_class)
        on_source = set(consumer.allocations.get(source, ()))
        on_target = set(consumer.allocations.get(target, ()))
        is_moved = classes <= on_target - on_source if classes else on_target and not on_source
        if not is_moved or self.is_sent:
            return bool(is_moved)
        # The service does not know what a consumer held once. But what it holds on a third
        # provider, or what the source has no inventory of, did not come from there.
        offered = set(api.inventory.list(self.client, source).value)
        moved = classes or on_target & offered
        others = (resources for uuid, resources in consumer.allocations.items() if uuid != target)
        return bool(moved) and moved <= offered and moved.isdisjoint(itertools.chain(*others))

    def _moved(self, consumer: Consumer, source: str, target: str) -> Consumer:
        """Return the consumer after the move; refuse if it does not hold that on the source."""
        classes = set(self.args.resource_class)
        on_source = dict(consumer.allocations.get(source, {}))
        missing = classes.difference(on_source)
        if missing or not on_source:
            what = ', '.join(sorted(missing)) or 'anything'
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} does not hold {what} on the provider {self.args.source}'
            )
        on_target = dict(consumer.allocations.get(target, {}))
        for name in sorted(classes or on_source):
            on_target[name] = on_target.get(name, 0) + on_source.pop(name)
        changed = {**consumer.allocations, source: on_source, target: on_target}
        return replace(consumer, allocations={uuid: part for uuid, part in changed.items() if part})


class TransferAllocation(_Relocation):
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
