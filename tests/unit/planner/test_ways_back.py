"""The way back of one of several trees that share a target."""

from __future__ import annotations

import pytest

from placementclient.client import errors
from placementclient.planner import planner, replan
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import applied, cloud

HOSTS = {name: {'inventories': {'DISK_GB': {'total': 10}}} for name in ('h0', 'h1')}
CONSUMERS = {'a': {'h0': {'DISK_GB': 3}}, 'b': {'h1': {'DISK_GB': 4}}}
SPEC = """
trees: {name: ["h*"]}
providers:
  - {name: ceph, inventories: {DISK_GB: {total: 20}}}
moves:
  - {from_resource_provider: "{root}", to_resource_provider: ceph, moved_resources: {DISK_GB: 10}}
"""


def test_what_others_use_of_a_target_is_not_taken_away() -> None:
    pool = {'traits': ['MISC_SHARES_VIA_AGGREGATE']}
    before = live = cloud({**HOSTS, 'ceph': pool}, CONSUMERS)
    plan = planner.make(before, specification.parse(SPEC, 'spec.yaml'), migrations=())
    first, second = plan.trees
    for tree in plan.trees:
        live = applied(live, tree)
    with pytest.raises(errors.Infeasible) as refused:
        replan.rollback(live, plan, first)
    (cause,) = refused.value.causes
    assert str(cause) == (
        'h0: without it ceph has room for 0 DISK_GB, of which consumers of other trees hold 4: '
        'roll these trees back together (--tree h0 --tree h1)'
    )
    for tree in (second, first):
        live = applied(live, replan.rollback(live, plan, tree))
    assert live.consumers.keys() == before.consumers.keys()
    for uuid, consumer in live.consumers.items():
        assert consumer.allocations == before.consumers[uuid].allocations
