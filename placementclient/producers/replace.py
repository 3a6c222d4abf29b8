# SPDX-License-Identifier: Apache-2.0
"""The replacement of a provider by another, also after an interruption."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placementclient.api import inventory, resource_provider
from placementclient.basis import errors
from placementclient.basis.wording import join_first_sentences
from placementclient.changes.diff import list_operations
from placementclient.changes.operations import SetInventories
from placementclient.client.http import Client
from placementclient.client.microversion import KEEPS_CONSUMER_TYPE
from placementclient.model.inventories import Inventory
from placementclient.model.plans import Plan, find_changed_consumers
from placementclient.model.providers import (
    LONGEST_NAME,
    Provider,
    is_hyphenated_uuid,
    is_uuid,
    make_temporary_name,
    normalize_uuid,
    restore_name,
)
from placementclient.model.snapshots import Snapshot
from placementclient.producers.producer import StateProducer
from placementclient.producers.replaced import Irreplaceable, replace_provider
from placementclient.producers.same_host import check_same_host
from placementclient.reading.capture import capture

#: From here on a provider that is no root can get another parent.
_MOVES_CHILDREN = KEEPS_CONSUMER_TYPE


class Replacement(NamedTuple):
    """Two providers of which one replaces the other, as an operator names them.

    :param uuid: of a new provider that is to be created; ``None`` if it exists
    :param twin: name or UUID of the new provider, if it exists
    :param name: for the new provider; ``None``: the name of the old one
    :param is_merge: whether the new provider may have consumers of its own
    """

    old: str
    uuid: str | None = None
    twin: str | None = None
    name: str | None = None
    is_merge: bool = False


class ReplaceProducer(StateProducer):
    """Plans the replacement of a provider by another, also after an interruption.

    An interrupted replacement is recognised by the temporary name of the old provider, and by the
    UUID and the name of the new one.

    :param is_journaled: whether the plan is carried out with a journal
    :raises errors.BadArgument: if the new provider contradicts the arguments
    :ivar finished: a sentence if the replacement is complete; empty otherwise
    :ivar name: of the new provider after the replacement
    :ivar old_name: of the old provider before the replacement
    """

    command = 'resource provider replace'

    def __init__(self, client: Client, request: Replacement, *, is_journaled: bool = False) -> None:
        super().__init__(client)
        self._is_merge, self._is_journaled = request.is_merge, is_journaled
        old, new = _find_both_providers(client, request)
        self.old_uuid = old.uuid if old else ''
        self.old_name = restore_name(old.name, old.uuid) if old else ''
        self.new_uuid = request.uuid or (new.uuid if new else '')
        self.name = _choose_checked_name(request, old, new) if old else ''
        self.finished = '' if old else _describe_finished(request, new)

    def plan(self) -> Plan:
        """Read the two trees, and return the plan of the replacement.

        :raises Irreplaceable: if it needs temporary inventories, which an interruption would lose
        """
        plan = super().plan()
        if not self._is_journaled and (names := list(_find_temporary_inventories(plan))):
            raise Irreplaceable(
                f'More is allocated of {", ".join(names)} than Placement would grant today: the '
                'limits are lifted for a moment, and would be lost if the command is killed then. '
                'Write a plan with --plan FILE, and carry it out with "placement resource '
                'provider reshape apply FILE"'
            )
        return plan

    def read_live_state(self) -> Snapshot:
        """Read the trees of both providers; nothing if the replacement is complete.

        :raises errors.NoSuchProvider: if the old provider is gone without a replacement
        """
        uuids = filter(None, (self.old_uuid, self.new_uuid))
        existing = {
            uuid: provider for uuid in uuids if (provider := _find_by_uuid(self.client, uuid))
        }
        if self.old_uuid in existing:
            return capture(self.client, list(existing))
        new = existing.get(self.new_uuid)
        if self.old_uuid and (new is None or new.name != self.name):
            raise errors.NoSuchProvider(
                f'No resource provider has the UUID {self.old_uuid} any more, and {self.name} '
                'was not made in its place'
            )
        return Snapshot((), ())

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with one provider replaced by the other.

        :raises Irreplaceable: if the new one seems to be another host in use, or if Placement would
            refuse the other allocations of a consumer
        """
        if self.old_uuid not in live.providers:
            return live
        if not self._is_merge:
            check_same_host(live, self.old_uuid, self.new_uuid, self.name)
        after = replace_provider(live, self.old_uuid, self.new_uuid, self.name)
        self._check_names(live, after)
        if ungranted := list(self._find_refused_allocations(live, after)):
            raise Irreplaceable(
                'Placement judges all that a consumer holds, and would refuse '
                f'{join_first_sentences(ungranted)}: min_unit, max_unit or step_size is against '
                'it. "placement resource provider audit --id broken-units" lists such allocations'
            )
        return after

    def _check_names(self, live: Snapshot, after: Snapshot) -> None:
        """Check that the service can store the new names and parents of all providers."""
        # The name of the new provider first: the names of its children follow it.
        for uuid in sorted(after.providers, key=lambda uuid: uuid != self.new_uuid):
            state = after.providers[uuid]
            before = live.providers.get(uuid)
            above = state.provider.parent_provider_uuid
            if before and above != before.provider.parent_provider_uuid:
                self.client.require('The move of children', _MOVES_CHILDREN)
            if before and before.name == state.name:
                continue
            if len(state.name) > LONGEST_NAME:
                raise errors.BadArgument(
                    f'{state.name!r} is longer than {LONGEST_NAME} characters: give another --name'
                )
            holder = resource_provider.find_by_name(self.client, state.name)
            if holder and holder.uuid not in live.providers:
                raise errors.BadArgument(
                    f'The resource provider {holder.uuid} is called {state.name}: '
                    'give another --name, or rename that one first'
                )

    def _find_refused_allocations(self, live: Snapshot, after: Snapshot) -> Iterator[str]:
        """Yield the allocations that Placement would refuse to write again, in other trees."""
        # In the two trees themselves, temporary inventories lift the limits.
        inventories: dict[str, Mapping[str, Inventory]] = {}
        for pair in find_changed_consumers(live, after):
            for uuid in pair.provider_uuids - live.providers.keys() - {self.new_uuid}:
                if uuid not in inventories:
                    inventories[uuid] = inventory.list(self.client, uuid).value
                for name, amount in pair.before.allocations[uuid].items():
                    if name not in inventories[uuid] or not inventories[uuid][name].admits(amount):
                        provider = resource_provider.show(self.client, uuid).value
                        yield f'{amount} {name} of {pair.before.uuid} on {provider.name}'


def _find_both_providers(
    client: Client, request: Replacement
) -> tuple[Provider | None, Provider | None]:
    """Return the old and the new provider; ``None`` for one that does not exist.

    Half way, the new one has the name of the old one, which has a temporary name.
    """
    new = _find_provider(client, request.uuid or request.twin or '')
    old = _find_provider(client, request.old)
    is_name_taken = bool(old and new and old.uuid == new.uuid)
    is_missing = old is None or (new is None and request.twin)
    if not is_uuid(request.old) and (is_name_taken or is_missing):
        listed = resource_provider.list(client)
        renamed = (p for p in listed if p.name == make_temporary_name(request.old, p.uuid))
        old = next(renamed, None if is_name_taken else old)
    if new is None and request.twin:
        new = _find_renamed_provider(client, request, old)
    return old, new


def _find_renamed_provider(client: Client, request: Replacement, old: Provider | None) -> Provider:
    """Return the new provider, which has the name of the old one already.

    :raises errors.NoSuchProvider: if it has another name
    """
    new = None
    if old and old.name != restore_name(old.name, old.uuid):
        new = resource_provider.find_by_name(client, _choose_name(request, old))
    if new is None:
        raise errors.NoSuchProvider(
            f'No resource provider has the name or UUID {request.twin!r}. If it has replaced '
            f'{request.old} already, nothing is left to do'
        )
    return new


def _choose_name(request: Replacement, old: Provider) -> str:
    typed = old.name if is_uuid(request.old) else request.old
    return request.name or restore_name(typed, old.uuid)


def _describe_finished(request: Replacement, new: Provider | None) -> str:
    """Return the sentence that the replacement is complete.

    :raises errors.NoSuchProvider: if nothing shows that it is
    """
    old = request.old
    name = request.name or (None if is_uuid(old) else old)
    if new is None or name not in (None, new.name):
        raise errors.NoSuchProvider(f'No resource provider has the name or UUID {old!r}')
    return (
        f'Nothing to change: {new.name} has the UUID {new.uuid}, and there is no other resource '
        f'provider {old}'
    )


def _choose_checked_name(request: Replacement, old: Provider, new: Provider | None) -> str:
    """Return the name of the new provider after the replacement.

    :raises errors.BadArgument: if the providers contradict the arguments
    """
    final = _choose_name(request, old)
    if new and new.uuid == old.uuid:
        raise errors.BadArgument(f'{old.name} cannot replace itself')
    if request.uuid and new and new.name != final:
        raise errors.BadArgument(
            f'{new.name} has the UUID {new.uuid} already: --with {new.uuid} replaces '
            f'{request.old} with it'
        )
    is_cut = is_uuid(request.old) and len(old.name) == LONGEST_NAME
    if is_cut and old.name != final and not request.name:
        raise errors.BadArgument(
            f'{old.name} has been moved aside, and its name was cut: give the whole one with --name'
        )
    is_lasting = final in (request.twin, restore_name(old.name, old.uuid))
    if new and request.twin and not is_uuid(request.twin) and not is_lasting:
        raise errors.BadArgument(
            f'{request.twin} is to be called {final}: give --with its UUID {new.uuid}, which stays'
        )
    return final


def _find_temporary_inventories(plan: Plan) -> Iterator[str]:
    """Yield the names of the providers that get temporary inventories."""
    for change in plan.changes:
        providers = {provider.uuid: provider for provider in change.providers}
        for operation in list_operations(change):
            if isinstance(operation, SetInventories):
                provider = providers[operation.provider_uuid]
                if operation.before != provider.content_before.inventories:
                    yield provider.name


def _find_provider(client: Client, name_or_uuid: str) -> Provider | None:
    if not is_hyphenated_uuid(name_or_uuid):
        named = resource_provider.find_by_name(client, name_or_uuid)
        if named or not is_uuid(name_or_uuid):
            return named
    return _find_by_uuid(client, normalize_uuid(name_or_uuid))


def _find_by_uuid(client: Client, uuid: str) -> Provider | None:
    return next(iter(resource_provider.list(client, uuid=uuid)), None)
