# SPDX-License-Identifier: Apache-2.0
"""Servers without allocations, healed in the real service."""

import json
import os
import shlex

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.nova import service as compute
from tests.functional.clouds import cloud, loaded, uuid_of

HEAL = ('resource', 'provider', 'allocation', 'heal')
FLAVOR = {
    'original_name': 'm', 'vcpus': 2, 'ram': 2048, 'disk': 20, 'ephemeral': 0, 'swap': 0,
    'extra_specs': {},
}  # fmt: skip
#: The hosts have no disk: their servers boot from volumes.
SERVER = {
    'tenant_id': uuid_of('project'), 'user_id': uuid_of('user'), 'image': '', 'flavor': FLAVOR,
    'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute0', 'OS-EXT-STS:task_state': None,
    'OS-EXT-STS:vm_state': 'active',
}  # fmt: skip
LOST, MOVING, BUSY, GPU, STRAY = map(uuid_of, ('lost', 'moving', 'busy', 'gpu', 'stray'))
SERVERS = [
    SERVER | {'id': uuid_of('server0.0')},
    SERVER | {'id': LOST},
    SERVER | {'id': MOVING},
    SERVER | {'id': BUSY, 'OS-EXT-STS:task_state': 'rebuilding'},
    SERVER | {'id': GPU, 'flavor': FLAVOR | {'extra_specs': {'resources:VGPU': '1'}}},
    SERVER | {'id': STRAY, 'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute9'},
]
MIGRATIONS = [{'uuid': uuid_of('m'), 'instance_uuid': MOVING, 'source_compute': 'compute1',
               'status': 'queued', 'migration_type': 'live-migration'}]  # fmt: skip
STATES = {
    MOVING: ('left alone', 'a migration is not over'),
    BUSY: ('left alone', 'it is under way: rebuilding'),
    GPU: ('not known', 'the lists do not say which VGPU it has'),
    STRAY: ('not known', 'there is no resource provider compute9'),
}


def states(result):
    """Return the state of each server, and the reason."""
    return {
        row['object'].removeprefix('consumer '): (row['state'], row['reason'])
        for row in json.loads(result.stdout)
    }


def file(folder, name, content):
    path = folder / name
    path.write_text(json.dumps(content))
    return str(path)


@pytest.fixture(params=['files', 'the compute service'])
def source(request, tmp_path, monkeypatch):
    """The options for what Nova says."""
    if request.param == 'files':
        servers = file(tmp_path, 's.json', {'servers': SERVERS})
        return ['--servers', servers, '--migrations', file(tmp_path, 'm.json', MIGRATIONS)]
    monkeypatch.setattr(compute, 'servers', lambda client: SERVERS)
    monkeypatch.setattr(compute, 'migrations', lambda client: MIGRATIONS)
    monkeypatch.setattr(compute, 'compute_services', lambda client: [])
    monkeypatch.setattr(compute, 'hypervisors', lambda client: [])
    # As it was listed: nothing has happened to a server since.
    monkeypatch.setattr(
        compute, 'read_server', lambda client, uuid: [s for s in SERVERS if s['id'] == uuid]
    )
    return []


def test_heal_gives_servers_without_allocations_theirs_once(placement, client, source):
    loaded(client, cloud())
    dry = placement(*HEAL, *source, '--dry-run', '-f', 'json')
    assert dry.status == 3
    assert states(dry) == {LOST: ('planned', '')} | STATES
    assert dry.stderr.endswith('snapshot restore FILE --missing --dry-run\n')
    assert not allocation.show(client, LOST).value.allocations

    done = placement(*HEAL, *source, '--yes', '-f', 'json')
    assert done.status == 6
    assert states(done) == {LOST: ('done', '')} | STATES
    healed = allocation.show(client, LOST).value
    assert healed.allocations == {uuid_of('compute0'): {'VCPU': 2, 'MEMORY_MB': 2048}}
    assert (healed.project_id, healed.user_id) == (uuid_of('project'), uuid_of('user'))
    assert healed.type == 'INSTANCE'
    assert states(placement(*HEAL, *source, '--dry-run', '-f', 'json')) == STATES


def test_heal_gives_nothing_to_a_server_that_a_list_has_as_deleted(placement, client, tmp_path):
    """Lists are joined, and the latest record of a server counts."""
    loaded(client, cloud())
    times = {'updated': '2026-11-02T08:00:00Z'}, {'updated': '2026-11-02T09:00:00Z'}
    living = SERVER | {'id': LOST, 'status': 'ACTIVE'} | times[0]
    deleted = living | {'status': 'DELETED', 'OS-EXT-STS:vm_state': 'deleted'} | times[1]
    lists = ('--servers', file(tmp_path, 'a.json', [living]))
    assert states(placement(*HEAL, *lists, '--dry-run', '-f', 'json')) == {LOST: ('planned', '')}
    lists += ('--servers', file(tmp_path, 'b.json', [deleted]))
    result = placement(*HEAL, *lists, '--dry-run', '-f', 'json')
    assert (result.status, states(result)) == (0, {})


def test_heal_takes_the_flavor_of_one_server_from_a_file(placement, client, tmp_path):
    loaded(client, cloud())
    servers = file(tmp_path, 's.json', [server | {'flavor': {'id': '7'}} for server in SERVERS])
    flavor = FLAVOR | {'id': '7', 'name': 'm', 'vcpus': 1}
    flavors = file(tmp_path, 'f.json', {'flavors': [flavor]})
    chosen = [*HEAL, '--servers', servers, '--server', LOST]
    unknown = placement(*chosen, '--dry-run', '-f', 'json')
    assert unknown.status == 3
    assert states(unknown)[LOST] == ('not known', 'its flavor with extra specs is not known')
    chosen += ['--flavors', flavors]
    assert placement(*chosen).status == 2, 'there is nobody to ask'
    done = placement(*chosen, '--yes', '-f', 'json')
    assert (done.status, states(done)) == (0, {LOST: ('done', '')})
    assert allocation.show(client, LOST).value.allocations[uuid_of('compute0')]['VCPU'] == 1
    assert json.loads(placement(*chosen, '--yes', '-f', 'json').stdout) == []


def test_heal_without_a_compute_service_asks_for_files(placement, client, tmp_path):
    refused = placement(*HEAL)
    assert (refused.status, refused.stderr) == (
        1,
        'Nova cannot be asked: there is no service catalog (auth type none or placement_direct)\n'
        'Next:\n  1. Make the list where nova answers: openstack server list --all-projects --long '
        '-f json > servers.json\n  2. Give the list: --servers servers.json\n',
    )
    servers = file(tmp_path, 's.json', [])
    unknown = placement(*HEAL, '--servers', servers, '--server', LOST)
    assert unknown.stderr.endswith(f'There is no server {LOST} in the list\n')


def test_heal_corrects_the_owner_of_allocations(placement, client, source):
    loaded(client, cloud())
    mine = allocation.show(client, uuid_of('server0.0')).value
    allocation.set(client, replace(mine, project_id='nobody'), replaces_owner=True)
    dry = placement(*HEAL, *source, '--server', mine.uuid, '--dry-run', '-f', 'json')
    [row] = json.loads(dry.stdout)
    assert (row['change'], row['before']['project_id']) == ('owner', 'nobody')
    assert (dry.status, states(dry)) == (3, {mine.uuid: ('planned', '')})
    done = placement(*HEAL, *source, '--server', mine.uuid, '--yes', '-f', 'json')
    assert (done.status, states(done)) == (0, {mine.uuid: ('done', '')})
    healed = allocation.show(client, mine.uuid).value
    assert (healed.project_id, healed.user_id) == (uuid_of('project'), uuid_of('user'))
    assert (healed.allocations, healed.type) == (mine.allocations, mine.type)
    again = placement(*HEAL, *source, '--server', mine.uuid, '--yes', '-f', 'json')
    assert (again.status, states(again)) == (0, {})


def test_heal_corrects_what_the_audit_finds(placement, client, tmp_path):
    """Each command that it prints, as it is printed; nothing is left that heal could mend."""
    loaded(client, cloud())
    mine = allocation.show(client, uuid_of('server0.0')).value
    allocation.set(client, replace(mine, user_id='nobody'), replaces_owner=True)
    lists = ['--servers', file(tmp_path, 's.json', SERVERS)]
    lists += ['--migrations', file(tmp_path, 'm.json', MIGRATIONS)]

    def audited():
        audit = placement('resource', 'provider', 'audit', *lists, '-f', 'json')
        ids = ('without-allocations', 'foreign-owner')
        return {row['subject']: row for row in json.loads(audit.stdout) if row['id'] in ids}

    first = audited()
    assert {uuid: row['evidence'].get('unknown', '') for uuid, row in first.items()} == {
        LOST: '', mine.uuid: '', GPU: STATES[GPU][1], STRAY: STATES[STRAY][1],
    }  # fmt: skip
    # No command where heal would know no more.
    assert {uuid for uuid, row in first.items() if not row['command']} == {GPU, STRAY}
    for command in filter(None, (row['command'] for row in first.values())):
        placement(*shlex.split(command)[1:], '--yes')
    assert audited().keys() == {GPU, STRAY}


def test_hosts_of_a_cell_that_is_down_are_named_with_the_exit_status(
    placement, client, monkeypatch
):
    loaded(client, cloud())
    down = {'host': 'compute7', 'binary': 'nova-compute', 'status': 'UNKNOWN'}
    lists = {'servers': [], 'migrations': [], 'hypervisors': [], 'compute_services': [down]}
    for name, records in lists.items():
        monkeypatch.setattr(compute, name, lambda client, records=records: records)

    result = placement(*HEAL, '--yes', '-f', 'json')

    reason = 'its cell does not answer Nova: its servers are in no list'
    assert (result.status, states(result)) == (1, {'compute7': ('not known', reason)})
    assert result.stderr.startswith('A cell of Nova does not answer: 1 host (compute7)')


@pytest.mark.parametrize('option', [[], ['--servers']])
@pytest.mark.parametrize(
    ('unusable', 'subject'),
    [('compute_services', 'the cells of Nova'), ('hypervisors', 'the hosts of Nova')],
)
def test_a_list_of_nova_that_cannot_be_used_is_named_with_the_exit_status(
    placement, client, tmp_path, monkeypatch, unusable, subject, option
):
    """Servers of cells that are down, and hosts of one name in two cells, would not be known."""
    loaded(client, cloud())
    healthy = SERVER | {'id': uuid_of('server0.0')}
    lists = {'servers': [healthy], 'migrations': [], 'compute_services': [], 'hypervisors': []}
    for name, records in (lists | {unusable: [{'maintenance': True}]}).items():
        monkeypatch.setattr(compute, name, lambda client, records=records: records)
    files = [*option, *(file(tmp_path, 's.json', [healthy]) for _ in option)]

    result = placement(*HEAL, *files, '--yes', '-f', 'json')

    [(state, reason)] = [states(result)[subject]]
    assert (result.status, state) == (1, 'not known'), result
    assert reason.startswith('Nova: ')


@pytest.mark.parametrize(
    'since',
    [
        None,
        {'OS-EXT-STS:task_state': 'deleting'},
        {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute9'},
    ],
)
def test_heal_gives_nothing_to_a_server_that_nova_has_deleted_or_moved_since_the_list(
    placement, client, monkeypatch, since
):
    """Nova removes the allocations of a server with the server: later ones would stay for ever."""
    loaded(client, cloud())
    monkeypatch.setattr(compute, 'servers', lambda client: [SERVER | {'id': LOST}])
    for name in ('migrations', 'hypervisors', 'compute_services'):
        monkeypatch.setattr(compute, name, lambda client: [])
    now = [] if since is None else [SERVER | {'id': LOST} | since]
    monkeypatch.setattr(compute, 'read_server', lambda client, uuid: now, raising=False)
    done = placement(*HEAL, '--yes', '-f', 'json')
    reason = 'Nova has deleted or changed the server since the list'
    assert (done.status, states(done)) == (1, {LOST: ('failed', reason)})
    assert not allocation.show(client, LOST).value.allocations


def test_heal_asks_nova_for_a_server_of_a_file_before_it_writes(
    placement, client, tmp_path, monkeypatch
):
    """The file is of last week, and one of the two servers was deleted since."""
    loaded(client, cloud())
    there, gone = SERVER | {'id': LOST}, SERVER | {'id': MOVING}
    monkeypatch.setattr(
        compute, 'read_server', lambda client, uuid: [there] if uuid == LOST else []
    )
    monkeypatch.setattr(compute, 'hypervisors', lambda client: [])
    monkeypatch.setattr(compute, 'compute_services', lambda client: [])
    servers = file(tmp_path, 's.json', [there | {'updated': '2020-01-01T00:00:00Z'}, gone])

    done = placement(*HEAL, '--servers', servers, '--yes', '-f', 'json')

    reason = 'Nova has deleted or changed the server since the list'
    assert (done.status, done.stderr.startswith('1 applied, 1 failed')) == (6, True), done
    assert states(done) == {LOST: ('done', ''), MOVING: ('failed', reason)}


def test_heal_says_that_a_list_is_old_where_nova_cannot_be_asked(placement, client, tmp_path):
    loaded(client, cloud())
    servers = file(tmp_path, 's.json', [SERVER | {'id': LOST}])
    fresh = placement(*HEAL, '--servers', servers, '--dry-run')
    os.utime(servers, (0, 0))
    old = placement(*HEAL, '--servers', servers, '--dry-run')
    assert (fresh.status, old.status, fresh.stdout) == (3, 3, old.stdout)
    assert 'older than' not in fresh.stderr
    told = 'The list is older than 10 minutes: a server that was deleted since gets allocations'
    assert told in old.stderr


def test_heal_gives_nothing_on_a_host_whose_name_two_cells_have(placement, client, monkeypatch):
    loaded(client, cloud())
    twins = [{'id': str(number), 'hypervisor_hostname': 'compute0'} for number in (1, 2)]
    for name, records in (
        *(('servers', [SERVER | {'id': LOST}]), ('migrations', [])),
        *(('compute_services', []), ('hypervisors', twins)),
    ):
        monkeypatch.setattr(compute, name, lambda client, records=records: records)
    done = placement(*HEAL, '--yes', '-f', 'json')
    reason = 'Nova has several hosts called compute0, in different cells'
    assert (done.status, states(done)) == (1, {LOST: ('not known', reason)})


RESIZED = SERVER | {'id': uuid_of('server0.0'), 'flavor': FLAVOR | {'vcpus': 3, 'ram': 512}}


def test_heal_sets_amounts_to_those_of_the_flavor(placement, client, source, tmp_path, monkeypatch):
    loaded(client, cloud())
    before = allocation.show(client, RESIZED['id']).value
    if source:
        source = ['--servers', file(tmp_path, 'one.json', [RESIZED])]
    else:
        monkeypatch.setattr(compute, 'servers', lambda client: [RESIZED])
        monkeypatch.setattr(compute, 'read_server', lambda client, uuid: [RESIZED])
    owned = ['--server', RESIZED['id']]
    assert placement(*HEAL, *source, *owned, '--yes').status == 0  # its owner
    assert placement(*HEAL, *source, *owned, '--dry-run').status == 0

    dry = placement(*HEAL, *source, '--amounts', '--dry-run', '-f', 'json')
    done = placement(*HEAL, *source, '--amounts', '--yes', '-f', 'json')

    [row] = json.loads(dry.stdout)
    assert (dry.status, row['change']) == (3, 'allocations')
    assert row['before'] == {'compute0': before.allocations[uuid_of('compute0')]}
    # The card is a device, which its flavor does not have.
    assert row['after'] == {'compute0': {'VCPU': 3, 'MEMORY_MB': 512, 'VGPU': 1}}
    assert (done.status, states(done)) == (0, {RESIZED['id']: ('done', '')})
    healed = allocation.show(client, RESIZED['id']).value
    assert healed.allocations == {uuid_of('compute0'): {'VCPU': 3, 'MEMORY_MB': 512, 'VGPU': 1}}
    assert placement(*HEAL, *source, '--amounts', '--dry-run').status == 0


def test_heal_of_amounts_needs_flavors_and_room(placement, client, tmp_path):
    loaded(client, cloud())
    without = RESIZED | {'flavor': {'id': 'm'}}
    refused = placement(*HEAL, '--amounts', '--servers', file(tmp_path, 'a.json', [without]))
    assert (refused.status, refused.stderr.startswith('--amounts needs the flavors')) == (1, True)
    huge = RESIZED | {'flavor': FLAVOR | {'vcpus': 4000, 'ram': 512}}
    command = [*HEAL, '--amounts', '--servers', file(tmp_path, 'b.json', [huge])]
    before = allocation.show(client, RESIZED['id']).value.allocations
    failed = placement(*command, '--yes', '-f', 'json')
    assert (failed.status, 'has no room' in failed.stdout) == (1, True)
    assert allocation.show(client, RESIZED['id']).value.allocations == before


def test_heal_gives_a_server_the_bandwidth_of_its_ports(placement, client, tmp_path):
    loaded(client, cloud())
    bandwidth = {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}
    nic = {'name': 'nic0', 'inventories': {'NET_BW_EGR_KILOBIT_PER_SEC': {'total': 9000}}}
    trees = file(tmp_path, 'trees.json', {'name': 'compute0', 'children': [nic]})
    placement('resource', 'provider', 'tree', 'apply', trees, '--yes')
    (nic_provider,) = resource_provider.list(client, name='nic0')
    port = {
        'id': uuid_of('port'), 'device_id': LOST, 'device_owner': 'compute:nova',
        'binding:host_id': 'compute0', 'binding:profile': {},
        'resource_request': {'request_groups': [{'id': 'g', 'resources': bandwidth}]},
    }  # fmt: skip
    heal = [*HEAL, '--servers', file(tmp_path, 's.json', SERVERS[:2]), '--yes', '-f', 'json']
    heal += ['--ports', file(tmp_path, 'p.json', {'ports': [port]})]

    first = placement(*heal)
    allocation.delete(client, LOST)
    port['binding:profile'] = {'allocation': {'g': nic_provider.uuid}}
    file(tmp_path, 'p.json', {'ports': [port]})
    second = placement(*heal)

    assert (first.status, second.status) == (0, 0), first.stderr + second.stderr
    assert 'Neutron does not record which provider serves it' in first.stderr
    assert 'Neutron' not in second.stderr
    assert allocation.show(client, LOST).value.allocations == {
        uuid_of('compute0'): {'VCPU': 2, 'MEMORY_MB': 2048},
        nic_provider.uuid: bandwidth,
    }
    assert states(placement(*heal)) == {}
