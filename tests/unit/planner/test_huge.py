# SPDX-License-Identifier: Apache-2.0
"""Capacities beyond what a solver counts with."""

from placementclient.files import specifications
from placementclient.planner import planner
from tests.unit.planner.clouds import cloud

SPEC = """
trees: {name: [compute1]}
together: [[VCPU, VGPU]]
providers:
  - {name: a, inventories: {VCPU: {allocation_ratio: 3.4e+38}}}
  - {name: b, inventories: {VCPU: {allocation_ratio: 3.4e+38}}}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: a
    moved_resources: {VCPU: 23, VGPU: 107}
  - from_resource_provider: "{root}"
    to_resource_provider: b
    moved_resources: {VCPU: 24, VGPU: 107}
"""
#: So that there is hardly any room, and the solver is asked.
VCPUS = (1, 2, 3, 5, 1, 7, 9, 9, 9, 1)
VGPUS = (10, 28, 24, 18, 15, 30, 28, 33, 22, 6)


def test_huge_allocation_ratios_are_planned():
    inventories = {'VCPU': {'total': sum(VCPUS)}, 'VGPU': {'total': sum(VGPUS)}}
    consumers = {
        f'server{number}': {'compute1': {'VCPU': vcpus, 'VGPU': vgpus}}
        for number, (vcpus, vgpus) in enumerate(zip(VCPUS, VGPUS, strict=True))
    }
    snapshot = cloud({'compute1': {'inventories': inventories}}, consumers)
    plan = planner.plan_reshape(
        snapshot, specifications.parse_specification(SPEC, 'spec'), allow_inferred=True
    )
    assert len(plan.changes[0].consumers) == len(VCPUS)
