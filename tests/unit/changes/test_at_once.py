# SPDX-License-Identifier: Apache-2.0
"""What is carried out at once: nothing before the reshaper is allowed; names from below."""

import pytest
from msgspec.structs import replace

from placementclient.changes.at_once import apply_at_once
from placementclient.changes.diff import diff
from placementclient.changes.operations import UpdateProvider
from placementclient.changes.plan import make_plan as plan
from placementclient.client import errors
from placementclient.model.snapshots import Snapshot
from placementclient.producers.replaced import replace_provider
from tests.unit.dialogue import fault
from tests.unit.insight.clouds import cloud, consumer, provider

BEFORE = cloud([provider('old', VCPU=8)], [consumer('s', old={'VCPU': 2})])


def replacing(live):
    return plan('replace', live, replace_provider(live, 'old', 'new', 'host'))


def test_a_reshape_that_is_not_allowed_stops_it_before_the_first_write(client, service):
    made = replacing(BEFORE)
    service.answer(fault(403, 'Policy does not allow placement:reshaper:reshape to be performed.'))
    with pytest.raises(errors.Forbidden, match="you need the role 'service'"):
        apply_at_once(client, made)
    assert [sent.line for sent in service.requests] == ['POST /reshaper']


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
