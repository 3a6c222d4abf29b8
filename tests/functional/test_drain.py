"""Plans of drains, carried out on a real Placement as Nova does it."""

from __future__ import annotations

import json
import uuid

import pytest
from keystoneauth1.session import Session
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_provider
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import Pace, ServerMove
from placementclient.insight.drain.plan import DrainVerdict, decide
from placementclient.insight.drain.rolling import batches, roll
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from tests.functional import clouds
from tests.functional.bulk import Database
from tests.unit.insight.clouds import cloud, consumer, pool, provider
from tests.unit.insight.drain import oracle

_NAMESPACE = uuid.UUID('6b1f2c7e-9f0a-4a3e-8f55-6d3b8f1d2a90')


def real(snapshot, name):
    """The same cloud with UUIDs, and with names that no other cloud has.

    :param name: of the cloud
    """

    def renamed(each):
        return each and str(uuid.uuid5(_NAMESPACE, f'{name} {each}'))

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
            renamed(each.uuid),
            {renamed(uuid): held for uuid, held in each.allocations.items()},
            'project',
            'user',
            1,
            'INSTANCE',
        )
        for each in snapshot.consumers.values()
    ]
    return Snapshot(states, consumers)


class Nova:
    """Migrates servers as Nova's conductor does: what Placement refuses is raised.

    :param client: of the Placement
    """

    def __init__(self, client):
        self._client = client

    def migrate(self, moves):
        """Carry out a plan, wave by wave; the moves of a wave are all begun before one ends."""
        for wave in sorted({move.wave for move in moves}):
            together = [move for move in moves if move.wave == wave]
            migrations = {move.server: self._begin(move) for move in together}
            for move in together:
                allocation.delete(self._client, migrations[move.server])

    def _begin(self, move):
        """Hand the allocations of the server to the migration, and claim the new ones."""
        client, migration = self._client, str(uuid.uuid4())
        server = allocation.show(client, move.server).value
        assert server.allocations == move.before
        holder = Consumer(migration, server.allocations, 'project', 'user', None, 'MIGRATION')
        gone = replace(server, allocations={})
        version = client.microversion
        body = {each.uuid: allocation.body_of(each, version) for each in (holder, gone)}
        allocation.replace(client, body)
        claimed = Consumer(move.server, move.after, 'project', 'user', None, 'INSTANCE')
        allocation.set(client, claimed)
        return migration


@pytest.fixture
def client():
    """A client of an empty Placement on a database of its own."""
    with Direct.scratch() as service:
        yield http.Client(Session(auth=service), microversion.HIGHEST)


def emptied(client, snapshot, hosts):
    """See that nothing is left on some hosts."""
    after = clouds.captured(client)
    for host in hosts:
        for state in snapshot.tree(host):
            assert after.consumers_on(state.uuid) == []


@pytest.mark.slow
def test_every_plan_is_granted(client):
    cases: list[tuple[Snapshot, list[str], list[ServerMove]]] = []
    for seed in range(120):
        small, names = oracle.case(seed)
        snapshot = real(small, f'case{seed}')
        hosts = [snapshot.named(f'case{seed}-{name}').uuid for name in names]
        decision = decide(DrainCloud(snapshot), hosts, Pace(1 + seed % 2, 1 + seed % 5))
        if decision.verdict is DrainVerdict.YES and decision.moves:
            cases.append((snapshot, hosts, list(decision.moves)))
    assert len(cases) >= 30
    union = Snapshot(
        (state for snapshot, _, _ in cases for state in snapshot.providers.values()),
        (each for snapshot, _, _ in cases for each in snapshot.consumers.values()),
    )
    Database(client).fill(union)
    nova = Nova(client)
    for _, _, moves in cases:
        nova.migrate(moves)
    after = clouds.captured(client)
    for snapshot, hosts, _ in cases:
        for host in hosts:
            for state in snapshot.tree(host):
                assert after.consumers_on(state.uuid) == []


def nested():
    """Hosts with cells, cards and shared storage."""
    states = [pool('nfs', DISK_GB=60), pool('ssd', 'other', DISK_GB=40)]
    for number in range(4):
        name = f'host{number}'
        places = ['shared'] if number < 3 else ['shared', 'other']
        states.append(provider(name, traits=['COMPUTE_NODE'], aggregates=places, MEMORY_MB=64))
        for cell in range(2):
            states.append(provider(f'{name}_{cell}', name, VCPU=Inventory(8, allocation_ratio=1.5)))
            for card in range(2):
                child = provider(f'{name}_{cell}_{card}', f'{name}_{cell}', name, VGPU=2)
                states.append(child)
    return states


def servers():
    found = []
    for number in range(3):
        for place in range(3):
            host, cell = f'host{number}', f'host{number}_{place % 2}'
            held = {host: {'MEMORY_MB': 8}, cell: {'VCPU': 3}, f'{cell}_0': {'VGPU': 1}}
            held['nfs'] = {'DISK_GB': 5}
            found.append(consumer(f'{host}-{place}', **held))
    return found


def test_rolling_through_nested_hosts_with_shared_storage(client):
    snapshot = real(cloud(nested(), servers()), 'nested')
    Database(client).fill(snapshot)
    rolling = roll(
        DrainCloud(snapshot), batches(DrainCloud(snapshot), DrainCloud(snapshot).hosts, 1)
    )
    assert rolling.verdict is DrainVerdict.YES
    assert len(rolling.order) == 4
    Nova(client).migrate(rolling.moves)


#: The way of a server off its host, by its state in Nova.
MOVED, OFFLOADED, STUCK = 'migrate', 'nova shelve-offload', ''
WAYS = {
    'active': MOVED, 'paused': MOVED, 'stopped': MOVED, 'shelved': OFFLOADED,
    **dict.fromkeys(('suspended', 'rescued', 'resized', 'error', 'building'), STUCK),
}  # fmt: skip


def test_servers_in_every_state_leave_as_nova_lets_them(client, placement, tmp_path):
    uuids = {state: str(uuid.uuid5(_NAMESPACE, state)) for state in WAYS}
    rooms = {'old': 16, 'new': len(WAYS) - 1}
    hosts = {name: resource_provider.create(client, f'states-{name}').uuid for name in rooms}
    for name, room in rooms.items():
        inventory.set_all(client, hosts[name], {'VCPU': {'total': room}}, 0)
    for server in uuids.values():
        held = {hosts['old']: {'VCPU': 1}}
        allocation.set(client, Consumer(server, held, 'p', 'u', None, 'INSTANCE'))
    flavor = {'original_name': 'm', 'vcpus': 1, 'ram': 0, 'disk': 0, 'extra_specs': {}}
    servers = [
        {
            'id': server, 'flavor': flavor, 'tenant_id': 'p', 'user_id': 'u', 'image': '',
            'OS-EXT-SRV-ATTR:hypervisor_hostname': 'states-old',
            'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': state,
        }
        for state, server in uuids.items()
    ]  # fmt: skip
    path = tmp_path / 'nova.json'
    path.write_text(json.dumps({'servers': servers}))

    result = placement(f'resource provider drain plan states-old -f json --requests {path}')

    assert result.status == 5, result.stderr
    rows = {row['server']: row for row in json.loads(result.stdout)}
    for state, way in WAYS.items():
        row = rows[uuids[state]]
        is_named = f'{uuids[state]} ' in result.stderr
        assert is_named == (way == STUCK), state
        assert (' migrate ' in row['command']) == (way == MOVED), state
        if way == OFFLOADED:
            assert (row['to'], row['command']) == ('', f'{way} {uuids[state]}')
            allocation.delete(client, uuids[state])
        else:
            # All that are left fit, as the shelved one needs no place.
            held = allocation.show(client, uuids[state]).value
            allocation.set(client, replace(held, allocations=row['allocations']))
    assert not allocation.list_of_provider(client, hosts['old']).value
