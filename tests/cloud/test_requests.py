# SPDX-License-Identifier: Apache-2.0
"""The requests for candidates of real servers, beside those that Nova has sent for them."""

import re
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tests.cloud import accounts, control, hosts, layout, processes, settings

_, SECOND, THIRD = layout.HOSTS
ZONE = 'request-zone'
#: The options of the scheduler that ask Placement for more, which no API shows.
FILTERS = (
    'image_metadata_prefilter',
    'query_placement_for_image_type_support',
    'limit_tenants_to_placement_aggregate',
)


#: The option for what the scheduler does here.
SCHEDULER = ('--nova-conf', str(settings.path('nova/nova.conf')))
#: No API shows the versions of nova-compute.
UNKNOWN = ['OWNER_NOVA, taken as required (versions of nova-compute not given)']


class Kind(NamedTuple):
    """A server: the extra specs and sizes of its flavor, and the properties of its image."""

    specs: Mapping[str, str] = {}
    sizes: Mapping[str, int] = {}
    image: Mapping[str, str] = {}
    more: Mapping[str, Any] = {}


UEFI = {'hw_firmware_type': 'uefi'}
KINDS = {
    'plain': Kind(),
    'disks': Kind({}, {'ephemeral': 2, 'swap': 1025}),
    'no-disk': Kind({'resources:DISK_GB': '0'}),
    'classes': Kind({'resources:CUSTOM_REQUESTED': '2', 'resources:VCPU': '1'}),
    'traits': Kind({'trait:HW_CPU_X86_VMX': 'required', 'trait:CUSTOM_REQUESTED': 'forbidden'}),
    'groups': Kind(
        {
            'resources1:VGPU': '1',
            'trait1:CUSTOM_REQUESTED': 'required',
            'resources2:VGPU': '1',
            'group_policy': 'isolate',
        }
    ),
    'subtree': Kind({'resources_a:VGPU': '1', 'resources_b:SRIOV_NET_VF': '1'}),
    'dedicated': Kind({'hw:cpu_policy': 'dedicated'}, {'vcpus': 2}),
    'mixed': Kind({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0'}, {'vcpus': 2}),
    'threads': Kind({'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require'}),
    'emulator': Kind({'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'isolate'}),
    'encrypted': Kind({'hw:mem_encryption': 'true'}, {}, UEFI | {'hw_machine_type': 'q35'}),
    'tpm': Kind({'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'}),
    'secure-boot': Kind({'os:secure_boot': 'required'}, {}, UEFI),
    'address': Kind({}, {}, {'hw_maxphysaddr_mode': 'emulate', 'hw_maxphysaddr_bits': '42'}),
    'sound': Kind({'hw:sound_model': 'virtio'}),
    'ring': Kind({'hw:virtio_packed_ring': 'true'}),
    'ephemeral': Kind({'hw:ephemeral_encryption': 'true'}),
    'image-pinned': Kind({}, {'vcpus': 2}, {'hw_cpu_policy': 'dedicated'}),
    'image-traits': Kind({}, {}, {'trait:STORAGE_DISK_SSD': 'required'}),
    'image-buses': Kind({}, {}, {'hw_disk_bus': 'scsi', 'hw_vif_model': 'e1000'}),
    'image-firmware': Kind({}, {}, UEFI | {'hw_firmware_stateless': 'true'}),
    'image-type': Kind({}, {}, {'disk_format': 'ploop'}),
    'zone': Kind(more={'availability_zone': ZONE}),
    'hint': Kind(more={'hints': {'different_host': [str(uuid.uuid4())]}}),
}


def _boot(compute, *names):
    """Start servers of kinds; return their UUIDs by the kind once Nova has looked for a host."""
    hosts.settle(compute)
    compute.make_aggregate(ZONE, SECOND, THIRD, zone=ZONE)
    uuids = {}
    for name in names:
        kind = KINDS[name]
        flavor, image = f'asks-{name}', f'asks-{name}' if kind.image else 'cirros'
        sizes = {'vcpus': 1, 'ram': 64, 'disk': 1, **kind.sizes}
        compute.make_flavor(flavor, **sizes, specs=kind.specs)
        image = compute.make_image(image, kind.image)
        uuids[name] = compute.create(name, flavor, imageRef=image, **kind.more)
    for server in uuids.values():
        compute.wait(server, 'ACTIVE', 'ERROR')
    return uuids


@pytest.fixture
def usual():
    """The scheduler without the options that only its nova.conf shows."""
    ours = settings.nova()
    scheduler = {name: value for name, value in ours['scheduler'].items() if name not in FILTERS}
    control.restart_nova({**ours, 'scheduler': scheduler}, 'nova-scheduler')
    yield
    control.restart_nova(ours, 'nova-scheduler')


def _sent(compute, server):
    """The requests that Nova has sent to boot a server, as Placement has logged them."""
    actions = compute.call('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
    request_id = actions[-1]['request_id']
    user = accounts.Identity().make('users', 'nova')
    pattern = rf'\[{request_id} \S+ {user} .*"GET (/allocation_candidates\?\S+)" status'
    return re.findall(pattern, processes.log('placement').read_text())


def _differing(compute, placement, servers, *options):
    """The requests of servers that this program asks otherwise than Nova, beside Nova's."""
    command = ('allocation', 'candidate', 'explain', '--print-request', '-f', 'json', '--server')
    differing = {}
    for name, server in servers.items():
        request, sent = placement(*command, server, *options).json(), _sent(compute, server)
        ours = [path for path in (request['path'], request['second']) if path]
        if (ours, request['unknown']) != (sent, UNKNOWN):
            differing[name] = ours, sent, request['unknown']
    return differing


@pytest.mark.usefixtures('usual')
def test_the_request_of_a_server_is_found_out_by_its_uuid_alone(compute, placement):
    servers = _boot(compute, *KINDS)

    assert len(servers) == 25
    assert _differing(compute, placement, servers) == {}


@pytest.mark.parametrize(
    ('policy', 'where'), [('anti-affinity', 'not on'), ('affinity', 'only on')]
)
def test_the_hosts_that_a_server_group_leaves_are_those_of_its_members(
    compute, placement, policy, where
):
    hosts.settle(compute)
    made = {'server_group': {'name': 'web', 'policy': policy}}
    group = compute.call('POST', '/os-server-groups', made)['server_group']['id']
    first = compute.boot('first', hints={'group': group}, host=SECOND)
    second = compute.boot('second', hints={'group': group})

    answer = placement(f'allocation candidate explain --server {second}')

    compute.call('DELETE', f'/os-server-groups/{group}')
    assert (answer.status, compute.host(first)) == (0, SECOND), answer.stderr
    assert f'Server group web ({policy}): {where} {SECOND}\n' in answer.stdout
    assert (compute.host(second) == SECOND) == (policy == 'affinity')


def test_the_request_of_a_server_follows_the_options_of_the_scheduler(compute, placement):
    servers = _boot(compute, 'plain', 'zone', 'image-buses', 'image-type')

    assert _differing(compute, placement, servers, *SCHEDULER) == {}
