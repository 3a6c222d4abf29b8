# SPDX-License-Identifier: Apache-2.0
"""Change the allocations of one consumer: move, resize, or transfer to another consumer."""

from __future__ import annotations

import functools
import itertools
import shlex
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.client.microversion import GUARDS_CONSUMERS, KEEPS_CONSUMER_TYPE
from placementclient.commands.framework import base, change_command, filter_options, option
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider, normalize_uuid
from placementclient.model.snapshots import ProviderState
from placementclient.render import columns


class MoveAllocation(ChangeCommand):
    """Move the allocations of a consumer from one resource provider to another, in one request.

    Allocations on other providers stay as they are. Amounts are added to those that the consumer
    has on the target. If the target has no room, Placement refuses and nothing changes.
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
        *change_command.PLANNING,
    )
    shows_changes = change_command.is_plan_only

    def execute(self) -> columns.Output:
        source = api.resource_provider.find(self.client, self.args.source)
        target = api.resource_provider.find(self.client, self.args.target)
        if source == target:
            raise errors.UsageError('--from and --to are the same resource provider')
        move = _Move(source, target, frozenset(self.args.resource_class), self.args.source)
        edit = functools.partial(self._move_allocations, move)
        if self.shows_changes():
            return _plan_consumer_edit(self, 'resource provider allocation move', edit)
        client, uuid = self.client, self.args.consumer

        def write_move() -> None:
            before = api.allocation.show(client, uuid).value
            after = edit(before)
            if after == before:
                self.log.warning(
                    f'Consumer {uuid} holds that on {self.args.target} already: nothing was done'
                )
            else:
                api.allocation.set(client, after, replaces_owner=True)

        attempts.confirm_write(
            client,
            write_move,
            lambda: move.are_only_on_target(api.allocation.show(client, uuid).value),
        )
        return _read_allocation_table(self, uuid)

    def _move_allocations(self, move: _Move, consumer: Consumer) -> Consumer:
        """Return a consumer after a move, or as it is if an earlier run has made the move."""
        _refuse_consumer_without_allocations(consumer)
        if move.are_only_on_target(consumer):
            offered = api.inventory.list(self.client, move.source).value
            if move.can_be_from_source(consumer, offered.keys()):
                return consumer
        return move.apply(consumer)


@dataclass(frozen=True)
class _Move:
    """A move of the allocations of a consumer from one resource provider to another.

    :param source: the UUID of the first provider
    :param target: the UUID of the second provider
    :param classes: the resource classes; empty: all that the consumer holds on the source
    :param source_name: the source as the operator names it, for errors
    """

    source: str
    target: str
    classes: frozenset[str]
    source_name: str

    def are_only_on_target(self, consumer: Consumer) -> bool:
        """Return whether a consumer holds the classes on the target, and not on the source."""
        on_source = consumer.allocations.get(self.source, {}).keys()
        on_target = consumer.allocations.get(self.target, {}).keys()
        if self.classes:
            return self.classes <= on_target - on_source
        return bool(on_target) and not on_source

    def can_be_from_source(self, consumer: Consumer, source_classes: Set[str]) -> bool:
        """Return whether the allocations on the target can be those that were on the source.

        They cannot if the consumer holds a moved class on a third provider too, or if the source
        has no inventory of one.

        :param source_classes: the classes of which the source has inventory
        """
        moved = self.classes or consumer.allocations[self.target].keys() & source_classes
        elsewhere = itertools.chain.from_iterable(
            resources for uuid, resources in consumer.allocations.items() if uuid != self.target
        )
        return bool(moved) and moved <= source_classes and moved.isdisjoint(elsewhere)

    def apply(self, consumer: Consumer) -> Consumer:
        """Return a consumer after the move; refuse one that lacks a class on the source."""
        on_source = dict(consumer.allocations.get(self.source, {}))
        on_target = dict(consumer.allocations.get(self.target, {}))
        missing = self.classes.difference(on_source)
        if missing or not on_source:
            what = ', '.join(sorted(missing)) or 'anything'
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} does not hold {what} on the provider {self.source_name}'
            )
        for name in sorted(self.classes or on_source):
            on_target[name] = on_target.get(name, 0) + on_source.pop(name)
        changed = {**consumer.allocations, self.source: on_source, self.target: on_target}
        return replace(consumer, allocations={uuid: part for uuid, part in changed.items() if part})


class ResizeAllocation(ChangeCommand):
    """Set amounts that a consumer holds, where it holds them, in one request.

    Its owner, its type and its other allocations stay as they are. If a provider has no room for an
    amount, nothing is sent, and the error names the free amount.
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
        *change_command.PLANNING,
    )
    shows_changes = change_command.is_plan_only

    def execute(self) -> columns.Output:
        amounts = filter_options.parse_resources(self.args.resource)
        for name, amount in amounts.items():
            if amount < 0:
                raise errors.BadArgument(f'{name}={amount}: an amount is at least 1')
        holder = self.args.provider
        if holder is not None:
            holder = api.resource_provider.find(self.client, holder)
        set_amounts = functools.partial(self._set_amounts, amounts, holder)
        client, uuid, expected = self.client, self.args.consumer, self.args.generation

        def edit_consumer(consumer: Consumer) -> Consumer:
            _refuse_consumer_without_allocations(consumer)
            after = set_amounts(consumer)
            if expected not in (None, consumer.generation):
                wrong = f'The generation is {consumer.generation}, not {expected}'
                raise errors.PlacementError(f'{wrong}: read it again')
            return after

        if self.shows_changes():
            return _plan_consumer_edit(self, 'resource provider allocation resize', edit_consumer)

        def write_amounts() -> None:
            before = api.allocation.show(client, uuid).value
            after = edit_consumer(before)
            if after == before:
                self.log.warning(f'Consumer {uuid} holds these amounts already: nothing was done')
            else:
                self._refuse_lack_of_room(before, after)
                api.allocation.set(client, after, replaces_owner=True)

        def has_amounts() -> bool:
            live = api.allocation.show(client, uuid).value
            return set_amounts(live) == live

        attempts.confirm_write(client, write_amounts, has_amounts, expected)
        return _read_allocation_table(self, uuid)

    def _set_amounts(
        self, amounts: Mapping[str, int], provider: str | None, consumer: Consumer
    ) -> Consumer:
        """Return a consumer with new amounts of classes.

        :param amounts: by class
        :param provider: the UUID of the provider; None: for each class the only one that has it
        """
        allocations = {uuid: dict(part) for uuid, part in consumer.allocations.items()}
        for name, amount in amounts.items():
            holder = self._find_provider_with_class(consumer, name, amount, provider)
            if not amount:
                raise errors.PlacementError(
                    f'{name}=0 would free the class: use {self.program} resource provider '
                    f'allocation unset {consumer.uuid} --resource-class {name}'
                )
            allocations[holder][name] = amount
        return replace(consumer, allocations=allocations)

    def _find_provider_with_class(
        self, consumer: Consumer, name: str, amount: int, provider: str | None
    ) -> str:
        """Return the UUID of the given or the only provider where a consumer has a class.

        :param name: the resource class
        :param amount: the desired one, for the error
        :param provider: the UUID of the given one; ``None``: the only one that has the class
        :raises errors.PlacementError: if no provider has the class, or several have it
        """
        holding = [
            uuid
            for uuid, part in consumer.allocations.items()
            if name in part and provider in (None, uuid)
        ]
        if not holding:
            where = f' on {self.args.provider}' if provider else ''
            lacking = f'Consumer {consumer.uuid} does not hold {name}{where}'
            held = {name for part in consumer.allocations.values() for name in part}
            exists = name in api.resource_class.list(self.client)
            near = '' if exists else suggest_similar(name, held)
            refusal = errors.PlacementError(
                f'{lacking}{near} Resize adds no class'
                if near
                else f'{lacking}, and resize adds no class'
            )
            refusal.next_steps = () if near else (self._advise_new_class(consumer, name, amount),)
            raise refusal
        if len(holding) > 1:
            names = api.resource_provider.read_names(self.client, consumer.allocations)
            listed = ', '.join(sorted(names.get(uuid, uuid) for uuid in holding))
            raise errors.PlacementError(
                f'Consumer {consumer.uuid} holds {name} on {listed}: choose one with --provider'
            )
        return holding[0]

    def _advise_new_class(self, consumer: Consumer, name: str, amount: int) -> str:
        """Return advice: the command that writes all that a consumer holds, and a class more."""
        names = api.resource_provider.read_names(self.client, consumer.allocations)
        provider = self.args.provider or (min(names.values()) if len(names) == 1 else 'PROVIDER')
        held = [(names.get(uuid, uuid), part) for uuid, part in consumer.allocations.items()]
        words = itertools.chain.from_iterable(
            ('--allocation', ','.join([f'rp={rp}', *(f'{c}={part[c]}' for c in part)]))
            for rp, part in [*held, (provider, {name: amount})]
        )
        owner = ['--project-id', consumer.project_id or '', '--user-id', consumer.user_id or '']
        kind = ['--consumer-type', consumer.type] if consumer.type else []
        command = shlex.join([consumer.uuid, *words, *owner, *kind])
        return (
            '"allocation set" replaces all that it holds, so name all of it: '
            f'placement resource provider allocation set {command}'
        )

    def _refuse_lack_of_room(self, before: Consumer, after: Consumer) -> None:
        from placementclient.producers.consumer_edit import list_changed_providers, require_room
        from placementclient.reading.facets import read_facets

        uuids = list_changed_providers(before, after)
        names: Mapping[str, str] = api.resource_provider.read_names(self.client, uuids)
        for uuid in uuids:
            state = ProviderState(Provider(uuid, names.get(uuid, uuid), 0))
            facets = read_facets(self.client, state, ('inventories', 'usages'))
            require_room(facets.state, before, after)


class TransferAllocation(base.Lister):
    """Transfer all allocations of a consumer to another consumer, in one request.

    Nova does so between a server and its migration. The other consumer takes over project, user and
    type. A consumer with allocations is refused, unless you give --replace.
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --to-consumer 8d8f9a0e-2f43-4c57-8f0e-6d2b6c5c2a11',
    )
    first_version = GUARDS_CONSUMERS
    writes = True
    column_names = columns.RELOCATED.names
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
        attempts.confirm_write(self.client, self._transfer_allocations, self._is_transferred)
        return _read_allocation_table(self, self.args.to_consumer)

    def _read_consumers(self) -> tuple[Consumer, Consumer]:
        """Return the consumer that has the allocations, and the one that gets them."""
        source = api.allocation.show(self.client, self.args.consumer).value
        return source, api.allocation.show(self.client, self.args.to_consumer).value

    def _is_transferred(self) -> bool:
        source, target = self._read_consumers()
        return bool(target.allocations) and not source.allocations

    def _transfer_allocations(self) -> None:
        """Write both consumers in one request, unless an earlier run has made the transfer."""
        source, target = self._read_consumers()
        if not source.allocations:
            if not target.allocations:
                raise errors.PlacementError(f'Consumer {source.uuid} holds nothing')
            self.log.warning(
                f'Consumer {source.uuid} holds nothing any more, {target.uuid} does: nothing was '
                'done'
            )
            return
        if target.allocations and not self.args.replace:
            raise errors.PlacementError(
                f'Consumer {target.uuid} holds something already: --replace would free it'
            )
        present_type = target.type if target.allocations else source.type
        consumer_type = self.args.consumer_type or present_type
        target = replace(source, uuid=target.uuid, generation=target.generation, type=consumer_type)
        version = self.client.microversion
        if consumer_type is None:
            # Types stay as they are stored, or unset.
            version = min(version, KEEPS_CONSUMER_TYPE)
        # The body needs a type for the source too, although Placement deletes its record.
        source = replace(source, allocations={}, type=source.type or consumer_type)
        body = {
            consumer.uuid: api.allocation.make_body(consumer, version)
            for consumer in (source, target)
        }
        api.allocation.replace(self.client, body, version=version)


def _plan_consumer_edit(
    command: ChangeCommand, command_name: str, edit: Callable[[Consumer], Consumer]
) -> columns.Output:
    """Show the change of the consumer of ``<consumer>``, or write it as a plan.

    :param command_name: the name of the command in the plan
    :param edit: returns the consumer after the edit
    """
    from placementclient.producers.consumer_edit import ConsumerEditProducer

    return command.plan_and_apply(
        ConsumerEditProducer(command.client, command_name, command.args.consumer, edit)
    )


def _refuse_consumer_without_allocations(consumer: Consumer) -> None:
    if not consumer.allocations:
        raise errors.PlacementError(f'Consumer {consumer.uuid} holds nothing')


def _read_allocation_table(command: base.Lister, consumer: str) -> columns.Output:
    """Return the table of the allocations of a consumer, with the names of the providers."""
    shown = api.allocation.show(command.client, consumer)
    names = api.resource_provider.read_names(command.client, shown.value.allocations)
    return columns.list_allocations(shown, command.version, names)
