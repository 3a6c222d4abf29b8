# SPDX-License-Identifier: Apache-2.0
"""Measure what assumptions cost on a snapshot of many hosts, beside reading it from its file.

python -m benchmarks.assume --hosts 10000
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path

from benchmarks.audit_scale import Clock
from placementclient.files import disk
from placementclient.model.servers import Flavor
from placementclient.producers.assuming.assumptions import (
    FileReaders,
    apply_assumptions,
    parse_assumptions,
)
from placementclient.runs import storage
from tests.functional.clouds import used
from tests.functional.planted import planted

#: Every kind of assumption but a plan, about many hosts.
ASSUMPTIONS = """
- match: compute*
  inventories: {VCPU: {allocation_ratio: 5.0}}
  traits: {add: [CUSTOM_SSD], remove: [COMPUTE_STATUS_DISABLED]}
- with_class: DISK_GB
  inventories: {DISK_GB: {reserved: 100}}
- add: 500
  like: compute0005
  name: new{n:03d}
- match: new*
  aggregates: {add: [1d2cbb0a-7f0f-4a6b-9a3c-0c5f27c0b9aa]}
- without: [compute01*]
- servers: {flavor: m1.large, count: 2000}
- servers: {flavor: m1.large, count: 10, on: [compute0001, new*]}
- servers: {flavor: gpu, count: 10}
"""
FLAVORS = [
    Flavor('m1.large', 4, 8192, 80),
    Flavor('gpu', 4, 8192, 80, extra_specs={'resources:VGPU': '1', 'trait:CUSTOM_X': 'required'}),
]


def main() -> None:
    """Write a snapshot, read it, and assume."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    arguments = parser.parse_args()
    clock, cloud = Clock(), used(planted(arguments.hosts).snapshot)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'cloud.json.gz')
        disk.write_snapshot(path, cloud)
        clock.stop('make and write')
        snapshot = disk.read_snapshot(path)
        clock.stop('read')
    entries = parse_assumptions(
        ASSUMPTIONS, 'assume.yaml', FileReaders(storage.read_plan, lambda _: FLAVORS)
    )
    result = apply_assumptions(snapshot, entries)
    clock.stop('assume')
    facts = {
        'providers': len(snapshot.providers),
        'consumers': len(snapshot.consumers),
        'lost': len(result.lost),
        'placed': len(result.placed),
        'notes': result.notes,
        'seconds': clock.times,
        'megabytes': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(facts, indent=2))


if __name__ == '__main__':
    main()
