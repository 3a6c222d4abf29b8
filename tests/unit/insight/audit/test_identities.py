"""Hosts under two identities: which is alive, and the command that joins them."""

import time

import pytest
from msgspec.structs import replace

from placementclient.model.aside import aside
from placementclient.model.services import ComputeService, Hypervisor, HypervisorService
from placementclient.model.snapshots import ProviderState
from tests.unit.insight.audit.auditing import PREFIX, audited, reason, typed
from tests.unit.insight.clouds import consumer, pool, provider

HELD = consumer('s', host={'VCPU': 2})
TWINS = [provider('host', VCPU=8), provider('host.x', VCPU=8)]


def node(uuid, name=None, **fields):
    """A compute node; its UUID is the name of its provider."""
    name = str(name or uuid)
    usual = {'node': name, 'id': uuid, 'type': 'QEMU', 'service': HypervisorService(name)}
    return Hypervisor(**usual | fields)


def service(host, *, is_up):
    return ComputeService(host, 'enabled', 'up' if is_up else 'down')


def findings(states, nodes, allocated=(), servers=None, services=None):
    """What these checks find, and the one that needs no list."""
    result = audited(states, allocated, servers, services=services, hypervisors=nodes)
    return [f for f in result.findings if f.kind in ('twin', 'renamed', 'doubled-host')]


def told(*args, **more):
    return [(finding.kind, finding.subject, typed(finding)) for finding in findings(*args, **more)]


def test_the_empty_one_of_two_twins_may_be_the_live_one():
    command = f'{PREFIX} replace host --with host.x --name host.x'
    (result,) = findings(TWINS, [node('host.x')], [HELD], {'s': 'host.x'})
    assert (result.kind, result.subject, typed(result)) == ('twin', 'host', command)
    assert result.facts == {
        'alive': 'host.x',
        'node': 'host.x',
        'dead': 'host',
        'consumers': {'host': 1, 'host.x': 0},
    }
    assert result.repair is None


def test_the_other_one_is_purged_where_it_is_dead():
    assert told(TWINS, [node('host')], [HELD], {'s': 'host'}) == [
        ('twin', 'host.x', f'{PREFIX} purge host.x')
    ]


def test_a_service_that_is_down_does_not_count():
    nodes = [node('host'), node('host.x')]
    assert told(TWINS, nodes, [HELD], {'s': 'host.x'}) == [('doubled-host', 'host', '')]
    services = [service('host', is_up=False), service('host.x', is_up=True)]
    assert told(TWINS, nodes, [HELD], {'s': 'host.x'}, services) == [
        ('twin', 'host', f'{PREFIX} replace host --with host.x --name host.x')
    ]


def test_a_command_that_is_not_safe_yet_says_so():
    (result,) = findings(TWINS, [node('host.x')], [HELD])
    assert (result.kind, typed(result)) == ('twin', '')
    assert reason(result) == (
        f'"{PREFIX} replace host --with host.x --name host.x" is not safe yet, as it is not known '
        'on which host Nova has the servers. Audit again with --servers first'
    )


def test_nothing_is_moved_from_where_nova_has_its_servers():
    message = (
        'Nova has servers on host: give nova-compute this name again, with host in its nova.conf'
    )
    (result,) = findings(TWINS, [node('host.x')], [HELD], {'s': 'host'})
    assert (result.kind, typed(result), reason(result).startswith(message)) == ('twin', '', True)
    assert reason(result).endswith(f': {PREFIX} replace host --with host.x --name host.x')


def test_two_of_which_none_is_known_to_be_alive_name_the_command_that_joins_them():
    (result,) = findings(TWINS, None, [HELD])
    assert (result.kind, typed(result)) == ('doubled-host', '')
    assert '"resource provider replace OTHER --with LIVE --name NAME"' in reason(result)


@pytest.mark.parametrize('allocated', [[], [HELD]])
def test_a_host_that_came_back_with_another_uuid(allocated):
    """nova-compute finds its name taken: it has no provider."""
    assert told([provider('host', VCPU=8)], [node('uuid', 'host')], allocated) == [
        ('renamed', 'host', f'{PREFIX} replace host --uuid uuid')
    ]


def test_a_host_that_came_back_with_another_uuid_and_name():
    assert told([provider('host', VCPU=8)], [node('uuid', 'host.x')], [HELD], {'s': 'host.x'}) == [
        ('renamed', 'host', f'{PREFIX} replace host --uuid uuid --name host.x')
    ]


def test_a_provider_with_another_name_than_its_hypervisor():
    (result,) = findings([provider('host')], [node('host', 'host.x')])
    assert (result.kind, result.subject, typed(result)) == ('renamed', 'host', '')
    assert reason(result) == (
        'stop nova-compute before, as it knows the provider by its name, and start it afterwards: '
        f'{PREFIX} set host --name host.x'
    )


def test_a_replacement_that_was_cut_off_goes_on():
    states = [provider('new', VCPU=8), provider('old', VCPU=8)]
    for number, name in enumerate(('host', aside('host', 'old'))):
        state = states[number]
        states[number] = ProviderState(replace(state.provider, name=name), state.inventories)
    allocated = [consumer('s', old={'VCPU': 2})]
    assert told(states, [node('new', 'host')], allocated) == [
        ('twin', 'host (old)', f"{PREFIX} replace 'host (old)' --with new --name host")
    ]


def test_servers_alone_tell_what_an_operator_has_to_confirm():
    states = [provider('former', VCPU=8), provider('host', VCPU=8)]
    allocated = [consumer('s', former={'VCPU': 2})]
    (result,) = findings(states, [node('host')], allocated, {'s': 'host'})
    assert (result.kind, result.subject, typed(result)) == ('twin', 'former', '')
    assert reason(result).startswith('only the hosts of its servers show that former is the same')
    # A migration of it, or a server of another host: then they tell nothing.
    both = [consumer('s', former={'VCPU': 2}, host={'VCPU': 2})]
    assert findings(states, [node('host')], both, {'s': 'host'}) == []
    assert findings(states, [node('host'), node('former')], allocated, {'s': 'host'}) == []
    two = [*allocated, consumer('t', former={'VCPU': 1})]
    assert findings(states, [node('host')], two, {'s': 'host', 't': 'elsewhere'}) == []


@pytest.mark.parametrize(
    ('states', 'nodes'),
    [
        ([provider('host'), provider('host2.x')], [node('host'), node('host2.x')]),
        ([provider('web.a'), provider('web.b')], [node('web.a')]),
        ([pool('storage'), provider('storage.x', aggregates=['shared'])], [node('storage.x')]),
        ([provider('node-1')], [node('other-uuid', 'node-1', type='ironic')]),
        ([provider('host')], []),
        ([provider('net:agent')], [node('compute')]),
    ],
)
def test_what_is_as_it_should_be(states, nodes):
    assert [finding for finding in findings(states, nodes) if finding.kind != 'doubled-host'] == []


def test_hypervisors_without_uuids_tell_nothing():
    left_out = audited(TWINS, hypervisors=[node(None, 'host')]).left_out
    message = ('the hypervisors have no UUIDs: list them at compute API 2.53 or above',)
    assert (left_out['twin'], left_out['renamed']) == (message, message)


@pytest.mark.slow
def test_ten_thousand_hosts_take_seconds():
    names = [f'host{number}' for number in range(10_000)]
    begun = time.process_time()
    assert findings([provider(name) for name in names], [node(name) for name in names]) == []
    assert time.process_time() - begun < 30
