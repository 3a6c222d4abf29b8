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
from placementclient.client.microversion import Microversion
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
from placementclient.producers.same_host import refuse_other_host_in_use
from placementclient.reading.capture import capture

#: From here on a provider that is no root can get another parent.
_MOVES_CHILDREN = Microversion(1, 37)


class Replacement(NamedTuple):
    """Two providers of which one replaces the other, as an operator names them.

    :param uuid: of a new provider that is to be created; ``None`` if it exists
    :param twin: name or UUID of the new provider, if it exists
    :param name: for the new provider; ``None``: the name of the old one
    """

    old: str
    uuid: str | None = None
    twin: str | None = None
    name: str | None = None


class ProviderPair(NamedTuple):
    """Two providers of which one replaces the other.

    :param old_name: before the replacement
    :param name: of the new provider after the replacement
    """

    old_uuid: str
    old_name: str
    new_uuid: str
    name: str


class ReplaceProducer(StateProducer):
    """Plans the replacement of a provider by another, also after an interruption.

    :param pair: ``None`` if the replacement is complete
    :param is_merge: whether the new provider may have consumers of its own
    :param is_journaled: whether the plan is carried out with a journal
    """

    command = 'resource provider replace'

    def __init__(
        self,
        client: Client,
        pair: ProviderPair | None,
        *,
        is_merge: bool = False,
        is_journaled: bool = False,
    ) -> None:
        super().__init__(client)
        self._pair, self._is_merge, self._is_journaled = pair, is_merge, is_journaled

    def plan(self) -> Plan:
        """Read the two trees, and return the plan of the replacement.

        :raises Irreplaceable: if it needs temporary inventories, which an interruption would lose
        """
        plan = super().plan()
        if not self._is_journaled and (names := list(_find_names_with_temporary_inventories(plan))):
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
        if self._pair is None:
            return Snapshot((), ())
        old_uuid, _, new_uuid, name = self._pair
        old, new = (
            _find_provider_by_uuid(self.client, old_uuid),
            _find_provider_by_uuid(self.client, new_uuid),
        )
        if old is not None:
            return capture(self.client, [old_uuid, new_uuid] if new else [old_uuid])
        if new is None or new.name != name:
            raise errors.NoSuchProvider(
                f'No resource provider has the UUID {old_uuid} any more, and {name} was not made '
                'in its place'
            )
        return Snapshot((), ())

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with one provider replaced by the other.

        :raises Irreplaceable: if the new one seems to be another host in use, or if Placement would
            refuse the other allocations of a consumer
        """
        if self._pair is None or self._pair.old_uuid not in live.providers:
            return live
        old_uuid, _, new_uuid, name = self._pair
        if not self._is_merge:
            refuse_other_host_in_use(live, old_uuid, new_uuid, name)
        after = replace_provider(live, old_uuid, new_uuid, name)
        _require_storable_names_and_parents(self.client, live, after, new_uuid)
        if ungranted := list(_describe_refused_allocations(self.client, live, after, new_uuid)):
            raise Irreplaceable(
                'Placement judges all that a consumer holds, and would refuse '
                f'{join_first_sentences(ungranted)}: min_unit, max_unit or step_size is against '
                'it. "placement resource provider audit --id broken-units" lists such allocations'
            )
        return after


def find_pair(client: Client, request: Replacement) -> tuple[ProviderPair | None, str]:
    """Return the providers of a replacement; if it is complete, ``None`` and a sentence about that.

    The replacement may be interrupted. The names of the two providers, and what has the names that
    the operator gives, for the replacement of ``a`` by ``b``:

    ===================== ========== ===== ========== ==========
    state                 old        new   named a    named b
    ===================== ========== ===== ========== ==========
    not begun             a          b     the old    the new
    old one moved aside   a (UUID)   b     none       the new
    new one renamed       a (UUID)   a     the new    none
    old one deleted       none       a     the new    none
    ===================== ========== ===== ========== ==========

    A UUID finds its provider in every state. A new provider that is to be created comes into being
    with the name ``a``.

    :raises errors.BadArgument: if the providers contradict the arguments
    :raises errors.NoSuchProvider: if one is missing, and nothing shows that it was replaced
    """
    new = _find_provider(client, request.uuid or request.twin or '')
    old = _find_old_provider(client, request, new)
    if new is None and request.twin is not None:
        new = _find_renamed_provider(client, request, old)
    if old is None:
        return None, _describe_complete_replacement(request, new)
    name = _require_new_name(request, old, new)
    new_uuid = new.uuid if new else request.uuid or ''
    return ProviderPair(old.uuid, restore_name(old.name, old.uuid), new_uuid, name), ''


def _find_old_provider(
    client: Client, request: Replacement, new: Provider | None
) -> Provider | None:
    """Return the provider that is replaced, perhaps moved aside; ``None`` if it is gone."""
    old = _find_provider(client, request.old)
    is_name_taken = bool(old and new and old.uuid == new.uuid)
    may_be_aside = old is None or is_name_taken or (new is None and request.twin is not None)
    if may_be_aside and not is_uuid(request.old):
        aside = _find_provider_moved_aside(client, request.old)
        return aside or (None if is_name_taken else old)
    return old


def _find_provider_moved_aside(client: Client, name: str) -> Provider | None:
    """Return the provider that was moved aside, by its former name; ``None`` if none was."""
    providers = resource_provider.list(client)
    aside = (item for item in providers if item.name == make_temporary_name(name, item.uuid))
    return next(aside, None)


def _find_renamed_provider(client: Client, request: Replacement, old: Provider | None) -> Provider:
    """Return the new provider, which has the name of the old one already.

    :param old: ``None`` if it is gone
    :raises errors.NoSuchProvider: if none has it, or the old one was not moved aside
    """
    new = None
    if old and old.name != restore_name(old.name, old.uuid):
        new = resource_provider.find_by_name(client, _choose_new_name(request, old))
    if new is None:
        raise errors.NoSuchProvider(
            f'No resource provider has the name or UUID {request.twin!r}. If it has replaced '
            f'{request.old} already, nothing is left to do'
        )
    return new


def _choose_new_name(request: Replacement, old: Provider) -> str:
    """Return the name of the new provider after the replacement.

    That of ``--name``, else that of the old provider, without what a temporary name adds.
    """
    typed = old.name if is_uuid(request.old) else request.old
    return request.name or restore_name(typed, old.uuid)


def _describe_complete_replacement(request: Replacement, new: Provider | None) -> str:
    """Return the sentence that the replacement is complete.

    :param new: ``None`` if it does not exist
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


def _require_new_name(request: Replacement, old: Provider, new: Provider | None) -> str:
    """Return the name that :func:`_choose_new_name` chooses, or refuse the request.

    :param new: ``None`` if it does not exist yet
    :raises errors.BadArgument: if the two are the same; if ``--uuid`` would create a provider that
        exists under another name; if only a temporary name, which has cut the old one, is known;
        if the same command would not find the new provider again after an interruption
    """
    final = _choose_new_name(request, old)
    if new and new.uuid == old.uuid:
        raise errors.BadArgument(f'{old.name} cannot replace itself')
    # --uuid creates a provider; an interrupted replacement has made it with the final name.
    if request.uuid and new and new.name != final:
        raise errors.BadArgument(
            f'{new.name} has the UUID {new.uuid} already: --with {new.uuid} replaces '
            f'{request.old} with it'
        )
    # A temporary name has room for a part of a long name; whoever gives the UUID has not typed it.
    is_cut = is_uuid(request.old) and len(old.name) == LONGEST_NAME
    if is_cut and old.name != final and not request.name:
        raise errors.BadArgument(
            f'{old.name} has been moved aside, and its name was cut: give the whole one with --name'
        )
    # After an interruption the same command finds the new provider by its name, or by that of the
    # old one, and by no third name.
    is_lasting = final in (request.twin, restore_name(old.name, old.uuid))
    if new and request.twin and not is_uuid(request.twin) and not is_lasting:
        raise errors.BadArgument(
            f'{request.twin} is to be called {final}: give --with its UUID {new.uuid}, which stays'
        )
    return final


def _require_storable_names_and_parents(
    client: Client, live: Snapshot, after: Snapshot, new_uuid: str
) -> None:
    """Refuse a new name or parent of a provider that the service cannot store."""
    # The name of the new provider first: the names of its children follow it.
    for uuid in sorted(after.providers, key=lambda uuid: uuid != new_uuid):
        state = after.providers[uuid]
        before = live.providers.get(uuid)
        above = state.provider.parent_provider_uuid
        if before and above != before.provider.parent_provider_uuid:
            client.require_feature('The move of children', _MOVES_CHILDREN)
        if before and before.name == state.name:
            continue
        if len(state.name) > LONGEST_NAME:
            raise errors.BadArgument(
                f'{state.name!r} is longer than {LONGEST_NAME} characters: give another --name'
            )
        holder = resource_provider.find_by_name(client, state.name)
        if holder and holder.uuid not in live.providers:
            raise errors.BadArgument(
                f'The resource provider {holder.uuid} is called {state.name}: '
                'give another --name, or rename that one first'
            )


def _describe_refused_allocations(
    client: Client, live: Snapshot, after: Snapshot, new_uuid: str
) -> Iterator[str]:
    """Yield a text on each allocation in other trees that Placement would refuse to write again."""
    # In the two trees themselves, temporary inventories lift the limits.
    inventories: dict[str, Mapping[str, Inventory]] = {}
    for pair in find_changed_consumers(live, after):
        for uuid in pair.provider_uuids - live.providers.keys() - {new_uuid}:
            if uuid not in inventories:
                inventories[uuid] = inventory.list(client, uuid).value
            for name, amount in pair.before.allocations[uuid].items():
                if name not in inventories[uuid] or not inventories[uuid][name].admits(amount):
                    provider = resource_provider.show(client, uuid).value
                    yield f'{amount} {name} of {pair.before.uuid} on {provider.name}'


def _find_names_with_temporary_inventories(plan: Plan) -> Iterator[str]:
    """Yield the names of the providers that get temporary inventories.

    These are the providers of which an operation starts from other inventories than the plan does.
    """
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
    return _find_provider_by_uuid(client, normalize_uuid(name_or_uuid))


def _find_provider_by_uuid(client: Client, uuid: str) -> Provider | None:
    return next(iter(resource_provider.list(client, uuid=uuid)), None)
