# SPDX-License-Identifier: Apache-2.0
"""What has become of a plan, read from tables and by requests: both tell the same."""

from collections import Counter

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_provider, trait
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.model.outcomes import PlanStatus
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of


@pytest.fixture
def tables(session):
    return Client(session, HIGHEST)


def applied(client, path, hosts=2):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts)), moved_trait=True)
    journal = str(path / 'plan.journal')
    engines.apply(client, plan, journal)
    return plan, journal


def swap(client, plan, number):
    """Put a consumer on the other child."""
    consumer = allocation.show(client, plan.changes[number].consumers[0].uuid).value
    one, other = (change.uuid for change in plan.changes[number].list_created_providers())
    swapped = {one: other, other: one}
    allocations = {swapped.get(uuid, uuid): it for uuid, it in consumer.allocations.items()}
    allocation.set(client, replace(consumer, allocations=allocations))


def grow(client, uuid):
    read = inventory.list(client, uuid)
    assert read.generation is not None
    more = {name: replace(value, total=value.total + 1) for name, value in read.value.items()}
    changed = {name: value.as_fields() for name, value in more.items()}
    inventory.set_all(client, uuid, changed, read.generation)


def give(client, uuid, name):
    read = trait.list_of_provider(client, uuid)
    assert read.generation is not None
    trait.set_on_provider(client, uuid, [*read.value, name], read.generation)


def test_verify_and_status_agree_on_tables_and_requests(client, tables, tmp_path):
    plan, journal = applied(client, tmp_path, hosts=8)
    engines.rollback(client, plan, journal, trees=['compute1'])
    swap(client, plan, 2)
    allocation.delete(client, plan.changes[3].consumers[0].uuid)
    grow(client, next(plan.changes[4].list_created_providers()).uuid)
    give(client, uuid_of('compute5'), 'HW_CPU_X86_AMD_SEV')
    resource_provider.create(client, 'a disk', parent_provider_uuid=uuid_of('compute6'))
    for consumer in plan.changes[7].consumers:
        allocation.delete(client, consumer.uuid)
    for consumer in allocation.list_of_provider(client, uuid_of('compute7')).value:
        allocation.delete(client, consumer.consumer_uuid)
    for change in sorted(plan.changes[7].providers, key=lambda change: not change.is_created):
        resource_provider.delete(client, change.uuid)
    results = [
        (engines.verify(way, plan, journal_path=journal), engines.status(way, plan))
        for way in (client, tables)
    ]
    assert results[0] == results[1]
    differences, statuses = results[1]
    assert {(deviation.subject, deviation.kind) for deviation in differences} == {
        ('compute1', 'not-applied'),
        ('compute2', 'misplaced'),
        ('compute3', 'gone'),
        ('compute4', 'inventory'),
        ('compute5', 'trait'),
        ('compute7', 'missing'),
        ('compute7', 'gone'),
    }
    assert [tree.status for tree in statuses if tree.status is not PlanStatus.APPLIED] == [
        PlanStatus.PENDING,
        PlanStatus.DIFFERS,
        PlanStatus.DIFFERS,
        PlanStatus.DIFFERS,
    ]


def test_verify_reads_each_object_of_the_plan_once(client, tmp_path):
    plan, _ = applied(client, tmp_path)
    with clouds.watched(client) as requests:
        assert engines.verify(client, plan) == []
    providers = sum(len(change.providers) for change in plan.changes)
    consumers = sum(len(change.consumers) for change in plan.changes)
    counts = Counter(path for _, path in requests)
    assert counts.pop('/resource_providers') == len(plan.changes)
    assert set(counts.values()) == {1}
    # A list of each tree; inventories, traits and aggregates of each provider.
    assert len(requests) == len(plan.changes) + 3 * providers + consumers


def test_verify_reads_the_tables_without_requests(tables, tmp_path):
    plan, journal = applied(tables, tmp_path, hosts=3)
    with clouds.watched(tables) as requests:
        assert engines.verify(tables, plan, journal_path=journal) == []
        statuses = engines.status(tables, plan, journal_path=journal)
    assert [tree.status for tree in statuses] == [PlanStatus.APPLIED] * 3
    assert requests == []
