# SPDX-License-Identifier: Apache-2.0
"""A cloud of nested hosts with shared storage, small enough to count by hand."""

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.functional import clouds
from tests.functional.clouds import uuid_of

PROJECT, USER = uuid_of('project'), uuid_of('user')
RACK, STORAGE = uuid_of('rack'), uuid_of('shared storage')


def provider(name, inventories=None, traits=(), aggregates=(), parent=None, root=None):
    """A provider; what is given of its tree are names."""
    return ProviderState(
        Provider(
            uuid_of(name), name, 0, parent and uuid_of(parent), uuid_of(root or parent or name)
        ),
        inventories or {},
        frozenset(traits),
        frozenset(aggregates),
    )


def host(name, *, vgpus=2, gpus=2, rack=True):
    """A compute node with its GPUs below it."""
    return [
        provider(
            name,
            {
                'VCPU': Inventory(16, allocation_ratio=4.0, max_unit=16),
                'MEMORY_MB': Inventory(65536, reserved=1024, step_size=256, max_unit=65536),
            },
            ['COMPUTE_NODE', 'HW_CPU_X86_AVX2'],
            [STORAGE, *([RACK] if rack else [])],
        ),
        *(
            provider(
                f'{name}_gpu{n}',
                {'VGPU': Inventory(vgpus, max_unit=vgpus)},
                ['CUSTOM_A40' if n else 'CUSTOM_T4'],
                parent=name,
            )
            for n in range(gpus)
        ),
    ]


def storage():
    """The storage that all hosts share."""
    return provider(
        'storage', {'DISK_GB': Inventory(1000, max_unit=500)}, [SHARING_TRAIT], [STORAGE]
    )


def holder(name, allocations, kind='INSTANCE'):
    """A consumer of what it holds, by the names of providers."""
    resources_on = {uuid_of(on): resources for on, resources in allocations.items()}
    return Consumer(uuid_of(name), resources_on, PROJECT, USER, None, kind)


def build(client, *consumers, hosts=2):
    """Make so many hosts, storage and consumers."""
    states = [state for n in range(hosts) for state in host(f'compute{n}')]
    snapshot = Snapshot([*states, storage()], consumers)
    clouds.load(client, snapshot)
    return snapshot


def uneven_cloud():
    """Three hosts, of which the first is out of the rack and the last has a full GPU."""
    states = [
        state
        for number in range(3)
        for state in host(f'compute{number}', gpus=number + 1, rack=number > 0)
    ]
    for number in range(2):
        cell, name = f'numa{number}', f'nic{number}'
        states.append(provider(cell, {'PCPU': Inventory(4)}, ['HW_NUMA_ROOT'], parent='compute0'))
        states.append(
            provider(
                name,
                {'SRIOV_NET_VF': Inventory(2, min_unit=2)},
                ['CUSTOM_NET'],
                parent=cell,
                root='compute0',
            )
        )
    return Snapshot([*states, storage()], [holder('server', {'compute2_gpu2': {'VGPU': 2}})])
