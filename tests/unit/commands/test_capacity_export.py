"""``resource capacity export``: what dashboards of other exporters look for."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from placementclient.model.inventories import Inventory
from tests.unit.commands.clouds import save, small
from tests.unit.commands.test_capacity import FLAVORS
from tests.unit.conftest import Placement, Result
from tests.unit.insight.clouds import cloud, provider

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
    **{
        f'openstack_placement_resource_{name}': {'hostname', 'resourcetype', 'provider'}
        for name in ('total', 'reserved', 'allocation_ratio', 'usage', 'generation')
    },
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A snapshot and a list of flavors."""
    return save(tmp_path, 'cloud.json', small()), save(tmp_path, 'flavors.json', FLAVORS)


def figures(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The values of each metric, by the values of its labels in the order of their names."""
    return {
        family.name: {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for sample in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


def test_names_and_labels(placement: Placement, files: tuple[str, str]) -> None:
    text = placement(EXPORT.format(*files)).stdout
    found = {
        family.name: set(family.samples[0].labels)
        for family in text_string_to_metric_families(text)
    }
    assert found == LABELS


def test_values(placement: Placement, files: tuple[str, str]) -> None:
    found = figures(placement(EXPORT.format(*files)).stdout)
    of_host1 = ('host1', 'host1', 'VCPU')
    assert found['openstack_hypervisor_placement_allocated'][of_host1] == 2
    assert found['openstack_hypervisor_placement_allocatable_capacity'][of_host1] == 8
    nested = ('host1', 'host1_gpu', 'VGPU')
    assert found['openstack_hypervisor_placement_allocatable_capacity'][nested] == 2
    assert found['openstack_placement_resource_total'][nested] == 2
    assert found['openstack_placement_resource_usage'][nested] == 0
    assert found['openstack_project_usage'] == {
        ('VCPU', 'project', ''): 3,
        ('DISK_GB', 'project', ''): 40,
    }
    assert found['openstack_free_capacity_by_flavor_total'] == {
        ('small', 'True'): 4,
        ('gpu', 'True'): 2,
        ('fast', 'True'): 0,
    }
    assert found['openstack_free_capacity_hypervisor_by_flavor'] == {
        ('', 'small', 'host1', ''): 3,
        ('', 'small', 'host2', ''): 1,
        ('', 'gpu', 'host1', ''): 2,
    }


def test_what_is_reserved_is_taken_off_before_the_ratio_counts(
    placement: Placement, tmp_path: Path
) -> None:
    reserving = provider('host', VCPU=Inventory(10, reserved=2, allocation_ratio=4.0))
    file = save(tmp_path, 'cloud.json', cloud([reserving]))
    found = figures(placement(f'resource capacity export --snapshot {file}').stdout)
    capacity = found['openstack_hypervisor_placement_allocatable_capacity']
    assert capacity == {('host', 'host', 'VCPU'): 32}


def test_promtool_has_no_objection(placement: Placement, files: tuple[str, str]) -> None:
    if program := shutil.which('promtool'):
        text = placement(EXPORT.format(*files)).stdout
        checked = subprocess.run(
            [program, 'check', 'metrics'], input=text, capture_output=True, text=True
        )
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, '', '')


def test_a_file_for_another_user_to_read(
    placement: Placement, tmp_path: Path, files: tuple[str, str]
) -> None:
    target = tmp_path / 'placement.prom'
    command = f'resource capacity export --snapshot {files[0]}'
    assert placement(f'{command} -o {target}') == Result(0, '', '')
    assert target.read_text() == placement(command).stdout
    assert target.stat().st_mode & stat.S_IROTH
    assert {path.name for path in tmp_path.iterdir()} == {
        'cloud.json', 'flavors.json', 'placement.prom'
    }  # fmt: skip


@pytest.mark.parametrize(
    ('options', 'status', 'said'),
    [
        ('--serve nowhere', 2, "'nowhere' is not of form <address>:<port>"),
        ('--serve :70000', 2, "':70000' is not of form <address>:<port>"),
        ('--serve :0 -o x.prom', 2, '--serve and --output contradict each other'),
    ],
)
def test_what_cannot_be_asked(
    placement: Placement, files: tuple[str, str], options: str, status: int, said: str
) -> None:
    result = placement(f'resource capacity export --snapshot {files[0]} {options}')
    assert result == Result(status, '', f'{said}\n')


def test_without_the_library_it_says_what_to_install(
    placement: Placement, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'prometheus_client', None)
    result = placement(EXPORT.format(*files))
    assert result.status == 1
    assert 'python-placementclient[metrics]' in result.stderr
