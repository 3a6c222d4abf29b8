# SPDX-License-Identifier: Apache-2.0
"""Servers that hold nothing, or what belongs to somebody else."""

from collections import Counter

import pytest
from msgspec.structs import replace

from placementclient.insight.audit.cloud import CHANGED
from placementclient.model.consumers import Consumer
from placementclient.model.servers import Flavor, Server, ServerImage, ServerMigration
from tests.unit.insight.audit import auditing
from tests.unit.insight.audit.auditing import PREFIX, reason, typed
from tests.unit.insight.clouds import pool, provider

DETAILED = Server(
    's',
    'a',
    'a',
    None,
    'ACTIVE',
    flavor=Flavor('m', 4, 2048),
    image=ServerImage('i'),
    project_id='p',
    user_id='u',
)
HOSTS = [provider('a', VCPU=8, MEMORY_MB=4096), provider('b', VCPU=8)]
CONSUMER = Consumer('s', {'a': {'VCPU': 4, 'MEMORY_MB': 2048}}, 'p', 'u')
HEAL = 'openstack resource provider allocation heal --server s'


def audited(server, *allocated, states=HOSTS, **more):
    return auditing.audited(states, allocated, {'s': server}, **more)


def findings(server, *allocated, **more):
    return audited(server, *allocated, **more).findings


def detailed(**changes):
    return replace(DETAILED, **changes)


#: What a person does who has looked on the host.
BY_HAND = (
    '. If you know what it holds: openstack resource provider allocation set s --project-id p '
    '--user-id u --allocation rp=a,CLASS=AMOUNT'
)


@pytest.mark.parametrize(
    ('server', 'evidence', 'by_hand'),
    [
        (detailed(), {'host': 'a', 'should_hold': {'VCPU': 4, 'MEMORY_MB': 2048}}, ''),
        (
            detailed(flavor=Flavor('g', 1, 0, extra_specs={'resources:VGPU': '1'})),
            {'host': 'a', 'unknown': 'the lists do not say which VGPU it has'},
            f'the lists do not say which VGPU it has{BY_HAND}',
        ),
        (
            Server('s', 'a'),
            {'host': 'a', 'unknown': 'what it should hold: the list of servers has no flavors'},
            '',
        ),
    ],
)
@pytest.mark.parametrize('allocated', [(), (Consumer('s', {}),)])
def test_audit_finds_servers_without_allocations(server, evidence, by_hand, allocated):
    [result] = findings(server, *allocated)
    assert (result.kind, result.severity.value, result.subject) == (
        'without-allocations',
        'error',
        's',
    )
    assert (result.roots, result.facts) == (('a',), evidence)
    assert (typed(result), reason(result)) == ('' if by_hand else HEAL, by_hand)
    assert result.repair is None


def test_audit_names_a_host_of_a_server_that_placement_lacks():
    [result] = findings(detailed(host='z', node='z'))
    assert result.roots == ()
    assert result.facts == {'host': 'z', 'unknown': 'there is no resource provider z'}
    assert reason(result) == (
        'there is no resource provider z: nova-compute makes it at its start, so see its log'
    )


def test_audit_passes_over_servers_on_hosts_with_unlisted_usage():
    states = [replace(HOSTS[0], usages={'VCPU': 4})]
    for server in (detailed(), Server('s', 'a')):
        result = audited(server, states=states)
        assert [finding.kind for finding in result.findings] == ['unlisted-usage']
        assert Counter(result.passed_over.values()) == {'its host has usage without a consumer': 1}


def test_audit_finds_allocations_with_another_owner():
    [result] = findings(detailed(), replace(CONSUMER, project_id='other', user_id=None))
    assert (result.kind, result.severity.value) == ('foreign-owner', 'warning')
    assert result.facts == {
        'host': 'a',
        'project_id': 'other',
        'user_id': None,
        'owner': {'project_id': 'p', 'user_id': 'u'},
    }
    assert typed(result) == HEAL


@pytest.mark.parametrize(
    'server',
    [
        detailed(task='rebuilding'),
        detailed(status='VERIFY_RESIZE'),
        detailed(host=None, node=None),
        Server('s', 'a', task='spawning'),
        Server('s'),
    ],
)
def test_audit_passes_over_servers_that_move_or_are_on_no_host(server):
    assert not findings(server)
    if server.node:
        assert not findings(server, replace(CONSUMER, project_id='other'))


@pytest.mark.parametrize('server', [detailed(), Server('s', 'a')])
@pytest.mark.parametrize(
    ('allocated', 'count'),
    [
        ((), 1),
        ((replace(CONSUMER, allocations={'b': {'VCPU': 4, 'MEMORY_MB': 2048}}),), 1),
        ((CONSUMER,), 0),
    ],
)
def test_audit_counts_passed_over_servers_by_reason(server, allocated, count):
    """Those alone of whom something would be found."""
    result = audited(server, *allocated, unsettled=('s',))
    assert (result.findings, Counter(result.passed_over.values())) == (
        [],
        {CHANGED: 1} if count else {},
    )
    moving = ServerMigration('s', 'running', 'm', 'b')
    result = audited(server, *allocated, migrations=[moving])
    assert Counter(result.passed_over.values()) == ({'a migration is not over': 1} if count else {})
    ignored = ['without-allocations', 'wrong-host']
    assert not audited(server, *allocated, unsettled=('s',), ignored=ignored).passed_over


@pytest.mark.parametrize(
    ('server', 'hosts', 'result'),
    [
        (Server('s', 'b'), ['a'], True),
        (Server('s', 'b.example'), ['a'], True),
        (Server('s', 'a.example', 'a'), ['a'], False),
        (Server('s', 'b', 'a'), ['a'], False),
        (Server('s', 'b'), ['a', 'b'], False),
        (Server('s', 'b'), ['nfs'], False),
        (Server('s', 'b'), ['a', 'elsewhere'], False),
        # A driver may name hosts otherwise: only where Nova tells the node, that is one.
        (Server('s', 'rack7'), ['a'], False),
        (detailed(host='z', node='z'), ['a'], True),
        (Server('s'), ['a'], False),
        (Server('s', 'b', task='migrating'), ['a'], False),
    ],
)
def test_audit_finds_servers_with_all_allocations_on_another_host(server, hosts, result):
    allocated = Consumer('s', {name: {'VCPU': 4} for name in hosts}, 'p', 'u')
    faults = findings(server, allocated, states=[*HOSTS, pool('nfs')], migrations=[])
    wrong = [finding for finding in faults if finding.kind == 'wrong-host']
    assert len(wrong) == result
    for finding in wrong:
        assert finding.facts == {'host': server.host_names[0], 'holds': {'a': {'VCPU': 4}}}
        assert 'a' in finding.roots
        assert (typed(finding), finding.repair) == ('', None)
        assert 'allocation move' in reason(finding)


@pytest.mark.parametrize(
    ('changes', 'allocated', 'wrong'),
    [
        ({}, {'a': {'VCPU': 4, 'MEMORY_MB': 2048}}, {}),
        ({}, {'a': {'VCPU': 4, 'MEMORY_MB': 1024}}, {'MEMORY_MB': (1024, 2048)}),
        ({}, {'a': {'VCPU': 8, 'MEMORY_MB': 2048}}, {'VCPU': (8, 4)}),
        ({}, {'a': {'VCPU': 4}}, {'MEMORY_MB': (0, 2048)}),
        ({}, {'a': {'VCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 5}}, {'DISK_GB': (5, 0)}),
        # An image asks for dedicated CPUs, a port for bandwidth, an alias for a device.
        ({}, {'a': {'PCPU': 4, 'MEMORY_MB': 2048, 'NET_BW_EGR_KILOBIT_PER_SEC': 9}}, {}),
        ({}, {'a': {'VCPU': 4}, 'a_numa': {'MEMORY_MB': 2048, 'CUSTOM_PCI': 1}}, {}),
        (
            {'flavor': Flavor('m', 4, 2048, 20), 'image': None},
            {'a': {'VCPU': 4, 'MEMORY_MB': 2048}}, {},
        ),
        (
            {'flavor': Flavor('m', 4, 2048, 20)},
            {'a': {'VCPU': 4, 'MEMORY_MB': 2048}, 'nfs': {'DISK_GB': 20}}, {},
        ),
        (
            {'flavor': Flavor('m', 4, 2048, extra_specs={'resources:VGPU': '2'})},
            {'a': {'VCPU': 4, 'MEMORY_MB': 2048, 'VGPU': 1}}, {'VGPU': (1, 2)},
        ),
        ({'flavor': None}, {'a': {'VCPU': 1}}, {}),
    ],
)  # fmt: skip
def test_audit_finds_servers_with_other_amounts_than_their_flavor(changes, allocated, wrong):
    states = [*HOSTS, provider('a_numa', 'a'), pool('nfs')]
    result = audited(detailed(**changes), Consumer('s', allocated, 'p', 'u'), states=states)
    outcome = [finding for finding in result.findings if finding.kind != 'sharing-alone']
    assert [entry.kind for entry in outcome] == ['wrong-amount'] * bool(wrong)
    for entry in outcome:
        assert entry.facts == {
            'host': 'a',
            'holds': {name: amounts[0] for name, amounts in wrong.items()},
            'should_hold': {name: amounts[1] for name, amounts in wrong.items()},
        }
        # Nobody but Nova knows which card a server has.
        is_known = 'VGPU' not in wrong
        command = f'{PREFIX} allocation heal --server s --amounts' if is_known else ''
        assert (typed(entry), entry.repair, bool(reason(entry))) == (command, None, not is_known)
