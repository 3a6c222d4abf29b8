# SPDX-License-Identifier: Apache-2.0
"""What the evidence of lists alone decides, without a service: thousands of worlds a minute."""

from collections.abc import Iterator
from typing import Any

from placementclient.basis import errors
from placementclient.insight.evidence import EvidenceJudge, NovaRecords, Verdict
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.servers import join_servers
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import host_records, records
from placementclient.placing.topology import Topology
from placementclient.producers.purge import purge_provider
from tests.worlds import lists
from tests.worlds.cloud import CLASSES, Cloud
from tests.worlds.judging import Case
from tests.worlds.running import Outcome, World
from tests.worlds.stage import Held
from tests.worlds.stories import build


def snapshot_of(cloud: Cloud) -> Snapshot:
    """Return what Placement has of a cloud."""
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for holding in cloud.holdings:
        allocations = consumers.setdefault(holding.consumer, {})
        allocations[holding.provider.uuid] = holding.resources
    used: dict[str, dict[str, int]] = {}
    for allocations in consumers.values():
        for uuid, resources in allocations.items():
            sums = used.setdefault(uuid, {})
            for name, amount in resources.items():
                sums[name] = sums.get(name, 0) + amount
    return Snapshot(
        [
            ProviderState(
                Provider(p.uuid, p.name, 1, p.parent and p.parent.uuid, p.root.uuid),
                {name: Inventory(CLASSES[name]) for name in p.classes},
                frozenset(p.traits),
                frozenset(filter(None, [p.aggregate])),
                {name: used.get(p.uuid, {}).get(name, 0) for name in p.classes},
            )
            for p in cloud.providers.values()
        ],
        [Consumer(uuid, allocations, 'p', 'u', 1) for uuid, allocations in consumers.items()],
    )


def decide(world: World) -> Outcome:
    """Judge what the lists of a world let an audit, and a purge of each host, free."""
    cloud = build(world.seed, world.only)
    documents = lists.Damaged(cloud, world.damages, world.seed).documents
    snapshot = snapshot_of(cloud)
    outcome = Outcome(['decide'], 0, '', [], [])
    try:
        verdicts = _verdicts(cloud, snapshot, documents)
    except errors.BadFile as refusal:
        # A list that is refused frees nothing.
        outcome.output, verdicts = str(refusal), {}
    before = _held(snapshot)
    freed = {(uuid, place) for uuid, verdict in verdicts.items() for place in verdict.freed}
    after = {key: amount for key, amount in before.items() if key[:2] not in freed}
    for case in _cases(cloud, world, snapshot, verdicts):
        case.before = before
        if case.command == 'audit':
            case.after = after
        outcome.harm += case.harm()
        for promise, subject, is_kept in case.promises():
            outcome.promises.append((promise, is_kept))
            outcome.kept += [] if is_kept else [f'{promise}: {subject}']
    return outcome


def _cases(
    cloud: Cloud, world: World, snapshot: Snapshot, verdicts: dict[str, Verdict]
) -> Iterator[Case]:
    yield Case(cloud, 'audit', cloud.hosts[0], {}, False, world.damages)
    for host in cloud.hosts if verdicts else ():
        case = Case(cloud, 'purge', host, {}, False, world.damages)
        left, objections = purge_provider(snapshot, host.uuid, verdicts)
        left = snapshot if objections else left
        case.after = _held(left)
        case.names = {state.uuid: state.name for state in left.providers.values()}
        yield case


def _held(snapshot: Snapshot) -> Held:
    return {
        (consumer.uuid, place, name): amount
        for consumer in snapshot.consumers.values()
        for place, resources in consumer.allocations.items()
        for name, amount in resources.items()
    }


def _verdicts(cloud: Cloud, snapshot: Snapshot, documents: dict[str, Any]) -> dict[str, Verdict]:
    """Return what the lists let be freed of each consumer."""
    flavors = records.decode_flavors_by_id(documents.get('flavors', []), 'flavors')
    servers = join_servers(
        records.decode_servers(documents[name], name, flavors)
        for name in ('servers', 'deleted')
        if name in documents
    )
    migrations = hypervisors = None
    if 'migrations' in documents:
        migrations = records.decode_migrations(documents['migrations'], 'migrations')
    if 'hypervisors' in documents:
        hypervisors = host_records.decode_hypervisors(documents['hypervisors'], 'hypervisors')
    evidence = EvidenceJudge(Topology(snapshot), NovaRecords(migrations, hypervisors))
    written = {h.consumer: lists.moment(h.written).rstrip('Z') for h in cloud.holdings}
    verdicts = {}
    for uuid, consumer in snapshot.consumers.items():
        migration = evidence.find_migration(uuid)
        server = migration.server_uuid if migration else uuid
        verdicts[uuid] = evidence.judge_consumer(
            consumer, snapshot.consumers.get(server), servers.get(server), written.get
        )
    return verdicts
