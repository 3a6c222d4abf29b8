# SPDX-License-Identifier: Apache-2.0
"""``resource capacity show``: on a file, without any cloud."""

import json

import pytest
from msgspec.structs import replace

from placementclient.model.snapshots import Snapshot
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.insight.clouds import cloud, provider

GPUS = {'VGPU': 2}
ELSEWHERE = '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8'
SHOW = 'resource capacity show --snapshot {file} '


@pytest.fixture
def show(placement, tmp_path):
    """Show the capacity of a saved cloud."""

    def run(options, live=None):
        return placement(
            f'{SHOW.format(file=save(tmp_path, "cloud.json", live or small()))}{options}'
        )

    return run


TREES = """\
+-------+----------------+-----------+-----------+----------+--------+--------+-------------+
| tree  | resource_class | shared_by | providers | capacity |   used |   free | largest_fit |
+-------+----------------+-----------+-----------+----------+--------+--------+-------------+
| host1 | VCPU           |           |         1 |        8 |      2 |      6 |           4 |
| host1 | VGPU           |           |         1 |        2 |      0 |      2 |           2 |
| host1 | DISK_GB        | nfs       |         1 |  100 GiB | 40 GiB | 60 GiB |      60 GiB |
| host2 | VCPU           |           |         1 |        4 |      1 |      3 |           3 |
| host2 | DISK_GB        | nfs       |         1 |  100 GiB | 40 GiB | 60 GiB |      60 GiB |
| nfs   | DISK_GB        |           |         1 |  100 GiB | 40 GiB | 60 GiB |      60 GiB |
| (all) | DISK_GB        |           |         1 |  100 GiB | 40 GiB | 60 GiB |      60 GiB |
| (all) | VCPU           |           |         2 |       12 |      3 |      9 |           4 |
| (all) | VGPU           |           |         1 |        2 |      0 |      2 |           2 |
+-------+----------------+-----------+-----------+----------+--------+--------+-------------+
"""

FITS = """\
+-------+------+----------------+-------------------+
| tree  | fits | runs_out_first | fits_by_class     |
+-------+------+----------------+-------------------+
| host1 |    3 | VCPU           | VCPU 3, DISK_GB 4 |
| host2 |    1 | VCPU           | VCPU 1, DISK_GB 4 |
| (all) |    4 | DISK_GB        | VCPU 4, DISK_GB 4 |
+-------+------+----------------+-------------------+
"""


@pytest.mark.parametrize(
    ('options', 'table'),
    [('', TREES), ('--by tree', TREES), ('--by host', TREES), ('--fits VCPU=2,DISK_GB=15', FITS)],
)
def test_capacity_show_prints_a_table(show, service, options, table):
    assert show(options) == Result(0, table, '')
    assert service.requests == []


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        (
            '--by class -c resource_class -c free',
            [
                {'resource_class': name, 'free': free}
                for name, free in {'DISK_GB': 60, 'VCPU': 9, 'VGPU': 2}.items()
            ],
        ),
        (
            '--by aggregate --fits VGPU=1',
            [
                {'aggregate': name} | {'fits': 2, 'runs_out_first': 'VGPU', 'fits_by_class': GPUS}
                for name in ('shared', '(all)')
            ],
        ),
        ('--by class --fits VGPU=1 -c fits', [{'fits': 2}, {'fits': 2}]),
    ],
)
def test_capacity_show_prints_numbers_as_data(show, options, expected):
    result = show(f'-f json {options}')
    assert (result.status, json.loads(result.stdout)) == (0, expected)


@pytest.mark.parametrize(
    'shape', ['VCPU', 'VCPU=', '=1', 'VCPU=x', 'VCPU=0', 'VCPU=-1', 'VCPU=1,VCPU=2', 'VCPU=1,', ',']
)
def test_a_wrong_shape_of_a_server_is_an_error(show, shape):
    result = show(f"--fits '{shape}'")
    assert result.status == 2
    assert result.stderr.startswith(
        '--fits must be of form <resource_class>=<value>,..., such as VCPU'
    )


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            '--fits VCPU=1,VCPUS=1',
            'No resource provider has inventory of VCPUS. Did you mean "VCPU"?',
        ),
        ('--fits FPGA=1,XYZ=1', 'No resource provider has inventory of XYZ'),
        (
            '--fits VCPU=1 --required HW_CPU_X86_AVX22',
            'No resource provider has the trait HW_CPU_X86_AVX22. Did you mean "HW_CPU_X86_AVX2"?',
        ),
        (
            '--fits VCPU=1 --root-required CUSTOM_X,HW_CPU_X86_AVX2',
            'No resource provider has the trait CUSTOM_X,HW_CPU_X86_AVX2',
        ),
        ('--fits VCPU=1 --member-of rack7', 'rack7 is not the UUID of an aggregate'),
        ('--flavors {flavors} --member-of rack7', 'rack7 is not the UUID of an aggregate'),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(show, tmp_path, options, message):
    flavors = save(tmp_path, 'flavors.json', FLAVORS)
    result = show(options.format(flavors=flavors))
    assert result == Result(1, '', f'{message}\n')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('--fits VCPU=1,FPGA=1', 'No resource provider has inventory of FPGA'),
        (
            '--fits VCPU=1 --required HW_CPU_X86_AVX2',
            'No resource provider has the trait HW_CPU_X86_AVX2',
        ),
        (
            f'--fits VCPU=1 --member-of {ELSEWHERE}',
            f'No resource provider is in the aggregate {ELSEWHERE}',
        ),
    ],
)
def test_capacity_names_classes_that_no_host_has(show, options, message):
    result = show(f'{options} -f json')
    assert (result.status, result.stderr) == (0, f'{message}\n')
    assert {row['fits'] for row in json.loads(result.stdout)} == {0}


def flavor(name, **specs):
    return {'name': name, 'vcpus': 2, 'ram': 0, 'disk': 15, 'swap': '', 'extra_specs': specs}


FLAVORS = {
    'flavors': [
        flavor('small'),
        flavor('gpu', **{'resources:VGPU': '1', 'pci_passthrough:alias': 'a:1'}),
        flavor('fast', **{'trait:CUSTOM_FAST': 'required'}),
        flavor('nothing', **{'resources:VCPU': '0', 'resources:DISK_GB': '0'}),
        flavor('odd', **{'hw:cpu_policy': 'odd'}),
        flavor('traits', **{'trait1:CUSTOM_A': 'required'}),
    ]
}
OF_FLAVORS = """\
+--------+-------+------+----------------+---------------------------+
| flavor | tree  | fits | runs_out_first | fits_by_class             |
+--------+-------+------+----------------+---------------------------+
| small  | host1 |    3 | VCPU           | VCPU 3, DISK_GB 4         |
| small  | host2 |    1 | VCPU           | VCPU 1, DISK_GB 4         |
| small  | (all) |    4 | DISK_GB        | VCPU 4, DISK_GB 4         |
| gpu    | host1 |    2 | VGPU           | VGPU 2, VCPU 3, DISK_GB 4 |
| gpu    | (all) |    2 | VGPU           | VGPU 2, VCPU 3, DISK_GB 4 |
| fast   | (all) |    0 | DISK_GB        | VCPU 0, DISK_GB 0         |
+--------+-------+------+----------------+---------------------------+
"""


def test_flavors_with_dedicated_cpus_count_on_hosts_with_pcpu(placement, show, tmp_path):
    states = [
        provider('pinned', PCPU=5, DISK_GB=99),
        provider('mixed', PCPU=1, VCPU=8, DISK_GB=99),
        provider('plain', VCPU=6, DISK_GB=99),
    ]
    specs = {'hw:cpu_policy': 'dedicated'}
    flavors = save(tmp_path, 'flavors.json', {'flavors': [flavor('pin', **specs)]})
    columns = '-c tree -c fits -f value'
    result = show(f'--flavors {flavors} {columns}', cloud(states))
    assert (result.status, result.stdout) == (0, 'mixed 0\npinned 2\n(all) 2\n')
    assert result.stderr == (
        'flavor pin: the number may be lower, as it leaves out NUMATopologyFilter: hw:cpu_policy\n'
        'flavor pin: up to 3 more servers on 1 host without PCPU, as Nova asks again with VCPU in '
        'its place. A server with dedicated CPUs starts there only if nova-compute has '
        'vcpu_pin_set, or neither cpu_dedicated_set nor cpu_shared_set, which Placement does not '
        'show\n'
    )
    exported = placement(
        f'resource capacity export --snapshot {tmp_path}/cloud.json --flavors {flavors}'
    ).stdout
    assert 'openstack_free_capacity_by_flavor_total{flavor_name="pin",public="True"} 2' in exported
    more = 'openstack_free_capacity_by_flavor_vcpu_fallback{flavor_name="pin",public="True"} 3'
    assert more in exported
    (tmp_path / 'nova.conf').write_text('[workarounds]\ndisable_fallback_pcpu_query = yes\n')
    options = f'--flavors {flavors} {columns} --nova-conf {tmp_path}/nova.conf'
    assert 'more server' not in show(options, cloud(states)).stderr


def test_capacity_counts_the_flavors_of_a_file(show, service, tmp_path):
    flavors = save(tmp_path, 'flavors.json', FLAVORS)
    result = show(f'--flavors {flavors}')
    assert (result.status, result.stdout) == (0, OF_FLAVORS)
    assert result.stderr == (
        'flavor gpu: the number may be lower, as it leaves out pci_passthrough:alias=a:1 '
        '(nova.conf not given)\n'
        'flavor fast: No resource provider has the trait CUSTOM_FAST\n'
        'flavor nothing: asks for nothing\n'
        "flavor odd: Nova refuses it: hw:cpu_policy is 'odd', which Nova does not know\n"
        "flavor traits: Placement refuses it: the group '1' asks for traits without resources\n"
    )
    assert service.requests == []


@pytest.mark.parametrize('options', ['', '--fits VGPU=1'])
def test_aggregates_have_names_where_a_list_has_them(show, tmp_path, options):
    aggregates = [{'uuid': 'shared', 'name': 'rack 1', 'hosts': [], 'metadata': {}}]
    listed = save(tmp_path, 'aggregates.json', {'aggregates': aggregates})
    result = show(f'--by aggregate --aggregates {listed} -f json {options}')

    rows = json.loads(result.stdout)
    assert result.status == 0, result.stderr
    assert {(row['aggregate'], row['name']) for row in rows} == {
        ('shared', 'rack 1'),
        ('(all)', ''),
    }


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ('--tree host1', {'host1': 3, '(all)': 3}),
        ('--tree host1_gpu --tree host2', {'host1': 3, 'host2': 1, '(all)': 4}),
        ('--required CUSTOM_NEW', {'host2': 1, '(all)': 1}),
        ('--required CUSTOM_NEW,CUSTOM_X', {'host2': 1, '(all)': 1}),
        ('--forbidden CUSTOM_NEW', {'host1': 3, '(all)': 3}),
        ('--member-of shared', {'host1': 3, 'host2': 1, '(all)': 4}),
        ('--forbidden-member-of shared,x --forbidden-member-of y', {'(all)': 0}),
        ('--root-required CUSTOM_NEW', {'host2': 1, '(all)': 1}),
        ('--root-forbidden CUSTOM_NEW', {'host1': 3, '(all)': 3}),
        ('--by aggregate --tree host2', {'shared': 1, '(all)': 1}),
    ],
)
def test_capacity_filters_trees(show, options, expected):
    before = small()
    states = [
        replace(state, traits=frozenset({'CUSTOM_NEW'})) if state.name == 'host2' else state
        for state in before.providers.values()
    ]
    live = Snapshot(states, before.consumers.values())
    result = show(f'--fits VCPU=2,DISK_GB=15 -f json {options}', live)
    assert (result.status, result.stderr) == (0, '')
    counts = {row.get('tree') or row['aggregate']: row['fits'] for row in json.loads(result.stdout)}
    assert counts == expected


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('--fits VCPU=1 --flavors x', 2, '--fits and --flavors contradict each other'),
        ('--required CUSTOM_X', 2, '--required is for --fits and --flavors'),
        ('--member-of x', 2, '--member-of is for --fits and --flavors'),
        ('--root-required x', 2, '--root-required is for --fits and --flavors'),
        ('--fits VCPU=1 --tree x', 1, "No resource provider has the name or UUID 'x'"),
    ],
)
def test_capacity_refuses_options_that_contradict_each_other(show, options, status, message):
    assert show(options) == Result(status, '', f'{message}\n')


@pytest.mark.parametrize(
    ('specs', 'message'),
    [
        (
            {'resources:CUSTOM_GPUU': '1'},
            'No resource provider has inventory of CUSTOM_GPUU. Did you mean "CUSTOM_GPU"?',
        ),
        ({'resources1:FPGA': '1'}, 'No resource provider has inventory of FPGA'),
        (
            {'trait:CUSTOM_SSDD': 'required'},
            'No resource provider has the trait CUSTOM_SSDD. Did you mean "CUSTOM_SSD"?',
        ),
        ({'trait2:HW_CPU_X86_AVX2': 'required', 'resources2:CUSTOM_GPU': '1'},
         'No resource provider has the trait HW_CPU_X86_AVX2'),
    ],
)  # fmt: skip
@pytest.mark.parametrize('command', ['show', 'export'])
def test_capacity_names_a_flavor_that_asks_for_an_unknown_trait(
    placement, tmp_path, command, specs, message
):
    snapshot = cloud([provider('host', traits=['CUSTOM_SSD'], VCPU=8, DISK_GB=99, CUSTOM_GPU=1)])
    files = save(tmp_path, 'c.json', snapshot), save(tmp_path, 'f.json', [flavor('odd', **specs)])
    result = placement('resource capacity {} --snapshot {} --flavors {}'.format(command, *files))
    assert (result.status, result.stderr) == (0, f'flavor odd: {message}\n')


UNOWNED = (
    'Not counted, as Nova 34 and later requires the trait OWNER_NOVA, which other hosts have: b. '
    'Nova does not require it before every nova-compute is of release 34. The command that adds '
    'it: placement resource provider audit --id owner-missing\n'
)


@pytest.mark.parametrize(
    ('traits', 'fitting', 'message'),
    [
        (({'COMPUTE_NODE', 'OWNER_NOVA'}, {'COMPUTE_NODE'}), {'a', '(all)'}, UNOWNED),
        (({'COMPUTE_NODE', 'OWNER_NOVA'}, {'OWNER_CYBORG'}), {'a', '(all)'}, ''),
        (({'COMPUTE_NODE'}, {'COMPUTE_NODE'}), {'a', 'b', '(all)'}, ''),
        (({'OWNER_NOVA'}, ()), {'a', 'b', '(all)'}, ''),
    ],
)
def test_capacity_counts_only_hosts_with_the_owner_trait_of_nova(
    placement, tmp_path, traits, fitting, message
):
    snapshot = cloud(
        provider(name, traits=named, VCPU=8, DISK_GB=99)
        for name, named in zip('ab', traits, strict=True)
    )
    files = save(tmp_path, 'c.json', snapshot), save(tmp_path, 'f.json', [flavor('small')])
    result = placement('resource capacity show -f json --snapshot {} --flavors {}'.format(*files))
    assert {row['tree'] for row in json.loads(result.stdout)} == fitting
    assert (result.status, result.stderr) == (0, message)


def test_capacity_names_an_aggregate_without_providers_by_its_name(show, tmp_path):
    aggregates = [{'uuid': ELSEWHERE, 'name': 'rack 1', 'hosts': [], 'metadata': {}}]
    listed = save(tmp_path, 'aggregates.json', {'aggregates': aggregates})
    result = show(f'--fits VCPU=1 --member-of {ELSEWHERE} --aggregates {listed}')
    assert result.stderr == 'No resource provider is in the aggregate rack 1\n'
