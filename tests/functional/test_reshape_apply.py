# SPDX-License-Identifier: Apache-2.0
"""Apply a plan to the real service: what is sent, and what becomes of it."""

import json

import pytest
from placement import microversion

from placementclient.api import inventory, resource_provider
from placementclient.basis.errors import ExitStatus
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import PlanStatus, TreeState
from placementclient.runs import engines
from tests.functional import clouds


def test_a_second_apply_reads_only_the_inventories(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    engines.apply(client, plan, path)
    with clouds.watched(client) as requests:
        outcome = engines.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [TreeState.ALREADY_APPLIED]
    inventories = [
        ('GET', f'/resource_providers/{change.uuid}/inventories')
        for change in plan.changes[0].providers
    ]
    assert requests == [('POST', '/reshaper'), ('GET', '/resource_providers'), *inventories]


def test_apply_leaves_a_tree_alone_that_others_have_undone_in_part(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(servers=1)))
    engines.apply(client, plan, path)
    root_uuid = plan.changes[0].root_provider_uuid
    # Beside those of its children, as a nova-compute of the old release does.
    generation = resource_provider.read_generation(client, root_uuid)
    inventory.create(client, root_uuid, 'VGPU', {'total': 8}, generation)
    expected = 'the inventory of VGPU on compute0 is not that of the plan: '
    live = clouds.captured(client)
    outcome = engines.apply(client, plan, path)
    assert outcome.exit_status is ExitStatus.DIFFERS
    [tree] = outcome.trees
    assert tree.state is TreeState.LEFT_ALONE
    assert tree.reason.startswith(f'it was applied and has changed since: {expected}')
    assert clouds.content(clouds.captured(client)) == clouds.content(live)
    [status] = engines.status(client, plan, journal_path=path)
    assert status.status is PlanStatus.DIFFERS
    assert not status.is_left_alone
    assert status.reason.startswith(expected)


def test_a_second_apply_keeps_figures_that_others_changed_later(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    engines.apply(client, plan, path)
    child = next(plan.changes[0].list_created_providers())
    read = inventory.list(client, child.uuid)
    assert read.generation is not None
    inventory.set(client, child.uuid, 'VGPU', {'total': 4, 'reserved': 1}, read.generation)
    outcome = engines.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [TreeState.ALREADY_APPLIED]


def test_apply_repeats_a_tree_that_another_rollback_has_undone(client, tmp_path, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    engines.apply(client, plan, path)
    engines.rollback(client, plan, str(tmp_path / 'other.journal'))
    outcome = engines.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [TreeState.APPLIED]
    assert engines.verify(client, plan, journal_path=path) == []


def test_journal_notes_every_intent_before_its_outcome(client, tmp_path):
    before = clouds.loaded(client, clouds.cloud())
    path = tmp_path / 'plan.journal'
    engines.apply(client, clouds.plan_of(before), str(path))
    header, *entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert header['journal'] == 'placementclient/reshape-journal'
    outcomes = [entry for entry in entries if 'outcome' in entry]
    assert {entry['global_request_id'] for entry in outcomes} == {client.global_request_id}
    requests = {entry['request_id'] for entry in outcomes}
    assert len(requests) == len(outcomes)
    assert all(request.startswith('req-') for request in requests)
    assert entries.pop()['end'] == 'applied'
    kinds = [next(key for key in entry if key not in ('at', 'tree')) for entry in entries]
    assert kinds == ['intent', 'outcome'] * (len(entries) // 2)
    operations = [entry['intent']['operation'] for entry in entries if 'intent' in entry]
    assert operations == [
        'ensure-trait', 'create-provider', 'create-provider', 'set-traits', 'set-traits', 'reshape'
    ]  # fmt: skip


def of_release(session, monkeypatch, highest):
    """A client of a service that knows no later microversions; nothing was asked of it before."""
    versions = microversion.VERSIONS
    monkeypatch.setattr(microversion, 'VERSIONS', versions[: versions.index(highest) + 1])
    return Client(session)


def test_a_plan_is_applied_and_taken_back_on_an_older_service(session, monkeypatch, path):
    client = of_release(session, monkeypatch, '1.30')
    before = clouds.loaded(client, clouds.cloud(servers=2))
    plan = clouds.plan_of(before, moved_trait=True)
    assert engines.apply(client, plan, path).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []
    assert engines.rollback(client, plan, path).exit_status is ExitStatus.DONE
    assert clouds.content(clouds.captured(client)) == clouds.content(before)


def test_apply_writes_nothing_to_a_service_without_the_reshaper(session, monkeypatch, tmp_path):
    client = of_release(session, monkeypatch, '1.29')
    before = clouds.loaded(client, clouds.cloud(servers=2))
    plan, path = clouds.plan_of(before), tmp_path / 'plan.journal'
    with (
        clouds.watched(client) as requests,
        pytest.raises(errors.UnsupportedVersion, match=r'requires at least version 1\.30'),
    ):
        engines.apply(client, plan, str(path))
    assert requests == []
    assert not path.exists()
