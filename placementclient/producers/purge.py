"""Read a tree and the cloud around it, and plan the purge of one of its providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from placementclient.api import resource_provider
from placementclient.changes.plan import ChangePlan, plan_of
from placementclient.changes.results import Note
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import counted, first
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import Filter
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.producers.purged import Objection, Surroundings, purged
from placementclient.reading import capture, tree_reader

_COMMAND = 'resource provider purge'
_SHARING = Filter(required=(SHARING_TRAIT,))


class PurgeRefused(errors.PlacementError):
    """A consumer would lose what it must not lose; nothing was done.

    :param objections: those that are not overruled
    """

    def __init__(self, objections: Sequence[Objection]) -> None:
        # First those that --force does not overrule: only some are shown.
        reasons = Counter(
            each.reason for each in sorted(objections, key=lambda o: not o.is_migration)
        )
        refused = [f'{counted(n, "consumer")}: {reason}' for reason, n in reasons.items()]
        super().__init__(f'Refused: {first(refused)}')
        #: the next step, sentences
        self.advice = ''
        if not all(each.is_migration for each in objections):
            self.advice = (
                'Evacuate or migrate the servers first. What a deleted server still holds is a '
                'leaked allocation: "resource provider audit --fix" frees it. --force purges all '
                'the same'
            )


class Purging:
    """Plans the purge of a provider, and plans it again after a change of the tree.

    :param provider: name or UUID; what is below it goes too
    :param migrations: of servers, as Nova lists them; ``None`` if they are not known
    :param force: overrule the objections, but for those of migrations
    :param is_asked_only: make the plan even if it is refused
    :raises errors.NoSuchProvider: if there is no such provider
    :ivar notes: the objections
    :ivar refusal: the error that a purge would end with
    """

    def __init__(
        self,
        client: Client,
        provider: str,
        migrations: Sequence[ServerMigration] | None = None,
        *,
        force: bool = False,
        is_asked_only: bool = False,
    ) -> None:
        self._client = client
        self._provider_uuid = resource_provider.find(client, provider)
        self._is_over = {each.uuid: each.is_over for each in migrations or ()}
        self._force, self._is_asked_only = force, is_asked_only
        self.notes: list[Note] = []
        self.refusal: PurgeRefused | None = None

    def plan(self, again: Sequence[str] = ()) -> ChangePlan:
        """Plan the purge.

        :param again: the tree, where it is planned again: then the provider may be gone
        :raises PurgeRefused: if a consumer would lose what it must not lose
        :raises producers.purged.Unaccounted: if something cannot be freed
        """
        try:
            there = capture.capture(self._client, [self._provider_uuid])
        except errors.NoSuchProvider:
            if again:
                return ChangePlan(_COMMAND, ())
            raise
        after, objections = purged(there, self._provider_uuid, self._around(there))
        self._judge(objections)
        return plan_of(_COMMAND, there, after)

    def _judge(self, objections: Sequence[Objection]) -> None:
        refused = [each for each in objections if each.is_refused(force=self._force)]
        self.refusal = PurgeRefused(refused) if refused else None
        known = {note.object for note in self.notes}
        for each in objections:
            name = f'consumer {each.consumer_uuid}'
            if name not in known:
                state = 'refused' if each in refused else 'overruled'
                self.notes.append(Note(name, state, each.shown(force=self._force)))
        if self.refusal and not self._is_asked_only:
            raise self.refusal

    def _around(self, there: Snapshot) -> Surroundings:
        states = list(there.tree(self._provider_uuid))
        gone = {state.uuid for state in states}
        staying = {
            uuid
            for consumer in there.consumers.values()
            if not gone.isdisjoint(consumer.allocations)
            for uuid in consumer.allocations.keys() - gone
        }
        return Surroundings(
            resource_provider.some(self._client, staying),
            {each.uuid for each in resource_provider.list(self._client, matching=_SHARING)}
            if staying
            else frozenset(),
            _dependent(self._client, states),
            self._is_over,
        )


def _dependent(client: Client, states: Sequence[ProviderState]) -> set[str]:
    """The roots of the trees whose users may need what is freed of a provider and all below it."""
    top, roots = states[0].provider, set[str]()
    if top.parent_provider_uuid is not None:
        roots.add(top.root_uuid)
    sharing = {state.uuid for state in states if is_sharing(state)}
    if sharing:
        reach = tree_reader.sharing(client).reach
        roots |= {root for root, uuids in reach.items() if not sharing.isdisjoint(uuids)}
    return roots
