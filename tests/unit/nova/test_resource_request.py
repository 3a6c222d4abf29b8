"""What Nova's scheduler would ask for; the expectations are what that of Nova 34.0 asks for."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.model.flavors import Flavor
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.nova.resource_request import request, unmodelled

MEMORY = {'MEMORY_MB': 2048}
DISK = {'DISK_GB': 20}


def flavor(**specs: str) -> Flavor:
    return Flavor('m', 4, 2048, 20, extra_specs=specs)


def common(specs: dict[str, str]) -> Filter:
    return request(flavor(**specs)).common


def test_a_plain_flavor() -> None:
    assert request(flavor()) == CandidateRequest(
        Filter({'VCPU': 4, **MEMORY, **DISK}), root_forbidden=('COMPUTE_STATUS_DISABLED',)
    )


def test_disks_are_added_and_swap_is_rounded_up() -> None:
    found = request(Flavor('m', 1, 64, disk=5, ephemeral=10, swap=1025)).common
    assert found.resources == {'VCPU': 1, 'MEMORY_MB': 64, 'DISK_GB': 17}
    assert request(Flavor('m', 1, 64)).common.resources == {'VCPU': 1, 'MEMORY_MB': 64}


@pytest.mark.parametrize(
    ('specs', 'resources'),
    [
        ({'resources:VGPU': '1'}, {'VCPU': 4, **MEMORY, **DISK, 'VGPU': 1}),
        ({'resources:VCPU': '0', 'resources:CUSTOM_BM': '1', 'resources:MEMORY_MB': '0',
          'resources:DISK_GB': '0'}, {'CUSTOM_BM': 1}),
        ({'resources:DISK_GB': '7'}, {'VCPU': 4, **MEMORY, 'DISK_GB': 7}),
        ({'resources:VGPUS': '1'}, {'VCPU': 4, **MEMORY, **DISK}),
        ({'resources:VGPU': 'x'}, {'VCPU': 4, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'shared'}, {'VCPU': 4, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'dedicated'}, {'PCPU': 4, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'isolate'},
         {'PCPU': 5, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0-1'},
         {'VCPU': 2, 'PCPU': 2, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-2,^1'},
         {'VCPU': 2, 'PCPU': 2, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-99999999999999999999,^2,x'},
         {'VCPU': 1, 'PCPU': 3, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '1-3'},
         {'VCPU': 1, 'PCPU': 3, **MEMORY, **DISK}),
        ({'hw:pmem': '6GB, 6GB,big one'},
         {'VCPU': 4, **MEMORY, **DISK, 'CUSTOM_PMEM_NAMESPACE_6GB': 2,
          'CUSTOM_PMEM_NAMESPACE_BIG_ONE': 1}),
    ],
)  # fmt: skip
def test_amounts(specs: dict[str, str], resources: dict[str, int]) -> None:
    assert common(specs).resources == resources


@pytest.mark.parametrize(
    ('specs', 'required', 'forbidden'),
    [
        ({'trait:A': 'required', 'trait:B': 'forbidden', 'trait:C': 'x'}, ('A',), ('B',)),
        ({'hw:cpu_thread_policy': 'isolate'}, (), ('HW_CPU_HYPERTHREADING',)),
        ({'hw:cpu_thread_policy': 'require'}, ('HW_CPU_HYPERTHREADING',), ()),
        ({'hw:cpu_thread_policy': 'prefer'}, (), ()),
        ({'hw:mem_encryption': 'True'}, ('HW_CPU_X86_AMD_SEV',), ()),
        ({'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'},
         ('COMPUTE_SECURITY_TPM_2_0', 'COMPUTE_SECURITY_TPM_CRB'), ()),
        ({'hw:tpm_version': '1.2'}, ('COMPUTE_SECURITY_TPM_1_2', 'COMPUTE_SECURITY_TPM_TIS'), ()),
        ({'os:secure_boot': 'required'}, ('COMPUTE_SECURITY_UEFI_SECURE_BOOT',), ()),
        ({'hw:pci_numa_affinity_policy': 'socket'}, ('COMPUTE_SOCKET_PCI_NUMA_AFFINITY',), ()),
    ],
)  # fmt: skip
def test_traits(specs: dict[str, str], required: Any, forbidden: Any) -> None:
    found = common(specs)
    assert (found.required, found.forbidden) == (required, forbidden)


def test_groups() -> None:
    found = request(
        flavor(
            **{
                'resources1:VGPU': '1',
                'trait1:CUSTOM_A40': 'required',
                'resources_NET:SRIOV_NET_VF': '2',
                'resources2:VGPU': '0',
                'group_policy': 'isolate',
            }
        )
    )
    assert found.groups == {
        '1': Filter({'VGPU': 1}, ('CUSTOM_A40',)),
        '_NET': Filter({'SRIOV_NET_VF': 2}),
    }
    assert (found.group_policy, found.common.resources['VCPU']) == ('isolate', 4)


def test_what_a_group_asks_for_is_not_asked_for_twice() -> None:
    assert common({'resources1:VCPU': '2'}).resources == MEMORY | DISK


def test_an_accelerator_needs_a_root_that_knows_them_and_is_not_counted() -> None:
    found = flavor(**{'accel:device_profile': 'fpga', 'pci_passthrough:alias': 'a:1'})
    assert request(found).root_required == ('COMPUTE_ACCELERATORS',)
    assert unmodelled(found) == ['accel:device_profile', 'pci_passthrough:alias']
    assert unmodelled(flavor()) == []


def test_what_other_filters_look_at_is_named() -> None:
    keys = ['aggregate_instance_extra_specs:ssd', 'capabilities:cpu_info:arch']
    found = flavor(**dict.fromkeys(keys, 'x'))
    assert unmodelled(found) == keys
    assert request(found) == request(flavor())


def test_nova_34_wants_its_mark_on_the_root() -> None:
    assert request(flavor()).root_required == ()
    assert request(flavor(), is_owned=True).root_required == ('OWNER_NOVA',)
    found = request(flavor(**{'accel:device_profile': 'fpga'}), is_owned=True)
    assert found.root_required == ('COMPUTE_ACCELERATORS', 'OWNER_NOVA')


def test_what_the_scheduler_passes_over_is_named() -> None:
    specs = {'resources:VPGU': '1', 'resources1:VGPU': 'x', 'resources:CUSTOM_A': '1'}
    found = flavor(**specs)
    assert unmodelled(found) == ['resources:VPGU=1, did you mean VGPU?', 'resources1:VGPU=x']


@pytest.mark.parametrize('amount', ['2147483648', '9' * 11, '9' * 400, '9' * 5000])
def test_an_amount_that_placement_does_not_know_is_named(amount: str) -> None:
    asked = flavor(**{'resources:VGPU': amount})
    assert 'VGPU' not in request(asked).common.resources
    assert unmodelled(asked) == [f'resources:VGPU={amount}']
