"""Take a provider out, with all below it and with what consumers hold there.

A consumer keeps what it holds elsewhere, byte for byte. Nothing needs a journal: what is done is
gone, so that a purge that was killed is begun again and finds less to do.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from placementclient import errors
from placementclient.api import allocation, resource_provider
from placementclient.api.conflict import retried
from placementclient.http import Client
from placementclient.insight.topology import is_sharing
from placementclient.model.consumers import Allocations, Consumer, Resources
from placementclient.model.nova import MIGRATION
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.requests import Filter
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState
from placementclient.snapshot import capture, survey
from placementclient.wording import first

#: So many providers are asked for one by one; if it is more, all are listed.
_FEW = 16


class PurgeRefused(errors.PlacementError):
    """A consumer would lose what it must not lose; nothing was done.

    :param losses: the consumers, and what they would lose
    """

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = tuple(losses)
        refused = [f'{loss.consumer.uuid} {loss.shown()}' for loss in self.losses]
        super().__init__(f'Refused: {first(refused)}')


class Unaccounted(errors.PlacementError):
    """Something is used that no consumer answers for, so that it cannot be freed.

    :param provider: whose it is
    :param resources: how much of each class
    """

    def __init__(self, provider: Provider, resources: Resources) -> None:
        self.provider, self.resources = provider, resources
        amounts = ', '.join(f'{n} {name}' for name, n in resources.items())
        super().__init__(
            f'{amounts} of {provider.name} is used by consumers without a record: '
            'run placement-manage db online_data_migrations first'
        )


@dataclass(frozen=True, slots=True)
class Loss:
    """What a consumer loses on the tree.

    :param consumer: with all that it holds
    :param taken: what is freed
    :param rest: what it keeps
    :param objection: why this should not be done, if anything speaks against it
    :param is_migration: whether it is known to be half of a move, which ``--force`` must not cut
    """

    consumer: Consumer
    taken: Allocations
    rest: Allocations
    objection: str = ''
    is_migration: bool = False

    def is_refused(self, *, force: bool) -> bool:
        """Whether something speaks against it that is not overruled."""
        return bool(self.objection) and (self.is_migration or not force)

    def shown(self, *, force: bool = False) -> str:
        """The objection, and what overrules it or has done so."""
        if not self.objection or self.is_migration:
            return self.objection
        return f'overruled: {self.objection}' if force else f'{self.objection} (--force does it)'


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

    :param losses: what consumers lose
    :param deletes: the providers, children before their parents
    :param judge: who has decided what consumers must not lose
    :param names: of the providers that go and of those on which consumers keep something, by UUID
    """

    losses: tuple[Loss, ...]
    deletes: tuple[Provider, ...]
    judge: Judge
    names: Mapping[str, str] = field(default_factory=dict)

    def check(self, *, force: bool) -> None:
        """Look for what speaks against it.

        :raises PurgeRefused: if something does, and is not overruled
        """
        _check(self.losses, force=force)

    def steps(self, *, force: bool) -> Iterator[Step]:
        """All of it, in order."""
        for loss in self.losses:
            objection = loss.shown(force=force)
            yield Step('free', loss.consumer.uuid, '', loss.taken, loss.rest, objection, self.names)
        for provider in self.deletes:
            yield Step('delete', provider.uuid, provider.name)


def plan(
    client: Client, provider: str, migrations: Sequence[ServerMigration] | None = None
) -> Purge:
    """What has to be done.

    :param provider: name or UUID; what is below it goes too
    :param migrations: of servers, as Nova lists them; ``None`` if nobody has said
    :raises errors.NoSuchProvider: if there is none
    :raises Unaccounted: if something cannot be freed
    """
    provider_uuid = resource_provider.find(client, provider)
    snapshot = capture.capture(client, [provider_uuid])
    states = list(snapshot.tree(provider_uuid))
    for state in states:
        if unlisted := snapshot.unlisted(state.uuid):
            raise Unaccounted(state.provider, unlisted)
    names = {state.uuid: state.name for state in states}
    judge = Judge(client, names, _dependent(client, states), migrations or ())
    consumers = [
        consumer
        for _, consumer in sorted(snapshot.consumers.items())
        if not names.keys().isdisjoint(consumer.allocations)
    ]
    judge.look_at({uuid for consumer in consumers for uuid in consumer.allocations})
    deletes = tuple(state.provider for state in reversed(states))
    return Purge(tuple(map(judge.loss, consumers)), deletes, judge, names | judge.names())


def _dependent(client: Client, states: Sequence[ProviderState]) -> frozenset[str]:
    """The roots of the trees whose users may need what is freed of a provider and all below it."""
    first, roots = states[0].provider, set[str]()
    if first.parent_provider_uuid is not None:
        roots.add(first.root_uuid)
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
) -> Iterator[Step]:
    """Do it; what somebody else has done meanwhile is taken into account.

    :param force: leave consumers with nothing, but for migrations
    :param progress: told each step
    :return: the steps as they were planned, each when it is done
    :raises PurgeRefused: if a consumer would lose what it must not lose
    :raises errors.ProviderInUse: if somebody allocates on the tree at the same time
    """
    purge.check(force=force)
    steps = purge.steps(force=force)
    for loss in purge.losses:
        taken = _carry_out(client, loss, purge.judge, force)
        if progress:
            uuid = loss.consumer.uuid
            progress(f'freed {uuid}' if taken else f'{uuid} holds nothing here any more')
        yield next(steps)
    for provider in purge.deletes:
        retried(partial(_delete, client, provider), max_retries=client.max_retries)
        if progress:
            progress(f'deleted {provider.name}')
        yield next(steps)


def _carry_out(client: Client, loss: Loss, judge: Judge, force: bool) -> Allocations:
    """Free what one consumer holds on the tree now, which may differ from what was planned.

    :return: what was taken
    """
    # The first attempt is made at the generation that it was planned on.
    planned = [loss.consumer]

    def attempt() -> Allocations:
        consumer = planned.pop() if planned else allocation.show(client, loss.consumer.uuid).value
        current = judge.loss(consumer)
        _check([current], force=force)
        if current.taken:
            allocation.set(client, replace(consumer, allocations=current.rest))
        return current.taken

    return retried(attempt, max_retries=client.max_retries)


def _delete(client: Client, provider: Provider) -> None:
    with contextlib.suppress(errors.NotFound):
        resource_provider.delete(client, provider.uuid)


def _check(losses: Iterable[Loss], *, force: bool) -> None:
    against = [loss for loss in losses if loss.taken and loss.is_refused(force=force)]
    if against:
        # First what nothing overrules: only some of them are told.
        raise PurgeRefused(sorted(against, key=lambda loss: not loss.is_migration))


class Judge:
    """Tells what speaks against freeing what a consumer holds.

    :param gone: the names of the providers that go, by UUID
    :param dependent: the roots of the trees whose users may need what is freed: that of a child,
        and those that a sharing provider serves
    :param migrations: of servers, as far as they are known
    """

    def __init__(
        self,
        client: Client,
        gone: Mapping[str, str],
        dependent: frozenset[str],
        migrations: Iterable[ServerMigration],
    ) -> None:
        self._client, self._gone, self._dependent = client, gone, dependent
        self._is_over = {each.uuid: each.is_over for each in migrations}
        # Of those that stay: each is asked for at most once.
        self._staying: dict[str, Provider] = {}

    def loss(self, consumer: Consumer) -> Loss:
        """What a consumer will lose and keep."""
        held = consumer.allocations
        taken = {uuid: resources for uuid, resources in held.items() if uuid in self._gone}
        rest = {uuid: resources for uuid, resources in held.items() if uuid not in self._gone}
        # Nova gives its migrations no type unless it is new: what it lists tells them.
        is_migration = not self._is_over.get(consumer.uuid, consumer.type != MIGRATION)
        objection = (
            'is a migration: confirm or revert it first' if is_migration else self._objection(rest)
        )
        return Loss(consumer, taken, rest, objection, is_migration)

    def look_at(self, provider_uuids: Collection[str]) -> None:
        """Ask for providers that stay; for many of them all at once."""
        missing = set(provider_uuids) - self._gone.keys() - self._staying.keys()
        if len(missing) > _FEW:
            listed = resource_provider.list(self._client)
            self._staying |= {each.uuid: each for each in listed if each.uuid in missing}
        for uuid in sorted(missing - self._staying.keys()):
            self._staying[uuid] = resource_provider.show(self._client, uuid).value

    @functools.cached_property
    def _sharing(self) -> frozenset[str]:
        """The UUIDs of the sharing providers."""
        sharing = Filter(required=(SHARING_TRAIT,))
        listed = resource_provider.list(self._client, matching=sharing)
        return frozenset(each.uuid for each in listed)

    def names(self) -> dict[str, str]:
        """Of the providers that have been asked for, by UUID."""
        return {uuid: provider.name for uuid, provider in self._staying.items()}

    def _objection(self, rest: Allocations) -> str:
        if not rest:
            return 'would be left with nothing: a server, or a resize that is not confirmed'
        if self._sharing.issuperset(rest):
            return 'would be left with nothing but shared resources'
        self.look_at(rest)
        users = [
            self._staying[uuid].name
            for uuid in rest
            if self._staying[uuid].root_uuid in self._dependent
        ]
        return f'would go on to use it: it holds something on {", ".join(users)}' if users else ''
