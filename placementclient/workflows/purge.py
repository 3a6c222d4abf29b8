"""Take a provider out, with all below it and with what consumers hold there.

A consumer keeps what it holds elsewhere, byte for byte. Nothing needs a journal: what is done is
gone, so that a purge that was killed is begun again and finds less to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from placementclient import errors
from placementclient.api import allocation, resource_provider, trait
from placementclient.api.conflict import retried
from placementclient.http import Client
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.snapshot import capture

#: The type of a consumer that holds the other half of a resize or a live migration.
MIGRATION = 'MIGRATION'


class Refused(errors.PlacementError):
    """A consumer would lose what it must not lose; nothing was done.

    :param frees: the consumers, and what they would lose
    """

    def __init__(self, frees: Sequence[Free]) -> None:
        self.frees = tuple(frees)
        shown = '; '.join(f'{free.consumer.uuid} {free.objection}' for free in self.frees[:3])
        more = f'; and {len(self.frees) - 3} more' if len(self.frees) > 3 else ''
        super().__init__(f'Refused: {shown}{more}')


class Unaccounted(errors.PlacementError):
    """Something is used that no consumer answers for, so that it cannot be freed.

    :param provider: whose it is
    :param resources: how much of each class
    """

    def __init__(self, provider: Provider, resources: Counter[str]) -> None:
        self.provider, self.resources = provider, resources
        amounts = ', '.join(f'{n} {name}' for name, n in sorted(resources.items()))
        super().__init__(
            f'{amounts} of {provider.name} is used by consumers without a record: '
            'run placement-manage db online_data_migrations first'
        )


@dataclass(frozen=True, slots=True)
class Free:
    """Free what a consumer holds on the tree.

    :param consumer: with all that it holds
    :param taken: what it will lose
    :param rest: what it keeps
    :param homeless: whether it keeps nothing, or only what is shared with a host that it loses
    """

    consumer: Consumer
    taken: Allocations
    rest: Allocations
    homeless: bool

    @property
    def is_migration(self) -> bool:
        """Whether it is known to be half of a move, which ``--force`` must not cut."""
        return self.consumer.type == MIGRATION

    @property
    def objection(self) -> str:
        """Why this should not be done, if anything speaks against it."""
        if self.is_migration:
            return 'is a migration: confirm or revert it first'
        if not self.homeless:
            return ''
        if self.rest:
            return 'would be left with nothing but shared resources (--force does it)'
        return (
            'would be left with nothing: a server, or a resize that is not confirmed (--force '
            'does it)'
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, as it is shown.

    :param step: ``'free'`` for a consumer, ``'delete'`` for a provider
    :param name: the provider's
    """

    step: str
    uuid: str
    name: str = ''
    lost: Allocations = field(default_factory=dict)
    kept: Allocations = field(default_factory=dict)
    objection: str = ''


@dataclass(frozen=True, slots=True)
class Purge:
    """All that has to be done, in this order.

    :param frees: what consumers lose
    :param deletes: the providers, children before their parents
    """

    frees: tuple[Free, ...]
    deletes: tuple[Provider, ...]

    def check(self, *, force: bool) -> None:
        """Look for what speaks against it.

        :raises Refused: if something does, and is not overruled
        """
        against = [
            free for free in self.frees if free.objection and (free.is_migration or not force)
        ]
        if against:
            raise Refused(against)

    def steps(self) -> Iterator[Step]:
        """All of it, in order."""
        for free in self.frees:
            yield Step('free', free.consumer.uuid, '', free.taken, free.rest, free.objection)
        for provider in self.deletes:
            yield Step('delete', provider.uuid, provider.name)


def plan(client: Client, provider: str) -> Purge:
    """What has to be done.

    :param provider: name or UUID; what is below it goes too
    :raises errors.NoSuchProvider: if there is none
    :raises Unaccounted: if something cannot be freed
    """
    provider_uuid = resource_provider.find(client, provider)
    snapshot = capture.capture(client, [provider_uuid])
    states = list(snapshot.tree(provider_uuid))
    for state in states:
        _account(snapshot, state)
    uuids = {state.uuid for state in states}
    sharing = _Sharing(client)
    frees = [
        _free(consumer, uuids, sharing)
        for _, consumer in sorted(snapshot.consumers.items())
        if not uuids.isdisjoint(consumer.allocations)
    ]
    return Purge(tuple(frees), tuple(state.provider for state in reversed(states)))


def execute(
    client: Client,
    purge: Purge,
    *,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Do it; what somebody else has done meanwhile is taken into account.

    :param force: leave consumers with nothing, but for migrations
    :param progress: told each step
    :raises Refused: if a consumer would lose what it must not lose
    :raises errors.ProviderInUse: if somebody allocates on the tree at the same time
    """
    purge.check(force=force)
    uuids = {provider.uuid for provider in purge.deletes}
    sharing = _Sharing(client)
    for free in purge.frees:
        retried(lambda free=free: _carry_out(client, free, uuids, sharing, force))  # type: ignore[misc]
        if progress:
            progress(f'freed {free.consumer.uuid}')
    for provider in purge.deletes:
        try:
            resource_provider.delete(client, provider.uuid)
        except errors.NotFound:
            continue
        if progress:
            progress(f'deleted {provider.name}')


def _carry_out(client: Client, free: Free, uuids: set[str], sharing: _Sharing, force: bool) -> None:
    """Free what one consumer holds on the tree now, which may differ from what was planned."""
    consumer = allocation.show(client, free.consumer.uuid).value
    current = _free(consumer, uuids, sharing)
    if not current.taken:
        return
    Purge((current,), ()).check(force=force)
    allocation.set(client, replace(consumer, allocations=current.rest))


class _Sharing:
    """Which providers only share what they have; each is asked for at most once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, bool] = {}

    def includes(self, provider_uuid: str) -> bool:
        """Whether it is one of them."""
        if provider_uuid not in self._known:
            traits = trait.list_of_provider(self._client, provider_uuid).value
            self._known[provider_uuid] = SHARING_TRAIT in traits
        return self._known[provider_uuid]


def _free(consumer: Consumer, uuids: set[str], sharing: _Sharing) -> Free:
    taken = {uuid: held for uuid, held in consumer.allocations.items() if uuid in uuids}
    rest = {uuid: held for uuid, held in consumer.allocations.items() if uuid not in uuids}
    homeless = all(sharing.includes(uuid) for uuid in rest)
    return Free(consumer, taken, rest, homeless)


def _account(snapshot: Snapshot, state: ProviderState) -> None:
    unlisted = Counter(state.usages)
    unlisted.subtract(_held(snapshot.consumers_on(state.uuid), state.uuid))
    if +unlisted:
        raise Unaccounted(state.provider, +unlisted)


def _held(consumers: Iterable[Consumer], provider_uuid: str) -> Counter[str]:
    held: Counter[str] = Counter()
    for consumer in consumers:
        held.update(consumer.allocations[provider_uuid])
    return held
