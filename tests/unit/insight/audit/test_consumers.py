"""Consumers that should not hold what they hold: told apart by what Nova knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from placementclient.model.repairs import FreeAllocations
from tests.unit.insight.audit.auditing import PREFIX, findings, migration, only, typed
from tests.unit.insight.clouds import consumer, pool, provider

HOSTS = [provider(name, VCPU=8) for name in 'ab']
SHARING = [replace(host, aggregates=frozenset({'x'})) for host in HOSTS]
BOTH = {'a': {'VCPU': 1}, 'b': {'VCPU': 2}}


@pytest.mark.parametrize(
    ('servers', 'migrations', 'id', 'freed'),
    [
        (None, None, 'on-several-trees', None),
        ({'s': 'b'}, None, 'on-several-trees', None),
        (None, [], 'on-several-trees', None),
        (None, [migration('evacuation', 'accepted')], 'in-migration', None),
        ({'s': 'b'}, [migration('evacuation', 'accepted')], 'in-migration', None),
        ({'s': 'a'}, [migration('resize', 'finished')], 'in-migration', None),
        ({'s': 'b'}, [migration('evacuation', 'done')], 'left-by-evacuation', ('a',)),
        ({'s': 'b.example'}, [migration('evacuation', 'completed')], 'left-by-evacuation', ('a',)),
        ({'s': 'a'}, [migration('evacuation', 'done')], 'doubled', ('b',)),
        ({'s': 'b'}, [migration('live-migration', 'completed')], 'doubled', ('a',)),
        ({'s': 'b'}, [migration('resize', 'error')], 'doubled', None),
        ({'s': 'b'}, [], 'doubled', ('a',)),
        ({'s': 'c'}, [], 'doubled', None),
        ({'s': ''}, [], 'doubled', None),
    ],
)
def test_consumers_on_several_trees_are_told_apart(
    servers: dict[str, str] | None,
    migrations: list[dict[str, Any]] | None,
    id: str,
    freed: tuple[str, ...] | None,
) -> None:
    held = consumer('s', **BOTH)
    found = only(HOSTS, [held], servers, migrations)
    assert (found.id, found.fault.subject) == (id, 's')
    assert found.fault.repair == (FreeAllocations(held, freed) if freed else None)
    assert found.fault.evidence['holds'] == BOTH
    if freed:
        assert typed(found) == f'{PREFIX} allocation unset s --provider {freed[0]}'


def test_what_is_shared_is_no_other_tree() -> None:
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    assert findings(states, [consumer('s', a={'VCPU': 1}, nfs={'DISK_GB': 1})]) == []


def test_an_evacuated_server_keeps_what_is_shared() -> None:
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    held = consumer('s', **BOTH, nfs={'DISK_GB': 1})
    found = only(states, [held], {'s': 'b'}, [migration('evacuation', 'done')])
    assert found.fault.repair == FreeAllocations(held, ('a',))


@pytest.mark.parametrize(
    ('kind', 'migrations', 'is_safe'),
    [
        ('INSTANCE', None, True),
        ('INSTANCE', [], True),
        (None, [], True),
        (None, None, False),
        ('MIGRATION', [], False),
        ('INSTANCE', [migration('resize', 'confirmed')], False),
    ],
)
def test_orphans(kind: str | None, migrations: Any, is_safe: bool) -> None:
    held = [consumer('s', kind, a={'VCPU': 1}), consumer('known', a={'VCPU': 1})]
    found = only(HOSTS, held, {'known': 'a'}, migrations)
    assert found.id == 'orphan'
    assert typed(found) == f'{PREFIX} allocation delete s'
    assert (found.fault.repair is not None) == is_safe


@pytest.mark.parametrize(
    ('kind', 'servers', 'migrations'),
    [
        ('INSTANCE', None, []),
        ('INSTANCE', {'s': 'a'}, []),
        ('CONTAINER', {}, []),
        ('MIGRATION', {}, None),
    ],
)
def test_what_is_no_orphan_as_far_as_one_knows(
    kind: str, servers: dict[str, str] | None, migrations: Any
) -> None:
    assert findings(HOSTS, [consumer('s', kind, a={'VCPU': 1})], servers, migrations) == []


def test_a_list_that_knows_next_to_nobody_makes_no_orphan_safe() -> None:
    hosts = [provider('a', VCPU=100)]
    held = [consumer(f's{n:02}', a={'VCPU': 1}) for n in range(20)]
    few = findings(hosts, held, {f's{n:02}': 'a' for n in range(9)}, [])
    assert [finding.fault.repair for finding in few] == [None] * 11
    enough = findings(hosts, held, {f's{n:02}': 'a' for n in range(10)}, [])
    assert len(enough) == 10
    assert all(finding.fault.repair for finding in enough)


@pytest.mark.parametrize(
    ('status', 'found', 'command'),
    [
        ('finished', False, ''),
        ('migrating', False, ''),
        ('confirmed', True, f'{PREFIX} allocation delete m'),
        ('error', True, 'openstack server migration list --server s'),
    ],
)
@pytest.mark.parametrize('kind', ['MIGRATION', None, 'INSTANCE'])
def test_what_a_migration_holds(status: str, found: bool, command: str, kind: str | None) -> None:
    held = consumer('m', kind, a={'VCPU': 1})
    server = consumer('s', b={'VCPU': 1})
    result = findings(HOSTS, [held, server], {'s': 'b'}, [migration('resize', status)])
    assert [finding.id for finding in result] == ['left-by-migration'] * found
    for finding in result:
        assert finding.fault.repair is None
        assert typed(finding) == command


@pytest.mark.parametrize('servers', [{}, {'s0': 'a'}], ids=['empty', 'cut off'])
def test_a_list_that_is_too_short_frees_nobody(servers: dict[str, str]) -> None:
    """However few they are: whoever gives the wrong list must not lose live servers."""
    held = [consumer(f's{n}', a={'VCPU': 1}) for n in range(3)]
    found = findings([provider('a', VCPU=100)], held, servers, [])
    assert [finding.id for finding in found] == ['orphan'] * (3 - len(servers))
    assert [finding.fault.repair for finding in found] == [None] * len(found)
