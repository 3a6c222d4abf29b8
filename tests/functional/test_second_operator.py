"""Another operator writes between the reading of a command and its requests: nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from placementclient.api import aggregate, inventory, resource_provider, trait
from placementclient.changes.plan import plan_of
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading import capture
from placementclient.reshape import storage
from tests.functional import clouds, hosts
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of
from tests.functional.conftest import Placement, program
from tests.numbers import few_quick

TRAIT, RACK = 'HW_NIC_SRIOV', uuid_of('another rack')
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
def stage(service_url: str, capsys: pytest.CaptureFixture[str]) -> Stage:
    client, other = client_of(service_url), client_of(service_url)
    clouds.emptied(other)
    return Stage(program(client.session, capsys), client, other)


def add_trait(client: Client, uuid: str) -> None:
    there = trait.list_of_provider(client, uuid)
    trait.set_on_provider(client, uuid, [*there.value, TRAIT], there.generation or 0)


def add_aggregate(client: Client, uuid: str) -> None:
    there = aggregate.list(client, uuid)
    aggregate.set(client, uuid, [*there.value, RACK], there.generation)


def add_inventory(client: Client, uuid: str) -> None:
    generation = resource_provider.generation(client, uuid)
    inventory.create(client, uuid, 'SRIOV_NET_VF', {'total': 4}, generation)


def rename(client: Client, uuid: str) -> None:
    resource_provider.set(client, uuid, 'renamed')


def move(client: Client, uuid: str) -> None:
    name = resource_provider.show(client, uuid).value.name
    parent = resource_provider.named(client, 'elsewhere').uuid
    resource_provider.set(client, uuid, name, parent_provider_uuid=parent)


ACTS: dict[str, Act] = {
    'trait': add_trait,
    'aggregate': add_aggregate,
    'inventory': add_inventory,
    'name': rename,
    'parent': move,
}


@contextmanager
def before(client: Client, verb: str, part: str, act: Callable[[], None]) -> Iterator[None]:
    """Act just before the first request of a method and a part of a path; see that it came."""
    acted = []
    with clouds.disturbed(client, verb, part, lambda: acted.append(act())):
        yield
    assert acted, f'there was no {verb} of {part}'


def content(client: Client, uuid: str) -> Any:
    """A provider as it is, without its generation."""
    state = capture.capture(client, [uuid]).providers[uuid]
    return state.content


class Deletion(NamedTuple):
    """A command that deletes a child.

    :param command: the command line
    :param child: the UUID of the child
    """

    command: str
    child: str


def purge(stage: Stage, folder: Path) -> Deletion:
    hosts.build(stage.other, hosts=1)
    return Deletion('resource provider purge compute0 --yes', uuid_of('compute0_gpu0'))


def prune(stage: Stage, folder: Path) -> Deletion:
    hosts.build(stage.other, hosts=1)
    (folder / 'host.yaml').write_text('name: compute0\n')
    command = f'resource provider tree apply {folder}/host.yaml --prune --yes'
    return Deletion(command, uuid_of('compute0_gpu0'))


def rollback_of_changes(stage: Stage, folder: Path) -> Deletion:
    resource_provider.create(stage.other, 'host')
    (folder / 'host.yaml').write_text(
        'name: host\nchildren: [{name: gpu, inventories: {VGPU: {total: 2}}}]\n'
    )
    path = f'{folder}/plan.json'
    assert stage.run(f'resource provider tree apply {folder}/host.yaml --plan {path}').status == 0
    assert stage.run(f'resource provider reshape apply {path} --yes').status == 0
    child = resource_provider.named(stage.other, 'gpu').uuid
    return Deletion(f'resource provider reshape rollback {path} --yes', child)


def rollback_of_a_reshape(stage: Stage, folder: Path) -> Deletion:
    plan = clouds.plan_of(clouds.loaded(stage.other, clouds.cloud()))
    path = f'{folder}/plan.json'
    storage.write_plan(path, plan)
    assert stage.run(f'resource provider reshape apply {path} --yes').status == 0
    child = next(plan.trees[0].created()).uuid
    return Deletion(f'resource provider reshape rollback {path} --yes', child)


DELETIONS = (purge, prune, rollback_of_changes, rollback_of_a_reshape)


@pytest.mark.parametrize('kind', few_quick(ACTS, quick=1))
@pytest.mark.parametrize('prepare', DELETIONS)
def test_a_child_that_others_change_before_it_is_proved_is_not_deleted(
    stage: Stage, tmp_path: Path, prepare: Callable[[Stage, Path], Deletion], kind: str
) -> None:
    resource_provider.create(stage.other, 'elsewhere')
    command, child = prepare(stage, tmp_path)
    acted = content(stage.other, child)

    def act() -> None:
        nonlocal acted
        ACTS[kind](stage.other, child)
        acted = content(stage.other, child)

    with before(stage.client, 'PUT', f'{child}/aggregates', act):
        result = stage.run(command)
    assert content(stage.other, child) == acted
    # A child that left the tree is no business of those who delete the tree.
    left = kind == 'parent' and prepare in (purge, prune)
    assert result.status == 0 if left else result.status in (3, 6), result


@pytest.mark.parametrize('prepare', DELETIONS)
def test_who_has_read_a_child_before_it_is_proved_cannot_write_after_that(
    stage: Stage, tmp_path: Path, prepare: Callable[[Stage, Path], Deletion]
) -> None:
    command, child = prepare(stage, tmp_path)
    refused, there = [], None

    def read() -> None:
        nonlocal there
        there = trait.list_of_provider(stage.other, child)

    def write() -> None:
        assert there is not None
        assert there.generation is not None
        with pytest.raises(errors.ConcurrentUpdate):
            trait.set_on_provider(stage.other, child, [TRAIT], there.generation)
        refused.append(True)

    with (
        before(stage.client, 'PUT', f'{child}/aggregates', read),
        before(stage.client, 'DELETE', child, write),
    ):
        result = stage.run(command)
    assert (result.status, refused) == (0, [True])
    with pytest.raises(errors.NotFound):
        resource_provider.show(stage.other, child)


@pytest.mark.parametrize('kind', few_quick(ACTS, quick=1))
@pytest.mark.parametrize('prepare', [rollback_of_changes, rollback_of_a_reshape])
def test_a_child_that_others_have_changed_since_is_not_taken_back(
    stage: Stage, tmp_path: Path, prepare: Callable[[Stage, Path], Deletion], kind: str
) -> None:
    resource_provider.create(stage.other, 'elsewhere')
    command, child = prepare(stage, tmp_path)
    ACTS[kind](stage.other, child)
    there = content(stage.other, child)
    result = stage.run(command)
    assert (result.status, 'left alone' in result.stdout) == (3, True), result
    assert content(stage.other, child) == there


def refused_midway(stage: Stage, folder: Path) -> str:
    """Return the path of a plan whose second write the service refuses: no such trait exists."""
    there = Snapshot((), (), capture.origin_of(stage.other))
    host = hosts.provider('host', traits=['HW_NO_SUCH_TRAIT'])
    path = f'{folder}/plan.json'
    storage.write_plan(path, plan_of('resource provider tree apply', there, Snapshot([host], ())))
    return path


def test_a_run_that_has_changed_something_ends_with_6(stage: Stage, tmp_path: Path) -> None:
    path = refused_midway(stage, tmp_path)
    result = stage.run(f'resource provider reshape apply {path} --yes')
    assert (result.status, 'failed' in result.stdout) == (6, True), result
    assert stage.run(f'resource provider reshape rollback {path} --yes').status == 0
    assert capture.capture(stage.other).providers == {}


@pytest.mark.parametrize(
    ('state', 'consumer', 'fault'),
    [
        (hosts.provider('host', aggregates=['rack 7']), None, "'rack 7' is not a UUID"),
        (hosts.provider('host', traits=['custom_a']), None, "'custom_a' is not a name of A-Z"),
        (hosts.provider('h' * 201), None, 'is not the name of a provider'),
        (hosts.provider('host', {'VCPU': Inventory(0)}), None, 'the total of an inventory is 0'),
        (
            hosts.provider('host', {'VCPU': Inventory(8)}),
            hosts.holder('server', {'host': {'VCPU': 1}}, kind='instance'),
            "'instance' is not a name of A-Z",
        ),
    ],
)
def test_a_plan_with_a_value_that_the_schema_refuses_is_not_begun(
    stage: Stage, tmp_path: Path, state: ProviderState, consumer: Consumer | None, fault: str
) -> None:
    consumers = [consumer] if consumer else []
    there = Snapshot((), (), capture.origin_of(stage.other))
    path = f'{tmp_path}/plan.json'
    made = plan_of('resource provider tree apply', there, Snapshot([state], consumers))
    storage.write_plan(path, made)
    result = stage.run(f'resource provider reshape apply {path} --yes')
    assert (result.status, fault in result.stderr) == (1, True), result
    assert capture.capture(stage.other).providers == {}


def test_what_others_take_back_of_a_run_is_told(stage: Stage, tmp_path: Path) -> None:
    resource_provider.create(stage.other, 'host')
    (tmp_path / 'host.yaml').write_text(
        f'name: host\ntraits: [{TRAIT}]\ninventories: {{VCPU: {{total: 8}}}}\n'
    )
    path, uuid = f'{tmp_path}/plan.json', resource_provider.named(stage.other, 'host').uuid
    command = f'resource provider tree apply {tmp_path}/host.yaml'
    assert stage.run(f'{command} --plan {path}').status == 0

    def take_back() -> None:
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


@pytest.mark.parametrize('kind', ['trait', 'inventory'])
def test_a_declaration_takes_nothing_away_that_was_not_shown(
    stage: Stage, tmp_path: Path, kind: str
) -> None:
    resource_provider.create(stage.other, 'host')
    (tmp_path / 'host.yaml').write_text('name: host\ntraits: []\ninventories: {VCPU: {total: 8}}\n')
    uuid = resource_provider.named(stage.other, 'host').uuid
    command = f'resource provider tree apply {tmp_path}/host.yaml --yes'
    with before(stage.client, 'PUT', uuid, lambda: ACTS[kind](stage.other, uuid)):
        result = stage.run(command)
    assert (result.status, 'more would change than was shown' in result.stderr) == (3, True), result
    state = capture.capture(stage.other).providers[uuid]
    assert {*state.traits, *state.inventories} == {
        {'trait': TRAIT, 'inventory': 'SRIOV_NET_VF'}[kind]
    }


@pytest.mark.parametrize('kind', ['name', 'parent'])
def test_a_replacement_overwrites_no_new_name_and_no_new_parent(
    stage: Stage, tmp_path: Path, kind: str
) -> None:
    resource_provider.create(stage.other, 'elsewhere')
    hosts.build(stage.other, hosts=1)
    child = uuid_of('compute0_gpu0')
    command = f'resource provider replace compute0 --uuid {uuid_of("heir")} --yes'
    with before(
        stage.client, 'PUT', '/resource_providers/', lambda: ACTS[kind](stage.other, child)
    ):
        result = stage.run(command)
    # A child that left the tree need not follow.
    assert (result.status == 0) is (kind == 'parent'), result
    provider = resource_provider.show(stage.other, child).value
    elsewhere = resource_provider.named(stage.other, 'elsewhere').uuid
    assert (
        provider.name == 'renamed' if kind == 'name' else provider.parent_provider_uuid == elsewhere
    )
