# SPDX-License-Identifier: Apache-2.0
"""Allocations of one consumer that move to another provider, or whose amounts change."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.commands.allocations.relocation import Relocation
from placementclient.commands.framework import base, changing, filters, option
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.option import Option
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState
from placementclient.render import columns

_PLANNING = (option.DRY_RUN, changing.PLAN, option.OVERWRITE)


class _ConsumerEditing(Changing, Relocation):
    """Edits the allocations of one consumer in one request, or shows or writes the change."""

    statuses = (base.WOULD_DO,)
    command = ''

    @property
    def is_planned(self) -> bool:
        """Return whether the change is only shown, or written as a plan."""
        return bool(self.args.dry_run or self.args.plan)

    def printed(self) -> Sequence[str]:
        return Changing.prints if self.is_planned else Relocation.prints

    def has_text(self) -> bool:
        return self.is_planned and super().has_text()

    def execute(self) -> columns.Output:
        if self.is_planned:
            from placementclient.producers.consumer_edit import ConsumerEdit

            return self.change(
                ConsumerEdit(self.client, self.command, self.args.consumer, self._after)
            )
        attempts.retried(self.client, self._attempt, getattr(self.args, 'generation', None))
        return self.output(self.shown())

    def _attempt(self) -> None:
        before = self.shown().value
        after = self._after(before)
        if after == before:
            self.say_same(before)
            return
        self.check(before, after)
        self.is_sent = True
        api.allocation.set(self.client, after, replaces_owner=True)

    def _after(self, consumer: Consumer) -> Consumer:
        if not consumer.allocations:
            raise errors.PlacementError(f'Consumer {consumer.uuid} holds nothing')
        return self.edited(consumer)

    @abc.abstractmethod
    def edited(self, consumer: Consumer) -> Consumer:
        """Return the consumer after the edit, or raise an error if it cannot have the edit."""

    @abc.abstractmethod
    def say_same(self, consumer: Consumer) -> None:
        """Print that the consumer has the edit already."""

    def check(self, before: Consumer, after: Consumer) -> None:
        """Refuse an edit before it is sent; by default Placement decides."""


class MoveAllocation(_ConsumerEditing):
    """Move the allocations of a consumer from one resource provider to another, in one request.

    Allocations on other providers stay as they are. Amounts are added to those that the consumer
    has on the target. If the target has no room, Placement refuses and nothing changes.

    With --dry-run the command prints the change. With --plan it writes the change to a file for
    "resource provider reshape".
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
        *_PLANNING,
    )
    command = 'resource provider allocation move'

    def execute(self) -> columns.Output:
        self._source = api.resource_provider.find(self.client, self.args.source)
        self._target = api.resource_provider.find(self.client, self.args.target)
        if self._source == self._target:
            raise errors.UsageError('--from and --to are the same resource provider')
        return super().execute()

    def edited(self, consumer: Consumer) -> Consumer:
        """Return the consumer after the move; as it is, if it was made already."""
        return consumer if self._is_made(consumer) else self._moved(consumer)

    def say_same(self, consumer: Consumer) -> None:
        self.say_done(f'Consumer {consumer.uuid} holds that on {self.args.target} already')

    def _is_made(self, consumer: Consumer) -> bool:
        """Return whether the move was made already, as far as the allocations show."""
        source, target = self._source, self._target
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

    def _moved(self, consumer: Consumer) -> Consumer:
        """Return the consumer after the move; refuse if it does not hold that on the source."""
        source, target = self._source, self._target
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


class ResizeAllocation(_ConsumerEditing):
    """Set amounts that a consumer holds, where it holds them, in one request.

    Its owner, its type and its other allocations stay as they are. If a provider has no room for an
    amount, nothing is sent, and the error names the free amount.

    With --dry-run the command prints the change. With --plan it writes the change to a file for
    "resource provider reshape".
    """

    examples = ('1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --resource VCPU=4 --resource MEMORY_MB=8192',)
    options = (
        option.CONSUMER,
        Option(
            '--resource <resource_class>=<amount>...',
            required=True,
            help='New amount of a class that the consumer holds',
        ),
        Option(
            '--provider',
            help='Name or UUID of the provider; required where several have the class',
        ),
        option.CONSUMER_GENERATION,
        *_PLANNING,
    )
    command = 'resource provider allocation resize'
    _provider: str | None = None

    def execute(self) -> columns.Output:
        self._amounts = filters.resources(self.args.resource)
        if self.args.provider is not None:
            self._provider = api.resource_provider.find(self.client, self.args.provider)
        return super().execute()

    def edited(self, consumer: Consumer) -> Consumer:
        """Return the consumer with the amounts; refuse a class that it does not hold, or 0."""
        allocations = {uuid: dict(part) for uuid, part in consumer.allocations.items()}
        for name, amount in self._amounts.items():
            allocations[self._holding(consumer, name, amount)][name] = amount
        after = replace(consumer, allocations=allocations)
        generation = self.args.generation
        if generation in (None, consumer.generation) or (self.is_sent and after == consumer):
            return after
        wrong = f'The generation is {consumer.generation}, not {generation}'
        raise errors.PlacementError(f'{wrong}: read again what is there')

    def _holding(self, consumer: Consumer, name: str, amount: int) -> str:
        """Return the UUID of the one provider on which a consumer holds a class."""
        command = f'{self.program} resource provider allocation'
        holding = [
            uuid
            for uuid, part in consumer.allocations.items()
            if name in part and self._provider in (None, uuid)
        ]
        if not holding:
            where = f' on {self.args.provider}' if self._provider else ''
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} does not hold {name}{where}, and resize adds no class: '
                f'use {command} set'
            )
        if len(holding) > 1:
            names = api.resource_provider.names(self.client, consumer.allocations)
            listed = ', '.join(sorted(names.get(uuid, uuid) for uuid in holding))
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} holds {name} on {listed}: choose one with --provider'
            )
        if amount < 1:
            raise errors.PlacementError(
                f'{name}={amount} would free the class: '
                f'use {command} unset {consumer.uuid} --resource-class {name}'
            )
        return holding[0]

    def say_same(self, consumer: Consumer) -> None:
        self.say_done(f'Consumer {consumer.uuid} holds these amounts already')

    def check(self, before: Consumer, after: Consumer) -> None:
        from placementclient.producers.consumer_edit import changed_providers, check_room
        from placementclient.reading.facets import with_facets

        uuids = changed_providers(before, after)
        names: Mapping[str, str] = api.resource_provider.names(self.client, uuids)
        for uuid in uuids:
            state = ProviderState(Provider(uuid, names.get(uuid, uuid), 0))
            facets = with_facets(self.client, state, ('inventories', 'usages'))
            check_room(facets.state, before, after)
