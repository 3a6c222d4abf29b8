# SPDX-License-Identifier: Apache-2.0
"""The request of a server: what the options and the files of other services make of it."""

import json
from typing import Any

import pytest

from placementclient import api
from placementclient.insight.candidates.matching import index_snapshot
from placementclient.nova import service as services
from placementclient.producers import inquiry
from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, provider

PRINT = 'allocation candidate explain --print-request --flavor m '
SERVER = '11111111-1111-1111-1111-111111111111'
DEFAULT = 'root_required=OWNER_NOVA%2C%21COMPUTE_STATUS_DISABLED'
AMOUNTS = 'resources=MEMORY_MB%3A64%2CVCPU%3A2'
HOST = provider('h', VCPU=8, MEMORY_MB=256)
#: The attributes of a server that name its host.
HOST_KEYS = ('host', 'hypervisor_hostname')
DEDICATED = {'hw:cpu_policy': 'dedicated'}
OWNER = 'OWNER_NOVA, taken as required (versions of nova-compute not given)'


def flavors(folder, **specs):
    flavor = {'id': '1', 'name': 'm', 'vcpus': 2, 'ram': 64, 'disk': 0, 'extra_specs': specs}
    return f'--flavors {save(folder, "flavors.json", {"flavors": [flavor]})} '


def make_server(**fields):
    """A server of the API, with its flavor."""
    flavor = {'original_name': 'm', 'vcpus': 2, 'ram': 64, 'disk': 0, 'ephemeral': 0, 'swap': 0}
    return {
        'id': SERVER, 'tenant_id': 'p', 'user_id': 'u', 'OS-EXT-SRV-ATTR:hypervisor_hostname': 'h',
        'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': 'active', 'image': {'id': 'i'},
        'flavor': flavor | {'extra_specs': {}}, **fields,
    }  # fmt: skip


@pytest.fixture
def explain(placement, tmp_path):
    """Explain a flavor with extra specs on saved providers."""

    def run(options='', states=(HOST,), specs=()):
        snapshot = save(tmp_path, 'cloud.json', cloud(states))
        source = flavors(tmp_path, **dict(specs))
        command = f'allocation candidate explain --flavor m {source} --snapshot {snapshot}'
        return placement(f'{command} {options}')

    return run


def printed(placement, options):
    result = placement(f'{PRINT}{options} -f json')
    assert result.status == 0, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_explain_asks_for_a_plain_request(placement, tmp_path):
    result = placement(PRINT + flavors(tmp_path))
    path = f'/allocation_candidates?limit=1000&{AMOUNTS}&{DEFAULT}'
    assert (result.status, result.stdout) == (0, f'{path}\n')
    assert result.stderr == f'flavor m: not counted: {OWNER}\n'
    assert printed(placement, flavors(tmp_path)) == {
        'path': path, 'second': None, 'microversion': '1.36', 'unknown': [OWNER], 'filters': []
    }  # fmt: skip


def test_explain_finds_a_flavor_by_its_id(placement, tmp_path):
    source = flavors(tmp_path)
    by_name = placement(PRINT + source)
    by_id = placement(PRINT.replace('--flavor m ', '--flavor 1 ') + source)
    assert (by_id.status, by_id.stdout) == (0, by_name.stdout)


def test_explain_asks_both_requests_for_dedicated_cpus(placement, tmp_path):
    request = printed(placement, flavors(tmp_path, **DEDICATED))
    assert 'PCPU%3A2' in request['path']
    assert request['second'] == request['path'].replace(
        'MEMORY_MB%3A64%2CPCPU', 'MEMORY_MB%3A64%2CVCPU'
    )


def test_explain_takes_every_list_from_files(placement, tmp_path):
    def file(name, content):
        return save(tmp_path, f'{name}.json', content)

    (tmp_path / 'nova.conf').write_text(
        '[scheduler]\nlimit_tenants_to_placement_aggregate = true\n'
        'query_placement_for_image_type_support = true\nmax_placement_results = 7\n'
        'query_placement_for_routed_network_aggregates = true\n'
        '[filter_scheduler]\npci_in_placement = true\n'
        '[pci]\nalias = {"name": "gpu", "resource_class": "pgpu"}\n'
    )
    aggregates = [
        {'uuid': 'a1', 'name': 'a', 'hosts': [], 'metadata': {'availability_zone': 'az1'}},
        {'uuid': 'a2', 'name': 'b', 'hosts': [], 'metadata': {'filter_tenant_id': 'p'}},
    ]
    port = {
        'id': 'port', 'binding:vnic_type': 'remote-managed', 'network_id': 'n',
        'fixed_ips': [{'subnet_id': 's'}],
        'resource_request': {
            'request_groups': [{'id': 'g', 'resources': {'NET_BW_EGR_KILOBIT_PER_SEC': 1}}],
        },
    }  # fmt: skip
    subnet = {'id': 's', 'network_id': 'n', 'segment_id': 'x', 'aggregates': ['a3']}
    profile = {'name': 'fpga', 'groups': [{'resources:FPGA': '1', 'accel:x': 'y'}]}
    hypervisor = {'id': SERVER, 'hypervisor_hostname': 'n1', 'service': {'host': 'h1'}}
    image = {'id': 'i', 'disk_format': 'qcow2', 'hw_sound_model': 'virtio', 'min_ram': 1}
    specs = {'accel:device_profile': 'fpga', 'pci_passthrough:alias': 'gpu:1'}
    request = printed(
        placement,
        flavors(tmp_path, **specs)
        + f'--nova-conf {tmp_path}/nova.conf --aggregates {file("aggregates", aggregates)}'
        f' --ports {file("ports", {"ports": [port]})}'
        f' --segments {file("subnets", {"subnets": [subnet]})}'
        f' --device-profiles {file("profiles", {"device_profiles": [profile]})}'
        f' --hypervisors {file("hypervisors", {"hypervisors": [hypervisor]})}'
        f' --image {file("image", image)} --zone az1 --project p --host h1 --hint color=x',
    )
    assert request['unknown'] == [OWNER]
    assert request['path'].split('&') == [
        '/allocation_candidates?group_policy=none',
        f'in_tree={SERVER}',
        'limit=7',
        *('member_of=in%3Aa1', 'member_of=in%3Aa2', 'member_of=in%3Aa3'),
        'requiredpci_request_0-0=OWNER_NOVA',
        AMOUNTS,
        'resourcesdevice_profile_0=FPGA%3A1',
        'resourcesg=NET_BW_EGR_KILOBIT_PER_SEC%3A1',
        'resourcespci_request_0-0=PGPU%3A1',
        'root_required=COMPUTE_ACCELERATORS%2CCOMPUTE_IMAGE_TYPE_QCOW2%2C'
        'COMPUTE_REMOTE_MANAGED_PORTS%2CCOMPUTE_SOUND_MODEL_VIRTIO%2COWNER_NOVA%2C'
        '%21COMPUTE_STATUS_DISABLED',
    ]
    without = printed(placement, flavors(tmp_path) + '--from-volume --hint group=x')
    assert without['path'] == f'/allocation_candidates?{AMOUNTS}&{DEFAULT}'


def test_explain_takes_the_request_of_a_server(placement, tmp_path, monkeypatch):
    image = {'id': 'i', 'properties': {'hw_sound_model': 'virtio'}}
    facts = {'pinned_availability_zone': 'az1', 'scheduler_hints': {'group': ['x']}}
    server = make_server(**facts, image=image)
    servers = {SERVER: [server]}

    def ask(client, uuid, *, is_whole=False):
        assert is_whole
        return servers.get(uuid, [])

    monkeypatch.setattr(services, 'read_server', ask)
    gold = {'id': 'i', 'disk_format': 'raw', 'trait:CUSTOM_GOLD': 'required'}
    zone = {'uuid': 'a1', 'name': 'a', 'hosts': [], 'metadata': {'availability_zone': 'az1'}}
    group = {'id': 'g', 'resources': {'NET_BW_EGR_KILOBIT_PER_SEC': 1}}
    port = {'id': 'port', 'device_id': SERVER, 'resource_request': {'request_groups': [group]}}
    answers = {'read_images': [gold], 'read_volumes': [], 'aggregates': [zone]}
    for name, records in answers.items():
        monkeypatch.setattr(services, name, lambda *_, records=records: records)
    monkeypatch.setattr(services, 'make_ports_request', lambda uuid: lambda client: [port])
    command = 'allocation candidate explain --print-request --server '
    result = placement(f'{command}{SERVER}')
    assert result.stdout == (
        f'/allocation_candidates?member_of=in%3Aa1&required=CUSTOM_GOLD&{AMOUNTS}'
        '&resourcesg=NET_BW_EGR_KILOBIT_PER_SEC%3A1'
        '&root_required=OWNER_NOVA%2C%21COMPUTE_STATUS_DISABLED\n'
    )
    group = 'ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter: group'
    assert result.stderr == f'the server: not counted: {OWNER}, {group}\n'
    absent = SERVER.replace('1', '2')
    result = placement(f'{command}{absent}')
    assert (result.status, result.stderr) == (1, f'Nova has no server {absent}\n')


def test_explain_names_lists_that_no_service_provides(placement, monkeypatch):
    volumes = {'os-extended-volumes:volumes_attached': [{'id': 'v'}]}
    server = make_server(pinned_availability_zone='az1', image='', **volumes)
    monkeypatch.setattr(services, 'read_server', lambda *_, is_whole: [server])
    command = f'allocation candidate explain --print-request --server {SERVER} -f json'
    no_catalog = 'there is no service catalog (auth type none or placement_direct)'
    request = json.loads(placement(command).stdout)
    assert request['unknown'] == [
        f'image of the root volume (Cinder cannot be asked: {no_catalog})',
        f'aggregates (Nova cannot be asked: {no_catalog})',
        f'ports (Neutron cannot be asked: {no_catalog})',
        'availability zone az1 (aggregates not given)',
        OWNER,
    ]


@pytest.mark.parametrize(
    ('specs', 'status', 'reason'),
    [
        ({'hw:cpu_policy': 'mixed'}, 0, ''),
        ({'hw:cpu_policy': 'pinned'}, 1, "hw:cpu_policy is 'pinned', which Nova does not know"),
    ],
)
def test_explain_prints_the_reason_that_nova_gives(placement, tmp_path, specs, status, reason):
    specs = {'hw:cpu_dedicated_mask': '0'} | specs
    result = placement(PRINT + flavors(tmp_path, **specs))
    assert (result.status, reason in result.stderr) == (status, True)


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ('--print-request', '--print-request is for --flavor and --server'),
        ('--resource VCPU=1 --zone az1', '--zone is for --flavor and --server'),
        (f'--flavor m --server {SERVER}', '--server has a flavor: leave out --flavor'),
        ('--flavor m --ports neutron --print-request', '--ports neutron is for --server'),
        ('--flavor m --resource VCPU=1', 'leave out --resource, --group'),
        ('--flavor mm', "No flavor is called 'mm': see openstack flavor list --all. Did you"),
    ],
)
def test_explain_refuses_options_without_effect(placement, tmp_path, options, reason):
    snapshot = save(tmp_path, 'cloud.json', cloud([provider('h', VCPU=8)]))
    source = flavors(tmp_path) if '--flavor' in options else ''
    result = placement(f'allocation candidate explain {options} {source} --snapshot {snapshot}')
    assert (result.status, reason in result.stderr) == (2, True), result.stderr


FALLBACK = (
    'Nova asks again with VCPU in place of PCPU: Placement has candidates on 1 tree without PCPU. '
    'A server with dedicated CPUs starts there only if nova-compute has vcpu_pin_set, or neither '
    'cpu_dedicated_set nor cpu_shared_set, which Placement does not show.'
)


def test_explain_counts_hosts_without_pcpu_separately(explain):
    states = [provider('full', PCPU=1, VCPU=8, MEMORY_MB=256), HOST]
    result = explain('', states, DEDICATED)
    lines = result.stdout.splitlines()
    assert (result.status, lines[:2]) == (4, ['The request cannot be met.', FALLBACK])
    data = json.loads(explain('-f json', states, DEDICATED).stdout)
    assert (data['can_be_met'], data['fallback']['trees_with_candidates']) == (False, 1)
    result = explain('', [provider('h', VCPU=1, MEMORY_MB=256)], DEDICATED)
    assert 'Nova asks again with VCPU in place of PCPU: that cannot be met either.' in result.stdout
    result = explain('', [provider('h', PCPU=8, VCPU=8, MEMORY_MB=256)], DEDICATED)
    assert (result.status, 'Nova asks again' in result.stdout) == (0, False)


def test_explain_counts_no_host_without_pcpu_if_nova_conf_disables_it(explain, tmp_path):
    (tmp_path / 'nova.conf').write_text('[workarounds]\ndisable_fallback_pcpu_query = yes\n')
    result = explain(f'--nova-conf {tmp_path}/nova.conf', specs=DEDICATED)
    assert (result.status, result.stderr) == (
        4,
        'No resource provider has inventory of PCPU\nthere are no candidates (exit 4)\n',
    )
    data = json.loads(explain('-f json', specs=DEDICATED).stdout)
    assert (data['unknown'], data['filters']) == ([], ['NUMATopologyFilter: hw:cpu_policy'])


@pytest.mark.parametrize(
    ('options', 'specs', 'image', 'filters'),
    [
        ('', {'hw:cpu_policy': 'dedicated'}, {}, ['NUMATopologyFilter: hw:cpu_policy']),
        ('', {'hw:cpu_policy': 'shared'}, {}, []),
        ('', {}, {'img_hv_type': 'qemu'}, ['ImagePropertiesFilter: img_hv_type']),
        ('--hint group=x', {}, {},
         ['ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter: group']),
        ('--hint colour=x', {}, {}, []),
    ],
)  # fmt: skip
def test_explain_names_what_filters_of_the_scheduler_decide(
    explain, tmp_path, options, specs, image, filters
):
    states = [provider('h', VCPU=8, PCPU=8, MEMORY_MB=256)]
    options += f' --image {save(tmp_path, "image.json", {"disk_format": "raw", **image})}'
    result = explain(options, states, specs)
    first, second = result.stdout.splitlines()[:2]
    assert (result.status, first) == (0, 'Placement can meet it: candidates on 1 tree.')
    sentence = 'Placement does not decide, but a filter of the scheduler: '
    assert second == (sentence + filters[0] if filters else '')
    data = json.loads(explain(f'{options} -f json', states, specs).stdout)
    assert data['filters'] == filters


@pytest.mark.parametrize(
    ('policy', 'rules', 'sentence', 'limit'),
    [
        ('anti-affinity', {}, 'not on h1, h2', {'hosts': ['h1', 'h2'], 'is_excluded': True}),
        ('anti-affinity', {'max_server_per_host': 2}, 'not on h1',
         {'hosts': ['h1'], 'is_excluded': True}),
        ('affinity', {}, 'only on h1, h2', {'hosts': ['h1', 'h2'], 'is_excluded': False}),
        ('soft-anti-affinity', {}, '', None),
    ],
)  # fmt: skip
def test_explain_names_the_hosts_that_a_server_group_leaves(
    explain, tmp_path, policy, rules, sentence, limit
):
    settled = {'status': 'ACTIVE', 'OS-EXT-STS:task_state': None}
    servers = [
        {'id': name, 'OS-EXT-SRV-ATTR:host': host, **settled}
        for name, host in {'a': 'h1', 'b': 'h1', 'c': 'h2', 'other': 'h3', 'gone': None}.items()
    ]
    group = {'id': 'g', 'name': 'web', 'policy': policy, 'rules': rules}
    group['members'] = ['a', 'b', 'c', 'gone']
    lists = save(tmp_path, 'servers.json', {'servers': servers, 'server_groups': [group]})
    options = f'--servers {lists} --hint group=g'
    printed = explain(options).stdout
    data = json.loads(explain(f'{options} -f json').stdout)
    line = f'Server group web ({policy}): {sentence}'
    assert [line for line in printed.splitlines() if 'Server group ' in line] == [line] * bool(
        sentence
    )
    expected = limit and {'group': 'web', 'policy': policy, **limit}
    assert data.get('server_group') == expected
    unknown = explain(options.replace('group=g', 'group=x'))
    assert (unknown.status, unknown.stderr) == (1, f'{lists} has no server group x\n')


def test_explain_asks_nova_for_the_other_members_of_a_server_group(placement, monkeypatch):
    other = SERVER.replace('1', '2')
    records = {
        uuid: make_server(
            id=uuid, server_groups=['g'], **{f'OS-EXT-SRV-ATTR:{key}': host for key in HOST_KEYS}
        )
        for uuid, host in {SERVER: 'h1', other: 'h2'}.items()
    }
    group = {'id': 'g', 'name': 'web', 'policy': 'anti-affinity', 'members': [*records]}
    answers = {
        'read_server': lambda client, uuid, **_: [records[uuid]],
        'read_server_groups': lambda client: [group],
        'read_images': lambda *_: [{'id': 'i', 'disk_format': 'raw'}],
        'read_volumes': lambda *_: [],
        'aggregates': lambda client: [],
        'make_ports_request': lambda uuid: lambda client: [],
    }
    for name, answer in answers.items():
        monkeypatch.setattr(services, name, answer)
    monkeypatch.setattr(api.resource_provider, 'list', lambda *_, **__: [])
    monkeypatch.setattr(inquiry, 'read_provider_index', lambda *_: index_snapshot(cloud([])))
    monkeypatch.setattr(inquiry, 'make_live_tree_counter', lambda *_: None)

    result = placement(f'allocation candidate explain --server {SERVER}')

    assert 'Server group web (anti-affinity): not on h2\n' in result.stdout


RACKS = ['0aee21e0-1111-4222-8333-444455556666', '1bee21e0-1111-4222-8333-444455556666']


def racks(folder, *metadata):
    aggregates = [
        {'uuid': uuid, 'name': f'rack{n}', 'hosts': [], 'metadata': facts}
        for n, (uuid, facts) in enumerate(zip(RACKS, metadata, strict=True))
    ]
    return save(folder, 'aggregates.json', aggregates)


def test_explain_prints_the_name_of_a_zone(explain, tmp_path):
    states = [provider('h', VCPU=8, MEMORY_MB=256, aggregates=RACKS[:1])]
    west = {'availability_zone': 'west'}
    result = explain(f'--zone west --aggregates {racks(tmp_path, west, west)}', states)
    assert '  1  zone west\n' in result.stdout
    assert 'member of' not in result.stdout


def test_explain_prints_the_names_of_the_aggregates_of_a_project(explain, tmp_path):
    (tmp_path / 'nova.conf').write_text(
        '[scheduler]\nlimit_tenants_to_placement_aggregate = true\n'
    )
    west = {'availability_zone': 'west', 'filter_tenant_id': 'p'}
    options = f'--project p --nova-conf {tmp_path}/nova.conf '
    options += f'--aggregates {racks(tmp_path, west, {"filter_tenant_id2": "p"})}'
    states = [provider('h', VCPU=8, MEMORY_MB=256, aggregates=RACKS)]
    assert '  1  member of rack0 or rack1\n' in explain(options, states).stdout


@pytest.mark.parametrize(
    'command', ['allocation candidate explain --flavor m', 'resource capacity show']
)
@pytest.mark.parametrize('others', ['west', 'east'])
def test_a_zone_without_a_provider_has_its_name(placement, tmp_path, command, others):
    metadata = [{'availability_zone': zone} for zone in ('west', others)]
    snapshot = save(tmp_path, 'cloud.json', cloud([HOST]))
    options = f'--zone west --aggregates {racks(tmp_path, *metadata)}'
    result = placement(f'{command} {flavors(tmp_path)} --snapshot {snapshot} {options}')
    assert 'No resource provider is in the zone west\n' in result.stderr
