"""Another operator writes between the reading of a command and its requests: nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from placementclient.api import aggregate, inventory, resource_provider, trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.reshape import storage
from placementclient.snapshot import capture
from tests.functional import clouds, hosts
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of
from tests.functional.conftest import Placement, program

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


@pytest.mark.parametrize('kind', ACTS)
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


@pytest.mark.parametrize('kind', ACTS)
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
