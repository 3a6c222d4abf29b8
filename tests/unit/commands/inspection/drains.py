# SPDX-License-Identifier: Apache-2.0
"""A small cloud to drain."""

from placementclient.nova import service as compute
from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, consumer, detailed, provider

RACK = '5c1d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f'
NO_STATES = (
    'Not known: the states of the servers, and servers without allocations. Before you run a '
    'command, plan again with --requests nova, or --requests servers.json --requests '
    'migrations.json\n'
)
AGAIN = 'Plan again with the same command; if it reads files, make them anew first'
HOSTS = [provider(name, VCPU=8) for name in ('compute1', 'compute2')]
PLAN = 'resource provider drain plan --snapshot {file} '


def three_hosts(tmp_path):
    """Three hosts with four servers; the first is in a rack, and has a trait."""
    first = {'traits': ['COMPUTE_NODE', 'HW_CPU_X86_AVX2'], 'aggregates': [RACK]}
    snapshot = cloud(
        [
            provider('compute1', **first, VCPU=8),
            provider('compute2', traits=['COMPUTE_NODE'], VCPU=8),
            provider('compute3', traits=['COMPUTE_NODE'], VCPU=8),
        ],
        [
            consumer('s1', compute1={'VCPU': 4}),
            consumer('s2', compute1={'VCPU': 2}),
            consumer('s3', compute2={'VCPU': 5}),
            consumer('s4', compute3={'VCPU': 4}),
        ],
    )
    return save(tmp_path, 'cloud.json', snapshot)


def server(uuid, vcpus, state='active'):
    return detailed(uuid, vcpus=vcpus, ram=0, state=state, image={'id': 'i'})


def requests(folder, lists):
    """Return the options for lists of Nova, and for images that ask for nothing."""
    images = {'images': [{'id': 'i', 'disk_format': 'raw'}]}
    return (
        f'--requests {save(folder, "nova.json", lists)} '
        f'--images {save(folder, "images.json", images)}'
    )


def answer_as_nova(monkeypatch, servers):
    """Answer for Nova, Glance and Cinder: these servers, and an image that asks for nothing."""
    empty = ('aggregates', 'read_server_groups', 'migrations', 'compute_services', 'read_volumes')
    answers: dict[str, list[object]] = {name: [] for name in empty}
    answers |= {'servers_with_zones': servers, 'read_images': [{'id': 'i', 'disk_format': 'raw'}]}
    for name, records in answers.items():
        monkeypatch.setattr(compute, name, lambda *_, records=records: records)
