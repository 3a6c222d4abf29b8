# SPDX-License-Identifier: Apache-2.0
"""Deleted objects, missing roles, full disks, and cut journals."""

import errno
import os

import pytest

from placementclient.api import resource_provider, trait
from placementclient.basis.errors import ExitStatus
from placementclient.changes import journal
from placementclient.changes.at_once import apply_at_once
from placementclient.changes.records import plans
from placementclient.client import errors
from placementclient.model.outcomes import TreeState
from placementclient.runs import engines
from tests.functional import clouds


def test_apply_makes_a_deleted_trait_again(client, tmp_path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()), 2)
    assert engines.apply(client, plan, str(tmp_path / 'first')).exit_status is ExitStatus.DONE
    for change in plan.changes:
        for child in change.list_created_providers():
            trait.delete_from_provider(client, child.uuid)
    trait.delete(client, 'CUSTOM_GPU')
    assert engines.apply(client, plan, str(tmp_path / 'again')).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


def test_apply_makes_a_deleted_child_again(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    child = next(iter(plan.changes[0].list_created_providers())).uuid
    part = f'/resource_providers/{child}/traits'
    with clouds.disturbed(client, 'PUT', part, lambda: resource_provider.delete(client, child)):
        assert engines.apply(client, plan, path).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


@pytest.mark.parametrize('at_once', [False, True])
def test_apply_without_the_role_service_sends_nothing(client, path, monkeypatch, at_once):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    monkeypatch.setitem(client.session.auth._headers, 'X-Roles', 'admin')
    with clouds.watched(client) as requests, pytest.raises(errors.Forbidden, match="'service'"):
        apply_at_once(client, plan) if at_once else engines.apply(client, plan, path)
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
    assert [tree.state for tree in outcome.trees] == [TreeState.FAILED, TreeState.NOT_STARTED]
    writes = [r for r in requests if r[0] != 'GET' and r[1] != '/reshaper']
    assert 0 < len(writes) <= path.read_text().count('"intent"')
    monkeypatch.undo()
    assert engines.apply(client, plan, str(path)).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


@pytest.mark.slow
def test_apply_goes_on_from_any_prefix_of_the_journal(client, tmp_path):
    """Whatever prefix of the journal is on the disk, the service knows what was done."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts=1)), moved_trait=True)
    path = tmp_path / 'plan.journal'
    engines.apply(client, plan, str(path))
    whole = path.read_bytes()
    for length in range(0, len(whole), 307):
        path.write_bytes(whole[:length])
        outcome = engines.apply(client, plan, str(path))
        assert outcome.exit_status is ExitStatus.DONE, (length, outcome)
        with journal.open_journal(str(path), plans.get_plan_digest(plan)) as opened:
            assert opened.get_record(plan.changes[0].root_provider_uuid).ended == 'applied'
    assert engines.verify(client, plan) == []
