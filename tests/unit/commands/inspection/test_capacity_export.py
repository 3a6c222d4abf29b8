# SPDX-License-Identifier: Apache-2.0
"""``resource capacity export``: what dashboards of other exporters look for."""

import json
import shutil
import stat
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from placementclient.nova import service
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.commands.inspection.test_capacity import FLAVORS
from tests.unit.insight.clouds import cloud, consumer, provider

EXPORT = 'resource capacity export --snapshot {} --flavors {}'
#: Of each metric the labels that the exporters which it is of have; provider is ours.
LABELS = {
    'openstack_hypervisor_placement_allocated': {'hypervisor', 'resource', 'provider'},
    'openstack_hypervisor_placement_allocatable_capacity': {'hypervisor', 'resource', 'provider'},
    'openstack_free_capacity_by_flavor_total': {'flavor_name', 'public'},
    'openstack_free_capacity_hypervisor_by_flavor': {
        'hypervisor', 'flavor_name', 'az_aggregate', 'project_aggregate',
    },
    'openstack_project_usage': {'project_id', 'project_name', 'placement_resource'},
    'openstack_project_quota': {'project_id', 'project_name', 'quota_resource'},
    'openstack_project_filter_aggregate': {'project_id', 'aggregate'},
    **{
        f'openstack_placement_resource_{name}': {'hostname', 'resourcetype', 'provider'}
        for name in ('total', 'reserved', 'allocation_ratio', 'usage', 'generation')
    },
}  # fmt: skip

#: What the panels of os-capacity's two dashboards ask for, but for the metrics of other exporters.
DASHBOARDS = [
    *(
        f'SUM(openstack_hypervisor_placement_allocatable_capacity{{resource="{name}"}} - '
        f'on(hypervisor) openstack_hypervisor_placement_allocated{{resource="{name}"}})'
        for name in ('MEMORY_MB', 'VCPU', 'PCPU', 'DISK_GB')
    ),
    *(
        f'SUM(openstack_hypervisor_placement_allocated{{resource="{name}"}})'
        for name in ('MEMORY_MB', 'VCPU', 'PCPU', 'DISK_GB')
    ),
    'openstack_hypervisor_placement_allocatable_capacity{resource="MEMORY_MB"} - '
    'on(hypervisor) openstack_hypervisor_placement_allocated{resource="MEMORY_MB"}',
    'openstack_free_capacity_by_flavor_total',
    'sum(openstack_free_capacity_hypervisor_by_flavor) by (flavor_name, az_aggregate)',
    *(
        f'openstack_project_usage{{placement_resource="{name}"}}'
        for name in ('MEMORY_MB', 'VCPU', 'PCPU')
    ),
    'max(openstack_project_usage{project_id=~"project"}) by (placement_resource)',
    'sum(openstack_project_usage{project_id=~"project"}) by (placement_resource)',
    'openstack_project_quota{project_id=~"project"}',
]
AGGREGATES = [
    {'uuid': 'shared', 'name': 'zone', 'hosts': [], 'metadata': {'availability_zone': 'north'}},
    {'uuid': 'a', 'name': 'of p', 'hosts': [], 'metadata': {'filter_tenant_id_1': 'p'}},
    {'uuid': 'b', 'name': 'of two', 'hosts': [], 'metadata': {'filter_tenant_id': 'p, project'}},
]
PROJECTS = [{'ID': 'project', 'Name': 'Demo'}, {'ID': 'p', 'Name': 'Other'}]
QUOTAS = [{'Project ID': 'project', 'Cores': 20, 'Ram': -1, 'Instances': 5}]


@pytest.fixture
def around(tmp_path):
    """The options for what other services know."""
    return (
        f'--aggregates {save(tmp_path, "a.json", {"aggregates": AGGREGATES})} '
        f'--projects {save(tmp_path, "p.json", PROJECTS)} '
        f'--quotas {save(tmp_path, "q.json", QUOTAS)}'
    )


@pytest.fixture
def files(tmp_path):
    """A snapshot and a list of flavors."""
    return save(tmp_path, 'cloud.json', small()), save(tmp_path, 'flavors.json', FLAVORS)


def figures(text):
    """The values of each metric, by the values of its labels in the order of their names."""
    return {
        family.name: {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for sample in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


def test_exporter_prints_the_values_of_the_cloud(placement, files):
    metrics_of = figures(placement(EXPORT.format(*files)).stdout)
    of_host1 = ('host1', 'host1', 'VCPU')
    assert metrics_of['openstack_hypervisor_placement_allocated'][of_host1] == 2
    assert metrics_of['openstack_hypervisor_placement_allocatable_capacity'][of_host1] == 8
    nested = ('host1', 'host1_gpu', 'VGPU')
    assert metrics_of['openstack_hypervisor_placement_allocatable_capacity'][nested] == 2
    assert metrics_of['openstack_placement_resource_total'][nested] == 2
    assert metrics_of['openstack_placement_resource_usage'][nested] == 0
    assert metrics_of['openstack_project_usage'] == {
        ('VCPU', 'project', ''): 3,
        ('DISK_GB', 'project', ''): 40,
    }
    assert metrics_of['openstack_free_capacity_by_flavor_total'] == {
        ('small', 'True'): 4,
        ('gpu', 'True'): 2,
        ('fast', 'True'): 0,
    }
    assert metrics_of['openstack_free_capacity_hypervisor_by_flavor'] == {
        ('', 'small', 'host1', ''): 3,
        ('', 'small', 'host2', ''): 1,
        ('', 'gpu', 'host1', ''): 2,
    }


def test_exporter_adds_what_other_services_know(placement, tmp_path, around, files):
    hosts = {'host1': ['shared', 'a'], 'host2': ['a', 'b'], 'host3': []}
    states = [provider(name, aggregates=of, VCPU=4, DISK_GB=100) for name, of in hosts.items()]
    file = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', host1={'VCPU': 4})]))
    metrics_of = figures(placement(f'{EXPORT.format(file, files[1])} {around}').stdout)
    by_flavor = metrics_of['openstack_free_capacity_hypervisor_by_flavor']
    assert {key for key in by_flavor if key[1] == 'small'} == {
        ('north', 'small', 'host1', 'of p'),
        ('', 'small', 'host2', 'multiple'),
        ('', 'small', 'host3', ''),
    }
    assert metrics_of['openstack_project_filter_aggregate'] == {
        ('of p', 'p'): 1, ('of two', 'p'): 1, ('of two', 'project'): 1
    }  # fmt: skip
    assert metrics_of['openstack_project_usage'] == {('VCPU', 'project', 'Demo'): 4}
    assert metrics_of['openstack_project_quota'] == {
        ('project', 'Demo', 'CPUS'): 20, ('project', 'Demo', 'MEMORY_MB'): -1
    }  # fmt: skip


def test_exporter_asks_other_services_only_with_an_option(placement, files, around, monkeypatch):
    using: list[str] = []

    def quotas(client, projects):
        using.extend(projects)
        return QUOTAS

    monkeypatch.setattr(service, 'aggregates', lambda client: AGGREGATES)
    monkeypatch.setattr(service, 'projects', lambda client: PROJECTS)
    monkeypatch.setattr(service, 'read_quotas', quotas)
    sources = '--aggregates nova --projects keystone --quotas nova'
    export = EXPORT.format(*files)
    assert placement(f'{export} {sources}') == placement(f'{export} {around}')
    assert using == ['project']
    monkeypatch.undo()
    for option in sources.split(' --'):
        result = placement(f'{export} --{option.strip("-")}')
        assert result.status == 1
        assert ' cannot be asked: there is no service catalog (auth type none' in result.stderr


def test_the_dashboards_of_os_capacity_find_what_they_show(placement, tmp_path, around, files):
    usual = {'VCPU': 8, 'PCPU': 8, 'MEMORY_MB': 4096, 'DISK_GB': 100}
    states = [
        provider('host1', aggregates=['shared'], **usual),
        provider('host1_gpu0', 'host1', VGPU=4),
        provider('host1_gpu1', 'host1', VGPU=4),
        provider('host2', **usual),
    ]
    server = consumer('s', host1={'VCPU': 2, 'PCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 10})
    file = save(tmp_path, 'cloud.json', cloud(states, [server]))
    text = placement(f'{EXPORT.format(file, files[1])} {around}').stdout
    families = list(text_string_to_metric_families(text))
    assert {family.name: set(family.samples[0].labels) for family in families} == LABELS
    for family in families:
        pairs = [pair for sample in family.samples for pair in sample.labels.items()]
        # A label that is empty everywhere is none for Prometheus.
        filled = {name for name, value in pairs if value}
        assert filled >= LABELS[family.name] - {'project_aggregate'}
    samples = [sample for family in families for sample in family.samples]
    for arguments, text_in in (
        (['check', 'metrics'], text),
        (['test', 'rules', str(evaluation(tmp_path, samples))], ''),
    ):
        if program := shutil.which('promtool'):
            checked = subprocess.run(
                [program, *arguments], input=text_in, capture_output=True, text=True
            )
            assert checked.returncode == 0, checked.stdout + checked.stderr


def evaluation(folder, samples):
    """What has promtool ask a Prometheus that has these samples for what the dashboards show."""
    series = []
    for sample in samples:
        labels = ','.join(f'{key}="{value}"' for key, value in sample.labels.items())
        series.append({'series': f'{sample.name}{{{labels}}}', 'values': str(sample.value)})
    queries = [
        {'expr': f'count({query}) > bool 0', 'eval_time': '0s', 'exp_samples': [{'value': 1}]}
        for query in DASHBOARDS
    ]
    path = folder / 'tests.json'
    tests = [{'interval': '1m', 'input_series': series, 'promql_expr_test': queries}]
    path.write_text(json.dumps({'rule_files': [], 'tests': tests}))
    return path


def test_the_file_of_the_exporter_is_readable_by_others(placement, tmp_path, files):
    target = tmp_path / 'placement.prom'
    command = f'resource capacity export --snapshot {files[0]}'
    assert placement(f'{command} -o {target}') == Result(0, '', f'wrote {target}\n')
    assert target.read_text() == placement(command).stdout
    assert target.stat().st_mode & stat.S_IROTH
    assert {path.name for path in tmp_path.iterdir()} == {
        'cloud.json', 'flavors.json', 'placement.prom'
    }  # fmt: skip


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('--serve nowhere', 2, "'nowhere' is not of form <address>:<port>, as in 127.0.0.1:9101"),
        ('--serve :70000', 2, "':70000' is not of form <address>:<port>, as in 127.0.0.1:9101"),
        ('--serve :0 -o x.prom', 2, '--serve and --output contradict each other'),
    ],
)
def test_exporter_refuses_options_that_contradict_each_other(
    placement, files, options, status, message
):
    result = placement(f'resource capacity export --snapshot {files[0]} {options}')
    assert result == Result(status, '', f'{message}\n')


def test_without_the_library_it_says_what_to_install(placement, files, monkeypatch):
    monkeypatch.setitem(sys.modules, 'prometheus_client', None)
    result = placement(EXPORT.format(*files))
    assert result.status == 1
    assert 'pip install "python-placementclient[metrics]"' in result.stderr
