# SPDX-License-Identifier: Apache-2.0
"""Plans of drains, carried out on a real Placement as Nova does it."""

import uuid
from itertools import groupby

import pytest
from keystoneauth1.session import Session
from msgspec.structs import replace

from placementclient.api import allocation
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import Pace, ServerMove
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.insight.drain.problem import build_problem
from placementclient.insight.drain.proof import pack_servers
from placementclient.insight.drain.rolling import plan_rolling, split_into_batches
from placementclient.insight.drain.room_plan import NewServers, decide_room
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.placing.requests import parse_request
from tests.functional import clouds
from tests.functional.bulk import Database
from tests.unit.insight.clouds import cloud, consumer, pool, provider
from tests.unit.insight.drain import oracle, room_oracle

_NAMESPACE = uuid.UUID('6b1f2c7e-9f0a-4a3e-8f55-6d3b8f1d2a90')


def real(snapshot, name):
    """The same cloud with UUIDs, and with names that no other cloud has.

    :param name: of the cloud
    """

    def renamed(old):
        return old and str(uuid.uuid5(_NAMESPACE, f'{name} {old}'))

    states = [
        replace(
            state,
            provider=replace(
                state.provider,
                uuid=renamed(state.uuid),
                name=f'{name}-{state.name}',
                parent_provider_uuid=renamed(state.provider.parent_provider_uuid),
                root_provider_uuid=renamed(state.provider.root_provider_uuid),
            ),
            aggregates=frozenset(map(renamed, state.aggregates)),
        )
        for state in snapshot.providers.values()
    ]
    consumers = [
        Consumer(
            renamed(server.uuid),
            {renamed(uuid): resources for uuid, resources in server.allocations.items()},
            'project',
            'user',
            1,
            'INSTANCE',
        )
        for server in snapshot.consumers.values()
    ]
    return Snapshot(states, consumers)


def migrate(client, moves):
    """Carry out a plan as Nova's conductor does; the moves of a wave all begin before one ends."""
    for _, wave in groupby(moves, lambda move: move.wave):
        migrations = [_begin(client, move) for move in wave]
        for migration in migrations:
            allocation.delete(client, migration)


def _begin(client, move):
    """Hand the allocations of the server to the migration, and claim the new ones."""
    migration, version = str(uuid.uuid4()), client.microversion
    server = allocation.show(client, move.server).value
    assert server.allocations == move.before
    holder = Consumer(migration, server.allocations, 'project', 'user', None, 'MIGRATION')
    both = (holder, replace(server, allocations={}))
    bodies = {consumer.uuid: allocation.make_body(consumer, version) for consumer in both}
    allocation.replace(client, bodies)
    claimed = Consumer(move.server, move.after, 'project', 'user', None, 'INSTANCE')
    allocation.set(client, claimed)
    return migration


@pytest.fixture
def client():
    """A client of an empty Placement on a database of its own."""
    with Direct.scratch() as service:
        yield http.Client(Session(auth=service), microversion.HIGHEST)


@pytest.mark.slow
def test_placement_grants_every_move_of_a_drain_plan(client):
    cases: list[tuple[Snapshot, list[str], list[ServerMove]]] = []
    for seed in range(120):
        small, names = oracle.case(seed)
        snapshot = real(small, f'case{seed}')
        hosts = [snapshot.find_by_name(f'case{seed}-{name}').uuid for name in names]
        decision = decide_drain(DrainCloud(snapshot), hosts, Pace(1 + seed % 2, 1 + seed % 5))
        if decision.verdict is DrainVerdict.YES and decision.moves:
            cases.append((snapshot, hosts, list(decision.moves)))
    assert len(cases) >= 30
    states = [state for snapshot, _, _ in cases for state in snapshot.providers.values()]
    consumers = [server for snapshot, _, _ in cases for server in snapshot.consumers.values()]
    Database(client).fill(Snapshot(states, consumers))
    for _, _, moves in cases:
        migrate(client, moves)
    after = clouds.captured(client)
    for _, hosts, _ in cases:
        assert not any(after.consumers_in(host) for host in hosts)


def test_moves_make_room_that_the_service_grants_to_new_servers(client):
    cases: list[tuple[str, list[str], NewServers, list[ServerMove]]] = []
    snapshots = []
    for seed in range(1, 60, 2):
        small, names, resources, number = room_oracle.case(seed)
        snapshot = real(small, f'room{seed}')
        chosen = [snapshot.find_by_name(f'room{seed}-{name}').uuid for name in names]
        new = NewServers('new', parse_request(CandidateRequest(Filter(resources))), number)
        decision = decide_room(DrainCloud(snapshot), chosen, new)
        if decision.verdict is DrainVerdict.YES and decision.moves:
            cases.append((f'room{seed}-*', chosen, new, list(decision.moves)))
            snapshots.append(snapshot)
    assert len(cases) >= 10
    states = [state for snapshot in snapshots for state in snapshot.providers.values()]
    consumers = [server for snapshot in snapshots for server in snapshot.consumers.values()]
    Database(client).fill(Snapshot(states, consumers))
    for names, chosen, new, moves in cases:
        migrate(client, moves)
        cloud = DrainCloud(clouds.captured(client).select_trees([names]))
        kind, others = cloud.find_kind_of_request(new.request), set(cloud.hosts).difference(chosen)
        servers = [ServerMove(str(uuid.uuid4()), '', {}, {}) for _ in range(new.server_count)]
        packing = pack_servers(build_problem(cloud, {kind: servers}, others))
        assert packing.is_complete
        for move in packing.list_moves():
            server = Consumer(move.server, move.after, 'project', 'user', None, 'INSTANCE')
            allocation.set(client, server)


def nested():
    """Hosts with cells, cards and shared storage, three of them with three servers."""
    states = [pool('nfs', DISK_GB=60), pool('ssd', 'other', DISK_GB=40)]
    for number in range(4):
        name = f'host{number}'
        places = ['shared'] if number < 3 else ['shared', 'other']
        states.append(provider(name, traits=['COMPUTE_NODE'], aggregates=places, MEMORY_MB=64))
        for cell in (f'{name}_0', f'{name}_1'):
            states.append(provider(cell, name, VCPU=Inventory(8, allocation_ratio=1.5)))
            states += [provider(f'{cell}_{card}', cell, name, VGPU=2) for card in range(2)]
    servers = [
        consumer(
            f'{host}-{place}',
            **{host: {'MEMORY_MB': 8}, 'nfs': {'DISK_GB': 5}},
            **{f'{host}_{place % 2}': {'VCPU': 3}, f'{host}_{place % 2}_0': {'VGPU': 1}},
        )
        for host in ('host0', 'host1', 'host2')
        for place in range(3)
    ]
    return cloud(states, servers)


def test_placement_grants_a_rolling_drain_of_nested_hosts_with_shared_storage(client):
    snapshot = real(nested(), 'nested')
    Database(client).fill(snapshot)
    scene = DrainCloud(snapshot)
    rolling = plan_rolling(scene, split_into_batches(scene, scene.hosts, 1))
    assert (rolling.verdict, len(rolling.order)) == (DrainVerdict.YES, 4)
    migrate(client, rolling.moves)
