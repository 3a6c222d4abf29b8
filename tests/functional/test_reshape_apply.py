"""Apply a plan to the real service: what is sent, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.model.outcomes import State
from placementclient.reshape import executor, verify
from placementclient.snapshot import capture
from tests.functional import clouds


@pytest.mark.parametrize('children', [1, 4])
@pytest.mark.parametrize('moved_trait', [False, True])
def test_the_requests_of_a_tree_stay_in_their_budget(
    client: Client, tmp_path: Path, children: int, moved_trait: bool
) -> None:
    before = clouds.loaded(client, clouds.cloud(hosts=2, servers=4))
    plan = clouds.plan_of(before, children, moved_trait=moved_trait)
    with clouds.watched(client) as requests:
        outcome = executor.apply(client, plan, str(tmp_path / 'plan.journal'))
    assert outcome.exit_status is ExitStatus.DONE, outcome
    of_the_run = [('POST', '/reshaper'), ('PUT', '/traits/CUSTOM_GPU')]
    for request in of_the_run:
        requests.remove(request)
    assert len(requests) <= 2 * (5 + 5 * children), requests
    assert not [path for _, path in requests if path.startswith('/allocations')]
    assert [path for _, path in requests].count('/reshaper') == 2
    assert verify.verify(client, plan) == []


def test_types_of_consumers_survive_set_or_not(client: Client, tmp_path: Path) -> None:
    before = clouds.loaded(client, clouds.cloud())
    executor.apply(client, clouds.plan_of(before), str(tmp_path / 'plan.journal'))
    after = capture.capture(client)
    types = {uuid: consumer.type for uuid, consumer in before.consumers.items()}
    assert set(types.values()) == {'INSTANCE', None}
    assert {uuid: consumer.type for uuid, consumer in after.consumers.items()} == types


def test_applied_again_one_look_at_the_tree_is_enough(client: Client, tmp_path: Path) -> None:
    before = clouds.loaded(client, clouds.cloud())
    plan, path = clouds.plan_of(before), str(tmp_path / 'plan.journal')
    executor.apply(client, plan, path)
    with clouds.watched(client) as requests:
        outcome = executor.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [State.ALREADY_APPLIED]
    assert requests == [('POST', '/reshaper'), ('GET', '/resource_providers')]


def test_undone_by_somebody_else_it_is_applied_again(client: Client, tmp_path: Path) -> None:
    before = clouds.loaded(client, clouds.cloud())
    plan, path = clouds.plan_of(before), str(tmp_path / 'plan.journal')
    executor.apply(client, plan, path)
    executor.rollback(client, plan, str(tmp_path / 'other.journal'))
    outcome = executor.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [State.APPLIED]
    assert verify.verify(client, plan, journal_path=path) == []


def test_without_its_journal_the_tree_is_read_back(client: Client, tmp_path: Path) -> None:
    before = clouds.loaded(client, clouds.cloud())
    plan = clouds.plan_of(before)
    executor.apply(client, plan, str(tmp_path / 'plan.journal'))
    with clouds.watched(client) as requests:
        outcome = executor.apply(client, plan, str(tmp_path / 'other.journal'))
    assert [tree.state for tree in outcome.trees] == [State.ALREADY_APPLIED]
    assert {method for method, path in requests if path != '/reshaper'} == {'GET'}


def test_every_intent_is_noted_before_its_outcome(client: Client, tmp_path: Path) -> None:
    before = clouds.loaded(client, clouds.cloud())
    path = tmp_path / 'plan.journal'
    executor.apply(client, clouds.plan_of(before), str(path))
    header, *entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert header['journal'] == 'placementclient/reshape-journal'
    assert entries.pop()['end'] == 'applied'
    kinds = [next(key for key in entry if key not in ('at', 'tree')) for entry in entries]
    assert kinds == ['intent', 'outcome'] * (len(entries) // 2)
    operations = [entry['intent']['operation'] for entry in entries if 'intent' in entry]
    assert operations == [
        'ensure-trait', 'create-provider', 'create-provider', 'set-traits', 'set-traits', 'reshape'
    ]  # fmt: skip
