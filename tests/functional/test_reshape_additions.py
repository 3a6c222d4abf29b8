# SPDX-License-Identifier: Apache-2.0
"""Inventory and allocations that Placement never had, on the real service."""

from placementclient.api import allocation, resource_provider
from placementclient.basis.errors import ExitStatus
from placementclient.files import specifications
from placementclient.model.consumers import Consumer
from placementclient.model.outcomes import Status
from placementclient.model.snapshots import Snapshot
from placementclient.planner import planner
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of

DEVICE = 'CUSTOM_PCI_8086_1563'


def hosts(client, count):
    """Hosts with a server each."""
    servers = [
        Consumer(
            uuid_of(f'vm{number}'),
            {uuid_of(f'compute{number}'): {'VCPU': 2}},
            'project',
            'user',
            None,
            None,
        )
        for number in range(count)
    ]
    states = [clouds.host(f'compute{number}') for number in range(count)]
    return clouds.loaded(client, Snapshot(states, servers))


def plan_of(before, count):
    additions = [
        {
            'resource_provider': f'compute{number}_0000:81:00.0',
            'parent': f'compute{number}',
            'inventories': {DEVICE: {'total': 2, 'max_unit': 2}},
            'traits': ['COMPUTE_MANAGED_PCI_DEVICE', 'CUSTOM_NIC'],
            'consumers': {uuid_of(f'vm{number}'): {DEVICE: 1}},
        }
        for number in range(count)
    ]
    spec = specifications.convert_specification({'additions': additions}, 'spec.yaml')
    return planner.plan_reshape(before, spec)


def test_rollback_keeps_an_added_device_that_a_new_server_uses(client, path):
    plan = plan_of(hosts(client, 1), 1)
    engines.apply(client, plan, path)
    child = resource_provider.find(client, 'compute0_0000:81:00.0')
    newcomer = Consumer(uuid_of('new'), {child: {DEVICE: 1}}, 'project', 'user', None, None)
    allocation.set(client, newcomer)
    run = engines.rollback(client, plan, path)
    assert run.exit_status is ExitStatus.DIFFERS
    assert f'has allocations: consumer {newcomer.uuid}' in run.trees[0].reason
    assert [tree.status for tree in engines.status(client, plan, journal_path=path)] == [
        Status.APPLIED
    ]
    assert newcomer.uuid in clouds.captured(client).consumers
