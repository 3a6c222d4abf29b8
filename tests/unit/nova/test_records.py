# SPDX-License-Identifier: Apache-2.0
"""Lists of other services, in all the forms that they come in."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.model.catalog import COMPUTE_SERVICE
from placementclient.model.servers import (
    Flavor,
    HostAggregate,
    Server,
    ServerImage,
    ServerMigration,
    is_same_host,
)
from placementclient.model.services import ComputeService
from placementclient.nova import host_records, records


def server_details(document, path):
    return records.decode_server_details(document, path, {})


GPU = Flavor('gpu', 4, 8192, 20, 10, 512, False, {'resources:VGPU': '1'}, '1')
MIGRATION = ServerMigration('s', 'done', 'm', 'h1', 'h1.a', 'evacuation', 'h2', 'h2.a')
SERVICE = ComputeService('h', 'enabled', 'up', id='a-b')


@pytest.mark.parametrize(
    ('key', 'parse', 'record', 'expected'),
    [
        ('servers', records.decode_servers,
         {'ID': 'AB', 'Name': 'x', 'Status': 'ACTIVE', 'Host': 'h1', 'Properties': {}},
         {'ab': Server('ab', 'h1', status='ACTIVE', name='x')}),
        ('servers', records.decode_servers, {'id': 'ab', 'OS-EXT-SRV-ATTR:host': 'h1',
         'name': None},
         {'ab': Server('ab', 'h1')}),
        ('servers', records.decode_servers, {'UUID': 'ab', 'Hypervisor Hostname': 'h1'},
         {'ab': Server('ab', node='h1')}),
        ('servers', records.decode_servers,
         {'ID': 'a', 'Task State': 'spawning', 'Host': '', 'Flavor': 'm', 'Image': 'i'},
         {'a': Server('a', None, task='spawning')}),
        ('migrations', records.decode_migrations,
         {'Id': 7, 'UUID': 'm', 'Source Node': 'h1.a', 'Dest Node': 'h2.a', 'Source Compute': 'h1',
          'Dest Compute': 'h2', 'Dest Host': '10.0.0.2', 'Status': 'done', 'Server UUID': 's',
          'Old Flavor': 1, 'New Flavor': 1, 'Type': 'evacuation', 'Created At': ''},
         [MIGRATION]),
        ('migrations', records.decode_migrations,
         {'id': 7, 'uuid': 'm', 'source_node': 'h1.a', 'source_compute': 'h1', 'status': 'done',
          'instance_uuid': 's', 'migration_type': 'evacuation',
          'dest_compute': 'h2', 'dest_node': 'h2.a', 'updated_at': None},
         [MIGRATION]),
        # Of an old release, without a UUID.
        ('migrations', records.decode_migrations, {'Server UUID': 's', 'Status': 'Running'},
         [ServerMigration('s', 'running')]),
        ('flavors', records.decode_flavors,
         {'id': '1', 'name': 'gpu', 'vcpus': 4, 'ram': 8192, 'disk': 20, 'swap': 512,
          'OS-FLV-EXT-DATA:ephemeral': 10, 'os-flavor-access:is_public': False,
          'OS-FLV-DISABLED:disabled': False, 'rxtx_factor': 1.0, 'links': [],
          'extra_specs': {'resources:VGPU': '1'}},
         [GPU]),
        ('flavors', records.decode_flavors,
         {'ID': '1', 'Name': 'gpu', 'VCPUs': 4, 'RAM': 8192, 'Disk': 20, 'Swap': 512,
          'Ephemeral': 10, 'Is Public': False, 'RXTX Factor': 1.0,
          'Properties': {'resources:VGPU': 1}},
         [GPU]),
        ('flavors', records.decode_flavors,
         {'original_name': 'tiny', 'vcpus': 1, 'ram': 64, 'swap': '', 'extra_specs': {}},
         [Flavor('tiny', 1, 64)]),
        # As OpenStackClient prints the properties where it does not print JSON.
        ('flavors', records.decode_flavors,
         {'Name': 'gpu', 'VCPUs': 4, 'RAM': 8192, 'Properties': "a='1', trait:B='required'"},
         [Flavor('gpu', 4, 8192, extra_specs={'a': '1', 'trait:B': 'required'})]),
        ('aggregates', records.decode_aggregates,
         {'id': 1, 'uuid': 'A1', 'name': 'az', 'hosts': ['h1', 'h2'], 'metadata': {}},
         [HostAggregate('a1', 'az', ('h1', 'h2'))]),
        ('projects', records.decode_projects, {'ID': 'a', 'Name': 'Demo'}, {'a': 'Demo'}),
        ('users', records.decode_users, {'ID': 'a', 'Name': 'anna'}, {'a': 'anna'}),
        ('quotas', records.decode_quotas, {'Project ID': 'a', 'Cores': 20, 'Ram': -1,
         'Instances': 10},
         {'a': {'CPUS': 20, 'MEMORY_MB': -1}}),
        ('quotas', records.decode_quotas, {'id': 'a', 'cores': None}, {'a': {}}),
        ('services', host_records.decode_compute_services,
         {'id': 'a-b', 'binary': 'nova-compute', 'host': 'h', 'status': 'enabled', 'state': 'up',
          'forced_down': False, 'zone': 'nova', 'disabled_reason': None},
         [SERVICE]),
        ('registered_limits', host_records.decode_registered_limits,
         {'id': 'b', 'resource_name': 'class:VCPU', 'default_limit': 20, 'region_id': 'r'},
         ['class:VCPU']),
    ],
)  # fmt: skip
def test_records_are_read_in_every_form(key, parse, record, expected):
    for document in ([record], {key: [record], f'{key}_links': []}):
        assert parse(document, 'x.json') == expected


@pytest.mark.parametrize(
    ('name', 'other', 'same'),
    [
        ('h', 'h', True),
        ('h', 'h.a.b', True),
        ('h.a.b', 'h', True),
        ('h.a', 'h.b', False),
        ('h', 'h2', False),
        ('h', 'h2.a', False),
    ],
)
def test_short_and_full_names_are_one_host(name, other, same):
    assert is_same_host(name, other) is same


#: As ``GET /servers/detail`` has it at compute API 2.59.
DETAIL: dict[str, Any] = {
    'id': 'S1', 'tenant_id': 'p', 'user_id': 'u', 'status': 'ACTIVE', 'image': {'id': 'i'},
    'OS-EXT-SRV-ATTR:host': 'host1', 'OS-EXT-SRV-ATTR:hypervisor_hostname': 'host1.a',
    'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': 'active',
    'flavor': {'original_name': 'm', 'vcpus': 2, 'ram': 64, 'disk': 1, 'ephemeral': 0, 'swap': 0,
               'extra_specs': {'resources:VGPU': '1'}},
}  # fmt: skip
SMALL = Flavor('m', 2, 64, 1, extra_specs={'resources:VGPU': '1'})
DETAILED = Server(
    's1',
    'host1',
    'host1.a',
    None,
    'ACTIVE',
    flavor=SMALL,
    image=ServerImage('i'),
    vm_state='active',
    project_id='p',
    user_id='u',
)


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({}, {}),
        ({'image': ''}, {'image': None}),
        ({'OS-EXT-STS:task_state': 'migrating'}, {'task': 'migrating'}),
        ({'OS-EXT-SRV-ATTR:hypervisor_hostname': None}, {'node': None}),
        ({'flavor': {'id': '7'}}, {'flavor': Flavor('x', 1, 64, id='7')}),
        ({'flavor': {'id': '8'}}, {'flavor': None}),
        (
            {'OS-EXT-AZ:availability_zone': 'az1', 'image': {'id': 'i', 'properties': {'a': 1}}},
            {'zone': 'az1', 'image': ServerImage('i', {'a': '1'})},
        ),
        ({'pinned_availability_zone': None}, {'pinned_zone': None}),
        ({'pinned_availability_zone': 'az1'}, {'pinned_zone': 'az1'}),
        # The policy of the cloud may keep extra specs back.
        ({'flavor': {'vcpus': 2}}, {'flavor': None}),
    ],
)
def test_details_of_servers_are_read(changes, expected):
    listed = [{'id': '7', 'name': 'x', 'vcpus': 1, 'ram': 64, 'extra_specs': {}}]
    flavors = records.decode_flavors_by_id(listed, 'f.json')
    read = records.decode_server_details([DETAIL | changes], 's.json', flavors)
    assert read == [replace(DETAILED, **expected)]


@pytest.mark.parametrize('field', sorted(DETAIL.keys() - {'status', 'OS-EXT-SRV-ATTR:host'}))
def test_servers_without_a_deciding_field_are_refused(field):
    record = {name: value for name, value in DETAIL.items() if name != field}
    with pytest.raises(errors.BadFile):
        server_details([record], 's.json')


def test_a_server_has_only_the_details_that_its_list_has():
    changes = {'updated': '2026-11-02T09:00:00Z'}
    expected = replace(DETAILED, updated=changes['updated'])
    assert records.decode_servers([DETAIL | changes], 'x.json') == {'s1': expected}


def test_a_flavor_in_a_record_is_read_without_the_other_details():
    server = records.decode_servers([{'id': 's', 'flavor': DETAIL['flavor']}], 'x.json')['s']
    assert (server.flavor, server.is_detailed) == (SMALL, False)


@pytest.mark.parametrize(
    ('metadata', 'zone', 'projects'),
    [
        (None, None, ()),
        ({'availability_zone': 'north'}, 'north', ()),
        (
            {'filter_tenant_id': 'a, b', 'filter_tenant_id2': 'c', 'ssd': 'true'},
            None,
            ('a', 'b', 'c'),
        ),
    ],
)
def test_zone_and_projects_are_read_from_metadata_of_an_aggregate(metadata, zone, projects):
    [aggregate] = records.decode_aggregates([AGGREGATE | {'metadata': metadata}], 'x.json')
    assert (aggregate.zone, aggregate.project_ids) == (zone, projects)


HUGE = 10**400
SPECIFIED = {'name': 'a', 'vcpus': 1, 'ram': 1, 'extra_specs': {}}
AGGREGATE = {'uuid': 'A', 'name': 'n', 'hosts': ['h1']}
SHORT = {'id': 'a'}


@pytest.mark.parametrize(
    ('parse', 'record', 'reason'),
    [
        (records.decode_flavors, SPECIFIED | {'extra_specs': None},
         "flavors[0]: flavor 'a' has no extra"),
        (records.decode_flavors, SPECIFIED | {'extra_specs': 'a=b'},
         'flavors[0].extra_specs: expected o'),
        (records.decode_flavors, SPECIFIED | {'vcpus': 'x'}, 'flavors[0].vcpus: expected int'),
        (records.decode_flavors, SPECIFIED | {'ram': 2**31}, 'flavors[0].ram'),
        (records.decode_flavors, SPECIFIED | {'ram': -1}, 'flavors[0].ram: expected int >= 0'),
        (records.decode_flavors, SPECIFIED | {'extra_specs': {'a': [1]}},
         'flavors[0].extra_specs[...]'),
        (records.decode_quotas, SHORT | {'ram': -2}, 'quotas[0].ram'),
        (records.decode_servers, SHORT | {'Host': ['h']}, 'servers[0].host'),
        (records.decode_servers, {'id': 'a' * 256}, 'servers[0].uuid'),
        # A list of migrations.
        (records.decode_servers, {'Id': 1, 'UUID': 'ab', 'Server UUID': 'c', 'Status': 'x'},
         'servers[0]'),
        (records.decode_flavors, SPECIFIED | {'vcpus': '\ud800'}, 'flavors[0]: not UTF-8 text'),
        (records.decode_migrations, {'Server UUID': 'x'},
         'migrations[0]: object missing required field'),
        (records.decode_aggregates, AGGREGATE | {'hosts': [['h']]}, 'aggregates[0].hosts'),
        (server_details, DETAIL | {'OS-EXT-SRV-ATTR:hypervisor_hostname': ['h']}, 'servers[0].'),
        (server_details, DETAIL | {'flavor': 'm'}, 'servers[0]: its flavor is not one of GET /s'),
        (server_details, DETAIL | {'flavor': SPECIFIED | {'vcpus': HUGE}}, 'servers[0].flavor.'),
    ],
)  # fmt: skip
def test_a_wrong_record_is_an_error_with_its_position(parse, record, reason):
    with pytest.raises(errors.BadFile) as caught:
        parse([record], 'x.json')
    assert str(caught.value).startswith(f'x.json: {reason}')
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ('parse', 'one', 'changes', 'reason'),
    [
        (records.decode_servers, {'ID': 'A', 'Host': 'h'}, {'ID': 'a'},
         'servers[1]: a appears twice, first as'),
        (server_details, DETAIL, {'id': 's1'},
         'servers[1]: s1 appears twice, first as servers[0]'),
        (records.decode_migrations, {'uuid': 'M', 'Server UUID': 's', 'Status': 'done'},
         {'uuid': 'm', 'Status': 'error'}, 'migrations[1]: m appears twice'),
        # Either of the two, alone, says that the host of the other has to go.
        (records.decode_aggregates, AGGREGATE, {'uuid': 'a', 'hosts': ['h2']},
         'aggregates[1]: a appears twice'),
        (records.decode_flavors, SPECIFIED, {}, 'flavors[1]: a appears twice'),
        (records.decode_flavors, SPECIFIED | SHORT, {'name': 'b'}, 'flavors[1]: a appears twice'),
    ],
)  # fmt: skip
def test_a_record_that_appears_twice_is_an_error(parse, one, changes, reason):
    with pytest.raises(errors.BadFile) as caught:
        parse([one, one | changes], 'x.json')
    assert str(caught.value).startswith(f'x.json: {reason}')


def test_a_flavor_may_have_the_id_of_another_as_its_name():
    listed = [SPECIFIED | {'id': 'b'}, SPECIFIED | {'id': 'a', 'name': 'b'}]
    assert [flavor.name for flavor in records.decode_flavors(listed, 'x.json')] == ['a', 'b']


def test_migrations_without_uuids_of_an_old_release_are_no_duplicates():
    record = {'Server UUID': 's', 'Status': 'done'}
    assert len(records.decode_migrations([record, record], 'x.json')) == 2


@pytest.mark.parametrize(
    'state', [{'Status': 'SHELVED_OFFLOADED'}, {'OS-EXT-STS:vm_state': 'shelved_offloaded'}]
)
def test_a_shelved_server_has_no_host(state):
    for host, is_offloaded in ((None, True), ('', True), ('h', False)):
        record = {'ID': 'a', 'OS-EXT-SRV-ATTR:host': host, **state}
        assert records.decode_servers([record], 'x.json')['a'].is_offloaded == is_offloaded
    assert not records.decode_servers([{'ID': 'a', 'Status': 'SHELVED'}], 'x.json')[
        'a'
    ].is_offloaded


def test_flavors_whose_extra_specs_nova_hides_are_refused_with_the_reason():
    flavors = [SPECIFIED | {'extra_specs': None}]
    with pytest.raises(errors.BadFile, match="Nova hides the extra specs of flavor 'a' from your"):
        records.decode_flavors(flavors, COMPUTE_SERVICE)


@pytest.mark.parametrize(
    ('parse', 'page', 'marker'),
    [
        (records.decode_servers,
         {'servers': [], 'servers_links': [
             {'rel': 'next', 'href': 'http://nova/v2.1/servers/detail?limit=2&marker=b7'}]},
         'marker b7'),
        (records.decode_projects,
         {'projects': [],
          'links': {'self': 'http://keystone/v3/projects', 'previous': None,
                    'next': 'http://keystone/v3/projects?page=2'}},
         'http://keystone/v3/projects?page=2'),
        (host_records.decode_hypervisors,
         {'hypervisors': [], 'hypervisors_links': [
             {'rel': 'prev', 'href': 'http://nova/v2.1/os-hypervisors?marker=a'},
             {'rel': 'next', 'href': 'http://nova/v2.1/os-hypervisors?marker=h7'}]},
         'marker h7'),
        (host_records.decode_baremetal_nodes,
         {'nodes': [], 'next': 'http://ironic/v1/nodes?limit=1&marker=n7'}, 'marker n7'),
    ],
)  # fmt: skip
def test_one_page_of_a_list_is_refused_with_its_marker(parse, page, marker):
    with pytest.raises(errors.BadFile, match=r'^x\.json: only one page of the list of') as caught:
        parse(page, 'x.json')
    assert marker in str(caught.value)


@pytest.mark.parametrize('links', [{}, {'servers_links': []}, {'links': {'next': None}}])
def test_the_last_page_of_a_list_is_a_list(links):
    assert records.decode_servers({'servers': [], **links}, 'x.json') == {}


@pytest.mark.parametrize('links', [{'servers_links': 5}, {'servers_links': [5]}, {'links': [5]}])
def test_links_of_another_form_are_refused(links):
    with pytest.raises(
        errors.BadFile, match=r'^x\.json: a file of an unknown kind; expected: a list of servers'
    ):
        records.decode_servers({'servers': [], **links}, 'x.json')


@pytest.mark.parametrize(
    ('record', 'known'),
    [
        ({'Status': 'ACTIVE'}, (UNSET, UNSET)),
        ({'Host': None, 'Task State': 'None'}, (None, None)),
        ({'Host': 'h1', 'Task State': 'rebuilding'}, ('h1', 'rebuilding')),
    ],
)
def test_a_missing_field_of_a_server_is_never_null(record, known):
    server = records.decode_servers([{'ID': 's', **record}], 'x.json')['s']
    assert (server.host, server.task) == known


def test_a_record_with_two_values_of_a_field_is_refused():
    with pytest.raises(errors.BadFile, match=r'^x\.json: servers\[0\]: has two values of uuid'):
        records.decode_servers([{'id': 'a', 'uuid': 'b'}], 'x.json')


@pytest.mark.parametrize('document', [None, 5, {}, {'servers': 5}, [5], ['x']])
def test_a_document_that_is_no_list_is_refused_with_its_file(document):
    with pytest.raises(errors.BadFile, match='expected: a list of servers'):
        records.decode_servers(document, 'x')
    with pytest.raises(
        errors.BadFile, match=r'^x: plain text; expected: a list of servers\. To make one'
    ):
        records.decode_servers('web1 ACTIVE web2 ACTIVE', 'x')
