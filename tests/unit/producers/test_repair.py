# SPDX-License-Identifier: Apache-2.0
"""Repairs of what an audit found: each only while things are as they were judged."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from placementclient.insight import evidence
from placementclient.insight.evidence import NovaRecords, Verdict
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.inventories import Inventory
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved
from placementclient.model.servers import Server
from placementclient.model.snapshots import Snapshot
from placementclient.placing.topology import Topology
from placementclient.producers.proof import FreeingProof
from placementclient.producers.repair import apply_repairs, prove_findings
from tests.unit.dialogue import CONSUMER, RP, get
from tests.unit.insight.clouds import cloud, consumer, provider

LEAK = consumer('c', a={'VCPU': 1}, b={'VCPU': 2})
CLOUD = cloud(
    [provider('a', VCPU=Inventory(8, reserved=9), traits=['T']), provider('b', VCPU=8)], [LEAK]
)
CHANGED = 'changed since: consumer c is not as it was checked'
TRAIT, RESERVED = AddTrait('b', 'b', 'T'), LowerReserved('a', 'a', 'VCPU', 8)


def with_consumer(**changes):
    return Snapshot(CLOUD.providers.values(), [replace(LEAK, **changes)])  # type: ignore[arg-type]


def test_one_plan_has_all_repairs():
    after, reasons = apply_repairs(
        CLOUD,
        {0: TRAIT, 1: RESERVED, 2: FreeAllocations(LEAK, ('a',)), 3: FreeAllocations(LEAK, ('b',))},
    )
    assert reasons == {}
    assert [state.traits for state in after.providers.values()] == [{'T'}, {'T'}]
    assert after.providers['a'].inventories == {'VCPU': Inventory(8, reserved=8)}
    assert after.consumers == {}


def test_a_repair_keeps_the_other_allocations_of_a_consumer():
    after, _ = apply_repairs(CLOUD, {7: FreeAllocations(LEAK, ('a',))})
    assert after.consumers['c'] == replace(LEAK, allocations={'b': {'VCPU': 2}})


@pytest.mark.parametrize(
    ('live', 'reasons'),
    [
        (with_consumer(generation=2), {7: CHANGED}),
        (with_consumer(allocations={'a': {'VCPU': 2}}), {7: CHANGED}),
        # It is freed already: the answer to the first request may have been lost.
        (with_consumer(allocations={'b': {'VCPU': 2}}, generation=2), {}),
        (Snapshot(CLOUD.providers.values(), []), {}),
    ],
)
def test_a_repair_leaves_a_changed_consumer_alone(live, reasons):
    after, obstacles = apply_repairs(live, {7: FreeAllocations(LEAK, ('a',))})
    assert obstacles == reasons
    assert after.consumers == live.consumers


@pytest.mark.parametrize('repair', [TRAIT, RESERVED])
def test_a_repair_that_is_made_changes_nothing(repair):
    made, _ = apply_repairs(CLOUD, {0: repair})
    again, reasons = apply_repairs(made, {0: repair})
    assert (again.providers, reasons) == (made.providers, {})


def test_a_repair_of_a_missing_provider_fails():
    _, reasons = apply_repairs(Snapshot((), ()), {3: TRAIT})
    assert reasons == {3: 'There is no provider b any more'}


def test_nothing_is_freed_beyond_what_is_proved():
    proof = SimpleNamespace(judge_consumers=lambda *_: {'c': Verdict(('a',))})
    leak = Finding('orphan', 'c', remedy=FreeAllocations(LEAK, ('a', 'b')))
    [proved], failures = prove_findings(proof, [leak])
    assert (proved.repair, failures) == (FreeAllocations(LEAK, ('a',)), {})


def test_a_consumer_that_was_written_since_it_was_read_keeps_everything(client, service):
    """Also where it holds the same again: it is not known who has written it."""
    listed = Consumer(CONSUMER, {RP: {'VCPU': 1}}, 'p', 'u', 2)
    held = {'allocations': {RP: {'resources': {'VCPU': 1}, 'generation': 4}}}
    owner = {'project_id': 'p', 'user_id': 'u', 'consumer_generation': 3, 'consumer_type': 'X'}
    service.answer(get(f'/allocations/{CONSUMER}', held | owner))
    deleted = {CONSUMER: Server(CONSUMER, status='DELETED')}
    proof = FreeingProof(client, Topology(CLOUD), deleted, NovaRecords([]), is_nova_asked=False)
    assert proof.judge_consumers([listed]) == {CONSUMER: Verdict(reason=evidence.CHANGED)}
