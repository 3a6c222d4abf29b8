"""What the tables tell is what the endpoints tell, on clouds of all kinds and every database.

Other databases than SQLite are those of ``PLACEMENT_TEST_DATABASES``: URLs with spaces between,
each of a database that may be emptied.
"""

import os
import random
import uuid
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy
from keystoneauth1.session import Session

from placementclient.api import resource_class, resource_provider, trait
from placementclient.client import errors, http
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST, Microversion
from placementclient.embedded import Direct
from placementclient.files import disk
from placementclient.reading import capture
from tests.functional import databases
from tests.functional.clouds import watched
from tests.numbers import numbers

DATABASES = ('sqlite', *os.environ.get('PLACEMENT_TEST_DATABASES', '').split())
CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_FPGA')
CREATED = datetime(2020, 2, 20)
TRAITS = ('COMPUTE_NODE', 'HW_CPU_X86_AVX2', 'MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_GOLD')


@pytest.fixture(params=DATABASES, ids=lambda url: url.partition(':')[0])
def url(request, tmp_path):
    """A database with a current schema and nothing else."""
    url = str(request.param)
    if url == 'sqlite':
        url = f'sqlite:///{tmp_path / "placement.sqlite"}'
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


class Cloud:
    """Rows such as years leave them, made by chance."""

    def __init__(self, url, seed):
        self._engine = sqlalchemy.create_engine(url)
        self._meta = sqlalchemy.MetaData()
        self._meta.reflect(self._engine)
        self._chance = random.Random(seed)
        self.roots: list[str] = []

    def build(self):
        with self._engine.begin() as connection:
            self._connection = connection
            classes = [self._named('resource_classes', name) for name in CLASSES]
            traits = [self._named('traits', name) for name in TRAITS]
            aggregates = [self._insert('placement_aggregates', uuid=self._uuid()) for _ in range(3)]
            providers = [id for n in range(8) for id in self._tree(f'host{n}', None, None)]
            places = [
                (provider, class_id)
                for provider in providers
                for class_id in self._some(classes)
                if self._has_inventory(provider, class_id)
            ]
            for provider in providers:
                for facet, ids in (('trait', traits), ('aggregate', aggregates)):
                    table = f'resource_provider_{facet}s'
                    for id in self._some(ids):
                        fields = {'resource_provider_id': provider, f'{facet}_id': id}
                        self._insert(table, **fields)
            self._consumers(places)
        self._engine.dispose()

    def _consumers(self, places):
        chance = self._chance
        project = self._insert('projects', external_id='project')
        users = [self._insert('users', external_id=name) for name in ('user', 'another')]
        kinds = [self._insert('consumer_types', name=name) for name in ('INSTANCE', 'MIGRATION')]
        for _ in range(30):
            consumer = self._uuid()
            if chance.random() < 0.8:  # or nobody has recorded who it is
                self._insert(
                    'consumers',
                    uuid=consumer,
                    project_id=project,
                    user_id=chance.choice(users),
                    generation=chance.randrange(4),
                    consumer_type_id=chance.choice([None, *kinds]),
                )
            # Whether this is the same consumer, the database says.
            as_allocated = consumer.upper() if chance.random() < 0.2 else consumer
            for provider, class_id in chance.sample(places, min(3, len(places))):
                self._insert(
                    'allocations',
                    consumer_id=as_allocated,
                    resource_provider_id=provider,
                    resource_class_id=class_id,
                    used=chance.randrange(1, 5),
                )

    def _tree(self, name, parent, root):
        provider = self._uuid()
        id = self._insert(
            'resource_providers',
            uuid=provider,
            name=name,
            generation=self._chance.randrange(9),
            parent_provider_id=parent,
            root_provider_id=root,
        )
        if root is None:
            self.roots.append(provider)
            table = self._meta.tables['resource_providers']
            self._connection.execute(
                table.update().where(table.c.id == id).values(root_provider_id=id)
            )
        yield id
        for n in range(self._chance.choice([0, 0, 1, 2]) if len(name) < 12 else 0):
            yield from self._tree(f'{name}_{n}', id, root or id)

    def _has_inventory(self, provider, class_id):
        """Add one; but rarely there are allocations of what there is none of."""
        chance = self._chance
        if chance.random() < 0.9:
            self._insert(
                'inventories',
                resource_provider_id=provider,
                resource_class_id=class_id,
                total=chance.randrange(1, 100),
                reserved=chance.randrange(2),
                min_unit=1,
                max_unit=chance.choice([1, 64, 2147483647]),
                step_size=1,
                allocation_ratio=chance.choice([1.0, 1.1, 16.0, 0.9]),
            )
        return chance.random() < 0.7

    def _some(self, items):
        return self._chance.sample(items, self._chance.randrange(len(items) + 1))

    def _uuid(self):
        text = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        return text.upper() if self._chance.random() < 0.2 else text

    def _named(self, table, name):
        columns = self._meta.tables[table].c
        query = sqlalchemy.select(columns.id).where(columns.name == name)
        id: int = self._connection.execute(query).scalar_one()
        return id

    def _insert(self, table, **values):
        insert = self._meta.tables[table].insert().values(created_at=CREATED, **values)
        made = self._connection.execute(insert)
        id: int = made.inserted_primary_key[0]
        return id


@pytest.mark.parametrize('seed', numbers(0, 4, quick=1))
def test_both_read_the_same_and_write_the_same_file(tables, url, seed, tmp_path):
    cloud = Cloud(url, seed)
    cloud.build()
    for version in (HIGHEST, Microversion(1, 37)):
        client = http.Client(tables.session, version)
        # By name: a UUID is taken in small letters, and some are stored in capitals.
        states = capture.capture(client).providers
        names = [states[uuid].name for uuid in cloud.roots]
        for trees in ([], names[:1], names[3:6]):
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
    cloud = Cloud(url, 7)
    cloud.build()
    reader = tables.snapshot_reader
    assert reader is not None
    by_endpoints = reader.snapshot(cloud.roots[2:5])
    monkeypatch.setattr('placementclient.embedded.tables.SELECTED', 2)
    picked = reader.snapshot(cloud.roots[2:5])
    assert picked.providers == by_endpoints.providers
    assert picked.consumers == by_endpoints.consumers


def test_a_tree_that_does_not_exist_is_passed_over_or_an_error(tables):
    nobody = str(uuid.uuid4())
    assert tables.snapshot_reader is not None
    assert not tables.snapshot_reader.snapshot([nobody]).providers
    with pytest.raises(errors.NoSuchProvider):
        capture.capture(tables, [nobody])


def test_a_provider_that_is_its_own_parent_is_told(tables, url):
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


def test_one_request_however_much_there_is(tables, url):
    Cloud(url, 1).build()
    told: list[str] = []
    with watched(tables) as requests:
        snapshot = capture.capture(tables, progress=told.append)
    assert len(requests) == 1
    assert told == [root.name for root in snapshot.roots()]


def test_whoever_may_not_ask_may_not_read_either():
    with Direct(placement_roles='nobody') as direct, pytest.raises(errors.Forbidden):
        capture.capture(Client(Session(auth=direct), HIGHEST))
