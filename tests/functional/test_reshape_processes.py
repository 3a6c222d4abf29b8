"""Real processes over HTTP: one that is killed while it applies a plan, one that writes as well."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.model.outcomes import State
from placementclient.model.plans import Plan
from placementclient.reshape import engines, storage
from tests.functional import clouds, stopping
from tests.functional.applying import client_of
from tests.functional.stopping import Service, start
from tests.functional.writing import TRAIT
from tests.numbers import few_quick


@pytest.fixture(scope='module')
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with stopping.running(tmp_path_factory.mktemp('unreliable')) as service:
        yield service


@pytest.fixture
def client(service: Service) -> Client:
    result = client_of(service.url)
    clouds.emptied(result)
    return result


def planned(client: Client, folder: Path, hosts: int, children: int = 2) -> tuple[Plan, Path]:
    before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
    plan = clouds.plan_of(before, children, moved_trait=True)
    path = folder / 'plan.json'
    storage.write_plan(str(path), plan)
    return plan, path


#: The writes of a tree: whether it is allowed, a trait, a child, its traits, the reshape, the trait
#: that goes.
POINTS = [*((number, 'after') for number in range(2, 7)), (3, 'before'), (5, 'before')]


def test_killed_between_request_and_answer(
    client: Client, service: Service, tmp_path: Path
) -> None:
    plan, path = planned(client, tmp_path, len(POINTS), 1)
    for (number, when), tree in zip(POINTS, plan.trees, strict=True):
        service.stop_at(number, when)
        applying = start('applying', service.url, str(path), tree.root_provider_name)
        assert service.wait_until_reached(applying), (number, when)
        applying.kill()
        applying.wait()
        service.go_on()
        outcome = engines.apply(client, plan, f'{path}.journal', trees=[tree.root_provider_name])
        assert clouds.names(outcome.trees) == [(tree.root_provider_name, 'applied')], (number, when)
    assert engines.verify(client, plan) == []
    assert engines.apply(client, plan, f'{path}.journal').exit_status is ExitStatus.DONE


@pytest.mark.slow
def test_killed_at_any_moment(client: Client, service: Service, tmp_path: Path) -> None:
    plan, path = planned(client, tmp_path, 3, 1)
    dice = random.Random(7)
    for tree in plan.trees:
        applying = start('applying', service.url, str(path), tree.root_provider_name)
        while not Path(f'{path}.journal').exists():
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.25))
        applying.kill()
        applying.wait()
    outcome = engines.apply(client, plan, f'{path}.journal', workers=2)
    assert outcome.exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


@pytest.mark.parametrize('children', few_quick([1, 2], quick=0))
def test_a_second_writer(client: Client, service: Service, tmp_path: Path, children: int) -> None:
    plan, path = planned(client, tmp_path, 5, children)
    hosts = [tree.root_provider_uuid for tree in plan.trees]
    before = clouds.captured(client)
    writer = start('writing', service.url, str(children), *hosts)
    assert writer.stdout is not None
    assert writer.stdout.readline() == 'writing\n'
    outcome = engines.apply(client, plan, f'{path}.journal', workers=2)
    knows = json.loads(writer.communicate('\n')[0])
    assert writer.returncode == 0
    assert {tree.state for tree in outcome.trees} <= {State.APPLIED, State.LEFT_ALONE}
    # Where newcomers have a choice, all trees may have one.
    assert outcome.of(State.APPLIED) or children > 1
    after = clouds.captured(client)
    held = {
        uuid: totals(consumer.allocations.values()) for uuid, consumer in after.consumers.items()
    }
    assert held == knows['held'] | {
        uuid: totals(consumer.allocations.values()) for uuid, consumer in before.consumers.items()
    }
    for host in knows['marked']:
        assert TRAIT in after.providers[host].traits
    done = [tree.root_provider_name for tree in outcome.of(State.APPLIED)]
    if done:
        found = engines.verify(client, plan, done, journal_path=f'{path}.journal')
        assert [each for each in found if each.is_damage] == []
    for tree in outcome.of(State.LEFT_ALONE):
        states = list(after.tree(tree.root_provider_uuid))
        assert [state.name for state in states] == [tree.root_provider_name]
        assert states[0].inventories == before.providers[tree.root_provider_uuid].inventories


def totals(parts: object) -> dict[str, int]:
    result: dict[str, int] = {}
    for resources in parts:  # type: ignore[attr-defined]
        for name, amount in resources.items():
            result[name] = result.get(name, 0) + amount
    return result
