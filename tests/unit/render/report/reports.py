# SPDX-License-Identifier: Apache-2.0
"""Reports of small clouds, and what stands in a page."""

import json
import re
from typing import Any

from placementclient.files import specifications
from placementclient.insight.audit import checks
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.planner import planner
from placementclient.render.repairs import Invocation
from placementclient.render.report import page
from placementclient.render.report.contents import Report
from tests.unit.insight.clouds import cloud, consumer, pool, provider


def nested():
    """Two hosts with GPUs, one without disk of its own, and the pool that it uses."""
    return cloud(
        [
            provider('host1', traits=['COMPUTE_NODE'], aggregates=['shared'], VCPU=8),
            provider('host1_gpu', 'host1', VGPU=Inventory(2, max_unit=1)),
            provider('host2', VCPU=Inventory(4, reserved=2, allocation_ratio=2.0), DISK_GB=10),
            pool('nfs', DISK_GB=100),
        ],
        [
            consumer('s', host1={'VCPU': 2}, host1_gpu={'VGPU': 1}, nfs={'DISK_GB': 40}),
            consumer('t', None, host2={'VCPU': 4, 'DISK_GB': 10}),
        ],
    )


#: UUIDs, as a plan has them.
HOST, OTHER = '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'
SERVERS = [f'00000000-0000-4000-9000-00000000000{number}' for number in range(3)]


def flat(name='gpu1'):
    """A host that has its VGPU itself; of its three servers, one has two."""
    allocated = [
        Consumer(uuid, {HOST: {'VCPU': 1, 'VGPU': 2 if number == 0 else 1}}, 'p', 'u', 1)
        for number, uuid in enumerate(SERVERS)
    ]
    host = provider(name, VCPU=8, VGPU=8)
    state = type(host)(
        type(host.provider)(HOST, name, 5, None, HOST),
        host.inventories,
        frozenset({'HW_CPU_X86_AMD_SEV'}),
        usages={'VCPU': 3, 'VGPU': 4},
    )
    return Snapshot([state], allocated)


def plan(snapshot):
    """Half of the VGPU of a host go to one child, half to another; who has two is mapped."""
    document = [
        {
            'from_resource_provider': HOST,
            'to_resource_provider': f'gpu1_{number}',
            'moved_resources': {'VGPU': 4},
            'moved_traits': ['HW_CPU_X86_AMD_SEV'] if number == 0 else [],
            'consumers': {SERVERS[0]: 2} if number == 0 else {},
        }
        for number in range(2)
    ]
    spec = specifications.convert_specification(document, 'spec.yaml')
    return planner.plan_reshape(snapshot, spec, allow_inferred=True)


def report(snapshot, plan=None):
    """A report of all that the audit finds without lists."""
    seen = Cloud(snapshot)
    return Report(
        seen,
        checks.audit(seen),
        plan,
        'cloud.json',
        made_at='2026-11-21T06:00:00+00:00',
        made_by='python-placementclient 1.0.0',
        invocation=Invocation('openstack'),
    )


def written(snapshot, plan=None):
    """The page."""
    return page.render_page(page.load_template(), report(snapshot, plan))


def embedded(text):
    """The records in a page."""
    [result] = re.findall(
        r'<script type="application/json" id="records">(.*?)</script>', text, re.S
    )
    document: dict[str, Any] = json.loads(result)
    return document
