# SPDX-License-Identifier: Apache-2.0
"""Random servers with all that Nova's request for them depends on, as plain documents."""

import random
from typing import Any

#: A server: ``flavor``, ``image`` (null: unknown), ``zone``, ``project``, ``ports``, ``volume``,
#: ``hints`` and ``host``, and the cloud: ``settings``, ``aggregates``, ``profiles``, ``segments``
#: and ``owned``.
Document = dict[str, Any]

PROJECTS = ('p1', 'p2')
ZONES = ('az1', 'az2', 'nova')
_CPUS = ('dedicated', 'mixed', 'shared')
_MASKS = ('0', '0-1', '^0', '1-3,^2', '0-3', '7', '3-1', 'x', ' ^0 , ^1')
_TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_AVX', 'HW_CPU_HYPERTHREADING')
_CLASSES = ('VGPU', 'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_X', 'VPGU', 'PGPU')
_BOOLEANS = ('true', 'True', 'yes', '1', 'false', 'no', '')
_ENCRYPTED = ('amd-sev', 'amd-sev-es', 'amd-sev-snp', 'intel-tdx', 'amd')

#: Values that Nova refuses, at least for most servers.
_REFUSED = {
    *('x', 'amd', 'crb', '3', 'gpu', 'nvme:x', 'other:1', 'nvme', 'pdp11', '7', '3-1', 'empty'),
    *('accelerator-direct', 'h3', ':h9', ':a:b:c', 'device_profile_0'),
    *('VCPU', 'PCPU', 'HW_CPU_HYPERTHREADING'),
}

#: Each extra spec with its values.
_SPECS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('group_policy', ('none', 'isolate', 'other')),
    ('hw:mem_encryption', _BOOLEANS),
    ('hw:mem_encryption_model', _ENCRYPTED),
    ('hw:pmem', ('6GB', '6GB, 6GB,big one', ' ')),
    ('hw:tpm_version', ('1.2', '2.0', '3')),
    ('hw:tpm_model', ('tpm-tis', 'tpm-crb', 'crb')),
    ('hw:tpm_secret_security', ('user', 'host', 'deployment', 'other')),
    ('os:secure_boot', ('required', 'optional', 'disabled', 'x')),
    ('hw:maxphysaddr_mode', ('passthrough', 'emulate', 'x')),
    ('hw:pci_numa_affinity_policy', ('socket', 'preferred', 'x')),
    ('hw:virtio_packed_ring', _BOOLEANS),
    ('hw:ephemeral_encryption', _BOOLEANS),
    ('hw:ephemeral_encryption_format', ('luks', 'plain', 'luksv2', 'x')),
    ('hw:sound_model', ('virtio', 'ich9', 'x')),
    ('accel:device_profile', ('fpga', 'two', 'empty')),
    (
        'pci_passthrough:alias',
        ('gpu:1', 'gpu:2', 'gpu:1, nvme:2', 'gpu:0', ' nvme :1', 'other:1', 'gpu', 'nvme:x'),
    ),
    ('capabilities:cpu_info', ('avx',)),
)  # fmt: skip
#: Those of CPUs, which are asked for together.
_CPU_SPECS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('hw:cpu_policy', _CPUS),
    ('hw:cpu_thread_policy', ('prefer', 'isolate', 'require')),
    ('hw:emulator_threads_policy', ('share', 'isolate')),
    ('hw:cpu_dedicated_mask', _MASKS),
    ('hw:cpu_realtime', _BOOLEANS),
    ('hw:cpu_realtime_mask', _MASKS),
)
_PROPERTIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('hw_cpu_policy', _CPUS),
    ('hw_cpu_thread_policy', ('prefer', 'isolate', 'require')),
    ('hw_cpu_realtime_mask', _MASKS),
    ('hw_mem_encryption', _BOOLEANS),
    ('hw_mem_encryption_model', _ENCRYPTED),
    ('hw_firmware_type', ('uefi', 'uefi', 'bios')),
    ('hw_firmware_stateless', _BOOLEANS),
    ('hw_machine_type', ('q35', 'pc-q35-8.2', 'pc')),
    ('hw_tpm_version', ('1.2', '2.0')),
    ('hw_tpm_model', ('tpm-tis', 'tpm-crb')),
    ('os_secure_boot', ('required', 'optional')),
    ('hw_maxphysaddr_mode', ('passthrough', 'emulate')),
    ('hw_pci_numa_affinity_policy', ('socket', 'legacy')),
    ('hw_virtio_packed_ring', _BOOLEANS),
    ('hw_ephemeral_encryption', _BOOLEANS),
    ('hw_ephemeral_encryption_format', ('luks', 'plain')),
    ('hw_sound_model', ('virtio', 'usb')),
    ('hw_cdrom_bus', ('sata', 'ide', 'fdc')),
    ('hw_disk_bus', ('virtio', 'scsi', 'uml', 'nvme')),
    ('hw_video_model', ('virtio', 'none', 'vga', 'bochs')),
    ('hw_vif_model', ('virtio', 'VirtualE1000', 'spapr-vlan', 'igb', 'e1000')),
    ('hw_architecture', ('x86_64', 'amd64', 'AARCH64', 'cris', 'pdp11')),
    ('architecture', ('i386', 'x86_64')),
    ('vmware_adaptertype', ('ide', 'lsiLogic', '')),
    ('hw_emulation_architecture', ('aarch64', 'ppc64le')),
    ('hw_viommu_model', ('intel', 'virtio')),
    ('trait:CUSTOM_A', ('required', 'forbidden')),
    ('trait:CUSTOM_ISOLATED', ('required',)),
    ('trait:HW_CPU_HYPERTHREADING', ('required',)),
)
_ALIASES = (
    '{"name": "gpu", "vendor_id": "10de", "product_id": "20f1"}',
    '{"name": "gpu", "vendor_id": "10de", "product_id": "20f1", "resource_class": "pgpu",'
    ' "traits": "custom-a, b,HW_GPU_API_CUDA", "numa_policy": "required"}',
    '{"name": "nvme", "resource_class": "custom-nvme", "device_type": "type-PF"}',
    '{"name": "nvme", "vendor_id": "8086", "product_id": "0a54", "live_migratable": "yes"}',
    '{"name": " nvme ", "vendor_id": "8086", "product_id": "0A54"}',
    '{"name": "bare"}',
)
_FLAGS = (
    *('pci_in_placement', 'enable_isolated_aggregate_filtering', 'image_metadata_prefilter'),
    *('limit_tenants_to_placement_aggregate', 'placement_aggregate_required_for_tenants'),
    *('query_placement_for_image_type_support', 'query_placement_for_routed_network_aggregates'),
    'disable_fallback_pcpu_query',
)
_METADATA = (
    ('availability_zone', ZONES[:2]),
    ('filter_tenant_id', PROJECTS),
    ('filter_tenant_id3', (*PROJECTS, 'p1,p2')),
    ('trait:CUSTOM_ISOLATED', ('required', 'x')),
    ('trait:CUSTOM_A', ('required',)),
    ('trait:HW_CPU_HYPERTHREADING', ('required',)),
    ('ssd', ('required', *PROJECTS)),
)
_PROFILES: dict[str, list[list[dict[str, str]]]] = {
    'fpga': [
        [{'resources:FPGA': '1', 'trait:CUSTOM_FPGA': 'required', 'accel:bitstream_id': 'x'}],
        [{'resources:CUSTOM_ACCELERATOR': '1'}, {'trait:CUSTOM_B': 'forbidden'}],
    ],
    'two': [[{'resources:FPGA': '2'}, {'resources:PGPU': '1'}]],
    'empty': [[], [{'accel:bitstream_id': 'x'}]],
}


def uuid(number):
    """Return a UUID."""
    return f'00000000-0000-0000-0000-{number:012d}'


#: Host, node and UUID of the compute nodes; a host has two of them.
NODES = (('h1', 'n1', uuid(91)), ('h2', 'n2', uuid(92)), ('h2', 'n3', uuid(93)))


def server(seed):
    """Return a random server; most are taken by Nova."""
    chance = random.Random(seed)
    return {
        'flavor': _flavor(chance),
        'image': _image(chance),
        'volume': chance.random() < 0.3,
        'zone': _zone(chance),
        'project': chance.choice(PROJECTS),
        'ports': _ports(chance),
        'hints': chance.choice(([], [], ['group'], ['same_host'], ['build_near_host_ip'])),
        'host': _choice(chance, (None, None, None, 'h1', 'h2', 'h3')),
        'settings': _settings(chance),
        'aggregates': [_aggregate(chance, number) for number in range(chance.randrange(5))],
        'profiles': {
            name: chance.choice(groups)
            for name, groups in _PROFILES.items()
            if chance.random() < 0.95
        },
        'segments': _segments(chance),
        'owned': chance.random() < 0.5,
    }


def _some(chance, values, most):
    picked = chance.sample(values, min(chance.randrange(most + 1), len(values)))
    return {name: _choice(chance, choices) for name, choices in picked}


def _choice(chance, values):
    """Return one of some values, rarely one that Nova refuses."""
    taken = tuple(value for value in values if value not in _REFUSED)
    return chance.choice(values if chance.random() < 0.05 else taken)


def _flavor(chance):
    specs = _some(chance, _SPECS, 4)
    for _ in range(chance.choice((0, 0, 1, 2, 4))):
        suffix = _choice(chance, ('', '', '1', '2', '_A', 'device_profile_0'))
        if chance.random() < 0.6:
            amount = chance.choice(('0', '1', '2', '4', ' 3 ', 'x', '-1', '5000000000'))
            specs[f'resources{suffix}:{_choice(chance, _CLASSES)}'] = amount
        else:
            value = chance.choice(('required', 'required', 'forbidden', 'x'))
            specs[f'trait{suffix}:{_choice(chance, _TRAITS)}'] = value
    if chance.random() < 0.3:
        specs |= _some(chance, _CPU_SPECS, 4)
    names = list(specs)
    chance.shuffle(names)
    return {
        'vcpus': chance.choice((1, 2, 4)),
        'ram': chance.choice((64, 2048)),
        'disk': chance.choice((0, 1, 20)),
        'ephemeral': chance.choice((0, 0, 10)),
        'swap': chance.choice((0, 0, 1, 1024, 1025)),
        'extra_specs': {name: specs[name] for name in names},
    }


def _image(chance):
    image = {
        'disk_format': chance.choice(('qcow2', 'raw', 'vmdk', 'ploop', 'x')),
        'min_ram': chance.choice((0,) * 9 + (512,)),
        'min_disk': chance.choice((0,) * 9 + (10,)),
        'size': chance.choice((2**20,) * 9 + (2**31,)),
        'properties': _some(chance, _PROPERTIES, 5),
    }
    if chance.random() < 0.7:
        for name in ('hw_cpu_thread_policy', 'trait:HW_CPU_HYPERTHREADING'):
            image['properties'].pop(name, None)
    if chance.random() < 0.5:
        # As memory encryption wants it.
        image['properties'] |= {
            'hw_firmware_type': 'uefi',
            'hw_firmware_stateless': 'true',
            'hw_video_model': chance.choice(('none', 'virtio')),
        }
        image['properties'].pop('hw_machine_type', None)
    return image


def _zone(chance):
    zone = chance.choice((None, '', *ZONES))
    host = _choice(chance, ('', '', '', ':h1', ':h2', ':h2:n3', '::n2', ':h9', ':a:b:c'))
    return f'{zone}{host}' if zone is not None and host else zone


def _ports(chance):
    has_groups = chance.random() < 0.7
    return [_port(chance, number, has_groups) for number in range(chance.choice((0, 0, 1, 2)))]


def _port(chance, number, has_groups):
    port: Document = {
        'id': uuid(number),
        'binding:vnic_type': _choice(
            chance, ('normal', 'normal', 'direct', 'remote-managed', 'accelerator-direct')
        ),
        'device_profile': chance.choice((None, 'fpga', 'two')),
        'network_id': uuid(50 + chance.randrange(3)),
        'fixed_ips': chance.choice(([], [{'subnet_id': uuid(60 + chance.randrange(3))}])),
    }
    amounts = {'NET_BW_EGR_KILOBIT_PER_SEC': chance.choice((1000, 2000))}
    traits = chance.choice(([], ['CUSTOM_PHYSNET_1'], ['CUSTOM_ISOLATED']))
    if chance.random() < 0.4:
        nothing = {'request_groups': [], 'same_subtree': []} if has_groups else {}
        port['resource_request'] = chance.choice((None, nothing))
    elif not has_groups:
        port['resource_request'] = {'resources': amounts, 'required': traits}
    else:
        ids = [uuid(70 + 2 * number), uuid(71 + 2 * number)]
        packets = {'NET_PACKET_RATE_KILOPACKET_PER_SEC': 100}
        port['resource_request'] = {
            'request_groups': [
                {'id': ids[0], 'resources': amounts, 'required': traits},
                {'id': ids[1], 'resources': packets, 'required': []},
            ],
            'same_subtree': chance.choice((ids, ids, [])),
        }
    return port


def _settings(chance):
    settings: Document = {name: chance.random() < 0.3 for name in _FLAGS}
    settings['alias'] = [chance.choice(_ALIASES[:2]), chance.choice(_ALIASES[2:4])]
    if chance.random() < 0.1:
        settings['alias'] = chance.sample(_ALIASES, 3)
    settings['default_schedule_zone'] = chance.choice((None, None, 'az1'))
    settings['max_placement_results'] = chance.choice((1000, 10))
    return settings


def _aggregate(chance, number):
    return {'uuid': uuid(10 + number), 'metadata': _some(chance, _METADATA, 3)}


def _segments(chance):
    """Return the segment of each subnet (60 …), each in a network (50 …), with its aggregates."""
    return {
        uuid(60 + number): [uuid(80 + number), uuid(85)][: chance.choice((0, 1, 1, 1, 2, 2, 2))]
        for number in range(3)
    }


def smaller(document):
    """Return the documents with one part less."""
    if isinstance(document, dict):
        texts = [isinstance(value, str) for value in document.values()]
        is_free = all(texts) and 'subnet_id' not in document
        for name, value in document.items():
            if is_free:
                yield {key: other for key, other in document.items() if key != name}
            for less in () if is_free else smaller(value):
                yield {**document, name: less}
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield document[:number] + document[number + 1 :]
            for less in smaller(value):
                yield [*document[:number], less, *document[number + 1 :]]
    elif document is True:
        yield False


def shrunk(document, is_wrong):
    """Return the smallest document that is wrong that taking parts away leads to."""
    while True:
        for less in smaller(document):
            if is_wrong(less):
                document = less
                break
        else:
            return document
