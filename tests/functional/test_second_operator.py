# SPDX-License-Identifier: Apache-2.0
"""Another operator writes between the reading of a command and its requests: nothing is lost."""

import json
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import NamedTuple

import pytest

from placementclient.api import allocation, resource_provider, trait
from placementclient.changes.plan import make_plan
from placementclient.client.http import Client
from placementclient.model.snapshots import Snapshot
from placementclient.reading import capture
from placementclient.runs import engines, storage
from tests.functional import clouds, hosts
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of
from tests.functional.conftest import program
from tests.functional.killing import Killed, killed_at
from tests.numbers import few_quick
from tests.programs import Placement

TRAIT = 'HW_NIC_SRIOV'
Act = Callable[[Client, str], None]
NEW = uuid_of('the new one')
SERVER = hosts.holder('server', {'compute0': {'VCPU': 2}, 'compute0_gpu1': {'VGPU': 1}})


class Stage(NamedTuple):
    """A service over HTTP, a command line, and another operator.

    :param client: has the session of the command line
    :param other: of the other operator
    """

    run: Placement
    client: Client
    other: Client


@pytest.fixture
def stage(service_url, capsys):
    client, other = client_of(service_url), client_of(service_url)
    clouds.emptied(other)
    return Stage(program(client.session, capsys), client, other)


def add_trait(client, uuid):
    live = trait.list_of_provider(client, uuid)
    trait.set_on_provider(client, uuid, [*live.value, TRAIT], live.generation or 0)


def rename(client, uuid):
    resource_provider.set(client, uuid, 'renamed')


def move_the_root(client, uuid):
    """Put the host of a provider below another one, which moves no generation of the provider."""
    resource_provider.create(client, 'rack', uuid=uuid_of('rack'))
    resource_provider.set(
        client, uuid_of('compute0'), 'compute0', parent_provider_uuid=uuid_of('rack')
    )


@contextmanager
def before(client, verb, part, act):
    """Act just before the first request of a method and a part of a path; see that it came."""
    acted = []
    with clouds.disturbed(client, verb, part, lambda: acted.append(act())):
        yield
    assert acted, f'there was no {verb} of {part}'


def purge(stage, folder):
    """Return a command line, and the UUID of the first provider that it deletes."""
    hosts.build(stage.other, hosts=1)
    return 'resource provider purge compute0 --yes', uuid_of('compute0_gpu0')


def rollback(stage, folder):
    plan, path = clouds.plan_of(clouds.loaded(stage.other, clouds.cloud())), f'{folder}/plan.json'
    storage.write_plan(path, plan)
    assert stage.run(f'resource provider reshape apply {path} --yes').status == 0
    child, *_ = plan.changes[0].list_created_providers()
    return f'resource provider reshape rollback {path} --yes', child.uuid


@pytest.mark.parametrize(
    ('prepare', 'act'), [(purge, add_trait), (purge, move_the_root), (rollback, rename)]
)
def test_a_provider_that_another_operator_changes_before_its_delete_stays(
    stage, tmp_path, prepare, act
):
    """``python -m tests.interleavings`` tries every request, and more acts."""
    command, changed = prepare(stage, tmp_path)
    with before(stage.client, 'PUT', f'{changed}/aggregates', lambda: act(stage.other, changed)):
        result = stage.run(command)
    assert result.status in (3, 6), result
    assert changed in capture.capture(stage.other).providers


def test_a_plan_that_is_applied_in_part_ends_with_exit_status_6(stage, tmp_path):
    """The service refuses its second write: no such trait exists."""
    live = Snapshot((), (), capture.make_origin(stage.other))
    host = hosts.provider('host', traits=['HW_NO_SUCH_TRAIT'])
    path = f'{tmp_path}/plan.json'
    storage.write_plan(path, make_plan('resource provider tree apply', live, Snapshot([host], ())))
    result = stage.run(f'resource provider reshape apply {path} --yes')
    assert (result.status, 'failed' in result.stdout) == (6, True), result
    assert stage.run(f'resource provider reshape rollback {path} --yes').status == 0
    assert capture.capture(stage.other).providers == {}


def move_elsewhere(other, uuid):
    """Move a provider to the root of another tree."""
    resource_provider.create(other, 'elsewhere', uuid=uuid_of('elsewhere'))
    resource_provider.set(other, uuid, 'compute0_gpu0', parent_provider_uuid=uuid_of('elsewhere'))


def free(other, uuid):
    allocation.delete(other, SERVER.uuid)


def rename_root(other, uuid):
    rename(other, NEW)


@pytest.mark.parametrize('act', few_quick([free, rename_root, move_elsewhere], quick=1))
def test_a_rollback_that_others_obstruct_says_what_it_has_done(stage, tmp_path, act):
    """The act comes between apply and rollback; ``tests.interleavings`` has every other one."""
    hosts.build(stage.other, SERVER, hosts=1)
    path = f'{tmp_path}/plan.json'
    replace = f'resource provider replace compute0 --uuid {NEW} --plan {path}'
    assert stage.run(replace).status == 0
    assert stage.run(f'resource provider reshape apply {path} --yes').status == 0
    act(stage.other, uuid_of('compute0_gpu0'))
    command = f'resource provider reshape rollback {path} --yes'
    result = stage.run(f'{command} -f json')
    (row,) = json.loads(result.stdout)
    assert (result.status, row['state']) == (6, 'done in part'), result
    assert '; done: ' in row['reason']
    assert 'compute0 created' in row['reason']
    assert '1 done in part: compute0 (exit 6)' in result.stderr
    assert 'run the same command again' in result.stderr
    again = stage.run(f'{command} -f json')
    assert [row['state'] for row in json.loads(again.stdout)] == ['done in part']
    status = stage.run(f'resource provider reshape status {path}')
    assert 'done in part' in status.stdout


def test_a_slower_operator_of_the_same_plan_finds_it_applied(stage, tmp_path):
    """The first one has prepared a child, and goes on while the second one reads the tree."""
    plan = clouds.plan_of(clouds.loaded(stage.other, clouds.cloud()))
    fast, slow = (f'{tmp_path}/{name}.json' for name in ('fast', 'slow'))
    storage.write_plan(fast, plan)
    storage.write_plan(slow, plan)
    with suppress(Killed), killed_at(stage.other, 4, is_done=True):
        engines.apply(stage.other, plan, f'{fast}.journal')
    child = next(iter(plan.changes[0].list_created_providers())).uuid
    assert child in capture.capture(stage.other).providers

    def complete():
        assert engines.apply(stage.other, plan, f'{fast}.journal').exit_status == 0

    # Between the inventories of the host and those of its child.
    with before(stage.client, 'GET', f'{child}/inventories', complete):
        result = stage.run(f'resource provider reshape apply {slow} --yes')
    assert (result.status, 'already applied' in result.stdout) == (0, True), result


def test_a_run_reports_what_others_have_reverted(stage, tmp_path):
    resource_provider.create(stage.other, 'host')
    (tmp_path / 'host.yaml').write_text(
        f'name: host\ntraits: [{TRAIT}]\ninventories: {{VCPU: {{total: 8}}}}\n'
    )
    path, uuid = f'{tmp_path}/plan.json', resource_provider.show_by_name(stage.other, 'host').uuid
    command = f'resource provider tree apply {tmp_path}/host.yaml'
    assert stage.run(f'{command} --plan {path}').status == 0

    def take_back():
        generation = resource_provider.read_generation(stage.other, uuid)
        trait.set_on_provider(stage.other, uuid, [], generation)

    with before(stage.client, 'PUT', f'{uuid}/inventories', take_back):
        result = stage.run(f'resource provider reshape apply {path} --yes')
    assert result.status == 0, result
    assert f'others had undone the trait {TRAIT} of {uuid}' in result.stdout
    assert stage.run(f'resource provider reshape rollback {path} --yes').status == 0
    with before(stage.client, 'PUT', f'{uuid}/inventories', take_back):
        result = stage.run(f'{command} --yes')
    assert result.status == 0, result
    assert f'host: others had undone the trait {TRAIT} of {uuid}' in result.stderr
