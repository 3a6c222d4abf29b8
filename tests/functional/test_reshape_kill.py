# SPDX-License-Identifier: Apache-2.0
"""Killed at any point, apply run again completes what it had begun."""

import pytest

from placementclient.basis.errors import ExitStatus
from placementclient.changes import journal
from placementclient.changes.records import plans
from placementclient.runs import engines, storage
from tests.functional import clouds, stopping
from tests.functional.applying import client_of


@pytest.mark.slow
def test_apply_goes_on_from_any_prefix_of_the_journal(client, tmp_path):
    """Whatever prefix of the journal is on the disk, the service knows what was done."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts=1)), moved_trait=True)
    path = tmp_path / 'plan.journal'
    engines.apply(client, plan, str(path))
    whole = path.read_bytes()
    for length in range(0, len(whole), 151):
        path.write_bytes(whole[:length])
        outcome = engines.apply(client, plan, str(path))
        assert outcome.exit_status is ExitStatus.DONE, (length, outcome)
        with journal.open_journal(str(path), plans.plan_digest(plan)) as opened:
            assert opened.record_for(plan.changes[0].root_provider_uuid).ended == 'applied'
    assert engines.verify(client, plan) == []


#: The writes of a tree: whether it is allowed, a trait, a child, its traits, the reshape, the trait
#: that goes.
POINTS = [*((number, 'after') for number in range(2, 7)), (3, 'before'), (5, 'before')]


def test_apply_completes_a_tree_after_a_kill_between_request_and_answer(service, tmp_path):
    """The run is a process, the service another one."""
    client = client_of(service.url)
    clouds.emptied(client)
    before = clouds.loaded(client, clouds.cloud(hosts=len(POINTS), servers=2))
    plan, plan_path = clouds.plan_of(before, 1, moved_trait=True), str(tmp_path / 'plan.json')
    storage.write_plan(plan_path, plan)
    journal_path = f'{plan_path}.journal'
    for (number, when), tree in zip(POINTS, plan.changes, strict=True):
        name = tree.root_provider_name
        service.stop_at(number, when)
        applying = stopping.start('applying', service.url, plan_path, name)
        assert service.wait_until_reached(applying), (number, when)
        applying.kill()
        applying.wait()
        service.go_on()
        outcome = engines.apply(client, plan, journal_path, trees=[name])
        assert clouds.names(outcome.trees) == [(name, 'applied')], (number, when)
    assert engines.verify(client, plan) == []
    assert engines.apply(client, plan, journal_path).exit_status is ExitStatus.DONE
