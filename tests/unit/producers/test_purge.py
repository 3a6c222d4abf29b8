"""A cloud without a host: consumers keep the rest, and what speaks against that is told."""

import pytest
from msgspec import structs

from placementclient.model.shortfalls import Unaccounted
from placementclient.model.snapshots import Snapshot
from placementclient.producers.purge import Surroundings, purged
from tests.unit.insight.clouds import cloud, consumer, provider

NOTHING = 'would be left with nothing: a server, or a resize that is not confirmed'
SHARED = 'would be left with nothing but shared resources'
MIGRATION = 'is a migration: confirm or revert it first'
HOSTS = cloud(
    [
        provider('host', VCPU=8),
        provider('host_gpu', 'host', VGPU=8),
        provider('other', VCPU=8),
        provider('storage', DISK_GB=100),
    ],
    [],
)
UUIDS = {state.name: uuid for uuid, state in HOSTS.providers.items()}
AROUND = Surroundings(
    {UUIDS[name]: HOSTS.providers[UUIDS[name]].provider for name in ('host', 'other', 'storage')},
    sharing={UUIDS['storage']},
)


def with_consumer(holder):
    states = (
        structs.replace(state, usages=holder.allocations.get(uuid, {}))
        for uuid, state in HOSTS.providers.items()
    )
    return Snapshot(states, [holder])


@pytest.mark.parametrize(
    ('holder', 'objection'),
    [
        (consumer('c', host={'VCPU': 1}, other={'VCPU': 2}), None),
        (consumer('c', host_gpu={'VGPU': 1}, other={'VCPU': 2}), None),
        (consumer('c', host={'VCPU': 1}), NOTHING),
        (consumer('c', host={'VCPU': 1}, storage={'DISK_GB': 1}), SHARED),
        (
            structs.replace(consumer('c', host={'VCPU': 1}, other={'VCPU': 1}), type='MIGRATION'),
            MIGRATION,
        ),
    ],
)
def test_a_consumer_keeps_what_it_holds_elsewhere(holder, objection):
    after, objections = purged(with_consumer(holder), UUIDS['host'], AROUND)
    assert {state.name for state in after.providers.values()} == {'other', 'storage'}
    retained = {u: r for u, r in holder.allocations.items() if u in after.providers}
    assert [c.allocations for c in after.consumers.values()] == ([retained] if retained else [])
    assert objections == ({'c': objection} if objection else {})


@pytest.mark.parametrize(('is_over', 'reason'), [(True, NOTHING), (False, MIGRATION)])
def test_migrations_are_those_that_nova_lists(is_over, reason):
    around = AROUND._replace(is_over={'c': is_over})
    holder = consumer('c', host={'VCPU': 1})
    _, objections = purged(with_consumer(holder), UUIDS['host'], around)
    assert objections == {'c': reason}


def test_the_users_of_a_child_are_named():
    around = AROUND._replace(dependent={UUIDS['host']})
    holder = consumer('c', host={'VCPU': 1}, host_gpu={'VGPU': 1})
    after, objections = purged(with_consumer(holder), UUIDS['host_gpu'], around)
    assert UUIDS['host'] in after.providers
    assert after.consumers['c'].allocations == {UUIDS['host']: {'VCPU': 1}}
    assert objections == {'c': 'would go on to use it: it holds something on host'}


def test_usage_that_no_consumer_answers_for_cannot_be_freed():
    holder = consumer('c', host={'VCPU': 1}, other={'VCPU': 1})
    live = with_consumer(holder)
    states = (structs.replace(state, usages={'VCPU': 3}) for state in live.providers.values())
    with pytest.raises(Unaccounted, match='2 VCPU of host is used by consumers without a record'):
        purged(Snapshot(states, [holder]), UUIDS['host'], AROUND)
