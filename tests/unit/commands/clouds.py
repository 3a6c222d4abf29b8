# SPDX-License-Identifier: Apache-2.0
"""A small cloud in files, for the commands that work on files."""

import json
from pathlib import Path

from msgspec.structs import replace

from placementclient.files import disk
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from tests.unit.insight.clouds import cloud, consumer, pool, provider


def small():
    """Two hosts, one nested, with one pool; a server on both."""
    return cloud(
        [
            provider('host1', aggregates=['shared'], VCPU=Inventory(8, max_unit=4)),
            provider('host1_gpu', 'host1', VGPU=2),
            provider('host2', aggregates=['shared'], VCPU=4),
            pool('nfs', DISK_GB=100),
        ],
        [consumer('s', host1={'VCPU': 2}, host2={'VCPU': 1}, nfs={'DISK_GB': 40})],
    )


def changed():
    """The same, a day later."""
    before = small()
    states = [
        replace(state, traits=frozenset({'CUSTOM_NEW'})) if state.name == 'host2' else state
        for state in before.providers.values()
    ]
    return Snapshot(states, [])


def save(folder, name, content):
    """Write a snapshot, or any JSON, to a file; returns its path."""
    path = str(folder / name)
    if isinstance(content, Snapshot):
        disk.write_snapshot(path, content)
    else:
        Path(path).write_text(json.dumps(content))
    return path
