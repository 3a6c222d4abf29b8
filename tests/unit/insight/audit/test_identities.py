# SPDX-License-Identifier: Apache-2.0
"""Hosts under two identities: which is alive, and the command that joins them."""

import pytest
from msgspec.structs import replace

from placementclient.model.providers import make_temporary_name
from placementclient.model.services import ComputeService, Hypervisor, HypervisorService
from tests.unit.insight.audit.auditing import PREFIX, audited, reason, typed
from tests.unit.insight.clouds import consumer, pool, provider

SERVED = [consumer('s', host={'VCPU': 2})]
HOST = [provider('host', VCPU=8)]
TWINS = [*HOST, provider('host.x', VCPU=8)]
#: The live one has another UUID and another name than the one with the servers.
FORMER = [provider('former', VCPU=8), *HOST]
ON_FORMER = [consumer('s', former={'VCPU': 2})]
#: A replacement that was cut off.
ASIDE = [
    replace(state, provider=replace(state.provider, name=name))
    for state, name in (
        (provider('new', VCPU=8), 'host'),
        (provider('old', VCPU=8), make_temporary_name('host', 'old')),
    )
]
JOIN = f'{PREFIX} replace host --with host.x --name host.x'


def node(uuid, name=None, **fields):
    """A compute node; its UUID is the name of its provider."""
    name = str(name or uuid)
    usual = {'node': name, 'id': uuid, 'type': 'QEMU', 'service': HypervisorService(name)}
    return Hypervisor(**usual | fields)


def findings(states, nodes, consumers=(), servers=None, services=None):
    """What these checks find, and the one that needs no list."""
    result = audited(states, consumers, servers, services=services, hypervisors=nodes)
    return [f for f in result.findings if f.kind in ('twin', 'renamed', 'doubled-host')]


@pytest.mark.parametrize(
    ('cloud', 'expected'),
    [
        # The empty one of two twins may be the live one; else the other one is purged.
        ((TWINS, [node('host.x')], SERVED, {'s': 'host.x'}), ('twin', 'host', JOIN)),
        (
            (TWINS, [node('host')], SERVED, {'s': 'host'}),
            ('twin', 'host.x', f'{PREFIX} purge host.x'),
        ),
        # A service that is down does not count.
        (
            (TWINS, [node('host'), node('host.x')], SERVED, {'s': 'host.x'}),
            ('doubled-host', 'host', ''),
        ),
        (
            (
                TWINS, [node('host'), node('host.x')], SERVED, {'s': 'host.x'},
                [ComputeService('host', state='down'), ComputeService('host.x', state='up')],
            ),
            ('twin', 'host', JOIN),
        ),
        (
            (TWINS, [node('host', state='down'), node('host.x')], SERVED, {'s': 'host.x'}),
            ('twin', 'host', JOIN),
        ),
        # nova-compute finds its name taken: it has no provider.
        (
            (HOST, [node('uuid', 'host')]),
            ('renamed', 'host', f'{PREFIX} replace host --uuid uuid'),
        ),
        (
            (HOST, [node('uuid', 'host')], SERVED),
            ('renamed', 'host', f'{PREFIX} replace host --uuid uuid'),
        ),
        (
            (HOST, [node('uuid', 'host.x')], SERVED, {'s': 'host.x'}),
            ('renamed', 'host', f'{PREFIX} replace host --uuid uuid --name host.x'),
        ),
        (
            (ASIDE, [node('new', 'host')], [consumer('s', old={'VCPU': 2})]),
            ('twin', 'host (old)', f"{PREFIX} replace 'host (old)' --with new --name host"),
        ),
    ],
)  # fmt: skip
def test_audit_names_the_command_that_keeps_the_live_identity(cloud, expected):
    [finding] = findings(*cloud)
    assert (finding.kind, finding.subject, typed(finding)) == expected
    assert finding.repair is None


@pytest.mark.parametrize(
    ('cloud', 'kind', 'message'),
    [
        (
            (TWINS, [node('host.x')], SERVED), 'twin',
            'it is not known if Nova has servers on host: audit again with --servers. If it has '
            f'none: {JOIN}',
        ),
        (
            (TWINS, [node('host.x')], SERVED, {'s': 'host'}), 'twin',
            'Nova has servers on host: give nova-compute this name again, with host in its '
            f'nova.conf. If the new name is to stay: {JOIN}',
        ),
        (
            (HOST, [node('host', 'host.x')]), 'renamed',
            'stop nova-compute first, as it knows the provider by its name, and start it '
            f'afterwards: {PREFIX} set host --name host.x',
        ),
        (
            (FORMER, [node('host')], ON_FORMER, {'s': 'host'}), 'twin',
            'only the hosts of its servers show that former is the same host. If that is true: '
            f'{PREFIX} replace former --with host --name host',
        ),
    ],
)  # fmt: skip
def test_a_command_that_is_not_safe_yet_is_in_the_reason(cloud, kind, message):
    [finding] = findings(*cloud)
    assert (finding.kind, typed(finding), reason(finding)) == (kind, '', message)


#: The root that Cyborg makes for a host by its short name.
OF_CYBORG = [provider('host', FPGA=1), provider('host.x', VCPU=8)]
OF_NEUTRON = [provider('host'), provider('host:br', 'host', NET_BW_EGR_KILOBIT_PER_SEC=1), TWINS[1]]


@pytest.mark.parametrize(
    ('cloud', 'kind'),
    [
        ((OF_CYBORG, [node('host.x')], [consumer('s', host={'FPGA': 1})]), 'twin'),
        ((OF_CYBORG, [node('host.x')]), 'twin'),
        ((OF_NEUTRON, [node('host.x')]), 'twin'),
        ((OF_CYBORG, None), 'doubled-host'),
        ((OF_CYBORG[:1], [node('uuid', 'host.x')]), 'renamed'),
    ],
)
def test_no_advice_joins_a_host_with_a_provider_of_another_service(cloud, kind):
    [finding] = findings(*cloud)
    assert (finding.kind, finding.subject, typed(finding)) == (kind, 'host', '')
    assert finding.remedy is None
    assert reason(finding).startswith('it is a provider of another service, which calls this host')


def test_audit_prints_the_facts_of_both_identities():
    [finding] = findings(TWINS, [node('host.x')], SERVED, {'s': 'host.x'})
    assert finding.facts == {
        'alive': 'host.x', 'node': 'host.x', 'dead': 'host', 'consumers': {'host': 1, 'host.x': 0}
    }  # fmt: skip


@pytest.mark.parametrize(
    'cloud',
    [
        ([provider('host'), provider('host2.x')], [node('host'), node('host2.x')]),
        ([provider('web.a'), provider('web.b')], [node('web.a')]),
        ([pool('storage'), provider('storage.x', aggregates=['shared'])], [node('storage.x')]),
        ([provider('node-1')], [node('other-uuid', 'node-1', type='ironic')]),
        (HOST, []),
        ([provider('net:agent')], [node('compute')]),
        # A migration of a server, another node, or a server of another host tell nothing.
        (FORMER, [node('host')], [consumer('s', former={'V': 2}, host={'V': 2})], {'s': 'host'}),
        (FORMER, [node('host'), node('former')], ON_FORMER, {'s': 'host'}),
        (
            FORMER, [node('host')], [*ON_FORMER, consumer('t', former={'VCPU': 1})],
            {'s': 'host', 't': 'elsewhere'},
        ),
    ],
)  # fmt: skip
def test_audit_finds_nothing_where_each_host_has_one_identity(cloud):
    assert [f for f in findings(*cloud) if f.kind != 'doubled-host'] == []


def test_audit_skips_checks_of_identities_without_uuids_of_hypervisors():
    left_out = audited(TWINS, hypervisors=[node(None, 'host')]).left_out
    message = ('the hypervisors have no UUIDs: list them at compute API 2.53 or above',)
    assert (left_out['twin'], left_out['renamed']) == (message, message)
