"""Each kind of reshape, there and back, on the real service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from placementclient.planner.specification import specification
from placementclient.reshape import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of

ROOT = uuid_of('compute0')


def holder(name: str, resources: dict[str, int], where: str = ROOT) -> Consumer:
    return Consumer(uuid_of(name), {where: resources}, 'project', 'user', None, None)


def move(target: str, **fields: Any) -> dict[str, Any]:
    return {'from_resource_provider': '{root}', 'to_resource_provider': target, **fields}


def pinned() -> tuple[list[ProviderState], list[Consumer], dict[str, Any], list[AssignmentRow]]:
    """VCPU become PCPU on the same provider, but only those of pinned servers."""
    consumers = [holder('pinned', {'VCPU': 4}), holder('shared', {'VCPU': 2})]
    document = {
        'trees': {'class': ['VCPU']},
        'providers': [{'name': '{root}', 'inventories': {'PCPU': {'allocation_ratio': 1.0}}}],
        'moves': [move('{root}', moved_resources={'VCPU': 8}, **{'as': {'VCPU': 'PCPU'}})],
    }
    rows = [AssignmentRow(uuid_of('pinned'), 'VCPU', None, 'compute0')]
    return [clouds.host('compute0')], consumers, document, rows


def renamed() -> tuple[list[ProviderState], list[Consumer], dict[str, Any], list[AssignmentRow]]:
    """A custom class becomes another one."""
    host = clouds.host('compute0')
    host = replace(host, inventories={**host.inventories, 'CUSTOM_FOO': Inventory(6)})
    names = {'as': {'CUSTOM_FOO': 'CUSTOM_BAR'}}
    document = {
        'trees': {'class': ['CUSTOM_FOO']},
        'moves': [move('{root}', moved_resources={'CUSTOM_FOO': 6}, **names)],
    }
    return [host], [holder('a', {'CUSTOM_FOO': 2, 'VCPU': 1})], document, []


def numa() -> tuple[list[ProviderState], list[Consumer], dict[str, Any], list[AssignmentRow]]:
    """VCPU and MEMORY_MB of a server go to one cell."""
    document = {
        'trees': {'class': ['VCPU']},
        'providers': [
            {'name': f'{{root}}_NUMA{n}', 'inventories': {'MEMORY_MB': {'reserved': 256}}}
            for n in range(2)
        ],
        'moves': [
            move(f'{{root}}_NUMA{n}', moved_resources={'VCPU': 16, 'MEMORY_MB': 32768})
            for n in range(2)
        ],
        'together': [['VCPU', 'MEMORY_MB']],
    }
    consumers = [holder(f's{n}', {'VCPU': 3, 'MEMORY_MB': 4096}) for n in range(4)]
    rows = [
        AssignmentRow(uuid_of(f's{n}'), name, None, f'compute0_NUMA{n % 2}')
        for n in range(4)
        for name in ('VCPU', 'MEMORY_MB')
    ]
    return [clouds.host('compute0')], consumers, document, rows


def split() -> tuple[list[ProviderState], list[Consumer], dict[str, Any], list[AssignmentRow]]:
    """One virtual function on each child: a server with two spans two."""
    document = {
        'trees': {'class': ['VGPU']},
        'moves': [move(f'{{root}}_vf{n}', moved_resources={'VGPU': 1}) for n in range(4)],
        'split': True,
    }
    rows = [AssignmentRow(uuid_of('two'), 'VGPU', 1, f'compute0_vf{n}') for n in (1, 2)]
    return [clouds.host('compute0', 4)], [holder('two', {'VGPU': 2, 'VCPU': 1})], document, rows


def merged() -> tuple[list[ProviderState], list[Consumer], dict[str, Any], list[AssignmentRow]]:
    """What is on children goes back to the root."""
    host = clouds.host('compute0')
    host = replace(host, inventories={n: i for n, i in host.inventories.items() if n != 'VGPU'})
    children = [
        ProviderState(
            Provider(uuid_of(f'gpu{n}'), f'compute0_gpu{n}', 0, ROOT, ROOT), {'VGPU': Inventory(4)}
        )
        for n in range(2)
    ]
    consumers = [holder(f's{n}', {'VGPU': n + 1}, uuid_of(f'gpu{n}')) for n in range(2)]
    moves = [
        {
            'from_resource_provider': f'{{root}}_gpu{n}',
            'to_resource_provider': '{root}',
            'moved_resources': {'VGPU': 4},
        }
        for n in range(2)
    ]
    document = {'trees': {'name': ['compute0']}, 'moves': moves}
    return [host, *children], consumers, document, []


@pytest.mark.parametrize('kind', [pinned, renamed, numa, split, merged])
def test_there_and_back(client: Client, tmp_path: Path, kind: Any) -> None:
    states, consumers, document, rows = kind()
    before = clouds.loaded(client, Snapshot(states, consumers))
    plan = planner.make(before, specification.from_document(document, 'spec.yaml'), rows)
    path = str(tmp_path / 'plan.journal')
    with clouds.watched(client) as requests:
        outcome = engines.apply(client, plan, path)
    assert outcome.exit_status is ExitStatus.DONE, outcome
    # Besides the tree's own: whether it is allowed, and the custom names.
    custom = sum('CUSTOM_' in path for _, path in requests)
    assert len(requests) - 1 - custom <= 7 + 5 * (len(plan.trees[0].providers) - 1)
    assert engines.verify(client, plan) == []
    outcome = engines.rollback(client, plan, path)
    assert outcome.exit_status is ExitStatus.DONE, outcome
    assert clouds.content(clouds.captured(client)) == clouds.content(before)
