# SPDX-License-Identifier: Apache-2.0
"""What may be freed: only what a record shows to be gone, or elsewhere."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from placementclient.insight.evidence import EvidenceJudge, NovaRecords, Verdict
from placementclient.model.servers import Flavor, Server, ServerImage, ServerMigration
from placementclient.model.services import BaremetalNode, Hypervisor, HypervisorService
from placementclient.placing.topology import Topology
from tests.unit.insight.clouds import cloud, consumer, pool, provider

EARLY, NOON, LATE = '2026-11-02T08:00:00', '2026-11-02T12:00:00', '2026-11-02T18:00:00'
TREES = [
    provider('a', aggregates=['x'], VCPU=8, MEMORY_MB=512),
    provider('a_gpu', 'a', VGPU=4),
    provider('b', aggregates=['y'], VCPU=8, MEMORY_MB=512),
    provider('b_gpu', 'b', VGPU=4),
    provider('b.example', FPGA=2, VCPU=8),
    provider('lost-pool', DISK_GB=100),
    pool('nfs', 'x', 'y', DISK_GB=100),
    pool('old-nfs', 'x', DISK_GB=100),
]
SETTLED = Server('s', 'b', 'b', None, 'ACTIVE', f'{NOON}Z', flavor=None)
MIGRATION = ServerMigration(
    's', 'completed', 'm', 'a', 'a', 'live-migration', 'b', 'b', EARLY, f'{NOON}.000000'
)
HOST, VM = {'VCPU': 2, 'MEMORY_MB': 64}, Flavor('m', 2, 64)
HYPERVISORS = [Hypervisor(name, name, service=HypervisorService(name)) for name in 'ab']


def judged(
    allocated, server=SETTLED, migrations=(MIGRATION,), *, holding=None, changed=NOON, **settings
):
    """Judge a consumer of servers s or migrations m."""
    mode = {key: settings.pop(key) for key in ('is_asked', 'is_presumed') if key in settings}
    topology = Topology(cloud(TREES, [allocated]))
    evidence = EvidenceJudge(topology, NovaRecords(migrations, **settings), **mode)
    return evidence.judge_consumer(allocated, holding or allocated, server, lambda _: changed)


BOTH = consumer('s', a=HOST, b=HOST)


def test_evidence_frees_what_a_settled_server_has_left():
    left = Verdict(('a',), proof='its server is on b now')
    assert judged(BOTH) == left
    assert judged(BOTH, hypervisors=HYPERVISORS) == left
    evacuation = replace(MIGRATION, type='evacuation', status='done')
    assert judged(BOTH, migrations=[evacuation]) == left


@pytest.mark.parametrize('flavor', [None, VM])
def test_evidence_frees_everything_of_a_deleted_server(flavor):
    deleted = Server('s', 'a', 'a', None, 'DELETED', flavor=flavor)
    assert judged(BOTH, deleted, changed=None).freed == ('a', 'b')
    # Ironic has not finished with its node.
    assert not judged(BOTH, deleted, nodes=[BaremetalNode('n', instance_uuid='s')]).freed


def test_evidence_frees_nothing_without_a_record():
    assert judged(BOTH, None).freed == ()
    assert judged(BOTH, None, is_asked=True).freed == ()


def test_evidence_frees_what_the_operator_says_to_be_gone_unless_its_migration_is_under_way():
    assert judged(BOTH, None, gone={'s'}).freed == ('a', 'b')
    running = replace(MIGRATION, status='running')
    assert not judged(consumer('m', a=HOST), None, [running], gone={'m'}).freed
    assert not judged(BOTH, replace(SETTLED, status='DELETED'), ignored={'s'}).freed


@pytest.mark.parametrize(
    'changes',
    [
        {'status': 'SOFT_DELETED'},
        {'status': 'UNKNOWN'},
        {'status': 'ERROR'},
        {'status': 'VERIFY_RESIZE'},
        {'status': 'MIGRATING'},
        {'status': 'RESIZE'},
        {'status': 'REBUILD'},
        {'status': 'ACTIVE', 'vm_state': 'resized'},
        {'status': None},
        {'task': 'unshelving'},
        {'task': UNSET},
        {'updated': None},
        {'updated': f'{EARLY}Z'},
        {'updated': 'yesterday'},
        {'status': 'SHELVED_OFFLOADED'},
        {'host': 'c', 'node': 'c'},
        {'host': None, 'node': None},
        {'host': 'b.example', 'node': 'b.example'},
        {'host': 'a', 'node': 'a'},
    ],
    ids=str,
)
def test_evidence_frees_nothing_of_a_server_that_is_not_settled_on_a_known_host(changes):
    assert judged(BOTH, replace(SETTLED, **changes)).freed == ()


@pytest.mark.parametrize('status', ['ACTIVE', 'SHUTOFF', 'PAUSED', 'SUSPENDED', 'SHELVED'])
def test_evidence_takes_these_statuses_for_settled(status):
    assert judged(BOTH, replace(SETTLED, status=status)).freed == ('a',)


def test_evidence_needs_no_times_of_a_record_that_nova_gave_just_now():
    asked = replace(SETTLED, updated=None)
    assert judged(BOTH, asked, is_asked=True).freed == ('a',)
    # A policy may hide the task, so that it is not known.
    assert judged(BOTH, replace(asked, task=UNSET), is_asked=True).freed == ()
    assert judged(BOTH, replace(asked, task=UNSET), is_presumed=True).freed == ('a',)


@pytest.mark.parametrize(
    'migrations',
    [
        None,
        [],
        [replace(MIGRATION, status='running')],
        [replace(MIGRATION, updated_at=f'{EARLY}.000000')],
        [replace(MIGRATION, updated_at=None, created_at=None)],
        [replace(MIGRATION, source_compute='c', source_node='c')],
        [replace(MIGRATION, dest_compute=None, dest_node=None)],
        # It came back, so that it has not left.
        [replace(MIGRATION, status='reverted')],
        [replace(MIGRATION, status='cancelled')],
        # Nova wrote this when the source came back, maybe after the server had moved there.
        [replace(MIGRATION, type='evacuation')],
        # Of two nobody knows which is the newer one.
        [MIGRATION, replace(MIGRATION, uuid='n')],
        [MIGRATION, replace(MIGRATION, uuid='n', created_at=None)],
        # A newer one ended elsewhere.
        [MIGRATION, replace(MIGRATION, uuid='n', dest_compute='c', dest_node='c', created_at=LATE)],
        [MIGRATION, replace(MIGRATION, uuid='n', status='accepted', created_at=LATE)],
    ],
)
def test_evidence_frees_nothing_unless_the_newest_migration_says_that_the_server_left(migrations):
    assert judged(BOTH, migrations=migrations).freed == ()


def test_evidence_blocks_nothing_by_a_failed_migration():
    """A failed one leaves the target full; an old one is followed by another."""
    back = replace(SETTLED, host='a', node='a')
    failed = replace(MIGRATION, status='error')
    assert judged(BOTH, back, [failed]).freed == ('b',)
    later = replace(MIGRATION, uuid='n', created_at=NOON)
    assert judged(BOTH, migrations=[failed, later]).freed == ('a',)


def test_evidence_frees_a_shelved_server_that_is_on_no_host():
    shelved = Server('s', None, None, None, 'SHELVED_OFFLOADED', f'{NOON}Z')
    assert judged(BOTH, shelved, changed=None).freed == ()
    assert judged(BOTH, shelved, []).freed == ('a', 'b')
    assert not judged(BOTH, replace(shelved, task='unshelving'), []).freed
    # The list does not say its host.
    assert not judged(BOTH, replace(shelved, host=UNSET, node=UNSET), []).freed
    assert not judged(BOTH, replace(shelved, updated=f'{EARLY}Z'), []).freed
    assert not judged(BOTH, shelved, [replace(MIGRATION, status='migrating')]).freed


@pytest.mark.parametrize(
    ('holds', 'flavor', 'freed', 'held'),
    [
        ({'a': HOST, 'b': {'VCPU': 1, 'MEMORY_MB': 64}}, None, (), {'a': {'VCPU': 2}}),
        ({'a': HOST, 'b': {'VCPU': 1, 'MEMORY_MB': 64}}, Flavor('s', 1, 64), ('a',), {}),
        ({'a': {'VCPU': 2}, 'b': {'PCPU': 2, 'MEMORY_MB': 64}}, None, ('a',), {}),
        ({'a_gpu': {'VGPU': 1}, 'b': HOST}, VM, (), {'a_gpu': {'VGPU': 1}}),
        ({'a_gpu': {'VGPU': 1}, 'b': HOST, 'b_gpu': {'VGPU': 1}}, VM, ('a_gpu',), {}),
        ({'b.example': {'FPGA': 1}, 'b': HOST}, None, (), {'b.example': {'FPGA': 1}}),
        ({'lost-pool': {'DISK_GB': 9}, 'b': HOST}, None, (), {'lost-pool': {'DISK_GB': 9}}),
        ({'old-nfs': {'DISK_GB': 9}, 'b': HOST}, None, (), {'old-nfs': {'DISK_GB': 9}}),
        ({'old-nfs': {'DISK_GB': 9}, 'nfs': {'DISK_GB': 9}, 'b': HOST}, None, ('old-nfs',), {}),
        ({'nfs': {'DISK_GB': 9}, 'b': HOST}, None, (), {}),
    ],
)
def test_evidence_frees_only_what_the_own_host_of_the_server_has_too(holds, flavor, freed, held):
    server = replace(SETTLED, flavor=flavor, image=ServerImage())
    verdict = judged(consumer('s', **holds), server)
    assert (verdict.freed, verdict.held) == (freed, held)


def test_a_root_under_the_short_name_is_not_the_host_of_a_server():
    """Another service has created the root of the short name."""
    allocated = consumer('s', **{'b': {'FPGA': 1}, 'b.example': HOST})
    for server in (
        SETTLED,
        replace(SETTLED, node='b.example'),
        replace(SETTLED, node=UNSET),
    ):
        for hypervisors in (None, [Hypervisor('b.example', 'b.example')]):
            assert judged(allocated, server, hypervisors=hypervisors).freed == ()


@pytest.mark.parametrize('status', ['completed', 'confirmed', 'error', 'failed', 'reverted'])
def test_evidence_frees_what_a_migration_holds_that_is_over(status):
    held = consumer('m', a=HOST)
    final = replace(MIGRATION, status=status)
    own = 'a' if status == 'reverted' else 'b'
    server = replace(SETTLED, host=own, node=own)
    settled = consumer('s', **{own: HOST})
    assert judged(held, server, [final], holding=settled).freed == ('a',)
    # Its server has less than that there, or may need it.
    assert not judged(held, server, [final], holding=consumer('s', **{own: {'VCPU': 2}})).freed
    for changes in ({'status': 'VERIFY_RESIZE'}, {'task': 'resize_reverting'}, {'updated': None}):
        unsettled = replace(server, **changes)
        assert not judged(held, unsettled, [final], holding=settled).freed
    running = replace(MIGRATION, uuid='n', status='running')
    assert not judged(held, server, [final, running], holding=settled).freed
    assert judged(held, replace(server, status='DELETED'), [final], holding=settled).freed
    assert not judged(held, None, [final], holding=settled).freed
