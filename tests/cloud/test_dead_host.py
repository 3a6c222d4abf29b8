# SPDX-License-Identifier: Apache-2.0
"""A host that dies, from the evacuation of its servers to its return as another one."""

import shlex
import uuid

import pytest
from keystoneauth1.exceptions.http import Conflict, InternalServerError

from tests.cloud import control, hosts, layout, processes, servers, settings
from tests.cloud.compute import until

FIRST, SECOND, DEAD = layout.HOSTS
IDENTITY = layout.state() / 'hosts' / DEAD / 'compute_id'


@pytest.fixture
def evacuated(compute):
    """Two servers that were evacuated from a host that stays dead."""
    hosts.settle(compute)
    uuids = compute.boot_all({'name': 'dead-0'}, {'name': 'dead-1'}, host=DEAD)
    hosts.kill(compute, DEAD)
    for server, host in zip(uuids, (FIRST, SECOND), strict=True):
        compute.act(server, 'evacuate', {'host': host})
    for server in uuids:
        compute.wait(server, 'SHUTOFF')
    servers.age()
    return uuids


def _node(compute):
    return compute.provider(DEAD)


def _audit(placement):
    """The faults of an audit by subject."""
    command = 'resource provider audit --servers nova --migrations nova -f json'
    rows = placement(command).json(0, 3)
    return {row['subject']: row['id'] for row in rows if row['severity'] != 'info'}


def _reinstall():
    """Start the dead host without what it had on its disk, its UUID too."""
    IDENTITY.unlink()
    IDENTITY.with_name('guests.json').unlink()
    processes.log(DEAD).unlink()
    control.compute(DEAD)


def test_a_service_that_is_deleted_takes_its_provider_away(compute, placement, evacuated):
    before = _node(compute)
    assert _audit(placement) == dict.fromkeys(evacuated, 'left-by-evacuation')

    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')

    # Nova frees what evacuated servers hold there, too.
    assert (_node(compute), _audit(placement)) == (None, {})
    _reinstall()
    until(lambda: DEAD in compute.mapped_hosts(), 'the host does not come back')
    assert _node(compute) not in (None, before)
    new = compute.boot('reborn', host=DEAD)
    assert list(compute.allocations(new)) == [_node(compute)]


def test_the_source_of_an_evacuation_frees_what_it_holds_once_it_is_back(
    compute, placement, evacuated
):
    hosts.revive(compute, DEAD)

    until(
        lambda: [len(compute.allocations(server)) for server in evacuated] == [1, 1],
        'servers are held twice',
    )

    assert _audit(placement) == {}


def _leak(compute, kind='UNKNOWN_TO_NOVA'):
    """Make a consumer on the dead host that Nova does not know."""
    leaked = str(uuid.uuid4())
    body = {
        'allocations': {_node(compute): {'resources': {'VCPU': 1}}},
        'project_id': 'demo',
        'user_id': 'alice',
        'consumer_generation': None,
        'consumer_type': kind,
    }
    compute.call('PUT', f'/allocations/{leaked}', body, service='placement')
    return leaked


@pytest.fixture
def leaked_on_source(compute, evacuated):
    """A consumer that Nova does not know, which keeps the provider of a host that came back."""
    before = _node(compute)
    leaked = _leak(compute)
    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')
    assert _node(compute) == before
    _reinstall()
    until(lambda: 'Conflicting resource provider name' in _log(), 'no conflict')
    assert _node(compute) == before
    return leaked


def test_a_host_under_another_uuid_after_a_purge(compute, placement, leaked_on_source):
    before = _node(compute)

    refused = placement(f'resource provider purge {DEAD} --yes -f json')
    freed = placement(f'resource provider purge {DEAD} --force --yes -f json')
    hosts.restart(compute, DEAD)

    assert (refused.status, freed.status) == (1, 0), (refused.stderr, freed.stderr)
    assert leaked_on_source in refused.stdout
    assert _node(compute) not in (None, before)
    assert _audit(placement) == {}


def test_a_host_under_another_uuid_after_its_provider_is_replaced(
    compute, placement, leaked_on_source
):
    identity = IDENTITY.read_text().strip()

    replaced = placement(f'resource provider replace {DEAD} --uuid {identity} --yes -f json')
    hosts.restart(compute, DEAD)

    assert replaced.status == 0, replaced.stderr
    assert _node(compute) == identity
    assert list(compute.allocations(leaked_on_source)) == [identity]
    new = compute.boot('reborn', host=DEAD)
    assert list(compute.allocations(new)) == [identity]


def _log():
    return processes.tail(DEAD, 200)


def test_audit_frees_what_evacuated_servers_hold_and_purge_takes_the_host_out(
    compute, placement, evacuated
):
    node = _node(compute)
    dry = placement(f'resource provider purge {DEAD} --migrations nova --dry-run -f json')
    fixed = placement(
        'resource provider audit --servers nova --migrations nova --id left-by-evacuation --fix '
        '--yes -f json'
    )

    assert dry.status == 3, dry.stderr
    assert fixed.status in (0, 3), fixed.stderr
    assert [len(compute.allocations(server)) for server in evacuated] == [1, 1]
    assert placement(f'resource provider purge {DEAD} --yes -f json').status == 0
    assert _node(compute) is None
    # Nova does not delete the service of a host without a provider: the pages do it before a purge.
    service = f'/os-services/{compute.service(DEAD)["id"]}'
    with pytest.raises(InternalServerError):
        compute.call('DELETE', service)
    placement(f'resource provider create {DEAD} --uuid {node} -f json').json()
    compute.call('DELETE', service)
    assert (_node(compute), compute.service(DEAD), _audit(placement)) == (None, None, {})


def test_a_removed_host_with_a_leak_is_found_and_goes_by_the_word_of_the_operator(
    compute, placement
):
    hosts.settle(compute)
    hosts.kill(compute, DEAD)
    leaked = _leak(compute, 'INSTANCE')
    # Nova keeps the provider for what is allocated there.
    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')
    found = {row['id']: row for row in _with_hosts(placement)}
    command = 'resource provider audit --fix --yes -f json --gone'
    refused = placement('resource provider audit --id orphan --fix --yes -f json').json(3)

    fixed = placement(f'{command} {leaked}')
    [emptied] = _with_hosts(placement)
    purged = placement(*shlex.split(emptied['command'].removeprefix('placement '))[:-1], '--yes')

    assert {id: row['subject'] for id, row in found.items()} == {
        'orphan': leaked,
        'provider-without-host': DEAD,
    }
    assert found['provider-without-host']['command'] == ''
    assert [row['fix'] for row in refused] == ['left to you']
    assert fixed.status in (0, 6), fixed.stderr
    assert compute.allocations(leaked) == {}
    assert (emptied['id'], emptied['subject']) == ('provider-without-host', DEAD)
    assert emptied['command'].endswith(f'purge {DEAD} --dry-run')
    assert purged.status == 0, purged.stderr
    assert _with_hosts(placement) == []


def test_a_host_that_was_purged_comes_back(compute, placement, evacuated):
    for server in evacuated:
        compute.delete(server)
    assert placement(f'resource provider purge {DEAD} --yes -f json').status == 0

    hosts.revive(compute, DEAD)

    until(lambda: _node(compute), 'no provider')
    assert _audit(placement) == {}


@pytest.fixture
def stopped(compute):
    """A server on a host whose ``compute_id`` is new, its provider, and the new UUID."""
    hosts.settle(compute)
    server = compute.boot('stays', host=DEAD)
    hosts.kill(compute, DEAD)
    node, new = _node(compute), str(uuid.uuid4())
    assert node is not None
    IDENTITY.write_text(new)
    processes.log(DEAD).unlink()
    control.compute(DEAD)
    until(lambda: 'Duplicate compute node record found for host' in _log(), 'it starts')
    until(lambda: not processes.pid(DEAD), 'it goes on')
    return server, node, new


def _refused(placement, node, new):
    refused = placement(f'resource provider replace {DEAD} --uuid {new} --yes')
    assert (refused.status, refused.stdout) == (1, '')
    assert f'Write {node} into its file compute_id, and replace nothing' in refused.stderr


def test_a_host_with_servers_gets_its_uuid_back_where_nova_has_its_compute_node(
    compute, placement, stopped
):
    server, node, new = stopped
    holdings = _holdings(compute, server)

    _refused(placement, node, new)
    assert _holdings(compute, server) == holdings
    IDENTITY.write_text(node)
    compute.update_service(DEAD, forced_down=False)
    hosts.launch(compute, DEAD)

    assert _holdings(compute, server) == holdings
    assert list(compute.allocations(compute.boot('next', host=DEAD))) == [node]
    assert _audit(placement) == {}


def test_a_host_with_another_uuid_starts_once_its_compute_node_is_deleted(
    compute, placement, stopped
):
    server, node, new = stopped
    service = f'/os-services/{compute.service(DEAD)["id"]}'

    _refused(placement, node, new)
    # Nova deletes no service of a host with servers.
    with pytest.raises(Conflict):
        compute.call('DELETE', service)
    compute.act(server, 'evacuate', {'host': FIRST}, 'SHUTOFF')
    compute.call('DELETE', service)
    # It takes the provider along.
    assert _node(compute) is None
    IDENTITY.with_name('guests.json').unlink()
    control.compute(DEAD)
    until(lambda: DEAD in compute.mapped_hosts(), 'the host does not come back')

    assert _node(compute) == new
    assert list(compute.allocations(compute.boot('next', host=DEAD))) == [new]
    servers.age()
    assert _audit(placement) == {}


#: Other names of the dead host: one that says nothing, and its full one.
OTHER, FULL = 'compute4', f'{DEAD}.example.com'


@pytest.fixture
def left(compute):
    """The server that stays on a dead host, and the one that was evacuated."""
    hosts.settle(compute)
    stays, gone = compute.boot_all({'name': 'stays'}, {'name': 'gone'}, host=DEAD)
    hosts.kill(compute, DEAD)
    compute.act(gone, 'evacuate', {'host': FIRST}, 'SHUTOFF')
    servers.age()
    return stays, gone


def _start_as(name):
    """Start the nova-compute of the dead host under another name."""
    ours = settings.compute(DEAD)
    settings.save(f'nova/{name}.conf', {**ours, 'DEFAULT': {**ours['DEFAULT'], 'host': name}})
    control.compute(name)


def _reinstall_as(compute, name):
    for path in (IDENTITY, IDENTITY.with_name('guests.json')):
        path.unlink()
    _start_as(name)
    until(lambda: name in compute.mapped_hosts(), f'{name} does not come up')


def _with_hosts(placement, *more):
    """What an audit of all lists of hosts and servers finds."""
    kinds = ('servers', 'migrations', 'services', 'hypervisors')
    lists = [word for kind in kinds for word in (f'--{kind}', 'nova')]
    rows = placement('resource', 'provider', 'audit', '-f', 'json', *lists, *more).json(0, 3)
    return [row for row in rows if row['severity'] != 'info']


def _holdings(compute, *consumers):
    return [compute.providers(), *(compute.allocations(consumer) for consumer in consumers)]


def test_nova_does_not_start_under_another_name_with_the_same_uuid(compute, placement, left):
    before, holdings = _with_hosts(placement), _holdings(compute, *left)

    _start_as(OTHER)
    until(lambda: not processes.pid(OTHER), 'it starts')

    assert 'refusing to start' in processes.tail(OTHER, 20)
    assert _with_hosts(placement) == before
    assert [row['id'] for row in before] == ['left-by-evacuation']
    assert _holdings(compute, *left) == holdings


@pytest.mark.parametrize(('name', 'faults'), [(OTHER, []), (FULL, ['twin'])])
def test_a_host_under_another_name_is_another_host(compute, placement, left, name, faults):
    stays, gone = left
    _reinstall_as(compute, name)
    rows = {row['id']: row for row in _with_hosts(placement)}
    holdings = _holdings(compute, stays, gone)

    _with_hosts(placement, '--id', 'twin', '--id', 'renamed', '--fix', '--yes')

    assert sorted(rows) == ['left-by-evacuation', *faults]
    assert rows['left-by-evacuation']['subject'] == gone
    # Nova has a server under the old name: what would move it is not to be run as it is.
    for twin in [rows[fault] for fault in faults]:
        assert (twin['subject'], twin['command']) == (DEAD, '')
        advice = f'Nova has servers on {DEAD}: give nova-compute this name again'
        assert twin['reason'].startswith(advice)
    assert _holdings(compute, stays, gone) == holdings


def test_a_host_under_another_name_gets_what_the_old_one_has(compute, placement, left):
    _reinstall_as(compute, OTHER)
    compute.act(left[0], 'evacuate', {'host': SECOND}, 'SHUTOFF')
    servers.age()
    _with_hosts(placement, '--id', 'left-by-evacuation', '--fix', '--yes')
    leaked = _leak(compute)

    replaced = placement(
        f'resource provider replace {DEAD} --with {OTHER} --name {OTHER} --yes -f json'
    )
    hosts.restart(compute, OTHER)

    assert replaced.status == 0, replaced.stderr
    names = {provider['uuid']: provider['name'] for provider in compute.providers()}
    assert sorted(names.values()) == [FIRST, SECOND, OTHER]
    providers = [list(compute.allocations(holder)) for holder in (*left, leaked)]
    assert [[names[uuid] for uuid in uuids] for uuids in providers] == [[SECOND], [FIRST], [OTHER]]
    new = compute.boot(OTHER, host=OTHER)
    assert list(compute.allocations(new)) == [IDENTITY.read_text().strip()]
    assert _with_hosts(placement) == []
