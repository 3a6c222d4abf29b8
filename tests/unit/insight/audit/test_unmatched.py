# SPDX-License-Identifier: Apache-2.0
"""Hosts without a provider, and providers without a host."""

import pytest

from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    HypervisorService,
)
from tests.unit.insight.audit.auditing import PREFIX, audited, reason, typed
from tests.unit.insight.clouds import consumer, host, pool, provider

KINDS = ('provider-without-host', 'host-without-provider')


def node(uuid, name=None, **fields):
    """A compute node that is up; its UUID is the name of its provider."""
    usual = {'node': name or uuid, 'id': uuid, 'state': 'up', 'service': HypervisorService(uuid)}
    return Hypervisor(**usual | fields)


def unmatched(states, hypervisors, consumers=(), services=(), **lists):
    result = audited(states, consumers, services=services, hypervisors=hypervisors, **lists)
    return [finding for finding in result.findings if finding.kind in KINDS]


@pytest.mark.parametrize(
    'state',
    [
        host('gone'),
        provider('gone', traits=['OWNER_NOVA']),
        *(provider('gone', **{name: 8}) for name in ('VCPU', 'PCPU', 'MEMORY_MB')),
    ],
)
@pytest.mark.parametrize('is_used', [False, True])
def test_audit_finds_hosts_that_no_hypervisor_and_no_node_has(state, is_used):
    child = provider('card', 'gone', VGPU=4)
    users = [consumer('s', card={'VGPU': 1})] if is_used else []
    [finding] = unmatched([host('here'), state, child], [node('here')], users)
    assert (finding.kind, finding.subject) == ('provider-without-host', 'gone')
    assert finding.facts == {'uuid': 'gone', 'consumers': len(users)}
    assert typed(finding) == ('' if is_used else f'{PREFIX} purge gone --dry-run')
    assert ('another Nova that shares' in reason(finding)) == is_used


@pytest.mark.parametrize(
    'states',
    [
        [host('here')],
        # By its name, or by that of the bare metal node.
        [provider('other', VCPU=8, traits=['COMPUTE_NODE'])],
        [provider('metal', CUSTOM_GOLD=1, traits=['OWNER_NOVA'])],
        # Of other services: a pool, a root of Cyborg, a segment.
        [host('here'), pool('nfs', DISK_GB=1, VCPU=1), provider('fpga', FPGA=1)],
    ],
)
def test_audit_takes_no_provider_of_a_host_or_of_another_service_for_a_lost_one(states):
    nodes = [BaremetalNode('metal')]
    hypervisors = [node('here', state='down'), node('uuid', 'other', state='down')]
    assert unmatched(states, hypervisors, nodes=nodes) == []


def test_audit_does_not_miss_hosts_while_their_cell_is_down():
    services = [ComputeService('gone', 'unknown')]
    states, nodes = [host('here'), host('gone')], [node('here')]
    result = audited(states, services=services, hypervisors=nodes)
    [reason_] = result.left_out['provider-without-host']
    assert reason_.startswith('a cell of Nova does not answer')


@pytest.mark.parametrize('name', ['HOST', 'host.b', 'Host.A'])
def test_audit_names_hosts_whose_names_differ_in_case_or_domain(name):
    lost, alone = unmatched([host(name)], [node('uuid', 'host.a')])
    assert (lost.kind, lost.subject, lost.facts['likely']) == (KINDS[0], name, ['host.a'])
    assert reason(lost) == (
        'host.a may be the same host under another name: compare the UUIDs. If not: '
        f'{PREFIX} purge {name} --dry-run'
    )
    assert (alone.kind, alone.subject) == (KINDS[1], 'host.a')
    assert (alone.facts['likely'], typed(alone)) == ([name], '')


@pytest.mark.parametrize(
    ('fields', 'services', 'is_found'),
    [
        ({}, [], True),
        ({'state': None}, [ComputeService('new', state='up')], True),
        ({'state': None}, [], False),
        ({'state': 'down'}, [ComputeService('new', state='up')], False),
        # A node of Ironic has no provider before it has a class.
        ({'type': 'ironic'}, [], False),
    ],
)
def test_audit_finds_hosts_that_are_up_without_a_provider(fields, services, is_found):
    nodes = [node('here'), node('new', **fields)]
    found = unmatched([host('here')], nodes, services=services)
    assert [(f.kind, f.subject) for f in found] == [('host-without-provider', 'new')] * is_found
    for finding in found:
        assert finding.facts == {'uuid': 'new', 'host': 'new'}
        assert 'see its log' in reason(finding)


def test_a_compute_service_alone_proves_no_host():
    services = [ComputeService('ironic-compute', state='up')]
    assert unmatched([host('here')], [node('here')], services=services) == []


@pytest.mark.parametrize('state', ['up', 'down'])
def test_audit_tells_hosts_of_one_name_in_two_cells_apart(state):
    twin = node('second', 'here', service=HypervisorService('here'))
    result = audited([host('here')], services=[], hypervisors=[node('here', state=state), twin])
    assert [(f.kind, f.subject) for f in result.findings] == [('host-without-provider', 'here')]
    [finding] = result.findings
    assert finding.facts == {'uuid': 'second', 'host': 'here', 'provider': 'here'}
    assert reason(finding).startswith('another host of this name has it')


def test_audit_reports_a_host_with_a_new_uuid_once():
    result = audited([host('here')], services=[], hypervisors=[node('fresh', 'here')])
    assert [finding.kind for finding in result.findings] == ['renamed']


def test_hosts_whose_names_differ_in_case_alone_are_one_host():
    result = audited([host('compute1'), host('COMPUTE1')])
    [finding] = result.findings
    assert (finding.kind, finding.subject) == ('doubled-host', 'COMPUTE1')
    assert finding.facts['full_name'] == 'compute1'
