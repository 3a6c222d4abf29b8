# SPDX-License-Identifier: Apache-2.0
"""Ports of Neutron, and the bandwidth that their servers hold."""

import pytest

from placementclient.model.network import NetworkAgent, Port, PortGroup, PortProfile, PortRequest
from placementclient.model.servers import Server, ServerMigration
from tests.unit.insight.audit.auditing import audited, findings, typed
from tests.unit.insight.clouds import consumer, provider

EGRESS = 'NET_BW_EGR_KILOBIT_PER_SEC'


def port(uuid='p', amount=1000, provider='bridge'):
    request = PortRequest(request_groups=(PortGroup('g', {EGRESS: amount}),))
    return Port(uuid, 's', request, PortProfile({'g': provider} if provider else None))


NETWORK = [
    provider('host', VCPU=8),
    provider('agent', 'host'),
    *(provider(name, 'agent', 'host', **{EGRESS: 10000}) for name in ('bridge', 'card')),
]


@pytest.mark.parametrize(
    ('ports', 'allocated', 'expected'),
    [
        ([port()], {'bridge': {EGRESS: 1000}}, {}),
        ([port(), port('q')], {'bridge': {EGRESS: 2000}}, {}),
        (
            [port(), port('q', provider='card')],
            {'bridge': {EGRESS: 1000}, 'card': {EGRESS: 1000}},
            {},
        ),
        # Neutron has not noted where; an older release, or it is being bound.
        ([port(provider=None)], {'bridge': {EGRESS: 1000}}, {}),
        (
            [port()],
            {'host': {'VCPU': 1}},
            {'ports': ['p'], 'asked': {EGRESS: 1000}, 'holds': {EGRESS: 0}},
        ),
        (
            [port(), port('q')],
            {'bridge': {EGRESS: 1000}},
            {'ports': ['p', 'q'], 'asked': {EGRESS: 2000}, 'holds': {EGRESS: 1000}},
        ),
        (
            [port()],
            {'card': {EGRESS: 1000}},
            {'ports': ['p'], 'noted_by_neutron': {'bridge': {EGRESS: 1000}}},
        ),
        # It holds nothing at all, or is no server any more.
        ([port()], {}, {}),
    ],
)
def test_audit_finds_ports_whose_resources_are_not_allocated(ports, allocated, expected):
    result = findings(NETWORK, [consumer('s', **allocated)] if allocated else [], ports=ports)
    assert [dict(finding.facts) for finding in result] == ([expected] if expected else [])
    for finding in result:
        assert (finding.kind, finding.subject, typed(finding)) == ('port-resources', 's', '')


@pytest.mark.parametrize('servers', [{'s': Server('s', 'host', task='migrating')}, None])
def test_audit_passes_over_ports_of_servers_that_move(servers):
    moving = [ServerMigration('s', 'running', 'm', 'other')]
    result = audited(NETWORK, [consumer('s', host={'VCPU': 1})], servers, moving, ports=[port()])
    assert (result.findings, len(result.passed_over)) == ([], 1)


OVN = [
    provider('host', VCPU=8),
    provider('host:OVN Controller agent', 'host'),
    provider(
        'host:OVN Controller agent:br-ex', 'host:OVN Controller agent', 'host', **{EGRESS: 1000}
    ),
]


@pytest.mark.parametrize('kind', ['OVN Controller agent', 'OVN Controller Gateway agent'])
def test_audit_compares_no_bandwidths_of_ovn(kind):
    result = audited(OVN, agents=[NetworkAgent(kind, 'host')])
    assert result.findings == []
    [reason] = result.left_out['agent-bandwidth']
    assert reason.startswith('no agent reports bandwidths, as those of OVN never do')


@pytest.mark.parametrize(
    ('agent', 'kinds'),
    [
        (NetworkAgent('OVN Controller agent', 'other'), ['agent-gone'] * 2),
        (NetworkAgent('DHCP agent', 'host'), ['agent-gone'] * 2),
        (NetworkAgent('DHCP agent', 'host', False), ['agent-bandwidth', *['agent-gone'] * 2]),
    ],
)
def test_audit_finds_providers_of_agents_that_are_gone(agent, kinds):
    assert [finding.kind for finding in findings(OVN, agents=[agent])] == kinds


def test_audit_compares_agents_in_a_cloud_without_their_providers():
    result = audited([provider('host')], agents=[NetworkAgent('DHCP agent', 'host')])
    assert 'agent-bandwidth' not in result.left_out
