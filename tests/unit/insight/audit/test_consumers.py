# SPDX-License-Identifier: Apache-2.0
"""Consumers that should not hold what they hold: told apart by what Nova knows."""

import pytest
from msgspec.structs import replace

from placementclient.model.repairs import FreeAllocations
from placementclient.model.servers import Flavor, Server, ServerMigration
from tests.unit.insight.audit.auditing import (
    PREFIX,
    audited,
    findings,
    listed,
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
BOTH = {'a': {'VCPU': 2}, 'b': {'VCPU': 2}}
#: As compute API 2.58 has it.
WITHOUT_UUID = ServerMigration('k00', 'completed')


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
        ({'s': 'b.example'}, [migration('evacuation', 'completed')], 'left-by-evacuation', None),
        ({'s': 'a'}, [migration('evacuation', 'done')], 'doubled', None),
        ({'s': 'b'}, [migration('live-migration', 'completed')], 'doubled', ('a',)),
        ({'s': listed('s', 'b')}, [migration('live-migration', 'completed')], 'doubled', None),
        ({'s': 'b'}, [migration('resize', 'error')], 'doubled', ('a',)),
        ({'s': 'b'}, [migration('evacuation', 'error')], 'doubled', ('a',)),
        ({'s': 'b'}, [], 'doubled', None),
        ({'s': 'c'}, [], 'doubled', None),
        ({'s': ''}, [], 'doubled', None),
    ],
)
def test_audit_gives_the_reason_of_each_consumer_on_several_trees(servers, migrations, id, freed):
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


def test_audit_counts_a_sharing_provider_as_no_other_tree():
    states = [*SHARING, pool('nfs', 'x', DISK_GB=9)]
    assert findings(states, [consumer('s', a={'VCPU': 1}, nfs={'DISK_GB': 1})]) == []


@pytest.mark.parametrize('kind', ['INSTANCE', None, 'MIGRATION'])
def test_audit_frees_nothing_because_a_list_lacks_a_consumer(kind):
    allocated = [consumer('s', kind, a={'VCPU': 1}), *SOUND]
    result = only(HOSTS, allocated, LISTED, [])
    assert (result.kind, result.repair, typed(result)) == ('orphan', None, '')
    assert reason(result)


@pytest.mark.parametrize('kind', ['INSTANCE', None])
@pytest.mark.parametrize('migrations', [None, [], [WITHOUT_UUID]])
def test_audit_frees_a_consumer_whose_record_says_that_it_is_deleted(kind, migrations):
    allocated = consumer('s', kind, a={'VCPU': 1})
    servers = LISTED | {'s': Server('s', 'a', status='DELETED')}
    result = only(HOSTS, [allocated, *SOUND], servers, migrations)
    assert (result.kind, result.repair) == ('orphan', FreeAllocations(allocated, ('a',)))
    assert typed(result) == f'{PREFIX} audit --id orphan --subject s --fix --yes'


@pytest.mark.parametrize(
    ('migrations', 'lacking'), [(None, 'migrations'), ([WITHOUT_UUID], 'no migration of the list')]
)
def test_audit_lists_no_orphan_without_migrations_that_have_uuids(migrations, lacking):
    result = audited(HOSTS, [consumer('m', None, a={'VCPU': 1}), *SOUND], LISTED, migrations)
    assert result.findings == []
    assert result.left_out['orphan'][0].startswith(lacking)


@pytest.mark.parametrize(
    ('kind', 'servers', 'migrations'),
    [
        ('INSTANCE', None, []),
        ('INSTANCE', {'s': 'a'}, []),
        ('CONTAINER', {}, []),
        ('MIGRATION', {}, None),
    ],
)
def test_audit_calls_no_known_consumer_an_orphan(kind, servers, migrations):
    assert findings(HOSTS, [consumer('s', kind, a={'VCPU': 1})], servers, migrations) == []


def test_audit_names_the_likely_cause_of_what_a_server_holds_elsewhere():
    states = [
        provider('hv1.example', aggregates=['x'], VCPU=8),
        provider('hv1', FPGA=2),
        provider('lost', aggregates=['x'], DISK_GB=9),
        pool('far', 'z', DISK_GB=9),
    ]
    held = {'hv1': {'FPGA': 1}, 'lost': {'DISK_GB': 1}, 'far': {'DISK_GB': 1}}
    allocated = consumer('s', **{'hv1.example': {'VCPU': 1}}, **held)
    [result] = [
        finding
        for finding in findings(states, [allocated], {'s': 'hv1.example'}, [])
        if finding.kind == 'held-elsewhere'
    ]
    assert (result.repair, result.facts['host']) == (None, 'hv1.example')
    assert result.facts['holds'] == held
    assert result.facts['likely'].split('; ') == [
        'hv1 is the same host as hv1.example, which another service has created again',
        'lost lacks the trait MISC_SHARES_VIA_AGGREGATE',
        'far shares with no aggregate of hv1.example',
    ]
    assert reason(result) == result.facts['likely']


@pytest.mark.parametrize('name', ['FPGA', 'CUSTOM_RESERVATION_1', 'CUSTOM_ACCELERATOR'])
def test_audit_calls_no_consumer_an_orphan_that_holds_no_class_of_nova(name):
    states = [provider('a', VCPU=8, **{name: 8})]
    assert findings(states, [consumer('c', a={name: 1})], {}, []) == []
    flavor = Flavor('f', 1, 1, extra_specs={'resources:CUSTOM_ACCELERATOR': '1'})
    found = findings(states, [consumer('c', a={name: 1})], {}, [], flavors=[flavor])
    assert ('orphan' in {finding.kind for finding in found}) == (name == 'CUSTOM_ACCELERATOR')


def test_audit_calls_no_consumer_an_orphan_that_the_operator_tells_apart():
    allocated = consumer('c', a={'VCPU': 1})
    assert findings(HOSTS, [allocated], {}, [], told_apart={'c'}) == []
    gone = only(HOSTS, [allocated], {}, [], gone={'c'})
    assert gone.repair == FreeAllocations(allocated, ('a',))


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
def test_audit_finds_consumers_without_project_or_user(servers, kind, is_healed):
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
def test_audit_finds_consumers_without_a_type(kinds, count):
    allocated = [consumer(f's{n}', kind, host={'VCPU': 1}) for n, kind in enumerate(kinds)]
    result = findings([provider('host', VCPU=8)], allocated, ignored=())
    assert [(finding.kind, finding.severity.value, finding.subject) for finding in result] == (
        [('consumer-untyped', 'info', 's0')] * count
    )
