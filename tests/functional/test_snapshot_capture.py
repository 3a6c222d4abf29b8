# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a service that others write to."""

from collections import Counter

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_provider
from placementclient.basis.errors import NoSuchProvider
from placementclient.client import errors, http
from placementclient.client.microversion import Microversion
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.producers import restore
from placementclient.reading import capture
from placementclient.reading.capture import UnstableRead
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.numbers import few_quick


def spanning(*hosts):
    allocations = {uuid_of(host): {'VCPU': 1} for host in hosts}
    return Consumer(uuid_of('spanning'), allocations, 'project', 'user', None, 'MIGRATION')


@pytest.mark.parametrize('workers', [1, 3])
def test_a_snapshot_has_all_that_was_made(client, workers):
    desired = clouds.cloud(hosts=3)
    clouds.load(client, desired)
    got = clouds.content(capture.capture(client, workers=workers))
    expected = clouds.content(desired)
    for record in [*expected['providers'], *got['providers']]:
        del record['usages']
    assert got == expected


def test_a_snapshot_costs_five_requests_a_provider_and_one_a_consumer(client):
    cloud = clouds.cloud(hosts=2, servers=3)
    both = spanning('compute0', 'compute1')
    clouds.load(client, Snapshot(cloud.providers.values(), [*cloud.consumers.values(), both]))
    with clouds.watched(client) as requests:
        snapshot = capture.capture(client, workers=2)
    counts = Counter(path.partition('?')[0] for _, path in requests)
    assert {counts[f'/allocations/{uuid}'] for uuid in snapshot.consumers} == {1}
    # All providers, and for each one five reads: nothing has moved since it was listed.
    assert len(requests) == 1 + 2 * 5 + len(snapshot.consumers)


def test_a_snapshot_of_some_trees_has_all_allocations_of_their_consumers(client):
    cloud = clouds.cloud(hosts=3)
    both = spanning('compute0', 'compute1')
    clouds.load(client, Snapshot(cloud.providers.values(), [*cloud.consumers.values(), both]))
    names_read: list[str] = []
    names = ['compute1', uuid_of('compute1')]
    snapshot = capture.capture(client, names, progress=names_read.append)
    assert [state.name for state in snapshot.providers.values()] == ['compute1']
    assert snapshot.consumers[both.uuid].allocations == both.allocations
    assert uuid_of('server0.0') not in snapshot.consumers
    assert names_read == ['compute1']


@pytest.mark.parametrize('name', ['nothing', uuid_of('nothing')])
def test_a_snapshot_of_a_missing_tree_is_an_error(client, name):
    with pytest.raises(NoSuchProvider, match=name):
        capture.capture(client, [name])


@pytest.mark.parametrize('named', ['compute0', 'compute0_child', 'compute*'])
def test_a_provider_may_go_while_its_tree_is_read(client, named):
    root = resource_provider.create(client, 'compute0').uuid
    child = resource_provider.create(client, 'compute0_child', parent_provider_uuid=root).uuid

    def purge():
        for uuid in (child, root)[: 1 if named.endswith('child') else 2]:
            resource_provider.delete(client, uuid)

    with clouds.disturbed(client, 'GET', '/aggregates', purge):
        if named == 'compute*':
            assert not capture.capture(client, [named]).providers
        else:
            with pytest.raises(NoSuchProvider, match=named):
                capture.capture(client, [named])


@pytest.mark.parametrize('read', ['compute0', 'card'])
def test_a_provider_that_moves_while_its_tree_is_read_has_its_new_place(client, read):
    """A new parent moves no generation: only a new list shows it."""
    root = resource_provider.create(client, 'compute0', uuid=uuid_of('compute0')).uuid
    cell, card = (
        resource_provider.create(client, name, uuid=uuid_of(name), parent_provider_uuid=root).uuid
        for name in ('cell', 'card')
    )

    def move():
        resource_provider.set(client, card, 'card', parent_provider_uuid=cell)
        for uuid in root, card:
            inventory.set_all(client, uuid, {'VCPU': {'total': 1}}, 0)

    with clouds.disturbed(client, 'GET', f'{uuid_of(read)}/inventories', move):
        snapshot = capture.capture(client)
    for uuid in root, card:
        assert snapshot.providers[uuid].inventories == {'VCPU': Inventory(1)}
    assert snapshot.providers[card].provider.parent_provider_uuid == cell


def test_an_older_microversion_is_refused(session):
    old = http.Client(session, Microversion(1, 27))
    with pytest.raises(errors.UnsupportedVersion, match=r'1\.28'):
        capture.capture(old)


def free(client):
    allocation.delete(client, uuid_of('server0.1'))


def allocate(client):
    allocation.set(client, clouds.server('new', 'compute0'))


def spread(client, server='server0.1', host='compute1'):
    consumer = allocation.show(client, uuid_of(server)).value
    more = {**consumer.allocations, uuid_of(host): {'VCPU': 1}}
    allocation.set(client, replace(consumer, allocations=more))


def spread_back(client):
    """To a host that is read before the server's own one."""
    spread(client, 'server1.1', 'compute0')


def make_child(client):
    resource_provider.create(client, 'child', parent_provider_uuid=uuid_of('compute0'))


@pytest.mark.parametrize('change', [free, allocate, spread, spread_back, make_child])
@pytest.mark.parametrize(
    'when', few_quick(['/allocations', 'in_tree', '/usages', '/allocations/', 'compute1'], quick=2)
)
def test_a_snapshot_is_consistent_whatever_changes_meanwhile(client, when, change):
    clouds.load(client, clouds.cloud(hosts=2, servers=2))
    part = uuid_of('compute1') if when == 'compute1' else when
    with clouds.disturbed(client, 'GET', part, lambda: change(client)):
        snapshot = capture.capture(client)
    # Whenever it happened, the snapshot is that of a moment before or after.
    listed: dict[str, Counter[str]] = {uuid: Counter() for uuid in snapshot.providers}
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            listed[uuid].update(resources)
    for uuid, state in snapshot.providers.items():
        assert +listed[uuid] == +Counter(state.usages), state.name


def test_a_consumer_that_changes_hands_between_two_trees_is_read_again(client):
    clouds.load(client, clouds.cloud(hosts=2, servers=2))
    spread(client)

    def hand_over():
        consumer = allocation.show(client, uuid_of('server0.1')).value
        allocation.set(client, replace(consumer, project_id='other'), replaces_owner=True)

    with clouds.disturbed(client, 'GET', uuid_of('compute1'), hand_over):
        snapshot = capture.capture(client)
    consumer = allocation.show(client, uuid_of('server0.1')).value
    assert consumer.project_id == 'other'
    assert snapshot.consumers[consumer.uuid] == consumer


def test_a_tree_that_changes_all_the_time_is_an_unstable_read(client):
    clouds.load(client, clouds.cloud(hosts=1, servers=1))

    def churn():
        read = inventory.list(client, uuid_of('compute0'))
        assert read.generation is not None
        same = {name: value.as_fields() for name, value in read.value.items()}
        inventory.set_all(client, uuid_of('compute0'), same, read.generation)

    with (
        clouds.disturbed(client, 'GET', '/usages', churn, 1000),
        pytest.raises(UnstableRead) as caught,
    ):
        capture.capture(client)
    assert caught.value.providers == ['compute0']


def test_capture_reports_the_number_of_trees_before_it_reads_them(client):
    clouds.load(client, clouds.cloud(hosts=3, servers=1))
    progress: list[object] = []
    capture.capture(client, progress=progress.append, expect=progress.append)
    assert progress[0] == 3
    assert sorted(map(str, progress[1:])) == ['compute0', 'compute1', 'compute2']


def test_restore_refuses_a_service_that_has_one_of_the_trees(client):
    cloud = clouds.cloud(hosts=2)
    part = Snapshot([cloud.providers[uuid_of('compute0')]], [])
    restore.load_snapshot(client, part)
    with pytest.raises(restore.Unrestorable, match='compute0'):
        restore.load_snapshot(client, cloud)
    assert len(capture.capture(client).providers) == 1


def test_restore_refuses_a_consumer_on_a_provider_that_the_snapshot_lacks(client):
    lacking = Snapshot([clouds.host('compute0')], [spanning('compute0', 'compute1')])
    with pytest.raises(restore.Unrestorable):
        restore.load_snapshot(client, lacking)
    assert capture.capture(client).providers == {}


def test_a_snapshot_says_when_and_where_it_was_read(client):
    origin = capture.capture(client).origin
    assert origin is not None
    assert origin.captured_at is not None
    assert origin.captured_at.endswith('+00:00')
    assert str(origin.service).startswith(('sqlite:///', 'http://'))
    assert str(origin.program).startswith('python-placementclient ')
