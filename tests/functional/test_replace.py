# SPDX-License-Identifier: Apache-2.0
"""Providers that are replaced, on the real service: whole, killed, planned and taken back."""

import json

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.nova import service
from tests.deadline import ends_within
from tests.functional import clouds
from tests.functional.clouds import content, disturbed, uuid_of, watched
from tests.functional.hosts import build, holder, provider
from tests.functional.killing import Killed, killed_at

REPLACE, NEW = 'resource provider replace compute0', uuid_of('the new one')
SERVER = holder(
    'server',
    {
        'compute0': {'VCPU': 2, 'MEMORY_MB': 512},
        'compute0_gpu1': {'VGPU': 1},
        'storage': {'DISK_GB': 10},
    },
)
UNTYPED_ALONE = holder('alone', {'compute0': {'VCPU': 1}}, kind=None)
UNTYPED = holder('untyped', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 3}}, kind=None)


def under(document, names):
    """A document with other texts in place of some: it tells nothing of the product's own means."""
    text = json.dumps(document)
    for old, new in names.items():
        text = text.replace(old, new)
    return ordered(json.loads(text))


def ordered(document):
    """What is there, in whatever order."""
    if isinstance(document, dict):
        return {key: ordered(item) for key, item in sorted(document.items())}
    if isinstance(document, list):
        return sorted(map(ordered, document), key=json.dumps)
    return document


def test_replace_moves_all_in_one_request(client, placement):
    build(client, SERVER, UNTYPED)
    before = content(clouds.captured(client))
    with watched(client) as requests:
        result = placement(f'{REPLACE} --uuid {NEW} --yes -f json')
    assert (result.status, result.stderr) == (0, '1 applied\n')
    writes = [(method, path.rpartition('/')[2]) for method, path in requests if method != 'GET']
    old = uuid_of('compute0')
    assert writes == [
        ('POST', 'reshaper'),  # the question whether it is allowed
        ('PUT', old),
        ('POST', 'resource_providers'),
        ('PUT', uuid_of('compute0_gpu0')),
        ('PUT', uuid_of('compute0_gpu1')),
        ('PUT', 'traits'),
        ('PUT', 'aggregates'),
        ('POST', 'reshaper'),
        ('PUT', 'aggregates'),  # who has read the old provider before cannot write it any more
        ('DELETE', old),
    ]
    assert ordered(content(clouds.captured(client))) == under(before, {old: NEW})
    rows = {(row['object'], row['change']): row for row in json.loads(result.stdout)}
    assert rows['compute0', 'create']['state'] == 'done'
    assert (f'compute0 ({old})', 'delete') in rows
    moved = rows[f'consumer {SERVER.uuid}', 'allocations']
    assert moved['after'] == {'compute0': {'VCPU': 2, 'MEMORY_MB': 512}}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('', 'the following arguments are required: --uuid or --with'),
        (f'--uuid {NEW} --with compute1', 'Give either --uuid or --with'),
        ('--uuid nova', "argument --uuid: 'nova' is not a UUID"),
        ('--with nobody', "No resource provider has the name or UUID 'nobody'"),
        (f'--uuid {NEW} --name compute1', f'The resource provider {uuid_of("compute1")} is called'),
        (f'--uuid {NEW} --name {"n" * 201}', 'is longer than 200 characters'),
        # That of a child is longer.
        (f'--uuid {NEW} --name {"n" * 197}', 'is longer than 200 characters'),
        (
            f'--uuid {NEW} --os-placement-api-version 1.36',
            'The move of children: Operation or argument is not supported',
        ),
    ],
)
def test_a_refused_replacement_changes_nothing(client, placement, options, message):
    build(client, SERVER, UNTYPED)
    before = content(clouds.captured(client))
    for end in ('--yes', '--dry-run'):
        result = placement(f'{REPLACE} {options} {end}')
        assert (result.status in (1, 2), message in result.stderr) == (True, True), result
    assert content(clouds.captured(client)) == before


LIVE = holder('live', {'compute1': {'VCPU': 3}, 'compute1_gpu1': {'VGPU': 1}})


def test_replace_joins_two_hosts_in_use_only_with_merge(client, placement):
    build(client, SERVER, LIVE)
    before = content(clouds.captured(client))
    command = f'{REPLACE} --with compute1 --name compute1 --yes'
    with watched(client) as requests:
        result = placement(command)
    assert (result.status, result.stderr) == (
        1,
        'compute1 is in use: 1 consumer with nothing on compute0 has allocations there, and its '
        'name is of another host. Check that both are the same host, then give --merge to join '
        'them\n',
    )
    assert {method for method, _ in requests} == {'GET'}
    assert content(clouds.captured(client)) == before
    assert placement(f'{command} --merge').status == 0
    after = clouds.captured(client)
    assert after.providers[uuid_of('compute1')].usages == {'VCPU': 5, 'MEMORY_MB': 512}


def node(uuid, state='up', name='compute0', host=None):
    service_ = {'service': {'host': host}} if host else {}
    return {'id': uuid, 'hypervisor_hostname': name, 'state': state, **service_}


OLD = uuid_of('compute0')


def _listed(monkeypatch, path, source, *nodes):
    """Options of a command that compares with these compute nodes."""
    path.write_text(json.dumps({'hypervisors': nodes}))
    monkeypatch.setattr(service, 'hypervisors', lambda client: list(nodes))
    return f'--hypervisors {path}' if source == 'file' else ''


@pytest.mark.parametrize(
    ('source', 'nodes', 'message'),
    [
        # nova-compute does not start with another UUID.
        ('nova', [node(OLD)], f'Nova has the compute node compute0 with the UUID {OLD}: '),
        ('file', [node(OLD, 'down')], f'Write {OLD} into its file compute_id'),
        # Two hosts that are up; one of them may be.
        (
            'file',
            [node(OLD, name='compute0.site-a'), node(NEW)],
            f'Nova has the compute node compute0.site-a with the UUID {OLD}, which is up: it is '
            'another host than compute0. If it is not, stop the nova-compute of compute0.site-a',
        ),
        ('file', [node(OLD, None, 'former'), node(NEW)], 'which may be up (the list has no state)'),
        # The UUID of another host, typed by mistake.
        (
            'file',
            [node(NEW, name='compute9')],
            f'Nova has the UUID {NEW} as compute9, not as compute0: check that both are the same '
            'host, then give --name compute9',
        ),
        # Each cell may have a host of one name.
        (
            'file',
            [node(OLD, 'down'), node(NEW)],
            f'Nova has two compute nodes called compute0, {OLD} and {NEW}: two hosts',
        ),
        (
            'file',
            [node(7), node(8)],
            'The IDs of the hypervisors are numbers, which do not tell hosts',
        ),
    ],
)
def test_replace_joins_no_two_hosts_of_nova(
    client, placement, tmp_path, monkeypatch, source, nodes, message
):
    build(client, SERVER)
    before = content(clouds.captured(client))
    listed = _listed(monkeypatch, tmp_path / 'hypervisors.json', source, *nodes)

    for option in ('--merge', f'--plan {tmp_path / "plan.json"}'):
        refused = placement(f'{REPLACE} --uuid {NEW} --yes {listed} {option}')
        assert (refused.status, refused.stdout) == (1, '')
        assert message in refused.stderr
    assert content(clouds.captured(client)) == before

    assert placement(f'{REPLACE} --uuid {NEW} --yes {listed} --compute-node-exists').status == 0


@pytest.mark.parametrize('nodes', [[], [node(uuid_of('other'), name='other')]])
def test_replace_merges_no_hosts_of_which_nova_knows_neither(
    client, placement, tmp_path, monkeypatch, nodes
):
    """It may be the Nova of another region: both hosts may be up."""
    build(client, SERVER, LIVE)
    before = content(clouds.captured(client))
    listed = _listed(monkeypatch, tmp_path / 'hypervisors.json', 'nova', *nodes)
    merging = f'{REPLACE} --with compute1 --name compute1 --merge --yes {listed}'
    refused = placement(merging)
    assert (refused.status, 'nothing shows that both are the same' in refused.stderr) == (1, True)
    assert content(clouds.captured(client)) == before
    assert placement(f'{merging} --compute-node-exists').status == 0


@pytest.mark.parametrize(
    ('source', 'nodes'),
    [
        ('nova', []),
        ('file', [node(NEW)]),
        ('nova', [node(OLD, 'down', 'former'), node(NEW)]),
        ('file', [node(OLD, 'down', host='former'), node(NEW, host='compute0')]),
    ],
)
def test_replace_goes_ahead_where_nova_has_the_new_host_alone(
    client, placement, tmp_path, monkeypatch, source, nodes
):
    build(client, SERVER)
    listed = _listed(monkeypatch, tmp_path / 'hypervisors.json', source, *nodes)

    assert placement(f'{REPLACE} --uuid {NEW} --yes {listed}').status == 0
    # All is done, whatever the list says.
    assert placement(f'{REPLACE} --uuid {NEW} --yes {listed}').status == 0


def test_replace_does_not_go_ahead_where_nova_cannot_be_asked(client, placement, monkeypatch):
    def refuse(client):
        raise service.ServiceRefusal('Forbidden (HTTP 403)')

    build(client, SERVER)
    monkeypatch.setattr(service, 'hypervisors', refuse)

    for option in ('', '--hypervisors nova'):
        result = placement(f'{REPLACE} --uuid {NEW} --dry-run {option}')
        assert (result.status, result.stderr) == (
            1,
            'Forbidden (HTTP 403). Give the list with --hypervisors FILE; --compute-node-exists '
            'goes on without it\n',
        )
    assert placement(f'{REPLACE} --uuid {NEW} --dry-run --compute-node-exists').status == 3


def test_replace_of_an_overcommitted_host_needs_a_plan(client, placement, tmp_path):
    """Without one, the limits that are lifted for a moment would be lost with a kill."""
    live = build(client)
    crowded = holder('crowded', {'compute0': {'VCPU': 3}})
    states = [
        replace(state, inventories={**state.inventories, 'VCPU': Inventory(2)})
        if state.name == 'compute0'
        else state
        for state in live.providers.values()
    ]
    clouds.emptied(client)
    clouds.load(client, Snapshot(states, [crowded]))
    before = content(clouds.captured(client))
    result = placement(f'{REPLACE} --uuid {NEW} --yes')
    assert (result.status, 'Write a plan with --plan FILE' in result.stderr) == (1, True)
    assert content(clouds.captured(client)) == before
    path = str(tmp_path / 'plan.json')
    assert placement(f'{REPLACE} --uuid {NEW} --plan {path}').status == 0
    for kill_at in (4, 0):
        with pytest.raises(Killed), killed_at(client, kill_at):
            placement(f'resource provider reshape apply {path} --yes')
    assert placement(f'resource provider reshape apply {path} --yes').status == 0
    after = content(clouds.captured(client))
    assert ordered(after) == under(before, {uuid_of('compute0'): NEW})


def test_replace_goes_on_when_nova_creates_the_new_host_meanwhile(client, placement):
    """nova-compute tries all the time; it may come first once the name is free."""
    build(client, SERVER)

    def make():
        resource_provider.create(client, 'compute0', uuid=NEW)

    with disturbed(client, 'POST', '/resource_providers', make):
        placement(f'{REPLACE} --uuid {NEW} --yes')
    assert placement(f'{REPLACE} --uuid {NEW} --yes').status == 0
    assert set(allocation.show(client, SERVER.uuid).value.allocations) == {
        NEW, uuid_of('compute0_gpu1'), uuid_of('storage'),
    }  # fmt: skip
    with pytest.raises(Exception, match='No resource provider'):
        resource_provider.show(client, uuid_of('compute0'))


def test_replace_checks_what_other_trees_grant_before_it_writes(client, placement):
    live = build(client, SERVER)
    clouds.emptied(client)
    states = [
        replace(state, inventories={'DISK_GB': Inventory(1000, step_size=100)})
        if state.name == 'storage'
        else state
        for state in live.providers.values()
    ]
    clouds.load(client, Snapshot(states, live.consumers.values()))
    before = content(clouds.captured(client))
    result = placement(f'{REPLACE} --uuid {NEW} --yes')
    assert result.status == 1
    assert f'would refuse 10 DISK_GB of {SERVER.uuid} on storage: min_unit' in result.stderr
    assert content(clouds.captured(client)) == before


@pytest.mark.parametrize('version', ['1.30', '1.39'])
def test_replace_of_a_host_without_children_works_from_1_30_on(client, placement, version):
    cloud = Snapshot([provider('compute0', {'VCPU': Inventory(8)})], [UNTYPED_ALONE])
    clouds.load(client, cloud)
    before = content(clouds.captured(client))
    assert placement(f'{REPLACE} --uuid {NEW} --yes', microversion=version).status == 0
    after = content(clouds.captured(client))
    assert ordered(after) == under(before, {uuid_of('compute0'): NEW})


def test_rollback_of_replace_leaves_a_host_with_a_new_consumer_alone(client, placement, tmp_path):
    """Otherwise its consumers would be on two providers, one of which has another name."""
    build(client, SERVER, UNTYPED)
    path = str(tmp_path / 'plan.json')
    assert placement(f'{REPLACE} --uuid {NEW} --plan {path}').status == 0
    assert placement(f'resource provider reshape apply {path} --yes').status == 0
    late = Consumer(uuid_of('late'), {NEW: {'VCPU': 1}}, 'p', 'u')
    allocation.set(client, late)
    before = content(clouds.captured(client))
    result = placement(f'resource provider reshape rollback {path} --yes')
    assert (result.status, 'left alone' in result.stdout) == (3, True)
    assert f'has allocations: consumer {late.uuid}' in result.stdout
    assert content(clouds.captured(client)) == before


@pytest.mark.parametrize('is_applied', [False, True])
def test_a_plan_of_replace_ends_when_others_move_a_child_to_another_host(
    client, placement, tmp_path, is_applied
):
    build(client, SERVER)
    before = clouds.captured(client)
    path, gpu = str(tmp_path / 'plan.json'), uuid_of('compute0_gpu1')
    assert placement(f'{REPLACE} --uuid {NEW} --plan {path}').status == 0
    if is_applied:
        assert placement(f'resource provider reshape apply {path} --yes').status == 0
    resource_provider.set(client, gpu, 'compute0_gpu1', parent_provider_uuid=uuid_of('compute1'))
    live = content(clouds.captured(client))
    for command in ('status', 'verify', 'apply --yes', 'rollback --yes'):
        verb, *options = command.split()
        with ends_within(60):
            result = placement('resource', 'provider', 'reshape', verb, path, *options)
        assert 'compute0_gpu1' in result.stdout, result
    if is_applied:
        # The rollback takes back all but the child, which is where the others have put it.
        state = before.providers[gpu]
        moved = replace(
            state.provider,
            parent_provider_uuid=uuid_of('compute1'),
            root_provider_uuid=uuid_of('compute1'),
        )
        others = {**before.providers, gpu: replace(state, provider=moved)}
        live = content(Snapshot(others.values(), before.consumers.values()))
    assert ordered(content(clouds.captured(client))) == ordered(live)


def test_replace_names_the_ports_that_name_the_bridge_of_before(client, placement, monkeypatch):
    """A renamed bridge: the bandwidth moves, and only Neutron knows which ports hold it."""
    egress = {'NET_BW_EGR_KILOBIT_PER_SEC': Inventory(10000)}
    agent, old, new = 'compute0:OVS agent', 'compute0:OVS agent:br-ex', 'compute0:OVS agent:br-new'
    states = [
        provider('compute0', {'VCPU': Inventory(8)}),
        provider(agent, {}, parent='compute0'),
        *(provider(name, egress, parent=agent, root='compute0') for name in (old, new)),
    ]
    server = holder('server', {'compute0': {'VCPU': 1}, old: {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}})
    clouds.load(client, Snapshot(states, [server]))

    def port(name, bridge):
        group = {'id': 'g', 'resources': {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}}
        return {
            'id': name, 'device_id': server.uuid, 'device_owner': 'compute:nova',
            'binding:host_id': 'compute0', 'resource_request': {'request_groups': [group]},
            'binding:profile': {'allocation': {'g': uuid_of(bridge)}},
        }  # fmt: skip

    monkeypatch.setattr(service, 'ports', lambda client: [port('left', old), port('right', new)])
    command = ['resource', 'provider', 'replace', old, '--with', uuid_of(new), '--name', new]

    result = placement(*command, '--yes')

    profile = json.dumps({'allocation': {'g': uuid_of(new)}})
    assert result.status == 0
    assert [line for line in result.stderr.splitlines() if line.startswith('Port')] == [
        f'Port left of server {server.uuid} names {uuid_of(old)} as its provider: live-migrate the '
        f"server, or tell Neutron: openstack port set --binding-profile '{profile}' left"
    ]
    held = allocation.show(client, server.uuid).value.allocations
    assert held[uuid_of(new)] == {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}
