"""What is carried out at once: nothing before the reshaper is allowed; names from below."""

from __future__ import annotations

import pytest

from placementclient.changes.carrying import Carrying
from placementclient.changes.diff import diff
from placementclient.changes.operations import UpdateProvider
from placementclient.changes.plan import ChangePlan, plan
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.snapshots import Snapshot
from placementclient.producers.replaced import replaced
from tests.unit.conftest import Service
from tests.unit.dialogue import fault
from tests.unit.insight.clouds import cloud, consumer, provider

BEFORE = cloud([provider('old', VCPU=8)], [consumer('s', old={'VCPU': 2})])


def replacing(there: Snapshot) -> ChangePlan:
    return plan('replace', there, replaced(there, 'old', 'new', 'host'))


def test_a_reshape_that_is_not_allowed_stops_it_before_the_first_write(
    client: Client, service: Service
) -> None:
    made = replacing(BEFORE)
    service.answer(fault(403, 'Policy does not allow placement:reshaper:reshape to be performed.'))
    with pytest.raises(errors.Forbidden, match="the role 'service' is needed"):
        Carrying(client, made, lambda _: made).run()
    assert [sent.line for sent in service.requests] == ['POST /reshaper']


def test_names_below_a_provider_change_before_its_own() -> None:
    states = [provider('host'), provider('host_a', 'host'), provider('host_a_b', 'host_a', 'host')]
    before = cloud(states)
    after = Snapshot(
        (
            type(state)(state.provider._replace(name=state.name.replace('host', 'new')))
            for state in states
        ),
        (),
    )
    renamed = [each.uuid for each in diff(before, after) if isinstance(each, UpdateProvider)]
    assert renamed == ['host_a_b', 'host_a', 'host']
