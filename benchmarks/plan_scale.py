# SPDX-License-Identifier: Apache-2.0
"""Plan the reshape of a whole cloud, and say what it costs.

Each host has as many VGPU as its future children together, in use by single consumers:

    python -m benchmarks.plan_scale --hosts 10000
    python -m benchmarks.plan_scale --hosts 10000 --mapped
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from placementclient.files import disk, specifications
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import invariants, planner
from placementclient.runs import storage

CHILDREN = 8
CONSUMERS = 16
SHARE = CONSUMERS // CHILDREN


def cloud(hosts: int) -> Snapshot:
    """A cloud of flat hosts: 8 children's worth of VGPU, 16 consumers each."""
    providers, consumers = [], []
    for host in range(hosts):
        root = str(uuid.UUID(int=(1 << 100) + host))
        inventories = {
            'MEMORY_MB': Inventory(262144, reserved=512, max_unit=262144),
            'VCPU': Inventory(64, max_unit=64, allocation_ratio=4.0),
            'VGPU': Inventory(CONSUMERS, max_unit=CONSUMERS),
        }
        usages = {'MEMORY_MB': CONSUMERS * 4096, 'VCPU': CONSUMERS * 4, 'VGPU': CONSUMERS}
        providers.append(
            ProviderState(
                Provider(root, f'compute-{host}', 20, None, root),
                inventories,
                frozenset({'COMPUTE_NODE', 'OWNER_NOVA'}),
                frozenset(),
                usages,
            )
        )
        for number in range(CONSUMERS):
            consumer = str(uuid.UUID(int=(1 << 101) + host * CONSUMERS + number))
            allocated = {'MEMORY_MB': 4096, 'VCPU': 4, 'VGPU': 1}
            consumers.append(
                Consumer(consumer, {root: allocated}, 'project', 'user', 1, 'INSTANCE')
            )
    return Snapshot(providers, consumers)


def reshape_spec() -> Spec:
    """VGPU to one child for each of eight functions."""
    names = [f'{{root}}_pci_0000_{number:02x}_00_0' for number in range(CHILDREN)]
    return specifications.convert_specification(
        {
            'trees': {'name': ['compute-*'], 'class': ['VGPU']},
            'providers': [{'name': name, 'traits': ['OWNER_NOVA']} for name in names],
            'moves': [
                {
                    'from_resource_provider': '{root}',
                    'to_resource_provider': name,
                    'moved_resources': {'VGPU': SHARE},
                }
                for name in names
            ],
        },
        'benchmark',
    )


def rows(hosts: int) -> list[AssignmentRow]:
    """What an operator would know: two consumers on each child."""
    return [
        AssignmentRow(
            str(uuid.UUID(int=(1 << 101) + host * CONSUMERS + number)),
            'VGPU',
            None,
            f'compute-{host}_pci_0000_{number // SHARE:02x}_00_0',
            'mdev list',
            'benchmark.csv',
            host * CONSUMERS + number + 2,
        )
        for host in range(hosts)
        for number in range(CONSUMERS)
    ]


def main() -> None:
    """Time it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    parser.add_argument('--mapped', action='store_true', help='with a row for each consumer')
    parser.add_argument('--write', metavar='FILE', help='write the snapshot, and end')
    parser.add_argument('--read', metavar='FILE', help='read a plan, say the peak in MiB, and end')
    arguments = parser.parse_args()
    if arguments.read:
        storage.read_plan(arguments.read)
        print(peak())
        return
    snapshot = cloud(arguments.hosts)
    if arguments.write:
        disk.write_snapshot(arguments.write, snapshot)
        return
    assigned = rows(arguments.hosts) if arguments.mapped else []
    start = time.perf_counter()
    plan = planner.plan_reshape(
        snapshot, reshape_spec(), assigned, allow_inferred=not arguments.mapped
    )
    planned = time.perf_counter()
    invariants.check_plan(plan)
    checked = time.perf_counter()
    planning = peak()
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/plan.json'
        storage.write_plan(path, plan)
        command = [sys.executable, __file__, '--read', path]
        reading = float(subprocess.run(command, check=True, capture_output=True).stdout)
    print(
        f'{arguments.hosts} hosts, {len(snapshot.consumers)} consumers: '
        f'planned in {planned - start:.1f} s, checked in {checked - planned:.1f} s, '
        f'peak {planning:.0f} MiB, {len(plan.changes)} trees; '
        f'peak of reading the plan {reading:.0f} MiB, {reading / planning:.2f} of planning'
    )


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    # Not getrusage(): a child has at least what its parent had.
    status = Path('/proc/self/status').read_text()
    return int(status.partition('VmHWM:')[2].split()[0]) / 1024


if __name__ == '__main__':
    main()
