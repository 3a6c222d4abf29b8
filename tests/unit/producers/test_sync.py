# SPDX-License-Identifier: Apache-2.0
"""Hosts in the aggregates of Nova: the providers of their names, and the surplus ones."""

import pytest

from placementclient.model.findings import Finding
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.servers import HostAggregate
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.sync import SyncProducer, sync_aggregates
from tests.unit.dialogue import AGG, RP, RP2, fault, get

ROOTS = ('a', 'b.x.y', 'c', 'c.x', 'd.x', 'd.y', 'e.x')
OTHER = 'another aggregate'
ELSEWHERE = 'b0a5e5d4-0000-4000-8000-000000000001'
BOTH = [{'uuid': RP, 'name': 'a', 'generation': 1}, {'uuid': RP2, 'name': 'b', 'generation': 1}]
LISTS = [
    get('/resource_providers', {'resource_providers': BOTH}),
    get('/resource_providers', {'resource_providers': []}),
    get('/resource_providers', {'resource_providers': [BOTH[1]]}),
]


def roots(*within, sharing=''):
    """The roots, each in an aggregate that Nova does not have, and some in the one of Nova."""
    return Snapshot(
        (
            ProviderState(
                Provider(name, name, 1, None, name),
                traits=frozenset({SHARING_TRAIT} if name == sharing else ()),
                aggregates=frozenset({OTHER, AGG} if name in within else {OTHER}),
            )
            for name in ROOTS
        ),
        (),
    )


def members(snapshot):
    assert all(OTHER in state.aggregates for state in snapshot.providers.values())
    return [uuid for uuid, state in snapshot.providers.items() if AGG in state.aggregates]


@pytest.mark.parametrize(
    ('host', 'provider'),
    [
        ('a', 'a'),
        ('a.x', 'a'),
        ('b', 'b.x.y'),
        ('b.x.y', 'b.x.y'),
        ('c', 'c'),
        ('c.x', 'c.x'),
        ('c.y', 'c'),
        ('d.y', 'd.y'),
    ],
)
def test_sync_finds_hosts_by_full_and_short_names(host, provider):
    after, notes = sync_aggregates(roots(), [HostAggregate(AGG, 'az', (host,))])
    assert (members(after), notes) == ([provider], [])


@pytest.mark.parametrize(('host', 'having'), [('d', '2 resource providers have'),
                                              ('e.y', 'no provider has'),
                                              ('f', 'no provider has')])  # fmt: skip
def test_sync_names_hosts_that_placement_lacks(host, having):
    after, notes = sync_aggregates(roots(), [HostAggregate(AGG, 'az', (host,))])
    assert members(after) == []
    reason = f'{having} the name of this host, which is in the aggregate az'
    assert notes == [Finding('not known', host, {}, reason=reason)]


@pytest.mark.parametrize(
    ('hosts', 'left', 'states'),
    [
        (('a',), ['a'], []),
        (
            ('a', 'gone'),
            ['a', 'b.x.y', 'c'],
            [('gone', 'not known'), ('b.x.y', 'left alone'), ('c', 'left alone')],
        ),
        # One of two providers is meant: nobody knows that it is not the one that would have to go.
        (
            ('a', 'd'),
            ['a', 'b.x.y', 'c'],
            [('d', 'not known'), ('b.x.y', 'left alone'), ('c', 'left alone')],
        ),
        ((), [], []),
    ],
)
def test_sync_removes_nothing_where_a_host_is_not_known(hosts, left, states):
    live = roots('a', 'b.x.y', 'c')
    after, notes = sync_aggregates(live, [HostAggregate(AGG, 'az', hosts)], remove=True)
    assert members(after) == left
    assert [(note.subject, note.kind) for note in notes] == states
    for note in notes:
        if note.kind == 'left alone':
            assert note.reason.startswith('az: every host of the aggregate has to be known first: ')
    assert members(sync_aggregates(live, [HostAggregate(AGG, 'az', hosts)])[0]) == [
        'a',
        'b.x.y',
        'c',
    ]


def test_sync_keeps_sharing_providers():
    live = roots('a', 'c', sharing='c')
    after, notes = sync_aggregates(live, [HostAggregate(AGG, 'az', ())], remove=True)
    assert (members(after), notes) == (['c'], [])


def test_sync_reads_a_host_before_it_changes_it(client, service):
    aggregates = {'aggregates': [ELSEWHERE], 'resource_provider_generation': 7}
    service.answer(*LISTS, get(f'/resource_providers/{RP}/aggregates', aggregates))
    sync = SyncProducer(client, [HostAggregate(AGG, 'az', ('a', 'b', 'c'))])
    [tree] = sync.plan().changes
    [state] = tree.after.providers.values()
    assert (state.uuid, state.aggregates) == (RP, {ELSEWHERE, AGG})
    assert tree.before.providers[RP].provider.generation == 7
    assert [note.subject for note in sync.notes] == ['c']


def test_sync_passes_over_a_host_that_has_gone(client, service):
    gone = get(f'/resource_providers/{RP}/aggregates', answer=fault(404, 'No resource provider'))
    service.answer(*LISTS, gone)
    assert SyncProducer(client, [HostAggregate(AGG, 'az', ('a', 'b'))]).plan().changes == ()
