"""Delete a provider, all below it, and the allocations there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from placementclient.api import resource_provider
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import counted, first
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import MIGRATION
from placementclient.model.providers import Provider
from placementclient.model.requests import SHARING
from placementclient.model.servers import ServerMigration
from placementclient.model.shortfalls import check_accounted
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.producers.producer import Producer
from placementclient.reading import tree_reader
from placementclient.reading.capture import capture

_MIGRATION = 'is a migration: confirm or revert it first'
_NOTHING_LEFT = 'would be left with nothing: a server, or a resize that is not confirmed'
_SHARED_LEFT = 'would be left with nothing but shared resources'
_LEAKED = (
    '; leaked allocations if its server is gone: "resource provider allocation delete {}" frees '
    'them'
)
_ADVICE = (
    'Evacuate or migrate the servers first. What a deleted server still holds is a leaked '
    'allocation: "resource provider audit --fix" frees it. --force purges all the same'
)


class Surroundings(NamedTuple):
    """The facts about the cloud around a tree that decide whether it may be purged.

    :param staying: the providers on which consumers hold something beside the tree, by UUID
    :param dependent: the roots of the trees whose users may need what is freed: that of a child,
        and those that a sharing provider serves
    :param is_over: of the migrations that Nova lists, whether each is over, by consumer UUID
    """

    staying: Mapping[str, Provider] = {}
    sharing: Set[str] = frozenset()
    dependent: Set[str] = frozenset()
    is_over: Mapping[str | None, bool] = {}


def purged(
    snapshot: Snapshot, provider_uuid: str, around: Surroundings
) -> tuple[Snapshot, dict[str, str]]:
    """Return the snapshot without a provider, and the objections by the UUID of the consumer.

    A consumer keeps all that it holds elsewhere.

    :param snapshot: has the whole tree of the provider
    :raises Unaccounted: if something cannot be freed
    """
    tree = [state.uuid for state in snapshot.tree(provider_uuid)]
    check_accounted(snapshot, tree)
    gone = set(tree)
    consumers, objections = dict(snapshot.consumers), dict[str, str]()
    for uuid, consumer in sorted(snapshot.consumers.items()):
        if gone.isdisjoint(consumer.allocations):
            continue
        rest = consumer.without(gone)
        if objection := _objection(consumer, rest.allocations, around):
            objections[uuid] = objection
        if rest.allocations:
            consumers[uuid] = rest
        else:
            del consumers[uuid]
    states = (state for uuid, state in snapshot.providers.items() if uuid not in gone)
    return Snapshot(states, consumers.values(), snapshot.origin), objections


def _objection(consumer: Consumer, rest: Allocations, around: Surroundings) -> str:
    """Return the reason why a consumer should keep its allocations on the tree, if there is one."""
    # Nova gives its migrations no type unless it is new: its list identifies them.
    if not around.is_over.get(consumer.uuid, consumer.type != MIGRATION):
        return _MIGRATION
    if not rest:
        return _NOTHING_LEFT
    if rest.keys() <= around.sharing:
        return _SHARED_LEFT
    staying = (around.staying[used] for used in rest if used in around.staying)
    users = [provider.name for provider in staying if provider.root_uuid in around.dependent]
    return f'would go on to use it: it holds something on {", ".join(users)}' if users else ''


class PurgeRefused(errors.PlacementError):
    """A consumer would lose allocations that it needs; nothing was done.

    :ivar advice: the next step; empty if there is none
    """

    def __init__(self, objections: Iterable[str]) -> None:
        # Objections that --force does not overrule come first, as only some are printed.
        reasons = Counter(sorted(objections, key=lambda reason: reason != _MIGRATION))
        refused = [f'{counted(n, "consumer")}: {reason}' for reason, n in reasons.items()]
        super().__init__(f'Refused: {first(refused)}')
        self.advice = '' if reasons.keys() == {_MIGRATION} else _ADVICE


class Purging(Producer):
    """The producer of a purge: a provider and all below it.

    :param force: overrule the objections, but for those of migrations
    :param is_dry_run: make the plan even if it is refused
    :ivar refusal: the error that a purge would end with
    """

    command = 'resource provider purge'
    has_notes = True

    def __init__(
        self,
        client: Client,
        provider: str,
        migrations: Sequence[ServerMigration] | None = None,
        *,
        force: bool = False,
        is_dry_run: bool = False,
    ) -> None:
        super().__init__(client)
        self._provider_uuid = resource_provider.find(client, provider)
        self._is_over = {migration.uuid: migration.is_over for migration in migrations or ()}
        self._force, self._is_dry_run = force, is_dry_run
        self.refusal: PurgeRefused | None = None

    def read(self, roots: Sequence[str]) -> Snapshot:
        try:
            return capture(self.client, [self._provider_uuid])
        except errors.NoSuchProvider:
            if roots:
                return Snapshot((), ())
            raise

    def desired(self, live: Snapshot) -> Snapshot:
        """Return the snapshot without the provider.

        :raises PurgeRefused: if a consumer would lose what it must not lose
        """
        if self._provider_uuid not in live.providers:
            return live
        after, objections = purged(live, self._provider_uuid, self._around(live))
        self._judge(objections)
        return after

    def _judge(self, objections: Mapping[str, str]) -> None:
        refused = [
            reason for reason in objections.values() if reason == _MIGRATION or not self._force
        ]
        self.refusal = PurgeRefused(refused) if refused else None
        noted = {note.subject for note in self.notes}
        for uuid, reason in objections.items():
            state = 'refused' if reason in refused else 'overruled'
            leaked = _LEAKED.format(uuid) if reason == _SHARED_LEFT else ''
            hint = leaked if self._force else ' (--force does it)'
            message = reason if reason == _MIGRATION else f'{reason}{hint}'
            name = f'consumer {uuid}'
            note = Finding(state, name, reason=message, severity=Severity.WARNING)
            self.notes += [] if name in noted else [note]
        if self.refusal and not self._is_dry_run:
            raise self.refusal

    def _around(self, live: Snapshot) -> Surroundings:
        states = list(live.tree(self._provider_uuid))
        gone = {state.uuid for state in states}
        staying = {
            uuid
            for consumer in live.consumers.values()
            if not gone.isdisjoint(consumer.allocations)
            for uuid in consumer.allocations.keys() - gone
        }
        sharing = resource_provider.list(self.client, matching=SHARING) if staying else []
        return Surroundings(
            resource_provider.some(self.client, staying),
            {provider.uuid for provider in sharing},
            _dependent(self.client, states),
            self._is_over,
        )


def _dependent(client: Client, states: Sequence[ProviderState]) -> set[str]:
    """Return the roots of the trees whose users may need the freed resources of a tree."""
    top, roots = states[0].provider, set[str]()
    if top.parent_provider_uuid is not None:
        roots.add(top.root_uuid)
    sharing = {state.uuid for state in states if is_sharing(state)}
    if sharing:
        reach = tree_reader.sharing(client).reach
        roots |= {root for root, uuids in reach.items() if not sharing.isdisjoint(uuids)}
    return roots
