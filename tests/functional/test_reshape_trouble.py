# SPDX-License-Identifier: Apache-2.0
"""Lost answers, missing roles, full disks, and trees that depend on each other."""

import errno
import os

import pytest
from msgspec.structs import replace

from placementclient.api import resource_provider, trait
from placementclient.basis.errors import BadFile, ExitStatus
from placementclient.changes import journal
from placementclient.changes.records import plans
from placementclient.client import errors
from placementclient.files import specifications
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.outcomes import State, Status
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of


def test_apply_makes_a_deleted_trait_again(client, tmp_path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()), 2)
    assert engines.apply(client, plan, str(tmp_path / 'first')).exit_status is ExitStatus.DONE
    for tree in plan.changes:
        for child in tree.created():
            trait.delete_from_provider(client, child.uuid)
    trait.delete(client, 'CUSTOM_GPU')
    assert engines.apply(client, plan, str(tmp_path / 'again')).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


def test_apply_makes_a_deleted_child_again(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    child = next(iter(plan.changes[0].created())).uuid
    part = f'/resource_providers/{child}/traits'
    with clouds.disturbed(client, 'PUT', part, lambda: resource_provider.delete(client, child)):
        assert engines.apply(client, plan, path).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


def test_apply_without_the_role_service_sends_nothing(client, path, monkeypatch):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    monkeypatch.setitem(client.session.auth._headers, 'X-Roles', 'admin')
    with clouds.watched(client) as requests, pytest.raises(errors.Forbidden, match="'service'"):
        engines.apply(client, plan, path)
    assert requests == [('POST', '/reshaper')]


def test_a_full_disk_stops_apply_before_the_next_request(client, tmp_path, monkeypatch):
    before = clouds.loaded(client, clouds.cloud(hosts=2))
    plan, path = clouds.plan_of(before), tmp_path / 'plan.journal'
    write, room = os.write, [1500]

    def limited(descriptor, content):
        part = content[: room[0]]
        if not part:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= len(part)
        return write(descriptor, part)

    monkeypatch.setattr(os, 'write', limited)
    with clouds.watched(client) as requests:
        outcome = engines.apply(client, plan, str(path))
    assert outcome.exit_status is ExitStatus.PARTIAL
    assert 'No space left on device' in str(outcome.stopped)
    assert [tree.state for tree in outcome.trees] == [State.FAILED, State.NOT_STARTED]
    writes = [r for r in requests if r[0] != 'GET' and r[1] != '/reshaper']
    assert 0 < len(writes) <= path.read_text().count('"intent"')
    monkeypatch.undo()
    assert engines.apply(client, plan, str(path)).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


def test_a_plan_is_carried_out_by_one_run_at_a_time(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    with journal.open_journal(path, plans.plan_digest(plan)), pytest.raises(journal.JournalLocked):
        engines.apply(client, plan, path)
    with journal.open_journal(path, plans.plan_digest(plan)), pytest.raises(journal.JournalLocked):
        engines.rollback(client, plan, path)


def test_a_journal_that_others_may_write_is_refused(client, tmp_path):
    before = clouds.loaded(client, clouds.cloud())
    plan, path = clouds.plan_of(before), tmp_path / 'plan.journal'
    os.mkfifo(path)
    for run in (engines.apply, engines.rollback):
        with pytest.raises(BadFile, match='is not a regular file'):
            run(client, plan, str(path))
    path.unlink()
    path.touch()
    path.chmod(0o666)
    for run in (engines.apply, engines.rollback):
        with pytest.raises(BadFile, match='others may write to it'):
            run(client, plan, str(path))
    assert clouds.content(clouds.captured(client)) == clouds.content(before)


def sharing_cloud(client, hosts=3):
    """Hosts whose disks are to become part of a pool; one server has disks of two hosts."""
    pool = ProviderState(
        Provider(uuid_of('pool'), 'pool', 0, None, uuid_of('pool')),
        {'DISK_GB': Inventory(1000)},
        frozenset({SHARING_TRAIT}),
        frozenset({uuid_of('aggregate')}),
    )
    states = [clouds.host(f'compute{n}') for n in range(hosts)]
    states = [
        replace(state, inventories={**state.inventories, 'DISK_GB': Inventory(100)})
        for state in states
    ]
    consumers = [
        Consumer(
            uuid_of(f'disk{n}'), {uuid_of(f'compute{n}'): {'VCPU': 1, 'DISK_GB': 30}},
            'project', 'user', None, None,
        )
        for n in range(hosts)
    ]  # fmt: skip
    both = {uuid_of(f'compute{n}'): {'VCPU': 1, 'DISK_GB': 5} for n in range(2)}
    consumers.append(Consumer(uuid_of('both'), both, 'project', 'user', None, 'MIGRATION'))
    before = clouds.loaded(client, Snapshot([pool, *states], consumers))
    document = {
        'trees': {'name': ['compute*']},
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': 'pool',
                'moved_resources': {'DISK_GB': 100},
            }
        ],
    }
    return before, planner.plan_reshape(
        before, specifications.convert_specification(document, 'spec.yaml')
    )


def test_trees_that_share_a_provider_are_applied_and_rolled_back_as_one(client, tmp_path, path):
    before, plan = sharing_cloud(client)
    (tree,) = plan.changes
    assert list(tree.roots.values()) == ['compute0', 'compute1', 'compute2']
    outcome = engines.apply(client, plan, path, workers=3)
    assert outcome.exit_status is ExitStatus.DONE, outcome
    assert engines.verify(client, plan) == []
    assert {tree.status for tree in engines.status(client, plan)} == {Status.APPLIED}
    again = engines.apply(client, plan, str(tmp_path / 'other.journal'))
    assert {tree.state for tree in again.trees} == {State.ALREADY_APPLIED}, again
    after = clouds.captured(client)
    pool = after.providers[uuid_of('pool')]
    assert (pool.inventories['DISK_GB'].total, pool.usages['DISK_GB']) == (1300, 100)
    assert after.consumers[uuid_of('both')].allocations[pool.uuid] == {'DISK_GB': 10}
    assert engines.rollback(client, plan, path, workers=3).exit_status is ExitStatus.DONE
    assert clouds.content(clouds.captured(client)) == clouds.content(before)


def test_trees_that_change_together_are_selected_by_any_of_their_names(client, path):
    _, plan = sharing_cloud(client)
    outcome = engines.apply(client, plan, path, trees=['compute2'])
    assert outcome.exit_status is ExitStatus.DONE, outcome
    (tree,) = engines.status(client, plan, ['compute1'])
    assert tree.status is Status.APPLIED
