"""A cloud without a provider, all below it, and the allocations there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from placementclient.client import errors
from placementclient.model.consumers import Allocations, Consumer, Resources
from placementclient.model.nova import MIGRATION
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Snapshot

_LEAKED = (
    'leaked allocations if its server is gone: "resource provider allocation delete {}" frees them'
)


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
class Surroundings:
    """The facts about the cloud around a tree that decide on its purge.

    :param staying: the providers on which consumers hold something beside the tree, by UUID
    :param sharing: the UUIDs of the sharing providers
    :param dependent: the roots of the trees whose users may need what is freed: that of a child,
        and those that a sharing provider serves
    :param is_over: of the migrations that Nova lists, whether each is over, by consumer UUID
    """

    staying: Mapping[str, Provider] = field(default_factory=dict)
    sharing: Set[str] = frozenset()
    dependent: Set[str] = frozenset()
    is_over: Mapping[str | None, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Objection:
    """The reason why a consumer should not lose its allocations on the tree.

    :param is_migration: whether it is known to be half of a move, which ``--force`` must not cut
    :param leaks: whether it would keep shared resources only
    """

    consumer_uuid: str
    reason: str
    is_migration: bool = False
    leaks: bool = False

    def is_refused(self, *, force: bool) -> bool:
        """Return whether nothing overrules the objection."""
        return self.is_migration or not force

    def shown(self, *, force: bool) -> str:
        """Return the reason, and what overrules it or what comes of it."""
        if self.is_refused(force=force):
            return self.reason if self.is_migration else f'{self.reason} (--force does it)'
        leaked = f'; {_LEAKED.format(self.consumer_uuid)}' if self.leaks else ''
        return f'{self.reason}{leaked}'


def purged(
    snapshot: Snapshot, provider_uuid: str, around: Surroundings
) -> tuple[Snapshot, tuple[Objection, ...]]:
    """Return the snapshot without a provider, and all that speaks against that.

    A consumer keeps all that it holds elsewhere.

    :param snapshot: has the whole tree of the provider
    :raises Unaccounted: if something cannot be freed
    """
    gone = set()
    for state in snapshot.tree(provider_uuid):
        if unlisted := snapshot.unlisted(state.uuid):
            raise Unaccounted(state.provider, unlisted)
        gone.add(state.uuid)
    consumers, objections = dict(snapshot.consumers), list[Objection]()
    for uuid, consumer in sorted(snapshot.consumers.items()):
        if gone.isdisjoint(consumer.allocations):
            continue
        rest = {uuid: held for uuid, held in consumer.allocations.items() if uuid not in gone}
        objections += _objections(consumer, rest, around)
        if rest:
            consumers[uuid] = replace(consumer, allocations=rest)
        else:
            del consumers[uuid]
    states = (state for uuid, state in snapshot.providers.items() if uuid not in gone)
    return Snapshot(states, consumers.values(), snapshot.origin), tuple(objections)


def _objections(consumer: Consumer, rest: Allocations, around: Surroundings) -> Iterator[Objection]:
    uuid = consumer.uuid
    # Nova gives its migrations no type unless it is new: its list identifies them.
    if not around.is_over.get(uuid, consumer.type != MIGRATION):
        yield Objection(uuid, 'is a migration: confirm or revert it first', is_migration=True)
    elif not rest:
        reason = 'would be left with nothing: a server, or a resize that is not confirmed'
        yield Objection(uuid, reason)
    elif rest.keys() <= around.sharing:
        yield Objection(uuid, 'would be left with nothing but shared resources', leaks=True)
    else:
        staying = (around.staying[each] for each in rest if each in around.staying)
        users = [each.name for each in staying if each.root_uuid in around.dependent]
        if users:
            reason = f'would go on to use it: it holds something on {", ".join(users)}'
            yield Objection(uuid, reason)
