"""Consumers that should not hold what they hold: told apart by what Nova knows."""

import pytest
from msgspec.structs import replace

from placementclient.model.repairs import FreeAllocations
from placementclient.model.servers import Server
from tests.unit.insight.audit.auditing import (
    PREFIX,
    audited,
    findings,
    migration,
    only,
    reason,
    typed,
)
from tests.unit.insight.clouds import consumer, pool, provider

HOSTS = [provider(name, VCPU=8) for name in 'ab']
SHARING = [replace(host, aggregates=frozenset({'x'})) for host in HOSTS]
#: Enough servers to make a list complete that lacks a few.
SOUND = [consumer(f'k{n:02}', a={'PCPU': 1}) for n in range(39)]
LISTED = dict.fromkeys((consumer.uuid for consumer in SOUND), 'a')
BOTH = {'a': {'VCPU': 1}, 'b': {'VCPU': 2}}
SHELVED = Server('s', None, status='SHELVED_OFFLOADED')


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
def test_consumers_on_several_trees_are_told_apart(servers, migrations, id, freed):
    allocated = consumer('s', **BOTH)
    result = only(HOSTS, [allocated], servers, migrations)
    assert (result.kind, result.subject) == (id, 's')
    assert result.repair == (FreeAllocations(allocated, freed) if freed else None)
    assert result.facts['holds'] == BOTH
    if freed:
        assert typed(result) == f'{PREFIX} audit --id {id} --subject s --fix --yes'
    else:
        assert typed(result) == ''
        assert 'openstack server migration list --server' in reason(result)


def test_what_is_shared_is_no_other_tree():
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    assert findings(states, [consumer('s', a={'VCPU': 1}, nfs={'DISK_GB': 1})]) == []


def test_an_evacuated_server_keeps_what_is_shared():
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    allocated = consumer('s', **BOTH, nfs={'DISK_GB': 1})
    result = only(states, [allocated], {'s': 'b'}, [migration('evacuation', 'done')])
    assert result.repair == FreeAllocations(allocated, ('a',))


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
def test_orphans(kind, migrations, is_safe):
    allocated = [consumer('s', kind, a={'VCPU': 1}), *SOUND]
    result = only(HOSTS, allocated, LISTED, migrations)
    assert result.kind == 'orphan'
    assert typed(result) == f'{PREFIX} audit --id orphan --subject s --fix --yes' * is_safe
    assert (result.repair is not None) == is_safe
    assert (reason(result) == '') == is_safe


@pytest.mark.parametrize(
    ('kind', 'servers', 'migrations'),
    [
        ('INSTANCE', None, []),
        ('INSTANCE', {'s': 'a'}, []),
        ('CONTAINER', {}, []),
        ('MIGRATION', {}, None),
    ],
)
def test_what_is_no_orphan_as_far_as_one_knows(kind, servers, migrations):
    assert findings(HOSTS, [consumer('s', kind, a={'VCPU': 1})], servers, migrations) == []


@pytest.mark.parametrize(('listed', 'is_safe'), [(0, False), (1, False), (17, False), (18, True)])
def test_a_list_that_lacks_more_than_a_tenth_makes_no_deletion_safe(listed, is_safe):
    allocated = [consumer(f's{n:02}', a={'VCPU': 1}) for n in range(19)] + [consumer('s19', **BOTH)]
    servers = {f's{n:02}': 'a' for n in range(20 - listed, 20)}
    result = findings([provider(name, VCPU=100) for name in 'ab'], allocated, servers, [])
    assert [finding.kind for finding in result] == (
        ['orphan'] * (20 - listed) + ['doubled'] * bool(listed)
    )
    for finding in result:
        assert (finding.repair is not None) == is_safe
        assert (typed(finding) != '', 'complete' in reason(finding)) == (is_safe, not is_safe)


def test_a_list_without_any_server_of_a_host_makes_no_deletion_safe():
    """As one without the servers of a cell, however small that is."""
    hosts = [provider(name, VCPU=100) for name in ('a', 'b')]
    hosts.append(provider('b_numa', 'b', VCPU=100))
    allocated = [*SOUND, consumer('gone', a={'VCPU': 1}), consumer('cell', b_numa={'VCPU': 1})]
    result = audited(hosts, allocated, LISTED, [])
    assert 'it lacks 2 of 41 consumers, and all of b. ' in result.shortfalls['servers']
    assert [finding.repair for finding in result.findings] == [None] * 2
    # A host that has nothing but what a migration holds, or another service, is no sign.
    others = [consumer('m', b={'VCPU': 1}), consumer('c', 'CONTAINER', b={'VCPU': 1})]
    moved = migration(None, 'finished', 'b', 'k0')
    result = audited(hosts, [*SOUND, allocated[-2], *others], LISTED, [moved])
    assert not result.shortfalls
    assert [finding.kind for finding in result.findings if finding.repair] == ['orphan']


@pytest.mark.parametrize('kind', ['INSTANCE', None])
def test_a_server_that_is_shelved_and_on_no_host(kind):
    allocated = consumer('s', kind, **BOTH, nfs={'DISK_GB': 1})
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    servers = {'s': SHELVED}
    [result] = audited(states, [allocated], servers, []).findings
    assert (result.kind, result.roots) == ('left-by-shelving', ('a', 'b', 'nfs'))
    assert result.repair == FreeAllocations(allocated, ('a', 'b', 'nfs'))
    failed = findings(states, [allocated], servers, [migration('resize', 'error')])
    assert [finding.repair for finding in failed] == [None]
    assert not findings(states, [], servers, [])
    moving = audited(states, [allocated], {'s': replace(SHELVED, task='unshelving')}, [])
    assert (moving.findings, moving.passed_over) == ([], {'it is under way: unshelving': 1})
    assert not findings(states, [allocated], servers, [], unsettled=['s'])


@pytest.mark.parametrize(
    ('status', 'outcome'),
    [('finished', False), ('migrating', False), ('confirmed', True), ('error', True)],
)
@pytest.mark.parametrize('kind', ['MIGRATION', None, 'INSTANCE'])
def test_what_a_migration_holds(status, outcome, kind):
    allocated = consumer('m', kind, a={'VCPU': 1})
    server = consumer('s', b={'VCPU': 1})
    result = findings(HOSTS, [allocated, server], {'s': 'b'}, [migration('resize', status)])
    assert [finding.kind for finding in result] == ['left-by-migration'] * outcome
    for finding in result:
        assert finding.repair is None
        assert typed(finding) == ''
        assert reason(finding).startswith('nothing is taken from a migration: ')


@pytest.mark.parametrize('status', ['verify_resize', 'resized'])
@pytest.mark.parametrize(
    ('migrations', 'is_safe'),
    [
        ([], False),
        ([migration('resize', 'confirmed', server='k00')], False),
        ([migration('resize', 'finished', server='k00')], True),
    ],
)
def test_a_list_of_migrations_without_that_of_a_resized_server_makes_no_deletion_safe(
    status, migrations, is_safe
):
    """It may lack the one whose consumer seems to be an orphan; Nova gives them no type."""
    servers = LISTED | {'k00': Server('k00', 'a', status=status)}
    allocated = [*SOUND, consumer('waiting', None, a={'VCPU': 1})]
    result = audited(HOSTS, allocated, servers, migrations)
    [outcome] = result.findings
    assert (outcome.kind, outcome.repair is not None) == ('orphan', is_safe)
    lacking = 'it lacks those of 1 server with a resize to confirm. '
    assert [lacking in text for text in result.shortfalls.values()] == [True] * (not is_safe)


#: The project of a consumer that a request without one made.
NOBODY = '00000000-0000-0000-0000-000000000000'


@pytest.mark.parametrize(
    ('servers', 'kind', 'is_healed'),
    [
        (None, 'INSTANCE', True),
        (None, None, True),
        ({'s': ''}, 'INSTANCE', True),
        ({}, 'INSTANCE', False),
        (None, 'CONTAINER', False),
    ],
)
def test_consumer_incomplete(servers, kind, is_healed):
    allocated = replace(consumer('s', kind, host={'VCPU': 1}), project_id=NOBODY)
    result = findings([provider('host', VCPU=8)], [allocated], servers)
    [finding] = [entry for entry in result if entry.kind == 'consumer-incomplete']
    assert finding.facts == {'project_id': NOBODY, 'user_id': 'user'}
    heal = f'{PREFIX} allocation heal --server s'
    assert typed(finding) == (heal if is_healed else '')
    assert bool(reason(finding)) != is_healed


@pytest.mark.parametrize(
    ('kinds', 'count'),
    [
        ((None, 'INSTANCE', 'MIGRATION'), 1),
        ((None, None, None), 0),
        (('INSTANCE', 'INSTANCE'), 0),
        # Nova sends no types: only somebody else's have one.
        ((None, None, 'CONTAINER'), 0),
        ((None, 'INSTANCE'), 0),
    ],
)
def test_consumer_untyped(kinds, count):
    allocated = [consumer(f's{n}', kind, host={'VCPU': 1}) for n, kind in enumerate(kinds)]
    result = findings([provider('host', VCPU=8)], allocated, ignored=())
    assert [(finding.kind, finding.severity.value, finding.subject) for finding in result] == (
        [('consumer-untyped', 'info', 's0')] * count
    )
