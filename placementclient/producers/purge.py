# SPDX-License-Identifier: Apache-2.0
"""Delete a provider, all below it, and the allocations there."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from placementclient.api import resource_provider
from placementclient.basis import errors
from placementclient.basis.wording import format_count
from placementclient.client.http import Client
from placementclient.insight.evidence import UNKNOWN, Verdict
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import MIGRATION
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.shortfalls import refuse_unaccounted_usage
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.topology import Topology
from placementclient.producers.producer import StateProducer
from placementclient.producers.proof import FreeingProof
from placementclient.reading import tree_reader
from placementclient.reading.capture import capture

_NO_SERVERS = 'no list of servers was given'
_IS_MIGRATION = 'it is a migration that no list has'
_NO_MIGRATIONS = 'it is a migration, and no list of migrations was given'
_AT_HOME = 'Nova has its server on this host'
_LEFT = (
    '; it keeps {}. If its server is gone, free that too: placement resource provider allocation '
    'delete {}'
)
_LISTS = {'servers': 'GET /servers/detail?all_tenants=1', 'migrations': 'GET /os-migrations'}
_WAIT = 'Wait for the migrations, or confirm or revert them: openstack server migration list'
_GONE = 'For consumers that you know to be gone, purge with --gone UUID'
_FORCE = 'As a last resort, with no migration under way, free all its allocations: --force'


def list_ways_to_empty(host: str) -> tuple[str, str]:
    """Return the steps that move the servers of a host away."""
    drain = f'placement resource provider drain plan {shlex.quote(host)}'
    return (
        f'If the host is alive, migrate its servers: {drain}',
        'If it is dead, evacuate each of them: openstack server evacuate SERVER',
    )


class Objection(NamedTuple):
    """The reason why a consumer should keep its allocations in a tree.

    :param is_final: whether even --force does not overrule it
    """

    reason: str
    is_final: bool = False


def purge_provider(
    snapshot: Snapshot,
    provider_uuid: str,
    verdicts: Mapping[str, Verdict],
    known: Collection[str] = _LISTS.keys(),
) -> tuple[Snapshot, dict[str, Objection]]:
    """Return the snapshot without a provider and all below it, and objections by consumer UUID.

    A consumer keeps its other allocations, unless it is gone.

    :param snapshot: has the whole tree of the provider
    :param verdicts: by consumer UUID, the allocations that may be freed
    :param known: the names of the lists of Nova that the verdicts are made with
    :raises UnaccountedUsage: if usage remains that no consumer accounts for
    """
    tree = {state.uuid for state in snapshot.tree(provider_uuid)}
    refuse_unaccounted_usage(snapshot, sorted(tree))
    consumers, objections = dict(snapshot.consumers), dict[str, Objection]()
    for uuid, consumer in sorted(snapshot.consumers.items()):
        if tree.isdisjoint(consumer.allocations):
            continue
        freed = set(verdicts[uuid].freed)
        is_gone = freed >= consumer.allocations.keys()
        rest = consumer.without_providers(tree | freed if is_gone else tree)
        if not freed >= tree & consumer.allocations.keys():
            objections[uuid] = _make_objection(consumer, rest, verdicts[uuid], known)
        if rest.allocations:
            consumers[uuid] = rest
        else:
            del consumers[uuid]
    states = (state for uuid, state in snapshot.providers.items() if uuid not in tree)
    return Snapshot(states, consumers.values(), snapshot.origin), objections


def _make_objection(
    consumer: Consumer, rest: Consumer, verdict: Verdict, known: Collection[str]
) -> Objection:
    """Return the reason why a consumer should keep what would be freed.

    :param rest: the consumer without the allocations that would be freed
    :param known: the names of the lists of Nova that are known
    :param verdict: on the allocations of the consumer
    """
    if consumer.type == MIGRATION and not verdict.is_under_way:
        reason = _IS_MIGRATION if 'migrations' in known else _NO_MIGRATIONS
        return Objection(f'{reason}: if it is over, purge with --gone {consumer.uuid}', True)
    if verdict.is_under_way:
        return Objection(verdict.reason, True)
    is_unlisted = verdict.reason == UNKNOWN and 'servers' not in known
    reason = _NO_SERVERS if is_unlisted else verdict.reason or _AT_HOME
    lost = sorted(_list_allocated_classes(consumer) - _list_allocated_classes(rest))
    return Objection(f'{reason}; it would lose all its {", ".join(lost)}' if lost else reason)


def _list_allocated_classes(consumer: Consumer) -> set[str]:
    return {name for resources in consumer.allocations.values() for name in resources}


class PurgeRefused(errors.PlacementError):
    """A consumer would lose allocations that it needs; nothing was written.

    :param user_count: the number of consumers with allocations that would be freed
    :param known: the names of the lists of Nova that are known
    :param host: the name of the provider
    """

    def __init__(
        self, objections: Sequence[Objection], user_count: int, known: Collection[str], host: str
    ) -> None:
        needing = f'{len(objections)} of {format_count(user_count, "consumer")}'
        super().__init__(f'{needing} may still need {host}')
        missing = [name for name in _LISTS if name not in known]
        options = ' '.join(f'--{name} FILE' for name in missing)
        answers = ' and '.join(_LISTS[name] for name in missing)
        lists = f'Give the answers of {answers}: {options}'
        is_final = {objection.is_final for objection in objections}
        self.next_steps = (
            *([lists] if missing else ()),
            *([_WAIT] if True in is_final else ()),
            *(list_ways_to_empty(host) if False in is_final else ()),
            _GONE,
            *([_FORCE] if False in is_final else ()),
        )


class PurgeProducer(StateProducer):
    """Plans the deletion of a provider and of all below it, with the allocations there.

    :param make_proof: returns the proof of which allocations may be freed, given a topology
    :param force: overrule the objections that are not final
    """

    command = 'resource provider purge'
    has_notes = True

    def __init__(
        self,
        client: Client,
        provider: str,
        make_proof: Callable[[Topology], FreeingProof],
        *,
        force: bool = False,
    ) -> None:
        super().__init__(client)
        self._provider_uuid = resource_provider.find(client, provider)
        self._make_proof, self._force = make_proof, force

    def read_live_state(self) -> Snapshot:
        """Read the tree of the provider."""
        return capture(self.client, [self._provider_uuid])

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot without the provider.

        :raises PurgeRefused: if a consumer would lose allocations that it needs
        """
        tree = {state.uuid for state in live.tree(self._provider_uuid)}
        users = [c for c in live.consumers.values() if not tree.isdisjoint(c.allocations)]
        verdicts, known = dict[str, Verdict](), frozenset[str]()
        if users:
            proof = self._make_proof(_read_topology(self.client))
            verdicts, known = proof.judge_consumers(users), proof.known_lists
        after, objections = purge_provider(live, self._provider_uuid, verdicts, known)
        refused = self._note_objections(objections, after)
        if refused:
            for user in users:
                if user.uuid not in objections:
                    self._note_consumer(user.uuid, 'not needed', verdicts[user.uuid].proof)
            name = live.providers[self._provider_uuid].name
            raise PurgeRefused(refused, len(users), known, name)
        return after

    def _note_objections(
        self, objections: Mapping[str, Objection], after: Snapshot
    ) -> list[Objection]:
        """Add a note for each objection; return the objections that are not overruled."""
        refused = [o for o in objections.values() if o.is_final or not self._force]
        for uuid, objection in objections.items():
            state, message = 'refused', objection.reason
            if objection not in refused:
                state = 'overruled'
                if rest := after.consumers.get(uuid):
                    message += _LEFT.format(', '.join(sorted(_list_allocated_classes(rest))), uuid)
            elif not objection.is_final:
                message += ' (--force purges it anyway)'
            self._note_consumer(uuid, state, message)
        return refused

    def _note_consumer(self, consumer_uuid: str, state: str, reason: str) -> None:
        """Add a note on a consumer, unless it has one; ``state`` is a word such as ``refused``."""
        subject = f'consumer {consumer_uuid}'
        if subject not in {note.subject for note in self.notes}:
            self.notes.append(Finding(state, subject, reason=reason, severity=Severity.WARNING))


def _read_topology(client: Client) -> Topology:
    """Read all providers, and which of them share with which trees."""
    sharing = tree_reader.read_sharing_providers(client)
    states = (
        ProviderState(
            provider,
            traits=frozenset({SHARING_TRAIT} if provider.uuid in sharing.providers else ()),
        )
        for provider in resource_provider.list(client)
    )
    return Topology(Snapshot(states, ()), sharing.sharers_by_root)
