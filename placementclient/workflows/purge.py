"""Take a provider out, with all below it and with what consumers hold there.

A consumer keeps what it holds elsewhere, byte for byte. Nothing needs a journal: what is done is
gone, so that a purge that was killed is begun again and finds less to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from placementclient import errors
from placementclient.api import allocation, resource_provider, trait
from placementclient.api.conflict import retried
from placementclient.http import Client
from placementclient.insight.topology import is_sharing
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.nova import MIGRATION
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.snapshot import capture, survey


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
    :param objection: why this should not be done, if anything speaks against it
    """

    consumer: Consumer
    taken: Allocations
    rest: Allocations
    objection: str = ''

    @property
    def is_migration(self) -> bool:
        """Whether it is known to be half of a move, which ``--force`` must not cut."""
        return self.consumer.type == MIGRATION


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, as it is shown.

    :param step: ``'free'`` for a consumer, ``'delete'`` for a provider
    :param name: the provider's
    :param names: of the providers in ``lost`` and ``kept``, by UUID
    """

    step: str
    uuid: str
    name: str = ''
    lost: Allocations = field(default_factory=dict)
    kept: Allocations = field(default_factory=dict)
    objection: str = ''
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Purge:
    """All that has to be done, in this order.

    :param frees: what consumers lose
    :param deletes: the providers, children before their parents
    :param dependent: the roots of the trees whose users may need what is freed: that of a child,
        and those that a sharing provider serves
    :param names: of the providers that go and of those on which consumers keep something, by UUID
    """

    frees: tuple[Free, ...]
    deletes: tuple[Provider, ...]
    dependent: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)

    def check(self, *, force: bool) -> None:
        """Look for what speaks against it.

        :raises Refused: if something does, and is not overruled
        """
        _check(self.frees, force=force)

    def steps(self) -> Iterator[Step]:
        """All of it, in order."""
        for free in self.frees:
            yield Step(
                'free', free.consumer.uuid, '', free.taken, free.rest, free.objection, self.names
            )
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
    names = {state.uuid: state.name for state in states}
    judge = _Judge(client, names, _dependent(client, states))
    frees = [
        judge.free(consumer)
        for _, consumer in sorted(snapshot.consumers.items())
        if not names.keys().isdisjoint(consumer.allocations)
    ]
    deletes = tuple(state.provider for state in reversed(states))
    return Purge(tuple(frees), deletes, judge.dependent, names | judge.names())


def _dependent(client: Client, states: Sequence[ProviderState]) -> frozenset[str]:
    """The roots of the trees whose users may need what is freed of a provider and all below it."""
    first, roots = states[0].provider, set[str]()
    if first.parent_provider_uuid is not None:
        roots.add(str(first.root_provider_uuid))
    sharing = {state.uuid for state in states if is_sharing(state)}
    if sharing:
        reach = survey.sharing(client).reach
        roots |= {root for root, uuids in reach.items() if not sharing.isdisjoint(uuids)}
    return frozenset(roots)


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
    gone = {provider.uuid: provider.name for provider in purge.deletes}
    judge = _Judge(client, gone, purge.dependent)
    for free in purge.frees:
        retried(lambda free=free: _carry_out(client, free, judge, force))  # type: ignore[misc]
        if progress:
            progress(f'freed {free.consumer.uuid}')
    for provider in purge.deletes:
        try:
            resource_provider.delete(client, provider.uuid)
        except errors.NotFound:
            continue
        if progress:
            progress(f'deleted {provider.name}')


def _carry_out(client: Client, free: Free, judge: _Judge, force: bool) -> None:
    """Free what one consumer holds on the tree now, which may differ from what was planned."""
    consumer = allocation.show(client, free.consumer.uuid).value
    current = judge.free(consumer)
    if not current.taken:
        return
    _check([current], force=force)
    allocation.set(client, replace(consumer, allocations=current.rest))


def _check(frees: Iterable[Free], *, force: bool) -> None:
    against = [free for free in frees if free.objection and (free.is_migration or not force)]
    if against:
        raise Refused(against)


class _Judge:
    """Tells what speaks against freeing what a consumer holds.

    :param gone: the names of the providers that go, by UUID
    :param dependent: as of a :class:`Purge`
    """

    def __init__(self, client: Client, gone: Mapping[str, str], dependent: frozenset[str]) -> None:
        self._client, self._gone, self.dependent = client, gone, dependent
        # Of those that stay: each is asked for at most once.
        self._staying: dict[str, Provider] = {}
        self._is_sharing: dict[str, bool] = {}

    def free(self, consumer: Consumer) -> Free:
        """What a consumer will lose and keep."""
        held = consumer.allocations
        taken = {uuid: resources for uuid, resources in held.items() if uuid in self._gone}
        rest = {uuid: resources for uuid, resources in held.items() if uuid not in self._gone}
        return Free(consumer, taken, rest, self._objection(consumer, rest))

    def names(self) -> dict[str, str]:
        """Of the providers that have been asked for, by UUID."""
        return {uuid: provider.name for uuid, provider in self._staying.items()}

    def _objection(self, consumer: Consumer, rest: Allocations) -> str:
        for uuid in rest:
            self._look_at(uuid)
        if consumer.type == MIGRATION:
            return 'is a migration: confirm or revert it first'
        if not rest:
            return (
                'would be left with nothing: a server, or a resize that is not confirmed '
                '(--force does it)'
            )
        if all(self._is_sharing[uuid] for uuid in rest):
            return 'would be left with nothing but shared resources (--force does it)'
        users = [
            self._staying[uuid].name
            for uuid in rest
            if self._staying[uuid].root_provider_uuid in self.dependent
        ]
        return (
            f'would go on to use it: it holds something on {", ".join(users)} (--force does it)'
            if users
            else ''
        )

    def _look_at(self, provider_uuid: str) -> None:
        if provider_uuid not in self._staying:
            traits = trait.list_of_provider(self._client, provider_uuid).value
            self._is_sharing[provider_uuid] = SHARING_TRAIT in traits
            self._staying[provider_uuid] = resource_provider.show(self._client, provider_uuid).value


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
