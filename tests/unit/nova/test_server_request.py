# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler would ask for; the expectations are what that of Nova 34.0 asks for."""

import pytest

from placementclient.model.network import Port
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor, HostAggregate, Image
from placementclient.model.services import Hypervisor, HypervisorService
from placementclient.nova.server_parts import Refusal, ServerRequest, Sources
from placementclient.nova.server_request import build_request
from placementclient.nova.settings import Settings

MEMORY = {'MEMORY_MB': 2048}
DISK = {'DISK_GB': 20}
PLAIN = {'VCPU': 4, **MEMORY, **DISK}
PINNED = {'PCPU': 4, **MEMORY, **DISK}


def flavor(**specs):
    return Flavor('m', 4, 2048, 20, extra_specs=specs)


def predicted(flavor, *, has_owner_trait=False, **parts):
    return build_request(ServerRequest(flavor, **parts), sources=Sources(has_owner_trait))


def test_a_plain_flavor_asks_for_cpus_memory_and_disk():
    request = predicted(flavor())
    assert request.first == CandidateRequest(
        Filter(PLAIN), root_forbidden=('COMPUTE_STATUS_DISABLED',), limit=1000
    )
    assert (request.unknown, request.placement_refusal) == ((), '')


def test_disks_are_added_and_swap_is_rounded_up():
    result = predicted(Flavor('m', 1, 64, disk=5, ephemeral=10, swap=1025)).first.common
    assert result.resources == {'VCPU': 1, 'MEMORY_MB': 64, 'DISK_GB': 17}
    assert predicted(Flavor('m', 1, 64)).first.common.resources == {'VCPU': 1, 'MEMORY_MB': 64}


@pytest.mark.parametrize(
    ('specs', 'resources'),
    [
        ({'resources:VGPU': '1'}, PLAIN | {'VGPU': 1}),
        ({'resources:VCPU': '0', 'resources:CUSTOM_BM': '1', 'resources:MEMORY_MB': '0',
          'resources:DISK_GB': '0'}, {'CUSTOM_BM': 1}),
        ({'resources:DISK_GB': '7'}, PLAIN | {'DISK_GB': 7}),
        ({'resources:VGPUS': '1'}, PLAIN),
        # What a group asks for is not asked for twice.
        ({'resources1:VCPU': '2'}, MEMORY | DISK),
        ({'hw:cpu_policy': 'shared'}, PLAIN),
        ({'hw:cpu_policy': 'dedicated'}, PINNED),
        ({'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'isolate'},
         PINNED | {'PCPU': 5}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0-1'},
         {'VCPU': 2, 'PCPU': 2, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-2,^1'},
         {'VCPU': 2, 'PCPU': 2, **MEMORY, **DISK}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '1-3'},
         {'VCPU': 1, 'PCPU': 3, **MEMORY, **DISK}),
        ({'hw:pmem': '6GB, 6GB,big one'},
         PLAIN | {'CUSTOM_PMEM_NAMESPACE_6GB': 2, 'CUSTOM_PMEM_NAMESPACE_BIG_ONE': 1}),
    ],
)  # fmt: skip
def test_extra_specs_change_amounts(specs, resources):
    assert predicted(flavor(**specs)).first.common.resources == resources


@pytest.mark.parametrize(
    ('specs', 'properties', 'traits'),
    [
        ({'trait:A': 'required', 'trait:B': 'forbidden', 'trait:C': 'x'}, {}, 'A !B'),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'isolate'}, {},
         '!HW_CPU_HYPERTHREADING'),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require'}, {},
         'HW_CPU_HYPERTHREADING'),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'prefer'}, {}, ''),
        ({'hw:mem_encryption': 'True'}, {'hw_firmware_type': 'uefi'}, 'HW_CPU_X86_AMD_SEV'),
        ({'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'}, {},
         'COMPUTE_SECURITY_TPM_2_0 COMPUTE_SECURITY_TPM_CRB '
         'root:COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER'),
        ({'hw:tpm_version': '1.2', 'hw:tpm_secret_security': 'host'}, {},
         'COMPUTE_SECURITY_TPM_1_2 COMPUTE_SECURITY_TPM_TIS '
         'root:COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST'),
        ({'hw:tpm_secret_security': 'host'}, {}, ''),
        ({'os:secure_boot': 'required'}, {}, 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'),
        ({'hw:pci_numa_affinity_policy': 'socket'}, {}, 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'),
        ({'hw:virtio_packed_ring': 'true'}, {}, 'root:COMPUTE_NET_VIRTIO_PACKED'),
        ({'hw:sound_model': 'virtio'}, {}, 'root:COMPUTE_SOUND_MODEL_VIRTIO'),
        ({}, {'hw_sound_model': 'virtio'}, 'root:COMPUTE_SOUND_MODEL_VIRTIO'),
        ({'hw:ephemeral_encryption': 'yes', 'hw:ephemeral_encryption_format': 'luks'}, {},
         'root:COMPUTE_EPHEMERAL_ENCRYPTION root:COMPUTE_EPHEMERAL_ENCRYPTION_LUKS'),
        ({'accel:device_profile': 'fpga'}, {}, 'root:COMPUTE_ACCELERATORS'),
    ],
)  # fmt: skip
def test_flavor_and_image_ask_for_traits(specs, properties, traits):
    request = predicted(flavor(**specs), image=Image(properties)).first
    common, root = request.common, request.root_required
    required = [*common.required, *(f'!{name}' for name in common.forbidden)]
    assert [*required, *(f'root:{name}' for name in root)] == traits.split()


def test_numbered_extra_specs_become_groups():
    result = predicted(
        flavor(
            **{
                'resources1:VGPU': '1',
                'trait1:CUSTOM_A40': 'required',
                'resources_NET:SRIOV_NET_VF': '2',
                'resources2:VGPU': '0',
                'group_policy': 'isolate',
            }
        )
    ).first
    assert result.groups == {
        '1': Filter({'VGPU': 1}, ('CUSTOM_A40',)),
        '_NET': Filter({'SRIOV_NET_VF': 2}),
    }
    assert (result.group_policy, result.common.resources['VCPU']) == ('isolate', 4)


def test_parts_without_their_source_are_named():
    flavor_of_devices = flavor(**{'accel:device_profile': 'fpga', 'pci_passthrough:alias': 'a:1'})
    assert predicted(flavor_of_devices).unknown == (
        'pci_passthrough:alias=a:1 (nova.conf not given)',
        'device profile fpga (device profiles not given)',
    )


def test_nova_34_asks_for_its_owner_trait_on_the_root():
    assert predicted(flavor(), has_owner_trait=True).first.root_required == ('OWNER_NOVA',)


def test_extra_specs_that_the_scheduler_ignores_are_named():
    specs = {'resources:VPGU': '1', 'resources1:VGPU': 'x', 'resources:CUSTOM_A': '1'}
    assert predicted(flavor(**specs)).ignored == (
        'resources:VPGU=1. Did you mean "VGPU"?',
        'resources1:VGPU=x',
    )


@pytest.mark.parametrize(
    ('specs', 'reason'),
    [
        ({'resources:VGPU': '2147483648'}, 'no provider has 2147483648 of VGPU'),
        ({'trait1:CUSTOM_A': 'required'}, "the group '1' asks for traits without resources"),
        ({'resources1:VGPU': '1', 'resources2:VGPU': '1'},
         'it has several groups and no group_policy'),
    ],
)  # fmt: skip
def test_a_flavor_that_placement_refuses_is_an_error(specs, reason):
    assert predicted(flavor(**specs)).placement_refusal == reason


@pytest.mark.parametrize('amount', ['x', '-1', '9' * 5000])
def test_an_amount_that_is_no_number_is_ignored_and_named(amount):
    specs = flavor(**{'resources:VGPU': amount})
    assert 'VGPU' not in predicted(specs).first.common.resources
    assert predicted(specs).ignored == (f'resources:VGPU={amount}',)


def test_dedicated_cpus_are_asked_for_twice():
    result = predicted(flavor(**{'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require'}))
    assert (result.first.common.resources['PCPU'], result.first.common.required) == (
        4,
        ('HW_CPU_HYPERTHREADING',),
    )
    assert result.second is not None
    assert (result.second.common.resources, result.second.common.required) == (
        {'VCPU': 4, **MEMORY, **DISK},
        (),
    )
    once = Settings(disable_fallback_pcpu_query=True)
    pinned = ServerRequest(flavor(**{'hw:cpu_policy': 'dedicated'}))
    assert build_request(pinned, once).second is None
    assert predicted(flavor(**{'resources:PCPU': '4'})).second is None


@pytest.mark.parametrize(
    ('specs', 'properties'),
    [
        ({'hw:cpu_policy': 'shared'}, {'hw_cpu_policy': 'dedicated'}),
        ({'hw:cpu_policy': 'shared'}, {'hw_cpu_policy': 'mixed'}),
        ({'hw:cpu_policy': 'mixed'}, {}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-99999999999999999999,^2,x'}, {}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-1,^100000'}, {}),
        ({'hw:cpu_policy': 'pinned'}, {}),
        ({'hw:cpu_thread_policy': 'isolate'}, {}),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'isolate'},
         {'hw_cpu_thread_policy': 'require'}),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '0-4'},
         {}),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-3'}, {}),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_dedicated_mask': '0-1'}, {}),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'prefer',
          'trait:HW_CPU_HYPERTHREADING': 'required'}, {}),
        ({'hw:cpu_policy': 'shared', 'resources:VCPU': '4'}, {}),
        ({'resources:VCPU': '4', 'resources:PCPU': '4'}, {}),
        ({'resources:PCPU': '3'}, {}),
        ({'hw:mem_encryption': 'true', 'hw:mem_encryption_model': 'amd-sev'},
         {'hw_firmware_type': 'uefi', 'hw_mem_encryption_model': 'amd-sev-es'}),
        ({'hw:mem_encryption': 'true'}, {'hw_firmware_type': 'uefi', 'hw_machine_type': 'pc'}),
        ({'hw:mem_encryption': 'true', 'hw:mem_encryption_model': 'amd-sev-snp'},
         {'hw_firmware_type': 'uefi'}),
        ({'hw:mem_encryption': 'true'}, {'hw_firmware_type': 'bios'}),
        ({'hw:tpm_version': '1.2', 'hw:tpm_model': 'tpm-crb'}, {}),
        ({'hw:sound_model': 'virtio'}, {'hw_sound_model': 'usb'}),
        ({}, {'hw_disk_bus': 'nvme'}),
    ],
)  # fmt: skip
def test_a_flavor_that_nova_refuses_is_an_error(specs, properties):
    with pytest.raises(Refusal):
        predicted(flavor(**specs), image=Image(properties))


def test_a_request_names_the_parts_that_an_unknown_image_decides():
    threads = predicted(flavor(**{'hw:cpu_thread_policy': 'isolate'}))
    assert threads.unknown == ('CPU policy (image not given)',)
    encrypted = predicted(flavor(**{'hw:mem_encryption': 'true'}))
    assert encrypted.first.common.resources['MEM_ENCRYPTION_CONTEXT'] == 1
    assert encrypted.unknown == (
        'firmware of the image, taken as what hw:mem_encryption needs (image not given)',
    )


def test_an_alias_asks_for_a_group_for_each_device():
    alias = '{"name": "gpu", "resource_class": "pgpu", "traits": "CUSTOM_A100"}'
    server = ServerRequest(flavor(**{'pci_passthrough:alias': 'gpu:2'}))
    result = build_request(server, Settings(True, None, True, (alias,)), Sources(True))
    group = Filter({'PGPU': 1}, ('CUSTOM_A100', 'OWNER_NOVA'))
    assert result.first.groups == {'pci_request_0-0': group, 'pci_request_0-1': group}
    assert (result.first.group_policy, result.unknown, result.filters) == ('none', (), ())
    elsewhere = alias.replace('"resource_class": "pgpu"', '"vendor_id": "10de", "product_id": "1"')
    with pytest.raises(Refusal, match='vendor_id'):
        build_request(server, Settings(True, None, False, (elsewhere,)))
    with pytest.raises(Refusal, match='no PCI alias is called gpu'):
        build_request(server, Settings(True))


def test_parts_of_a_request_whose_source_is_missing_are_named():
    server = ServerRequest(flavor(), zone='az1:h1', project='p')
    settings = Settings(
        True,
        limit_tenants_to_placement_aggregate=True,
        placement_aggregate_required_for_tenants=True,
    )
    assert build_request(server, settings).unknown == (
        'aggregates of the project (aggregates not given)',
        'availability zone az1 (aggregates not given)',
        'chosen host h1 (hypervisors not given)',
    )


def test_zones_and_projects_become_aggregates():
    aggregates = [
        HostAggregate('a1', 'a', (), metadata={'availability_zone': 'az1'}),
        HostAggregate('a2', 'b', (), metadata={'filter_tenant_id3': 'p'}),
        HostAggregate('a3', 'c', (), metadata={'trait:CUSTOM_A': 'required'}),
    ]
    settings = Settings(
        True, limit_tenants_to_placement_aggregate=True, enable_isolated_aggregate_filtering=True
    )
    server = ServerRequest(flavor(), zone='az1', project='p')
    result = build_request(server, settings, Sources(aggregates=aggregates)).first.common
    assert (result.member_of, result.forbidden_member_of) == (('a1', 'a2'), ('a3',))


@pytest.mark.parametrize(
    ('filter', 'image', 'traits'),
    [
        ('query_placement_for_image_type_support', Image({}, 'qcow2'), 'COMPUTE_IMAGE_TYPE_QCOW2'),
        ('query_placement_for_image_type_support', Image({}, 'nonsense'), ''),
        ('image_metadata_prefilter', Image({'hw_disk_bus': 'virtio', 'hw_vif_model': 'e1000'}),
         'COMPUTE_NET_VIF_MODEL_E1000 COMPUTE_STORAGE_BUS_VIRTIO'),
        # All of them, or none.
        ('image_metadata_prefilter', Image({'hw_viommu_model': 'auto', 'hw_disk_bus': 'uml'}), ''),
    ],
)  # fmt: skip
def test_image_filters_add_traits_of_the_image(filter, image, traits):
    settings = Settings(True, **{filter: True})
    request = build_request(ServerRequest(flavor(), image), settings).first
    assert sorted(request.root_required) == traits.split()
    unknown = build_request(ServerRequest(flavor()), settings).unknown
    assert [text.endswith('of the image (image not given)') for text in unknown] == [True]


NODES = [
    Hypervisor(f'node{number}', f'uuid{number}', service=HypervisorService(host))
    for number, host in enumerate(('h1', 'ironic', 'ironic'))
]


@pytest.mark.parametrize(
    ('zone', 'tree', 'limit'),
    [(':h1', 'uuid0', 1000), ('::node2', 'uuid2', 1000), (':ironic', None, None)],
)
def test_a_chosen_host_limits_the_request_to_its_tree_unless_it_has_many_nodes(zone, tree, limit):
    sources = Sources(hypervisors=NODES)
    request = build_request(ServerRequest(flavor(), zone=zone), sources=sources).first
    assert (request.common.in_tree, request.limit) == (tree, limit)


@pytest.mark.parametrize(
    ('parts', 'reason'),
    [
        ({'zone': ':h2'}, 'there is no host h2'),
        ({'zone': 'a:b:c:d'}, 'is no availability zone'),
        ({'project': 'p'}, 'no aggregate is of project p'),
        ({'ports': (Port('port', network_id='net'),)}, 'a segment of net has no aggregate'),
        ({'image': Image(min_ram=4096)}, 'the image needs 4096 MiB'),
        ({'image': Image(size=21 << 30)}, 'the image does not fit on a disk of 20 GiB'),
        ({'image': Image(min_disk=21)}, 'the image does not fit on a disk of 20 GiB'),
        ({'ports': (Port('port', vnic_type='accelerator-direct'),)}, 'port has no device profile'),
        (
            {'ports': (Port('port', vnic_type='accelerator-direct', device_profile='fpga'),)},
            'device profile fpga has resources:FPGA=x, which is no whole number',
        ),
    ],
)
def test_a_request_that_nova_refuses_is_an_error(parts, reason):
    settings = Settings(
        True,
        limit_tenants_to_placement_aggregate='project' in parts,
        placement_aggregate_required_for_tenants=True,
        query_placement_for_routed_network_aggregates=True,
    )
    sources = Sources(
        aggregates=[],
        segments={'net': [['a'], []]},
        hypervisors=NODES,
        profiles={'fpga': [{'resources:FPGA': 'x'}]},
    )
    with pytest.raises(Refusal, match=reason):
        build_request(ServerRequest(flavor(), **parts), settings, sources)
