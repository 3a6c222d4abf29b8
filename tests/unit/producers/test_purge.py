# SPDX-License-Identifier: Apache-2.0
"""A cloud without a host: consumers keep the rest, and what speaks against that is told."""

import pytest
from msgspec import structs

from placementclient.insight.evidence import UNKNOWN, Verdict
from placementclient.model.shortfalls import UnaccountedUsage
from placementclient.model.snapshots import Snapshot
from placementclient.producers.purge import Objection, PurgeRefused, purge_provider
from tests.unit.insight.clouds import cloud, consumer, provider

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


def with_consumer(holder):
    states = (
        structs.replace(state, usages=holder.allocations.get(uuid, {}))
        for uuid, state in HOSTS.providers.items()
    )
    return Snapshot(states, [holder])


BOTH = consumer('c', host={'VCPU': 1}, other={'VCPU': 2}, storage={'DISK_GB': 1})


@pytest.mark.parametrize(
    ('verdict', 'objection', 'rest'),
    [
        (Verdict(('host',)), None, {'other', 'storage'}),
        (Verdict(('host', 'storage')), None, {'other', 'storage'}),
        (Verdict(('host', 'other', 'storage')), None, set()),
        (Verdict(reason='unknown'), Objection('unknown'), {'other', 'storage'}),
        (Verdict(), Objection('Nova has its server on this host'), {'other', 'storage'}),
        (Verdict(('other',), reason='here'), Objection('here'), {'other', 'storage'}),
        (
            Verdict(reason='running', is_under_way=True),
            Objection('running', is_final=True),
            {'other', 'storage'},
        ),
    ],
)
def test_purge_frees_only_what_the_evidence_frees(verdict, objection, rest):
    after, objections = purge_provider(with_consumer(BOTH), UUIDS['host'], {'c': verdict})
    assert {state.name for state in after.providers.values()} == {'other', 'storage'}
    assert {u for c in after.consumers.values() for u in c.allocations} == rest
    assert objections == ({'c': objection} if objection else {})


@pytest.mark.parametrize('freed', [(), ('host',)])
def test_purge_names_the_classes_that_a_consumer_would_lose_altogether(freed):
    holder = consumer(
        'c', host={'VCPU': 1, 'MEMORY_MB': 1}, host_gpu={'VGPU': 1}, other={'VCPU': 1}
    )
    _, objections = purge_provider(
        with_consumer(holder), UUIDS['host'], {'c': Verdict(freed, reason='why')}
    )
    assert objections == {'c': Objection('why; it would lose all its MEMORY_MB, VGPU')}


@pytest.mark.parametrize(
    ('known', 'kind', 'reason'),
    [
        (('servers', 'migrations'), 'INSTANCE', UNKNOWN),
        (('migrations',), 'INSTANCE', 'no list of servers was given'),
        (
            ('servers', 'migrations'),
            'MIGRATION',
            'it is a migration that no list has: if it is over, purge with --gone c',
        ),
        (
            ('servers',),
            'MIGRATION',
            'it is a migration, and no list of migrations was given: if it is over, purge with '
            '--gone c',
        ),
    ],
)
def test_an_objection_says_which_list_was_not_given(known, kind, reason):
    live = with_consumer(structs.replace(BOTH, type=kind))
    verdicts = {'c': Verdict(reason=UNKNOWN)}
    _, objections = purge_provider(live, UUIDS['host'], verdicts, known)
    assert objections == {'c': Objection(reason, is_final=kind == 'MIGRATION')}


@pytest.mark.parametrize(
    ('known', 'objections', 'steps'),
    [
        (
            (),
            ['x', 'y'],
            'Give the answers of GET /servers|If the host|If it is|For c|As a last resort',
        ),
        (('servers', 'migrations'), ['x'], 'If the host|If it is|For c|As a last resort'),
        (('servers',), ['final'], 'Give the answers of GET /os|Wait|For c'),
        (
            ('servers', 'migrations'),
            ['final', 'x'],
            'Wait|If the host|If it is|For c|As a last resort',
        ),
    ],
)
def test_a_refusal_names_the_next_steps(known, objections, steps):
    refusal = PurgeRefused(
        [Objection(o, is_final=o == 'final') for o in objections], 2, known, 'host'
    )
    assert str(refusal) == f'{len(objections)} of 2 consumers may still need host'
    beginnings = steps.split('|')
    assert len(refusal.next_steps) == len(beginnings)
    assert all(map(str.startswith, refusal.next_steps, beginnings))


def test_usage_that_no_consumer_answers_for_cannot_be_freed():
    holder = consumer('c', host={'VCPU': 1}, other={'VCPU': 1})
    live = with_consumer(holder)
    states = (structs.replace(state, usages={'VCPU': 3}) for state in live.providers.values())
    with pytest.raises(
        UnaccountedUsage, match='2 VCPU of host is used by consumers without a record'
    ):
        purge_provider(Snapshot(states, [holder]), UUIDS['host'], {'c': Verdict(('host',))})
