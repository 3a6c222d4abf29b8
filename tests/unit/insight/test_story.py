"""The story of one consumer, and of one provider."""

from __future__ import annotations

from dataclasses import replace

from placementclient.insight import story
from placementclient.insight.story import Event
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from tests.unit.insight.clouds import cloud, consumer, provider

HOSTS = [provider('a', VCPU=8), provider('b', VCPU=8)]


def told(*snapshots: Snapshot, uuid: str = 's') -> list[tuple[object, ...]]:
    """Return the events of a consumer: number of the snapshot, event, field, before, after."""
    moments = [(str(number), snapshot) for number, snapshot in enumerate(snapshots)]
    return [
        (each.at, each.event, each.field, each.before, each.after)
        for each in story.of_consumer(uuid, moments)
    ]


def test_a_consumer_comes_moves_grows_and_goes() -> None:
    steps: list[dict[str, dict[str, int]]] = [
        {},
        {'a': {'VCPU': 2}},
        {'a': {'VCPU': 2}},
        {'b': {'VCPU': 2}},
        {'b': {'VCPU': 4}},
        {'b': {'VCPU': 1}},
        {'b': {'VGPU': 1}},
        {},
    ]
    snapshots = [cloud(HOSTS, [consumer('s', **held)] if held else []) for held in steps]
    assert told(*snapshots) == [
        ('1', 'came', 'allocations', None, {'a': {'VCPU': 2}}),
        ('3', 'moved', 'allocations', {'a': {'VCPU': 2}}, {'b': {'VCPU': 2}}),
        ('4', 'grew', 'allocations', {'b': {'VCPU': 2}}, {'b': {'VCPU': 4}}),
        ('5', 'shrank', 'allocations', {'b': {'VCPU': 4}}, {'b': {'VCPU': 1}}),
        ('6', 'changed', 'allocations', {'b': {'VCPU': 1}}, {'b': {'VGPU': 1}}),
        ('7', 'gone', 'allocations', {'b': {'VGPU': 1}}, None),
    ]


def test_the_first_snapshot_tells_what_was_there() -> None:
    there = cloud(HOSTS, [consumer('s', a={'VCPU': 2})])
    assert told(there, there) == [('0', 'there', 'allocations', None, {'a': {'VCPU': 2}})]
    [event] = story.of_providers({'a'}, [('2026', cloud([HOSTS[0]]))])
    assert (event.previous, event.at, event.event) == ('', '2026', 'there')
    assert told(there, uuid='other') == []


def test_another_owner_or_type_is_a_change() -> None:
    before = consumer('s', a={'VCPU': 2})
    after = replace(before, project_id='other', type=None)
    assert told(cloud(HOSTS, [before]), cloud(HOSTS, [after]))[1:] == [
        ('1', 'changed', 'project_id', 'project', 'other'),
        ('1', 'changed', 'type', 'INSTANCE', None),
    ]


def test_an_unknown_provider_has_its_uuid() -> None:
    assert told(Snapshot((), [consumer('s', x={'VCPU': 1})]))[0][4] == {'x': {'VCPU': 1}}


def test_a_provider_comes_changes_and_goes() -> None:
    base = provider('a', VCPU=8)
    changes = [
        replace(base, inventories={'VCPU': Inventory(16)}),
        replace(base, inventories={'VCPU': Inventory(4, reserved=1)}),
        replace(base, traits=frozenset({'CUSTOM_T'})),
        replace(base, provider=base.provider._replace(name='z')),
        replace(base, usages={'VCPU': 4}, provider=base.provider._replace(generation=9)),
    ]
    moments = [('0', cloud([])), ('1', cloud([base]))]
    for number, state in enumerate(changes):
        moments += [(f'{number}+', Snapshot([state], ())), (f'{number}-', Snapshot([base], ()))]
    events = list(story.of_providers({'a'}, [*moments, ('9', cloud([]))]))
    assert (events[0].event, events[0].before, events[0].after) == ('came', None, {'VCPU': 8})
    assert (events[-1].event, events[-1].before, events[-1].after) == ('gone', {'VCPU': 8}, None)
    found = [(e.at, e.event, e.field, e.before, e.after) for e in events if e.at.endswith('+')]
    assert found == [
        ('0+', 'grew', 'inventories.VCPU.total', 8, 16),
        ('1+', 'changed', 'inventories.VCPU.reserved', 0, 1),
        ('1+', 'shrank', 'inventories.VCPU.total', 8, 4),
        ('2+', 'changed', 'traits', [], ['CUSTOM_T']),
        ('3+', 'renamed', 'name', 'a', 'z'),
    ]
    assert {each.uuid for each in events} == {'a'}


def test_a_provider_moves_below_another_parent() -> None:
    before = cloud([*HOSTS, provider('c', parent='a')])
    after = cloud([*HOSTS, provider('c', parent='b')])
    [_, moved] = story.of_providers({'c'}, [('1', before), ('2', after)])
    assert moved == Event('1', '2', 'moved', 'c', 'c', 'parent', 'a', 'b')
