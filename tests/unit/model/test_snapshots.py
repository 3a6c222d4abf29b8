"""Snapshots: found by name, and walked as trees."""

from msgspec.structs import replace

from tests.unit.insight.clouds import cloud, consumer, provider

HOST = provider('host')
SNAPSHOT = cloud(
    [provider('b', 'host'), HOST, provider('a', 'host')],
    [consumer('second', a={'VCPU': 1}), consumer('first', a={'VCPU': 1}, x={})],
)


def names(states):
    return [state.name for state in states]


def test_a_provider_is_found_by_uuid_and_by_name():
    live = cloud([replace(HOST, provider=replace(HOST.provider, uuid='uuid'))])
    assert live.find('uuid') is live.find('host') is live.providers['uuid']
    assert live.find('other') is None


def test_trees_are_walked_from_the_root_and_by_name():
    assert names(SNAPSHOT.roots()) == ['host']
    assert names(SNAPSHOT.children('host')) == ['a', 'b']
    assert names(SNAPSHOT.tree('host')) == ['host', 'a', 'b']
    assert names(SNAPSHOT.tree('a')) == ['a']


def test_consumers_are_found_by_provider():
    assert [consumer.uuid for consumer in SNAPSHOT.consumers_on('a')] == ['first', 'second']
    assert SNAPSHOT.consumers_on('host') == []
