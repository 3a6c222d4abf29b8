# SPDX-License-Identifier: Apache-2.0
"""The requests of servers, from the lists of Nova."""

import pytest

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.knowledge import read_nova_facts
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.model.servers import Image
from placementclient.nova.images import Images
from placementclient.nova.server_request import RequestBuilder
from placementclient.nova.settings import Settings
from tests.unit.insight.clouds import cloud, consumer, detailed, host, provider


def two_hosts(*traits, servers=1):
    states = [
        host('old', 'CUSTOM_GPU', VCPU=8, MEMORY_MB=256),
        host('new', *traits, VCPU=8, MEMORY_MB=256),
    ]
    resources = {'VCPU': 2, 'MEMORY_MB': 64}
    return cloud(states, [consumer(f's{number}', old=resources) for number in range(servers)])


def plain(servers):
    """Images of servers that ask for nothing."""
    return Images({'i': Image()}, {server.uuid: Image() for server in servers})


def answer(snapshot, document, images=plain):
    knowledge, remarks = read_nova_facts(snapshot, document, 'x.json', images=images)
    return decide_drain(DrainCloud(snapshot, knowledge), ['old']), remarks


@pytest.mark.parametrize(
    ('specs', 'verdict'),
    [
        ({}, DrainVerdict.YES),
        ({'trait:CUSTOM_GPU': 'required'}, DrainVerdict.NO),
        ({'trait:CUSTOM_SSD': 'required'}, DrainVerdict.YES),
        ({'trait:CUSTOM_SSD': 'forbidden'}, DrainVerdict.NO),
    ],
)
def test_drain_uses_the_flavor_of_a_server(specs, verdict):
    decision, _ = answer(two_hosts('CUSTOM_SSD'), [detailed('s0', specs)])
    assert (decision.verdict, decision.lax) == (verdict, None)


@pytest.mark.parametrize(
    ('image', 'verdict'),
    [
        ({'trait:CUSTOM_GPU': 'required'}, DrainVerdict.NO),
        # Nova reads required traits of images, no forbidden ones.
        ({'trait:CUSTOM_SSD': 'forbidden'}, DrainVerdict.YES),
        ({'os_type': 'linux'}, DrainVerdict.YES),
        # Nova asks for PCPU then, or for more that is not known here.
        ({'hw_cpu_policy': 'dedicated'}, DrainVerdict.DEPENDS),
    ],
)
def test_drain_uses_the_image_of_a_server(image, verdict):
    known = Images({'i': Image(image)}, {'s0': Image(image)})
    for record in (detailed('s0'), detailed('s0', image='')):
        decision, remarks = answer(two_hosts('CUSTOM_SSD'), [record], lambda _: known)
        assert decision.verdict is verdict
        assert not any('image' in line for line in remarks)


@pytest.mark.parametrize('image', [{'id': 'i'}, {'id': 'i', 'properties': {}}, ''])
@pytest.mark.parametrize(
    ('traits', 'verdict'), [((), DrainVerdict.DEPENDS), (('CUSTOM_GPU',), DrainVerdict.YES)]
)
def test_a_server_whose_image_is_not_known_needs_a_host_like_its_old_one(image, traits, verdict):
    record = detailed('s0', image=image)
    decision, remarks = answer(two_hosts(*traits), [record], lambda _: Images())
    assert decision.verdict is verdict
    part = {'': 'image of the root volume (volumes not given)'}.get(
        str(image), ('traits of ' if len(image) == 2 else '') + 'image i (images not given)'
    )
    assert remarks[0] == (
        f'The images of 1 server are not known: {part}. Without --images, a new host needs all '
        'traits and aggregates of the old one'
    )


def test_a_server_with_allocations_outside_the_snapshot_stays():
    snapshot = two_hosts()
    elsewhere = consumer('s1', old={'VCPU': 2}, elsewhere={'MEMORY_MB': 64})
    snapshot = cloud(snapshot.providers.values(), [*snapshot.consumers.values(), elsewhere])
    decision, _ = answer(snapshot, [detailed('s0'), detailed('s1')], lambda _: Images())
    assert [finding.subject for finding in decision.unsettled] == ['s1']


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'flavor': {'vcpus': 2}}, 'the flavor is not known'),
        (
            {'flavor': {'original_name': 'm', 'vcpus': 1, 'ram': 64, 'extra_specs': {}}},
            'they differ from the flavor',
        ),
        (
            {'flavor': {'original_name': 'm', 'vcpus': 2, 'ram': 64,
                        'extra_specs': {'hw:numa_nodes': '2'}}},
            'the flavor asks for devices or NUMA cells',
        ),
    ],
)  # fmt: skip
def test_drain_counts_only_allocations_of_servers_whose_request_is_not_known(changes, reason):
    decision, remarks = answer(two_hosts(), [detailed('s0') | changes])
    assert decision.verdict is DrainVerdict.DEPENDS
    assert remarks[0] == f'For 1 server (s0) only the allocations count: {reason}'


def test_a_server_with_devices_takes_the_place_of_devices():
    alias = '{"name": "gpu", "resource_class": "pgpu", "traits": "CUSTOM_A100"}'
    scheduling = RequestBuilder(Settings(True, pci_in_placement=True, aliases=(alias,)))
    resources = {'old': {'VCPU': 2, 'MEMORY_MB': 64}, 'old_gpu': {'PGPU': 1}}

    def verdict(*traits, settings):
        states = [
            host('old', VCPU=8, MEMORY_MB=256),
            provider('old_gpu', 'old', traits=['CUSTOM_A100'], PGPU=1),
            host('new', VCPU=8, MEMORY_MB=256),
            provider('new_gpu', 'new', traits=traits, PGPU=1),
        ]
        snapshot = cloud(states, [consumer('s0', **resources)])
        servers = [detailed('s0', {'pci_passthrough:alias': 'gpu:1'})]
        knowledge, _ = read_nova_facts(snapshot, servers, 'x.json', settings, plain)
        return decide_drain(DrainCloud(snapshot, knowledge), ['old']).verdict

    assert verdict('CUSTOM_A100', settings=scheduling) is DrainVerdict.YES
    assert verdict('CUSTOM_L40', settings=scheduling) is DrainVerdict.NO
    # Without the configuration of Nova nobody knows.
    assert verdict('CUSTOM_L40', settings=RequestBuilder()) is DrainVerdict.DEPENDS


@pytest.mark.parametrize(
    ('hosts', 'verdict'), [((), DrainVerdict.NO), (('CUSTOM_SSD',), DrainVerdict.YES)]
)
def test_drain_names_what_other_filters_decide(hosts, verdict):
    specs = {'capabilities:cpu_info:arch': 'x', 'trait:CUSTOM_SSD': 'required'}
    decision, remarks = answer(two_hosts(*hosts), [detailed('s0', specs, image='')])
    # What the flavor asks of Placement counts all the same.
    assert decision.verdict is verdict
    assert remarks[0] == (
        'Not counted: what the flavors of 1 server ask of capabilities and of the metadata of host '
        'aggregates'
    )


def test_drain_names_what_it_does_not_count():
    _, remarks = answer(two_hosts(), [detailed('s0')])
    sentence = 'Not in the file, so not counted: {}. A second --requests FILE can add a list'
    assert remarks == [sentence.format('aggregates, server_groups, migrations')]
    document = {'servers': [detailed('s0', image='')], 'aggregates': [], 'migrations': []}
    _, remarks = answer(two_hosts(), document)
    assert remarks == [sentence.format('server_groups')]
    assert answer(two_hosts(), document | {'server_groups': []})[1] == []


def zone(name, *hosts):
    return {
        'uuid': name, 'name': name, 'hosts': list(hosts), 'metadata': {'availability_zone': name}
    }  # fmt: skip


@pytest.mark.parametrize(
    ('aggregates', 'server', 'verdict'),
    [
        ([zone('az1', 'old', 'new')], 'az1', DrainVerdict.YES),
        ([zone('az1', 'old.example'), zone('az2', 'new')], 'az1', DrainVerdict.DEPENDS),
        ([zone('az1', 'old')], 'az1', DrainVerdict.DEPENDS),
        # Nova calls the zone of a host without one as its configuration says.
        ([zone('az1', 'else')], 'nova', DrainVerdict.YES),
        ([zone('az1', 'new')], 'nova', DrainVerdict.DEPENDS),
    ],
)
def test_drain_keeps_servers_in_their_zone(aggregates, server, verdict):
    record = detailed('s0') | {'OS-EXT-AZ:availability_zone': server}
    document = {'servers': [record], 'aggregates': aggregates}
    assert answer(two_hosts(), document)[0].verdict is verdict
    pinned = record | {'pinned_availability_zone': server}
    expected = DrainVerdict.YES if verdict is DrainVerdict.YES else DrainVerdict.NO
    document = {'servers': [pinned], 'aggregates': aggregates}
    assert answer(two_hosts(), document)[0].verdict is expected
    for free in (record | {'pinned_availability_zone': None}, detailed('s0')):
        document = {'servers': [free], 'aggregates': aggregates}
        assert answer(two_hosts(), document)[0].verdict is DrainVerdict.YES


@pytest.mark.parametrize(
    ('group', 'verdict'),
    [
        ({'policy': 'anti-affinity'}, DrainVerdict.NO),
        ({'policies': ['anti-affinity']}, DrainVerdict.NO),
        ({'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2}}, DrainVerdict.YES),
        ({'policy': 'soft-anti-affinity'}, DrainVerdict.YES),
        ({'policy': 'affinity'}, DrainVerdict.NO),
        ({'policy': 'soft-affinity'}, DrainVerdict.YES),
        ({'policy': 'affinity', 'members': ['s0', 'gone']}, DrainVerdict.YES),
    ],
)
def test_drain_keeps_the_policy_of_server_groups(group, verdict):
    document = {
        'servers': [detailed('s0'), detailed('s1')],
        'server_groups': [{'id': 'g', 'members': ['S0', 's1', 'gone'], **group}],
    }
    assert answer(two_hosts(servers=2), document)[0].verdict is verdict


@pytest.mark.parametrize(('most', 'verdict'), [(1, DrainVerdict.NO), (2, DrainVerdict.YES)])
def test_drain_counts_members_of_a_server_group_on_the_target(most, verdict):
    states = two_hosts().providers.values()
    resources = {'VCPU': 2, 'MEMORY_MB': 64}
    snapshot = cloud(states, [consumer('s0', old=resources), consumer('s1', new=resources)])
    group = {'id': 'g', 'policy': 'anti-affinity', 'members': ['s0', 's1']}
    group['rules'] = {'max_server_per_host': most}
    document = {'servers': [detailed('s0')], 'server_groups': [group]}
    assert answer(snapshot, document)[0].verdict is verdict
