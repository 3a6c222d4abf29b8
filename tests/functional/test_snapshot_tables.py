# SPDX-License-Identifier: Apache-2.0
"""What the tables tell is what the endpoints tell, on clouds of all kinds.

On SQLite, or on the database of ``PLACEMENT_TEST_DATABASE``, which is emptied.
"""

import os
import random
import uuid
from pathlib import Path

import pytest
import sqlalchemy
from keystoneauth1.session import Session

from placementclient.api import resource_class, resource_provider, trait
from placementclient.basis.errors import NoSuchProvider
from placementclient.client import errors, http
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST, TYPED, Microversion
from placementclient.embedded import Direct
from placementclient.files import disk
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading import capture
from tests.functional import databases
from tests.functional.bulk import Database
from tests.functional.clouds import watched
from tests.numbers import numbers

CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_FPGA')
AGGREGATES = tuple(f'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa{number}' for number in range(3))
TRAITS = ('COMPUTE_NODE', 'HW_CPU_X86_AVX2', 'MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_GOLD')


@pytest.fixture
def url(tmp_path):
    """A database with a current schema and nothing else."""
    url = os.environ.get('PLACEMENT_TEST_DATABASE', f'sqlite:///{tmp_path / "placement.sqlite"}')
    databases.emptied(url)
    return url


@pytest.fixture
def tables(url):
    """A client whose snapshots are of tables."""
    with Direct(placement_database=url) as direct:
        client = Client(Session(auth=direct), HIGHEST)
        resource_class.ensure(client, 'CUSTOM_FPGA')
        trait.create(client, 'CUSTOM_GOLD')
        yield client


def by_requests(client):
    """The same client without a shortcut."""
    return Client(client.session, client.microversion, endpoint_override=client.url)


def tree(chance, name, parent=None, root=None):
    """A provider, and all below it, made by chance."""
    provider_uuid = identity(chance)
    state = ProviderState(
        Provider(provider_uuid, name, chance.randrange(9), parent, root or provider_uuid),
        {
            name: Inventory(
                chance.randrange(1, 100),
                reserved=chance.randrange(2),
                max_unit=chance.choice([1, 64, 2147483647]),
                allocation_ratio=chance.choice([1.0, 1.1, 16.0, 0.9]),
            )
            for name in some(chance, CLASSES)
        },
        frozenset(some(chance, TRAITS)),
        frozenset(some(chance, AGGREGATES)),
    )
    yield state
    for number in range(chance.choice([0, 0, 1, 2]) if len(name) < 12 else 0):
        yield from tree(chance, f'{name}_{number}', provider_uuid, root or provider_uuid)


def consumer(chance, places):
    allocations: dict[str, dict[str, int]] = {}
    for provider, name in chance.sample(places, min(3, len(places))):
        allocations.setdefault(provider, {})[name] = chance.randrange(1, 5)
    user, kind = chance.choice(['one', 'another']), chance.choice([None, 'INSTANCE', 'MIGRATION'])
    return Consumer(identity(chance), allocations, 'project', user, 1, kind)


def some(chance, items):
    return chance.sample(items, chance.randrange(len(items) + 1))


def identity(chance):
    text = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    return text.upper() if chance.random() < 0.2 else text


def build(client, url, seed):
    """Fill the tables as years leave them; return the UUIDs of the roots."""
    chance = random.Random(seed)
    states = [state for number in range(5) for state in tree(chance, f'host{number}')]
    places = [(state.uuid, name) for state in states for name in state.inventories]
    snapshot = Snapshot(states, [consumer(chance, places) for _ in range(20)])
    database = Database(client, url)
    database.fill(snapshot)
    uuids = list(snapshot.consumers)
    # Nobody has recorded who it is; and whether two are the same consumer, the database says.
    for consumer_uuid in chance.sample(uuids, 4):
        database.forget_consumer(consumer_uuid)
    database.execute(
        'UPDATE allocations SET consumer_id = UPPER(consumer_id) WHERE consumer_id = :uuid',
        *({'uuid': consumer_uuid} for consumer_uuid in chance.sample(uuids, 4)),
    )
    # Rarely there are allocations of what there is none of.
    database.execute('DELETE FROM inventories WHERE id % 10 = 7')
    return [state.uuid for state in snapshot.roots()]


@pytest.mark.parametrize('seed', numbers(0, 3, quick=1))
def test_tables_and_endpoints_give_the_same_snapshot_and_file(tables, url, seed, tmp_path):
    roots = build(tables, url, seed)
    for version in (TYPED, Microversion(1, 37)):
        client = http.Client(tables.session, version)
        # By name: a UUID is taken in small letters, and some are stored in capitals.
        states = capture.capture(client).providers
        names = [states[uuid].name for uuid in roots]
        for trees in ([], names[:1], names[2:4]):
            read = capture.capture(client, trees)
            by_endpoints = capture.capture(by_requests(client), trees)
            assert read.providers == by_endpoints.providers
            assert read.consumers == by_endpoints.consumers
            paths = [str(tmp_path / name) for name in ('read.json', 'by_endpoints.json')]
            # Where and when they were read is what they do not have in common.
            by_endpoints.origin = read.origin
            for path, snapshot in zip(paths, (read, by_endpoints), strict=True):
                disk.write_snapshot(path, snapshot)
            assert Path(paths[0]).read_bytes() == Path(paths[1]).read_bytes()
    assert all(state.usages.keys() == state.inventories.keys() for state in read.providers.values())


def test_many_trees_are_picked_out_of_everything(tables, url, monkeypatch):
    roots = build(tables, url, 7)
    reader = tables.snapshot_reader
    assert reader is not None
    by_endpoints = reader.snapshot(roots[2:5])
    monkeypatch.setattr('placementclient.embedded.tables.SELECTED', 2)
    picked = reader.snapshot(roots[2:5])
    assert picked.providers == by_endpoints.providers
    assert picked.consumers == by_endpoints.consumers
    alone = {provider.uuid: provider for provider in reader.providers(roots[2:5])}
    assert alone == {uuid: state.provider for uuid, state in picked.providers.items()}


def test_a_tree_that_does_not_exist_is_passed_over_or_an_error(tables):
    nobody = str(uuid.uuid4())
    assert tables.snapshot_reader is not None
    assert not tables.snapshot_reader.snapshot([nobody]).providers
    with pytest.raises(NoSuchProvider):
        capture.capture(tables, [nobody])


def test_a_provider_that_is_its_own_parent_is_an_error(tables, url):
    """No request makes one, but a database that was edited by hand has it."""
    provider = resource_provider.create(tables, 'host')
    with sqlalchemy.create_engine(url).begin() as connection:
        connection.execute(sqlalchemy.text('UPDATE resource_providers SET parent_provider_id = id'))
    message = (
        rf"providers that form no tree: the parents of 'host' \({provider.uuid}\) are a circle"
    )
    for client in (tables, by_requests(tables)):
        for roots in ([], ['host']):
            with pytest.raises(errors.InvalidAnswer, match=message):
                capture.capture(client, roots)


def test_a_snapshot_of_tables_costs_one_request(tables, url):
    build(tables, url, 1)
    names: list[str] = []
    with watched(tables) as requests:
        snapshot = capture.capture(tables, progress=names.append)
    assert len(requests) == 1
    assert names == [root.name for root in snapshot.roots()]


def test_a_user_without_a_role_may_not_read_the_tables():
    with Direct(placement_roles='nobody') as direct, pytest.raises(errors.Forbidden):
        capture.capture(Client(Session(auth=direct), HIGHEST))
