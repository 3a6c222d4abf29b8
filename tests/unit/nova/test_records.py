"""Lists of servers and migrations, in all the forms that they come in."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from placementclient.client import errors
from placementclient.model.servers import Flavor, HostAggregate, Server, ServerMigration, same_host
from placementclient.model.services import COMPUTE_SERVICE
from placementclient.nova import records


@pytest.mark.parametrize(
    'record',
    [
        {'ID': 'AB', 'Name': 'x', 'Status': 'ACTIVE', 'Host': 'h1', 'Properties': {}},
        {'id': 'ab', 'OS-EXT-SRV-ATTR:host': 'h1', 'name': None},
        {'UUID': 'ab', 'Hypervisor Hostname': 'h1'},
        {'id': 'ab', 'compute_host': 'h1'},
    ],
)
def test_a_server_in_any_form(record):
    for document in ([record], {'servers': [record]}):
        status = 'active' if 'Status' in record else None
        expected = Server('ab', ('h1',), status=status, name=record.get('Name'))
        assert records.servers(document, 'x.json') == {'ab': expected}


def test_half_of_a_character_is_refused():
    record = {'ID': 'ab', 'Status': 'ACTIVE', 'Host': 'h1', 'image': {'\ud800': 1}}
    with pytest.raises(errors.BadFile, match=r'x\.json: servers\[0\]: not UTF-8 text$'):
        records.servers([record], 'x.json')


def test_a_server_with_all_that_the_api_says():
    record = {
        'id': 'S', 'tenant_id': 'p', 'user_id': 'u', 'image': '', 'updated': '2026-11-02T09:00:00Z',
        'flavor': {'original_name': 'm', 'vcpus': 1, 'ram': 64, 'extra_specs': {}},
        'OS-EXT-SRV-ATTR:host': 'h', 'OS-EXT-SRV-ATTR:hypervisor_hostname': 'h.a',
        'OS-EXT-STS:task_state': 'rebuilding', 'OS-EXT-STS:vm_state': 'active',
    }  # fmt: skip
    found = records.servers([record], 'x.json')
    expected = Server(
        's',
        ('h', 'h.a'),
        'rebuilding',
        '2026-11-02T09:00:00Z',
        'active',
        is_detailed=True,
        node='h.a',
        flavor=Flavor('m', 1, 64),
        project_id='p',
        user_id='u',
        boots_from_volume=True,
    )
    assert found == {'s': expected}


@pytest.mark.parametrize('task', [None, 'None', 'spawning'])
def test_a_server_as_the_client_lists_it(task):
    record = {'ID': 'a', 'Task State': task, 'Host': 'h', 'Flavor': 'm', 'Image': 'i'}
    expected = Server('a', ('h',), 'spawning' if task == 'spawning' else None)
    assert records.servers([record], 'x.json') == {'a': expected}


@pytest.mark.parametrize('host', [None, '', 'None'])
def test_a_server_without_a_host(host):
    assert records.servers([{'ID': 'a', 'Host': host}], 'x.json') == {'a': Server('a')}


@pytest.mark.parametrize(
    'record',
    [
        {
            'Id': 7, 'UUID': 'm', 'Source Node': 'h1.a', 'Dest Node': 'h2.a',
            'Source Compute': 'h1', 'Dest Compute': 'h2', 'Dest Host': '10.0.0.2',
            'Status': 'done', 'Server UUID': 's', 'Old Flavor': 1, 'New Flavor': 1,
            'Type': 'evacuation', 'Created At': '', 'Updated At': '',
        },
        {
            'id': 7, 'uuid': 'm', 'source_node': 'h1.a', 'source_compute': 'h1', 'status': 'done',
            'instance_uuid': 's', 'migration_type': 'evacuation',
        },
    ],
)  # fmt: skip
def test_a_migration_in_any_form(record):
    for document in ([record], {'migrations': [record]}):
        assert records.migrations(document, 'x.json') == [
            ServerMigration('m', 's', ('h1', 'h1.a'), 'done', 'evacuation')
        ]


def test_a_migration_of_an_old_release_has_no_uuid():
    [found] = records.migrations([{'Server UUID': 's', 'Status': 'Running'}], 'x.json')
    assert found == ServerMigration(None, 's', (), 'running')


@pytest.mark.parametrize('document', [None, 5, 'x', {}, {'servers': 5}, [5], ['x']])
def test_what_is_no_list_is_told_with_its_file(document):
    with pytest.raises(errors.BadFile, match=r'x\.json: not a list of servers'):
        records.servers(document, 'x.json')


def test_what_lacks_a_column_is_told():
    with pytest.raises(errors.BadFile, match='missing required field id'):
        records.servers([{'Name': 'x'}], 'x.json')
    with pytest.raises(errors.BadFile, match='missing required field status'):
        records.migrations([{'Server UUID': 'x'}], 'x.json')


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
def test_names_of_one_host(name, other, same):
    assert same_host(name, other) is same


@pytest.mark.parametrize(
    'record',
    [
        {
            'id': '1', 'name': 'gpu', 'vcpus': 4, 'ram': 8192, 'disk': 20, 'swap': 512,
            'OS-FLV-EXT-DATA:ephemeral': 10, 'os-flavor-access:is_public': False,
            'OS-FLV-DISABLED:disabled': False, 'rxtx_factor': 1.0, 'links': [],
            'extra_specs': {'resources:VGPU': '1'},
        },
        {
            'ID': '1', 'Name': 'gpu', 'VCPUs': 4, 'RAM': 8192, 'Disk': 20, 'Swap': 512,
            'Ephemeral': 10, 'Is Public': False, 'RXTX Factor': 1.0,
            'Properties': {'resources:VGPU': 1},
        },
    ],
)  # fmt: skip
def test_a_flavor_in_any_form(record):
    expected = Flavor('gpu', 4, 8192, 20, 10, 512, False, {'resources:VGPU': '1'})
    for document in ([record], {'flavors': [record]}):
        assert records.flavors(document, 'x.json') == [expected]


def test_what_a_flavor_has_nothing_of():
    record = {'original_name': 'tiny', 'vcpus': 1, 'ram': 64, 'swap': '', 'extra_specs': {}}
    assert records.flavors([record], 'x.json') == [Flavor('tiny', 1, 64)]


SPECIFIED = {'name': 'a', 'vcpus': 1, 'ram': 1, 'extra_specs': {}}


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'extra_specs': None}, "flavor 'a' has no extra specs: list flavors with --long"),
        ({'extra_specs': "a='b'"}, "flavor 'a' has no extra specs"),
        ({'vcpus': 'x'}, r'flavors\[0\].vcpus: expected int'),
        ({'ram': -1}, r'flavors\[0\].ram: expected int >= 0'),
        ({'disk': [1]}, r'flavors\[0\].disk: .* got array'),
        ({'ram': None}, 'missing required field ram'),
        ({'name': None}, 'missing required field name'),
    ],
)
def test_what_is_no_flavor(changes, reason):
    with pytest.raises(errors.BadFile, match=reason):
        records.flavors([SPECIFIED | changes], 'x.json')


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
    ('host1', 'host1.a'),
    status='active',
    is_detailed=True,
    node='host1.a',
    flavor=SMALL,
    project_id='p',
    user_id='u',
)


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({}, {}),
        ({'image': ''}, {'boots_from_volume': True}),
        (
            {'OS-EXT-STS:task_state': 'migrating'},
            {'task': 'migrating'},
        ),
        (
            {'OS-EXT-STS:vm_state': 'resized'},
            {'status': 'resized'},
        ),
        (
            {'OS-EXT-SRV-ATTR:hypervisor_hostname': None},
            {'node': None, 'hosts': ('host1',)},
        ),
        ({'flavor': {'id': '7'}}, {'flavor': Flavor('x', 1, 64)}),
        ({'flavor': {'id': '8'}}, {'flavor': None}),
        (
            {'OS-EXT-AZ:availability_zone': 'az1', 'image': {'id': 'i', 'properties': {'a': 1}}},
            {'zone': 'az1', 'image_properties': {'a': '1'}},
        ),
        (
            {'pinned_availability_zone': None},
            {'is_pinned': False},
        ),
        (
            {'pinned_availability_zone': 'az1'},
            {'is_pinned': True},
        ),
        # The policy of the cloud may keep extra specs back.
        ({'flavor': {'vcpus': 2}}, {'flavor': None}),
    ],
)
def test_a_server_with_details(changes, expected):
    listed = [{'id': '7', 'name': 'x', 'vcpus': 1, 'ram': 64, 'extra_specs': {}}]
    flavors = records.flavors_by_id(listed, 'f.json')
    found = records.server_details([DETAIL | changes], 's.json', flavors)
    assert found == [replace(DETAILED, **expected)]


@pytest.mark.parametrize('field', sorted(DETAIL.keys() - {'status', 'OS-EXT-SRV-ATTR:host'}))
def test_what_is_not_told_is_not_taken_for_nothing(field):
    record = {name: value for name, value in DETAIL.items() if name != field}
    with pytest.raises(errors.BadFile):
        records.server_details([record], 's.json', {})


def test_what_openstackclient_lists_has_no_details():
    with pytest.raises(errors.BadFile, match='GET /servers/detail'):
        records.server_details([DETAIL | {'flavor': 'm'}], 's.json', {})


def test_host_aggregates():
    record = {'id': 1, 'uuid': 'A1', 'name': 'az', 'hosts': ['h1', 'h2'], 'metadata': {}}
    expected = [HostAggregate('a1', 'az', ('h1', 'h2'))]
    for document in ([record], {'aggregates': [record]}):
        assert records.aggregates(document, 'a.json') == expected
    for missing in ('uuid', 'name', 'hosts'):
        with pytest.raises(errors.BadFile):
            records.aggregates([{k: v for k, v in record.items() if k != missing}], 'a.json')


@pytest.mark.parametrize(
    ('parse', 'record'),
    [
        (records.flavors, {'ID': 'ab', 'Name': 'web1', 'Properties': {}, 'Flavor': 'small'}),
        (records.servers, {'Id': 1, 'UUID': 'ab', 'Server UUID': 'cd', 'Status': 'completed'}),
    ],
)
def test_a_list_is_not_taken_for_another(parse, record):
    with pytest.raises(errors.BadFile):
        parse([record], 'x.json')


@pytest.mark.parametrize(
    ('metadata', 'zone', 'projects'),
    [
        (None, None, ()),
        ({'availability_zone': 'north'}, 'north', ()),
        ({'filter_tenant_id': 'a, b', 'filter_tenant_id2': 'c', 'ssd': 'true'}, None,
         ('a', 'b', 'c')),
    ],
)  # fmt: skip
def test_what_the_metadata_of_an_aggregate_say(metadata, zone, projects):
    record = {'uuid': 'A', 'name': 'n', 'hosts': ['h'], 'metadata': metadata}
    [found] = records.aggregates({'aggregates': [record]}, 'x.json')
    assert (found.zone, found.project_ids) == (zone, projects)


def test_metadata_that_are_none_are_told():
    record = {'uuid': 'A', 'name': 'n', 'hosts': [], 'metadata': 'x'}
    with pytest.raises(errors.BadFile, match=r'aggregates\[0\]\.metadata: expected object'):
        records.aggregates([record], 'x.json')


def test_projects_in_any_form():
    for document in ([{'ID': 'a', 'Name': 'Demo'}], {'projects': [{'id': 'a', 'name': 'Demo'}]}):
        assert records.projects(document, 'x.json') == {'a': 'Demo'}
    with pytest.raises(errors.BadFile, match='not a list of projects'):
        records.projects({}, 'x.json')


@pytest.mark.parametrize(
    'record',
    [
        {'Project ID': 'a', 'Cores': 20, 'Ram': -1, 'Instances': 10},
        {'id': 'a', 'cores': 20, 'ram': -1, 'instances': 10},
    ],
)
def test_quotas_in_any_form(record):
    assert records.quotas([record], 'x.json') == {'a': {'CPUS': 20, 'MEMORY_MB': -1}}


def test_a_quota_that_is_not_told_is_not_guessed():
    assert records.quotas([{'id': 'a', 'cores': None}], 'x.json') == {'a': {}}


HUGE = 10**400


@pytest.mark.parametrize(
    ('parse', 'record', 'place'),
    [
        (records.flavors, SPECIFIED | {'vcpus': HUGE}, 'flavors[0].vcpus'),
        (records.flavors, SPECIFIED | {'swap': str(HUGE)}, 'flavors[0].swap'),
        (records.flavors, SPECIFIED | {'ram': 2**31}, 'flavors[0].ram'),
        (records.flavors, {'name': ['a'], 'extra_specs': {}}, 'flavors[0].name'),
        (records.flavors, SPECIFIED | {'extra_specs': {'a': [1]}}, 'flavors[0].extra_specs[...]'),
        (records.quotas, {'id': 'a', 'cores': HUGE}, 'quotas[0].cores'),
        (records.quotas, {'id': 'a', 'ram': [20]}, 'quotas[0].ram'),
        (records.quotas, {'id': 'a', 'ram': -2}, 'quotas[0].ram'),
        (records.projects, {'id': 'a', 'name': ['x']}, 'projects[0].name'),
        (records.servers, {'id': 'a', 'Host': ['h']}, 'servers[0].host'),
        (records.servers, {'id': 'a' * 256}, 'servers[0].id'),
        (records.migrations, {'Server UUID': 's', 'Status': ['done']}, 'migrations[0].status'),
        (records.aggregates, {'uuid': 'a', 'name': 'n', 'hosts': [['h']]}, 'aggregates[0].hosts'),
        (records.aggregates, {'uuid': 'a', 'name': 'n', 'hosts': 'h'}, 'aggregates[0].hosts'),
    ],
)
def test_a_value_of_another_type_is_told_with_its_place(parse, record, place):
    with pytest.raises(errors.BadFile) as caught:
        parse([record], 'x.json')
    assert str(caught.value).startswith(f'x.json: {place}')
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('OS-EXT-SRV-ATTR:hypervisor_hostname', ['host1']),
        ('OS-EXT-STS:task_state', ['migrating']),
        ('OS-EXT-STS:vm_state', {'a': 1}),
        ('tenant_id', ['p']),
        ('user_id', 5),
        ('image', ['i']),
        ('flavor', {'original_name': 'm', 'vcpus': HUGE, 'extra_specs': {}}),
    ],
)
def test_a_detail_of_another_type_is_told_with_its_place(field, value):
    with pytest.raises(errors.BadFile, match=r's\.json: servers\[0\]\.'):
        records.server_details([DETAIL | {field: value}], 's.json', {})


AGGREGATE = {'uuid': 'A', 'name': 'n', 'hosts': ['h1']}


@pytest.mark.parametrize(
    ('parse', 'one', 'other', 'said'),
    [
        (records.servers, {'ID': 'A'}, {'id': 'a'}, 'servers[1]: a is there twice, first as'),
        (records.servers, DETAIL, DETAIL, 'servers[1]: s1 is there twice'),
        (
            lambda document, path: records.server_details(document, path, {}),
            DETAIL,
            DETAIL | {'id': 's1'},
            'servers[1]: s1 is there twice, first as servers[0]',
        ),
        (
            records.migrations,
            {'uuid': 'M', 'Server UUID': 's', 'Status': 'done'},
            {'uuid': 'm', 'Server UUID': 's', 'Status': 'error'},
            'migrations[1]: m is there twice',
        ),
        # Either of the two, alone, says that the host of the other has to go.
        (
            records.aggregates,
            AGGREGATE,
            AGGREGATE | {'uuid': 'a', 'hosts': ['h2']},
            'aggregates[1]: a is there twice',
        ),
        (
            records.aggregates,
            AGGREGATE,
            AGGREGATE | {'uuid': 'b', 'hosts': ['h2', 'h2']},
            'aggregates[1]: has a host twice',
        ),
        (records.flavors, SPECIFIED, SPECIFIED, 'flavors[1]: a is there twice'),
        (
            records.flavors,
            SPECIFIED | {'id': '1'},
            SPECIFIED | {'id': '1', 'name': 'b'},
            'flavors[1]: 1 is there twice',
        ),
        (
            records.flavors_by_id,
            SPECIFIED | {'id': '1'},
            SPECIFIED | {'id': '1', 'name': 'b'},
            'flavors[1]: 1 is there twice',
        ),
        (
            records.projects,
            {'id': 'a', 'name': 'x'},
            {'id': 'a', 'name': 'y'},
            'projects[1]: a is there twice',
        ),
        (
            records.quotas,
            {'id': 'a', 'cores': 1},
            {'id': 'a', 'cores': 2},
            'quotas[1]: a is there twice',
        ),
    ],
)
def test_a_record_that_is_there_twice_is_an_error(parse, one, other, said):
    with pytest.raises(errors.BadFile) as caught:
        parse([one, other], 'x.json')
    assert str(caught.value).startswith(f'x.json: {said}')


def test_a_flavor_of_the_same_name_as_the_id_of_another_is_another():
    listed = [SPECIFIED | {'id': 'b'}, SPECIFIED | {'id': 'a', 'name': 'b'}]
    assert [flavor.name for flavor in records.flavors(listed, 'x.json')] == ['a', 'b']


def test_migrations_of_an_old_release_are_no_duplicates():
    record = {'Server UUID': 's', 'Status': 'done'}
    assert len(records.migrations([record, record], 'x.json')) == 2


@pytest.mark.parametrize(
    'state', [{'Status': 'SHELVED_OFFLOADED'}, {'OS-EXT-STS:vm_state': 'shelved_offloaded'}]
)
def test_a_server_that_is_shelved_and_on_no_host(state):
    for host, is_offloaded in ((None, True), ('', True), ('h', False)):
        record = {'ID': 'a', 'OS-EXT-SRV-ATTR:host': host, **state}
        assert records.servers([record], 'x.json')['a'].is_offloaded == is_offloaded
    assert not records.servers([{'ID': 'a', 'Status': 'SHELVED'}], 'x.json')['a'].is_offloaded


def test_extra_specs_that_nova_hides_are_no_missing_option():
    flavors = [{'name': 'a', 'vcpus': 1, 'ram': 1, 'disk': 1}]
    with pytest.raises(errors.BadFile, match="Nova hides the extra specs of flavor 'a' from your"):
        records.flavors(flavors, COMPUTE_SERVICE)
