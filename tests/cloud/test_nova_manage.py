# SPDX-License-Identifier: Apache-2.0
"""heal, sync and audit beside what ``nova-manage placement`` does with the same states."""

import json
import re
import uuid
from pathlib import Path

import pytest

from tests.cloud import control, hosts, layout, servers

#: States in which a server holds nothing, as it should.
HOLDING_NOTHING = {'deleted', 'error', 'shelved_offloaded'}
FIRST, SECOND = layout.HOSTS[:2]


@pytest.fixture(scope='module')
def uuids(compute):
    hosts.settle(compute)
    return servers.in_all_states(compute)


@pytest.fixture
def restored(compute, uuids):
    """The allocations of all consumers, as they were before the test."""
    before = {consumer: _stored(compute, consumer) for consumer in compute.consumers()}
    yield
    for consumer in compute.consumers() - set(before):
        compute.call('DELETE', f'/allocations/{consumer}', service='placement')
    for consumer, allocation in before.items():
        _put(compute, consumer, allocation['allocations'], allocation)


def _stored(compute, consumer):
    return dict(compute.call('GET', f'/allocations/{consumer}', service='placement'))


def _put(compute, consumer, allocations, owner):
    body = {
        'allocations': {
            provider: {'resources': allocation['resources']}
            for provider, allocation in allocations.items()
        },
        'project_id': owner['project_id'],
        'user_id': owner['user_id'],
        'consumer_type': 'INSTANCE',
        'consumer_generation': _stored(compute, consumer).get('consumer_generation'),
    }
    compute.call('PUT', f'/allocations/{consumer}', body, service='placement')


def _emptied(compute, uuids):
    for server in uuids.values():
        compute.discard(f'/allocations/{server}', service='placement')


def _holdings(compute, uuids):
    records = {state: _stored(compute, server) for state, server in uuids.items()}
    return {
        state: (
            {on: allocation['resources'] for on, allocation in stored['allocations'].items()},
            stored.get('project_id'),
            stored.get('user_id'),
        )
        for state, stored in records.items()
    }


@pytest.mark.usefixtures('restored')
def test_heal_gives_each_server_what_nova_manage_gives_it(compute, placement, uuids):
    _emptied(compute, uuids)
    assert control.nova_manage('placement', 'heal_allocations', '--verbose').returncode == 0
    of_nova = _holdings(compute, uuids)
    types_of_nova = {_stored(compute, uuids[state]).get('consumer_type') for state in of_nova}
    _emptied(compute, uuids)

    rows = placement('resource provider allocation heal --yes -f json').json(0, 6)

    ours = _holdings(compute, uuids)
    # A resize that waits may be reverted: nova-manage books the new flavor all the same.
    waits = of_nova.pop('verify_resize'), ours.pop('verify_resize')
    assert [bool(allocations) for allocations, *_ in waits] == [True, False]
    assert ours == of_nova
    empty = {state for state, (allocations, *_) in ours.items() if not allocations}
    assert empty == HOLDING_NOTHING
    left = {row['object']: row['reason'] for row in rows if row['state'] == 'left alone'}
    assert left == {
        f'consumer {uuids["verify_resize"]}': 'a resize waits to be confirmed or reverted'
    }
    healed = {_stored(compute, uuids[state]).get('consumer_type') for state in ours}
    assert (types_of_nova, healed) == ({'unknown', None}, {'INSTANCE', None})


@pytest.mark.usefixtures('restored')
def test_a_second_heal_finds_nothing_and_neither_does_nova_manage(compute, placement, uuids):
    _emptied(
        compute, {state: server for state, server in uuids.items() if state != 'verify_resize'}
    )
    placement('resource provider allocation heal --yes -f json').json(0, 6)

    assert placement('resource provider allocation heal --dry-run -f json').status == 0
    # Exit status 4: there was nothing to heal.
    assert control.nova_manage('placement', 'heal_allocations', check=False).returncode == 4


@pytest.mark.usefixtures('restored')
def test_an_owner_of_an_allocation_is_healed_as_nova_manage_does(compute, placement, uuids):
    before = _holdings(compute, uuids)
    strangers = {'project_id': uuid.uuid4().hex, 'user_id': uuid.uuid4().hex}
    for state in ('active', 'stopped'):
        stored = _stored(compute, uuids[state])
        _put(compute, uuids[state], stored['allocations'], strangers)
    control.nova_manage('placement', 'heal_allocations', f'--instance={uuids["active"]}')

    server = uuids['stopped']
    placement(f'resource provider allocation heal --server {server} --yes -f json').json()

    assert _holdings(compute, uuids) == before


def test_the_type_of_a_consumer_is_harmless_to_nova(compute, placement, uuids):
    server = compute.boot('typed', host=SECOND)
    compute.call('DELETE', f'/allocations/{server}', service='placement')
    placement(f'resource provider allocation heal --server {server} --yes -f json').json()
    assert _stored(compute, server)['consumer_type'] == 'INSTANCE'

    compute.act(server, 'resize', {'flavorRef': 'medium'}, 'VERIFY_RESIZE')
    (migration,) = compute.migrations(instance_uuid=server)
    source = _stored(compute, migration['uuid'])
    compute.act(server, 'confirmResize', None, 'ACTIVE')
    moved = _stored(compute, server)
    compute.delete(server)

    assert source['allocations']
    assert [allocation['resources']['VCPU'] for allocation in moved['allocations'].values()] == [2]
    assert not _stored(compute, migration['uuid'])['allocations']
    assert not _stored(compute, server)['allocations']


@pytest.mark.usefixtures('restored')
def test_audit_finds_what_nova_manage_finds(compute, placement, uuids):
    providers = {provider['name']: provider['uuid'] for provider in compute.providers()}
    some = {'resources': {'VCPU': 1, 'MEMORY_MB': 64}}
    owner = _stored(compute, uuids['active'])
    confirmed = next(
        migration['uuid']
        for migration in compute.migrations(instance_uuid=uuids['resized'])
        if migration['status'] == 'confirmed'
    )
    planted = {uuid.uuid4().hex: FIRST, uuids['deleted']: FIRST, confirmed: SECOND}
    planted[uuids['shelved_offloaded']] = FIRST
    for consumer, host in planted.items():
        _put(compute, consumer, {providers[host]: some}, owner)
    # A server that holds something on a host that it is not on.
    doubled = _stored(compute, uuids['active'])['allocations'] | {providers[SECOND]: some}
    _put(compute, uuids['active'], doubled, owner)

    done = control.nova_manage('placement', 'audit', '--verbose', check=False)
    of_nova = set(
        re.findall(r'consumer UUID (\S+) on Resource Provider (\S+) can be deleted', done.stdout)
    )
    rows = placement('resource provider audit --servers nova --migrations nova -f json').json(3)

    audited = {
        (consumer, provider)
        for consumer, provider in of_nova
        for row in rows
        if consumer.replace('-', '') in row['subject'].replace('-', '')
    }
    assert done.returncode == 3
    assert audited == of_nova
    dead = providers[servers.DEAD]
    expected = {(consumer, providers[host]) for consumer, host in planted.items()}
    expected |= {(uuids['active'], providers[SECOND]), (uuids['evacuated'], dead)}
    plain = {(consumer.replace('-', ''), provider) for consumer, provider in of_nova}
    assert plain == {(consumer.replace('-', ''), provider) for consumer, provider in expected}


def test_audit_of_all_states_is_quiet_but_for_the_evacuated_server(compute, placement, uuids):
    rows = placement('resource provider audit --servers nova --migrations nova -f json').json(0, 3)

    assert {row['subject'] for row in rows if row['severity'] != 'info'} <= {uuids['evacuated']}


def test_sync_puts_hosts_where_nova_manage_puts_them(compute, placement):
    made = {'cloud-rack1': (FIRST, SECOND), 'cloud-rack2': (SECOND, servers.DEAD)}
    created = [compute.make_aggregate(name, *hosts)['id'] for name, hosts in made.items()]
    by_nova_itself = _aggregates(compute)
    _without_aggregates(compute)
    control.nova_manage('placement', 'sync_aggregates')
    by_nova_manage = _aggregates(compute)
    _without_aggregates(compute)

    placement('resource provider aggregate sync --yes -f json').json()

    assert _aggregates(compute) == by_nova_manage == by_nova_itself
    assert len(by_nova_manage[SECOND]) == 2
    assert placement('resource provider aggregate sync --dry-run').status == 0
    for aggregate in created:
        compute.remove_aggregate(aggregate)


def _aggregates(compute):
    return {
        provider['name']: set(
            compute.call(
                'GET', f'/resource_providers/{provider["uuid"]}/aggregates', service='placement'
            )['aggregates']
        )
        for provider in compute.providers()
    }


def _without_aggregates(compute):
    for provider in compute.providers():
        path = f'/resource_providers/{provider["uuid"]}/aggregates'
        body = {'aggregates': [], 'resource_provider_generation': provider['generation']}
        compute.call('PUT', path, body, service='placement')


BANDWIDTH = {'NET_BW_EGR_KILOBIT_PER_SEC': 1000, 'NET_BW_IGR_KILOBIT_PER_SEC': 2000}


@pytest.fixture
def wired(compute, placement, uuids):
    """The UUID of a NIC of a host, and of a port of a server there that Neutron has bound."""
    nic, port, group = (str(uuid.uuid4()) for _ in range(3))
    card = {
        'name': f'{FIRST}_nic',
        'uuid': nic,
        'inventories': {name: {'total': 10000} for name in BANDWIDTH},
        'traits': ['CUSTOM_PHYSNET_A'],
    }
    Path('nic.json').write_text(json.dumps({'name': FIRST, 'children': [card]}))
    placement('resource provider tree apply nic.json --yes -f json').json()
    request = {'id': group, 'required': ['CUSTOM_PHYSNET_A'], 'resources': BANDWIDTH}
    record = {
        'id': port,
        'device_id': uuids['active'],
        'device_owner': 'compute:nova',
        'binding:host_id': FIRST,
        'binding:profile': {},
        'resource_request': {'request_groups': [request], 'same_subtree': [group]},
    }
    control.PORTS.write_text(json.dumps([record]))
    yield nic, port
    control.PORTS.unlink()
    stored = _stored(compute, uuids['active'])
    stored['allocations'].pop(nic, None)
    _put(compute, uuids['active'], stored['allocations'], stored)
    compute.discard(f'/resource_providers/{nic}', service='placement')


def test_the_bandwidth_of_a_port_is_healed_as_nova_manage_does(compute, placement, uuids, wired):
    (nic, port), server = wired, uuids['active']
    before, unbound = compute.allocations(server), control.PORTS.read_text()
    control.nova_manage('placement', 'heal_allocations', f'--instance={server}')
    of_nova, noted = compute.allocations(server), control.PORTS.read_text()
    # Neutron knows the provider, and Placement does not: nova-manage finds nothing to heal.
    stored = _stored(compute, server)
    _put(compute, server, {on: stored['allocations'][on] for on in before}, stored)
    manage = control.nova_manage(
        'placement', 'heal_allocations', f'--instance={server}', check=False
    )
    heal = f'resource provider allocation heal --server {server} --ports neutron --yes -f json'
    by_note = placement(heal)
    healed = compute.allocations(server)
    # Nor does Neutron: one provider of the host can serve the port.
    stored = _stored(compute, server)
    _put(compute, server, {on: stored['allocations'][on] for on in before}, stored)
    control.PORTS.write_text(unbound)
    by_traits = placement(heal)

    assert of_nova == before | {nic: BANDWIDTH}
    assert nic in noted
    assert manage.returncode == 4
    assert (by_note.status, healed) == (0, of_nova), by_note.stderr
    assert (by_traits.status, compute.allocations(server)) == (0, of_nova), by_traits.stderr
    assert f'port {port}: Neutron does not record which provider serves it' in by_traits.stderr
