# SPDX-License-Identifier: Apache-2.0
"""Answers on small clouds: yes, no, and what it depends on."""

import pytest
from msgspec.structs import replace

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import Pace, ServerMove
from placementclient.insight.drain.nova_facts import NovaFacts
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from tests.unit.insight.clouds import cloud, consumer, host, pool, provider

DISABLED = 'COMPUTE_STATUS_DISABLED'


def drained(states, consumers, nova_facts=None):
    """The answer for the host ``old``."""
    return decide_drain(DrainCloud(cloud(states, consumers), nova_facts), ['old'])


SERVER = consumer('s', old={'VCPU': 2})


def test_a_server_goes_to_the_fullest_host_that_has_room():
    decision = drained([host('old', VCPU=2), host('a', VCPU=8), host('b', VCPU=3)], [SERVER])
    before, after = {'old': {'VCPU': 2}}, {'b': {'VCPU': 2}}
    assert decision.moves == [ServerMove('s', 'old', before, after, 'b', 1)]


def test_strict_requests_alone_are_a_proof_where_servers_ask_for_no_less():
    states = [host('old', 'CUSTOM_GPU', VCPU=2), host('new', VCPU=2)]
    decision = decide_drain(DrainCloud(cloud(states, [SERVER])), ['old'], is_certain=True)
    assert (decision.verdict, decision.lax) == (DrainVerdict.NO, None)


def test_a_host_like_the_old_one_is_preferred():
    states = [host('old', VCPU=2), host('a', 'CUSTOM_GPU', VCPU=2), host('b', VCPU=9)]
    [move] = drained(states, [SERVER]).moves
    assert move.target == 'b'


def test_drain_keeps_amounts_of_one_numa_cell_in_one_cell():
    def cells(name, *places):
        """Two cells; the cards are below the cells of these numbers."""
        return [
            host(name, MEMORY_MB=9),
            *(provider(f'{name}_{number}', name, VCPU=4) for number in range(2)),
            *(provider(f'{name}_{n}_card', f'{name}_{n}', name, VGPU=1) for n in places),
        ]

    server = consumer('s', old_0={'VCPU': 4}, old_0_card={'VGPU': 1})
    resident = consumer('there', new_0={'VCPU': 1})
    both = [*cells('old', 0), *cells('new', 1)]
    assert drained(both, [server, resident]).verdict is DrainVerdict.YES
    apart = [*cells('old', 0), *cells('new', 0)]
    assert drained(apart, [server, resident]).verdict is DrainVerdict.DEPENDS


@pytest.mark.parametrize(
    ('states', 'verdict'),
    [
        (
            [
                host('new'),
                provider('cell', 'new', traits=['CUSTOM_CELL']),
                provider('card', 'cell', 'new', VGPU=1),
            ],
            DrainVerdict.YES,
        ),
        (
            [host('new'), provider('card', 'new', traits=['CUSTOM_CELL'], VGPU=1)],
            DrainVerdict.DEPENDS,
        ),
        ([host('new', 'CUSTOM_CELL'), provider('card', 'new', VGPU=1)], DrainVerdict.DEPENDS),
    ],
    ids=['a cell', 'the card', 'the host'],
)
def test_drain_requires_traits_of_providers_between_root_and_card(states, verdict):
    old = [
        host('old'),
        provider('old_cell', 'old', traits=['CUSTOM_CELL']),
        provider('old_card', 'old_cell', 'old', VGPU=1),
    ]
    assert drained([*old, *states], [consumer('s', old_card={'VGPU': 1})]).verdict is verdict


def test_drain_keeps_allocations_on_shared_storage():
    """The other pool, with less room, would be filled first."""
    states = [host(name, aggregates=['shared'], VCPU=2) for name in ('old', 'new')]
    states += [pool('nfs', DISK_GB=99), pool('tight', DISK_GB=10)]
    server = consumer('a', old={'VCPU': 1}, nfs={'DISK_GB': 10})
    [move] = drained(states, [server]).moves
    assert move.after == {'new': {'VCPU': 1}, 'nfs': {'DISK_GB': 10}}


OLD = host('old', VCPU=4)


@pytest.mark.parametrize(
    ('old', 'other', 'reason'),
    [
        (
            OLD,
            consumer('x', 'MIGRATION', old={'VCPU': 1}),
            'is a migration: under way, waiting to be confirmed, or over',
        ),
        (
            OLD,
            consumer('x', old={'VCPU': 1}, new={'VCPU': 1}),
            'has allocations on several hosts: it is migrating, or some are leaked',
        ),
        (
            OLD,
            consumer('x', old={'VCPU': 1}, gone={'VCPU': 1}),
            'holds something on a provider that is not in the snapshot',
        ),
        (
            OLD,
            consumer('x', new={'VCPU': 1}, old_disk={'DISK_GB': 1}),
            'is on another host, and uses storage that this one shares',
        ),
        (
            OLD,
            consumer('unknown', old={'VCPU': 1}),
            'is no server that Nova knows: a migration, or a leaked allocation',
        ),
        (
            replace(OLD, usages={'VCPU': 3}),
            None,
            'VCPU=1 of it is used by consumers without a record',
        ),
    ],
)
def test_drain_names_consumers_that_no_plan_can_move(old, other, reason):
    disk = replace(pool('old_disk', DISK_GB=9), provider=provider('old_disk', 'old').provider)
    new = host('new', aggregates=['shared'], VCPU=8)
    decision = drained(
        [old, disk, new], [SERVER, *([other] if other else [])], NovaFacts(consumers={'s', 'x'})
    )
    assert decision.verdict is DrainVerdict.DEPENDS
    [finding] = decision.unsettled
    assert finding.subject == (other.uuid if other else 'old')
    assert (finding.facts['host'], finding.facts['reason']) == ('old', reason)
    assert [move.server for move in decision.moves] == ['s']


def test_drain_keeps_a_percentage_of_each_host_free():
    snapshot = cloud([host('old', VCPU=2), host('new', VCPU=3)], [SERVER])
    for percent, verdict in ((33, DrainVerdict.YES), (34, DrainVerdict.NO)):
        assert decide_drain(DrainCloud(snapshot, keep_free=percent), ['old']).verdict is verdict


def test_a_plan_keeps_to_the_number_of_moves_at_a_time():
    states = [host('old', VCPU=9), host('older', VCPU=9), host('new', VCPU=99)]
    consumers = [consumer(f's{n}', old={'VCPU': 1}) for n in range(5)]
    consumers += [consumer(f't{n}', older={'VCPU': 1}) for n in range(5)]
    snapshot = cloud(states, consumers)
    for pace, waves in (
        (Pace(), 5), (Pace(1), 10), (Pace(5), 2), (Pace(5, 3), 4), (Pace(99, 99), 1)
    ):  # fmt: skip
        decision = decide_drain(DrainCloud(snapshot), ['old', 'older'], pace)
        assert max(move.wave for move in decision.moves) == waves
