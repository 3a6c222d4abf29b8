"""Another operator writes between the reading of a command and its requests: nothing is lost."""

import json
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from keystoneauth1.exceptions import ConnectFailure

from placementclient.api import inventory, resource_provider, trait
from placementclient.changes.plan import plan_of
from placementclient.client.http import Client
from placementclient.model.snapshots import Snapshot
from placementclient.reading import capture
from placementclient.reshape import storage
from tests.functional import clouds, hosts
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of
from tests.functional.conftest import program
from tests.programs import Placement

TRAIT = 'HW_NIC_SRIOV'
GPUS = [uuid_of('compute0_gpu0'), uuid_of('compute0_gpu1')]
Act = Callable[[Client, str], None]


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
    there = trait.list_of_provider(client, uuid)
    trait.set_on_provider(client, uuid, [*there.value, TRAIT], there.generation or 0)


def rename(client, uuid):
    resource_provider.set(client, uuid, 'renamed')


def add_inventory(client, uuid):
    generation = resource_provider.generation(client, uuid)
    inventory.create(client, uuid, 'SRIOV_NET_VF', {'total': 4}, generation)


@contextmanager
def before(client, verb, part, act):
    """Act just before the first request of a method and a part of a path; see that it came."""
    acted = []
    with clouds.disturbed(client, verb, part, lambda: acted.append(act())):
        yield
    assert acted, f'there was no {verb} of {part}'


def purge(stage, folder):
    """Return a command line, and the UUIDs of two providers in the order of their deletes."""
    hosts.build(stage.other, hosts=1)
    return 'resource provider purge compute0 --yes', GPUS


def prune(stage, folder):
    hosts.build(stage.other, hosts=1)
    (folder / 'host.yaml').write_text('name: compute0\n')
    return f'resource provider tree apply {folder}/host.yaml --prune --yes', GPUS


def rollback(stage, folder):
    plan, path = clouds.plan_of(clouds.loaded(stage.other, clouds.cloud())), f'{folder}/plan.json'
    storage.write_plan(path, plan)
    assert stage.run(f'resource provider reshape apply {path} --yes').status == 0
    children = [change.uuid for change in plan.trees[0].created()]
    return f'resource provider reshape rollback {path} --yes', children


@pytest.mark.parametrize(('act', 'number'), [(add_trait, 0), (rename, 0), (add_trait, 1)])
@pytest.mark.parametrize('prepare', [purge, prune, rollback])
def test_a_provider_that_another_operator_changes_before_its_delete_stays(
    stage, tmp_path, prepare, act, number
):
    """``python -m tests.interleavings`` tries every request, and more acts."""
    command, children = prepare(stage, tmp_path)
    changed = children[number]
    with before(
        stage.client, 'PUT', f'{children[0]}/aggregates', lambda: act(stage.other, changed)
    ):
        result = stage.run(command)
    assert result.status in (3, 6), result
    state = capture.capture(stage.other).providers[changed]
    assert TRAIT in state.traits or state.name == 'renamed'


def test_a_provider_that_leaves_the_tree_while_an_answer_is_lost_is_not_said_to_be_deleted(stage):
    hosts.build(stage.other, hosts=1)
    send, lost = stage.client.session.request, []

    def request(url, verb, **kwargs):
        answer = send(url, verb, **kwargs)
        if verb == 'PUT' and f'{GPUS[0]}/aggregates' in url and not lost:
            lost.append(resource_provider.set(stage.other, GPUS[0], 'compute0_gpu0', orphan=True))
            raise ConnectFailure('The connection is reset')
        return answer

    stage.client.session.request = request
    result = stage.run('resource provider purge compute0 --yes -f json')
    assert lost
    deleted = [row['object'] for row in json.loads(result.stdout) if row['change'] == 'delete']
    assert sorted(deleted) == ['compute0', 'compute0_gpu1']
    assert GPUS[0] in capture.capture(stage.other).providers


def test_a_run_that_has_changed_something_ends_with_6(stage, tmp_path):
    """The service refuses its second write: no such trait exists."""
    there = Snapshot((), (), capture.origin_of(stage.other))
    host = hosts.provider('host', traits=['HW_NO_SUCH_TRAIT'])
    path = f'{tmp_path}/plan.json'
    storage.write_plan(path, plan_of('resource provider tree apply', there, Snapshot([host], ())))
    result = stage.run(f'resource provider reshape apply {path} --yes')
    assert (result.status, 'failed' in result.stdout) == (6, True), result
    assert stage.run(f'resource provider reshape rollback {path} --yes').status == 0
    assert capture.capture(stage.other).providers == {}


def test_what_others_take_back_of_a_run_is_told(stage, tmp_path):
    resource_provider.create(stage.other, 'host')
    (tmp_path / 'host.yaml').write_text(
        f'name: host\ntraits: [{TRAIT}]\ninventories: {{VCPU: {{total: 8}}}}\n'
    )
    path, uuid = f'{tmp_path}/plan.json', resource_provider.named(stage.other, 'host').uuid
    command = f'resource provider tree apply {tmp_path}/host.yaml'
    assert stage.run(f'{command} --plan {path}').status == 0

    def take_back():
        generation = resource_provider.generation(stage.other, uuid)
        trait.set_on_provider(stage.other, uuid, [], generation)

    with before(stage.client, 'PUT', f'{uuid}/inventories', take_back):
        result = stage.run(f'resource provider reshape apply {path} --yes')
    assert result.status == 0, result
    assert f'others had taken back the trait {TRAIT} of {uuid}' in result.stdout
    # The command itself shows first what it does: it does not do that twice.
    assert stage.run(f'resource provider reshape rollback {path} --yes').status == 0
    with before(stage.client, 'PUT', f'{uuid}/inventories', take_back):
        result = stage.run(f'{command} --yes')
    assert (result.status, 'host: traits is nothing, not [' in result.stderr) == (6, True), result


@pytest.mark.parametrize(('act', 'name'), [(add_trait, TRAIT), (add_inventory, 'SRIOV_NET_VF')])
def test_a_declaration_takes_nothing_away_that_was_not_shown(stage, tmp_path, act, name):
    resource_provider.create(stage.other, 'host')
    (tmp_path / 'host.yaml').write_text('name: host\ntraits: []\ninventories: {VCPU: {total: 8}}\n')
    uuid = resource_provider.named(stage.other, 'host').uuid
    command = f'resource provider tree apply {tmp_path}/host.yaml --yes'
    with before(stage.client, 'PUT', uuid, lambda: act(stage.other, uuid)):
        result = stage.run(command)
    assert (result.status, 'more would change than was shown' in result.stderr) == (3, True), result
    state = capture.capture(stage.other).providers[uuid]
    assert {*state.traits, *state.inventories} == {name}
