"""Real processes over HTTP: one that is killed while it applies a plan, one that writes as well."""

import pytest

from placementclient.client.errors import ExitStatus
from placementclient.reshape import engines, storage
from tests.functional import clouds
from tests.functional.applying import client_of
from tests.functional.stopping import start


@pytest.fixture
def client(service):
    result = client_of(service.url)
    clouds.emptied(result)
    return result


def planned(client, folder, hosts, children=2):
    before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
    plan = clouds.plan_of(before, children, moved_trait=True)
    path = folder / 'plan.json'
    storage.write_plan(str(path), plan)
    return plan, path


#: The writes of a tree: whether it is allowed, a trait, a child, its traits, the reshape, the trait
#: that goes.
POINTS = [*((number, 'after') for number in range(2, 7)), (3, 'before'), (5, 'before')]


def test_killed_between_request_and_answer(client, service, tmp_path):
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
