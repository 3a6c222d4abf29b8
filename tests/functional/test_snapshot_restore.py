# SPDX-License-Identifier: Apache-2.0
"""A restore that is killed, tried first, or met by what others have done."""

import json

import pytest
from keystoneauth1.session import Session
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_provider, trait
from placementclient.changes.at_once import apply_at_once
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.files import disk
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers import restore
from tests.functional import clouds
from tests.functional.clouds import content, disturbed, uuid_of, watched
from tests.functional.killing import Killed, killed_at

COMMAND = 'resource provider snapshot restore'
#: What is left alone, and why.
LEFT = '-f value -c object -c state -c reason'
HOST, CHILD = uuid_of('compute0'), uuid_of('child')


def cloud():
    """A host that is over-committed, with a child; consumers with and without a type."""
    tight = {'VGPU': Inventory(2, max_unit=1, reserved=1), 'VCPU': Inventory(8, step_size=4)}
    host = replace(clouds.host('compute0'), inventories=tight)
    child = ProviderState(
        Provider(CHILD, 'child', 0, HOST, HOST),
        {'CUSTOM_A': Inventory(4)},
        frozenset({'CUSTOM_B'}),
        frozenset({uuid_of('aggregate')}),
    )
    allocations = {HOST: {'VGPU': 3, 'VCPU': 2}, CHILD: {'CUSTOM_A': 1}}
    consumers = [
        Consumer(uuid_of(str(kind)), allocations, 'project', 'user', None, kind)
        for kind in (None, 'INSTANCE')
    ]
    return Snapshot([host, child], consumers)


@pytest.fixture
def file(tmp_path):
    """The snapshot as the service has it, so with what is used of each class."""
    path = str(tmp_path / 'cloud.json')
    with Direct.scratch() as service:
        client = http.Client(Session(auth=service), microversion.HIGHEST)
        disk.write_snapshot(path, clouds.loaded(client, cloud()))
    return path


def complete(client, snapshot):
    """Complete a restore, as the option --missing does."""
    restoring = restore.RestoreProducer(client, snapshot, only_missing=True)
    apply_at_once(client, restoring.plan())


def is_killed(snapshot, after):
    """Whether a restore is killed after so many writes; completed, it is the snapshot."""
    with Direct.scratch() as service:
        client, killed = http.Client(Session(auth=service), microversion.HIGHEST), False
        # Killed once more after that, half way.
        for act, writes in ((restore.load_snapshot, after), (complete, 3)):
            try:
                with killed_at(client, writes, is_done=False):
                    act(client, snapshot)
            except Killed:
                killed = killed or act is restore.load_snapshot
        complete(client, snapshot)
        assert content(clouds.captured(client)) == content(snapshot), after
    return killed


def test_a_killed_restore_is_completed_by_the_same_command(file):
    snapshot = disk.read_snapshot(file)
    # Two names, four for each provider, two groups of consumers, and limits again.
    writes = 2 + 8 + 2 + 1
    assert [is_killed(snapshot, write) for write in (1, 5, 11, writes)] == [True] * 3 + [False]


def test_restore_writes_nothing_that_exists(client, file):
    snapshot = disk.read_snapshot(file)
    restore.load_snapshot(client, snapshot)
    with watched(client) as requests:
        complete(client, snapshot)
    written = {path for method, path in requests if method not in ('GET',)}
    assert written == set()


def test_restore_names_consumers_that_are_elsewhere(client, placement, tmp_path):
    other = resource_provider.create(client, 'other')
    inventory.create(client, other.uuid, 'VCPU', {'total': 8}, 0)
    holder = Consumer(uuid_of('INSTANCE'), {other.uuid: {'VCPU': 1}}, 'p', 'u', None, 'INSTANCE')
    allocation.set(client, holder)
    file = str(tmp_path / 'cloud.json')
    disk.write_snapshot(file, cloud())
    result = placement(f'{COMMAND} {file} {LEFT}')
    assert result.status == 6
    moved = f'consumer {holder.uuid} left alone it has moved or changed since, and is on other'
    assert result.stdout.splitlines()[-1] == moved
    # All the rest is restored.
    live = clouds.captured(client)
    assert live.providers.keys() == {*cloud().providers, other.uuid}
    assert (
        live.consumers[uuid_of('None')].allocations
        == cloud().consumers[uuid_of('None')].allocations
    )
    assert live.consumers[holder.uuid].allocations == holder.allocations


@pytest.mark.parametrize('options', ['', '--yes', '--plan p.json', '--tree compute0'])
def test_restore_refuses_a_snapshot_of_another_cloud_where_there_are_hosts(
    client, placement, file, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    resource_provider.create(client, 'other')
    result = placement(f'{COMMAND} {file} {options}')
    assert (result.status, len(resource_provider.list(client))) == (1, 1)
    assert ' has 1 other resource provider, and the snapshot is of ' in result.stderr
    assert result.stderr.endswith('give --other-service\n')
    assert placement(f'{COMMAND} {file} {options} --other-service').status == 0
    assert len(resource_provider.list(client)) == (1 if '--plan' in options else 3)


def test_restore_into_an_empty_cloud_asks_nothing(placement, file, monkeypatch):
    monkeypatch.setattr('sys.stdin.isatty', lambda: True, raising=False)
    assert placement(f'{COMMAND} {file}').status == 0


def test_a_dry_run_of_restore_shows_what_would_be_done(client, placement, file):
    with watched(client) as requests:
        result = placement(f'{COMMAND} {file} --dry-run -f json')
    assert result.status == 3
    assert {method for method, _ in requests} == {'GET'}
    would = [(row['object'], row['change']) for row in json.loads(result.stdout)]
    assert would == [
        ('compute0', 'create'),
        ('compute0', 'VCPU'),
        ('compute0', 'VGPU'),
        ('compute0', 'traits'),
        ('compute0', 'aggregates'),
        ('child', 'create'),
        ('child', 'CUSTOM_A'),
        ('child', 'traits'),
        ('child', 'aggregates'),
        *((f'consumer {uuid}', 'allocations') for uuid in sorted(cloud().consumers)),
    ]
    assert result.stderr == ('2 providers to create; 2 allocations to add (exit 3)\n')
    done = placement(f'{COMMAND} {file} -f json')
    assert [(row['object'], row['change']) for row in json.loads(done.stdout)] == would
    allocation.delete(client, uuid_of('INSTANCE'))
    generation = resource_provider.read_generation(client, CHILD)
    trait.set_on_provider(client, CHILD, [], generation)
    again = json.loads(placement(f'{COMMAND} {file} --missing -f json').stdout)
    assert [(row['object'], row['change']) for row in again] == [
        ('child', 'traits'),
        (f'consumer {uuid_of("INSTANCE")}', 'allocations'),
    ]
    assert content(clouds.captured(client)) == content(disk.read_snapshot(file))


@pytest.mark.parametrize(
    ('what', 'name'),
    [
        ('trait', 'compute0'),
        ('inventory', 'child'),
    ],
)
def test_restore_refuses_to_change_an_existing_provider(client, placement, file, what, name):
    restore.load_snapshot(client, disk.read_snapshot(file))
    if what == 'trait':
        generation = resource_provider.read_generation(client, HOST)
        trait.set_on_provider(client, HOST, ['HW_NUMA_ROOT'], generation)
    else:
        generation = resource_provider.read_generation(client, CHILD)
        inventory.set(client, CHILD, 'CUSTOM_A', {'total': 9}, generation)
    before = content(clouds.captured(client))
    result = placement(f'{COMMAND} {file} --missing')
    assert placement(f'{COMMAND} {file}') == result
    sentence = f'restore changes no objects: {name}\n'
    steps = result.stderr.partition(sentence)[2].splitlines()
    assert (result.status, steps[0]) == (1, 'Next:')
    assert f'tree export --snapshot {file} --tree {name} -o saved.yaml' in steps[2]
    assert content(clouds.captured(client)) == before


def test_restore_does_not_overwrite_another_writer(client):
    """Another writer, between the allocations and the limits of what is over-committed."""

    def intervene():
        generation = resource_provider.read_generation(client, HOST)
        inventory.create(client, HOST, 'MEMORY_MB', {'total': 1024}, generation)

    with disturbed(client, 'POST', '/allocations', intervene):
        restore.load_snapshot(client, cloud())
    live = inventory.list(client, HOST).value
    assert live == {**cloud().providers[HOST].inventories, 'MEMORY_MB': Inventory(1024)}


def test_types_that_the_version_cannot_store_are_said_and_the_rest_is_restored(
    placement, client, file
):
    restored = placement(f'{COMMAND} {file} --yes', microversion='1.37')
    lost = (
        'Not restored: the types of 1 consumer, which services from microversion 1.38 on store, '
        'not 1.37\n'
    )
    assert (restored.status, restored.stderr.startswith(lost)) == (0, True), restored
    again = placement(f'{COMMAND} {file} --missing --yes', microversion='1.37')
    assert (again.status, again.stderr) == (0, f'{lost}Nothing to change\n')
    live = clouds.captured(client)
    assert {consumer.type for consumer in live.consumers.values()} == {None}
    assert len(live.consumers) == 2
