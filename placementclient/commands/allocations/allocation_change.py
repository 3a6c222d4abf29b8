# SPDX-License-Identifier: Apache-2.0
"""Change the allocations of one consumer: move, resize, or transfer to another consumer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.client.microversion import GUARDS_CONSUMERS, KEEPS_CONSUMER_TYPE
from placementclient.commands.framework import base, change_command, filter_options, option
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider, normalize_uuid
from placementclient.model.snapshots import ProviderState
from placementclient.render import columns

_PLANNING = (option.DRY_RUN, change_command.PLAN, option.OVERWRITE)


class MoveAllocation(ChangeCommand):
    """Move the allocations of a consumer from one resource provider to another, in one request.

    Allocations on other providers stay as they are. Amounts are added to those that the consumer
    has on the target. If the target has no room, Placement refuses and nothing changes.

    With --dry-run the command prints the change. With --plan it writes the change to a file for
    "resource provider reshape".
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --from compute1 --to compute1_gpu0 --class VGPU',
    )
    first_version = GUARDS_CONSUMERS
    column_names = columns.RELOCATED.names
    statuses = (base.WOULD_CHANGE,)
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
    has_change_table = change_command.is_plan_only

    def execute(self) -> columns.Output:
        self._source = api.resource_provider.find(self.client, self.args.source)
        self._target = api.resource_provider.find(self.client, self.args.target)
        if self._source == self._target:
            raise errors.UsageError('--from and --to are the same resource provider')
        return _edit_consumer(
            self,
            'resource provider allocation move',
            lambda c, is_sent: c if self._is_moved(c, is_sent) else self._move_allocations(c),
            f'holds that on {self.args.target} already',
        )

    def _is_moved(self, consumer: Consumer, is_sent: bool) -> bool:
        """Return whether the allocations show that the move was made already."""
        source, target = self._source, self._target
        classes = set(self.args.resource_class)
        on_source = set(consumer.allocations.get(source, ()))
        on_target = set(consumer.allocations.get(target, ()))
        is_moved = classes <= on_target - on_source if classes else on_target and not on_source
        if not is_moved or is_sent:
            return bool(is_moved)
        # The service does not know what a consumer held once. But what it holds on a third
        # provider, or what the source has no inventory of, did not come from there.
        offered = set(api.inventory.list(self.client, source).value)
        moved = classes or on_target & offered
        others = (resources for uuid, resources in consumer.allocations.items() if uuid != target)
        return bool(moved) and moved <= offered and moved.isdisjoint(itertools.chain(*others))

    def _move_allocations(self, consumer: Consumer) -> Consumer:
        """Return the consumer as it is after the move."""
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


class ResizeAllocation(ChangeCommand):
    """Set amounts that a consumer holds, where it holds them, in one request.

    Its owner, its type and its other allocations stay as they are. If a provider has no room for an
    amount, nothing is sent, and the error names the free amount.

    With --dry-run the command prints the change. With --plan it writes the change to a file for
    "resource provider reshape".
    """

    examples = ('1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --resource VCPU=4 --resource MEMORY_MB=8192',)
    first_version = GUARDS_CONSUMERS
    column_names = columns.RELOCATED.names
    statuses = (base.WOULD_CHANGE,)
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
    has_change_table = change_command.is_plan_only
    _provider: str | None = None

    def execute(self) -> columns.Output:
        self._amounts = filter_options.parse_resources(self.args.resource)
        for name, amount in self._amounts.items():
            if amount < 0:
                raise errors.BadArgument(f'{name}={amount}: an amount is at least 1')
        if self.args.provider is not None:
            self._provider = api.resource_provider.find(self.client, self.args.provider)
        return _edit_consumer(
            self,
            'resource provider allocation resize',
            self._set_amounts,
            'holds these amounts already',
            self._check_room,
        )

    def _set_amounts(self, consumer: Consumer, is_sent: bool) -> Consumer:
        """Return the consumer with the amounts of the options."""
        allocations = {uuid: dict(part) for uuid, part in consumer.allocations.items()}
        for name, amount in self._amounts.items():
            allocations[self._find_holder(consumer, name, amount)][name] = amount
        after = replace(consumer, allocations=allocations)
        generation = self.args.generation
        if generation in (None, consumer.generation) or (is_sent and after == consumer):
            return after
        wrong = f'The generation is {consumer.generation}, not {generation}'
        raise errors.PlacementError(f'{wrong}: read it again')

    def _find_holder(self, consumer: Consumer, name: str, amount: int) -> str:
        """Return the UUID of the provider on which a consumer holds a class."""
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
            names = api.resource_provider.read_names(self.client, consumer.allocations)
            listed = ', '.join(sorted(names.get(uuid, uuid) for uuid in holding))
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} holds {name} on {listed}: choose one with --provider'
            )
        if not amount:
            raise errors.PlacementError(
                f'{name}={amount} would free the class: '
                f'use {command} unset {consumer.uuid} --resource-class {name}'
            )
        return holding[0]

    def _check_room(self, before: Consumer, after: Consumer) -> None:
        """Refuse amounts for which a provider has no room."""
        from placementclient.producers.consumer_edit import check_room, list_changed_providers
        from placementclient.reading.facets import read_facets

        uuids = list_changed_providers(before, after)
        names: Mapping[str, str] = api.resource_provider.read_names(self.client, uuids)
        for uuid in uuids:
            state = ProviderState(Provider(uuid, names.get(uuid, uuid), 0))
            facets = read_facets(self.client, state, ('inventories', 'usages'))
            check_room(facets.state, before, after)


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
            type=normalize_uuid,
            required=True,
            help='UUID of the consumer that gets the allocations, such as a migration',
        ),
        Option('--consumer-type', since='1.38', help='Its type, such as MIGRATION'),
        Flag('--replace', help='First delete the allocations of the other consumer'),
    )

    def execute(self) -> columns.Output:
        if self.args.consumer == self.args.to_consumer:
            raise errors.UsageError('--to-consumer is the consumer itself')
        attempts.retry_conflicts(self.client, self._transfer_allocations)
        return _list_allocations(self, self.args.to_consumer)

    def _transfer_allocations(self) -> None:
        """Write both consumers in one request, unless an earlier attempt has done so."""
        source = api.allocation.show(self.client, self.args.consumer).value
        target = api.allocation.show(self.client, self.args.to_consumer).value
        if not source.allocations:
            if not target.allocations:
                raise errors.PlacementError(f'Consumer {source.uuid} holds nothing')
            if not self._is_sent:
                self.log.warning(
                    f'Consumer {source.uuid} holds nothing any more, {target.uuid} does: nothing '
                    'was done'
                )
            return
        self._is_sent = True
        if target.allocations and not self.args.replace:
            raise errors.PlacementError(
                f'Consumer {target.uuid} holds something already: --replace would free it'
            )
        kind = self.args.consumer_type or (target if target.allocations else source).type
        target = replace(source, uuid=target.uuid, generation=target.generation, type=kind)
        version = self.client.microversion
        if kind is None:
            # Types stay as they are stored, or unset.
            version = min(version, KEEPS_CONSUMER_TYPE)
        # The body needs a type for the source too, although Placement deletes its record.
        source = replace(source, allocations={}, type=source.type or kind)
        body = {
            consumer.uuid: api.allocation.make_body(consumer, version)
            for consumer in (source, target)
        }
        api.allocation.replace(self.client, body, version=version)


def _edit_consumer(
    command: ChangeCommand,
    name: str,
    edit: Callable[[Consumer, bool], Consumer],
    done: str,
    check: Callable[[Consumer, Consumer], None] = lambda before, after: None,
) -> columns.Output:
    """Edit the allocations of the argument ``<consumer>``, or show the change or write a plan.

    :param name: the name of the command, for the plan
    :param edit: returns the consumer after the edit; its second argument is whether this run has
        sent a write
    :param done: a clause that describes a consumer for which the edit was made before this run
    :param check: raises an error if the consumer may not change so, before it is written
    :return: the table of the allocations, or of the changes
    """
    client, uuid, is_sent = command.client, command.args.consumer, False

    def edit_allocated(consumer: Consumer) -> Consumer:
        if not consumer.allocations:
            raise errors.PlacementError(f'Consumer {consumer.uuid} holds nothing')
        return edit(consumer, is_sent)

    def attempt() -> None:
        nonlocal is_sent
        before = api.allocation.show(client, uuid).value
        after = edit_allocated(before)
        if after != before:
            check(before, after)
            is_sent = True
            api.allocation.set(client, after, replaces_owner=True)
        elif not is_sent:
            command.log.warning(f'Consumer {before.uuid} {done}: nothing was done')

    if command.has_change_table():
        from placementclient.producers.consumer_edit import ConsumerEditProducer

        return command.plan_and_apply(ConsumerEditProducer(client, name, uuid, edit_allocated))
    attempts.retry_conflicts(client, attempt, getattr(command.args, 'generation', None))
    return _list_allocations(command, uuid)


def _list_allocations(command: base.Lister, consumer: str) -> columns.Output:
    """Return the table of the allocations of a consumer, with the names of the providers."""
    shown = api.allocation.show(command.client, consumer)
    names = api.resource_provider.read_names(command.client, shown.value.allocations)
    return columns.list_relocated_allocations(shown, names, command.version)
