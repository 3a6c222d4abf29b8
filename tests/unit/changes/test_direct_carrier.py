# SPDX-License-Identifier: Apache-2.0
"""What is carried out at once: nothing before the reshaper is allowed; names from below."""

import pytest
from msgspec.structs import replace

from placementclient.changes.diff import diff
from placementclient.changes.direct_carrier import DirectCarrier
from placementclient.changes.operations import UpdateProvider
from placementclient.changes.plan import plan_of as plan
from placementclient.client import errors
from placementclient.model.snapshots import Snapshot
from placementclient.producers.replaced import replaced
from tests.unit.dialogue import STALE, Reply, fault
from tests.unit.insight.clouds import cloud, consumer, provider

BEFORE = cloud([provider('old', VCPU=8)], [consumer('s', old={'VCPU': 2})])


def replacing(live):
    return plan('replace', live, replaced(live, 'old', 'new', 'host'))


def test_a_reshape_that_is_not_allowed_stops_it_before_the_first_write(client, service):
    made = replacing(BEFORE)
    service.answer(fault(403, 'Policy does not allow placement:reshaper:reshape to be performed.'))
    with pytest.raises(errors.Forbidden, match="the role 'service' is needed"):
        DirectCarrier(client, made, lambda _: made).run()
    assert [sent.line for sent in service.requests] == ['POST /reshaper']


def test_a_change_set_that_is_decided_anew_in_parts_is_carried_out_whole(client, service):
    """A consumer joined the two trees; it has been moved by the time of the second decision."""
    live, moved = (
        cloud([provider('a', VCPU=8), provider('b', VCPU=8)], [consumer('s', **{on: {'VCPU': 2}})])
        for on in 'ab'
    )
    desired = Snapshot(
        (
            replace(state, traits=frozenset({'HW_CPU_X86_AVX'}))
            for state in moved.providers.values()
        ),
        moved.consumers.values(),
    )
    first, second = plan('edit', live, desired), plan('edit', moved, desired)
    assert (len(first.changes), len(second.changes)) == (1, 2)
    traits = {'traits': ['HW_CPU_X86_AVX'], 'resource_provider_generation': 2}
    service.answer(fault(409, 'Generation', STALE), Reply(200, traits), Reply(200, traits))
    carrier = DirectCarrier(client, first, lambda _: second)
    carrier.run()
    writes = [sent.line for sent in service.requests][1:]
    assert writes == [f'PUT /resource_providers/{name}/traits' for name in 'ab']
    assert [row.object for row in carrier.results[0].rows] == ['a', 'b']
    assert carrier.exit_status == 0


def test_names_below_a_provider_change_before_its_own():
    states = [provider('host'), provider('host_a', 'host'), provider('host_a_b', 'host_a', 'host')]
    before = cloud(states)
    after = Snapshot(
        (
            type(state)(replace(state.provider, name=state.name.replace('host', 'new')))
            for state in states
        ),
        (),
    )
    renamed = [op.uuid for op in diff(before, after) if isinstance(op, UpdateProvider)]
    assert renamed == ['host_a_b', 'host_a', 'host']
