# SPDX-License-Identifier: Apache-2.0
"""Waves of moves."""

import pytest

from placementclient.insight.drain.moves import Ledger, Pace, ServerMove, schedule_waves
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, provider

SNAPSHOT = cloud(
    [provider('a', VCPU=4), provider('b', VCPU=4), provider('c', VCPU=Inventory(4, step_size=2))],
    [
        consumer('s', a={'VCPU': 3}),
        consumer('t', b={'VCPU': 2}),
    ],
)


def move(server, source, target, amount, wave=0):
    return ServerMove(
        server, source, {source: {'VCPU': amount}}, {target: {'VCPU': amount}}, target, wave
    )


def test_a_move_waits_for_the_room_that_another_one_leaves():
    planned = schedule_waves([move('s', 'a', 'b', 3), move('t', 'b', 'c', 2)], Ledger(SNAPSHOT))
    assert planned == [move('t', 'b', 'c', 2, 1), move('s', 'a', 'b', 3, 2)]


def test_no_more_servers_leave_a_host_in_a_wave_than_the_pace_allows():
    moves = [move('s', 'a', 'b', 1), move('t', 'a', 'c', 2)]
    planned = schedule_waves(moves, Ledger(SNAPSHOT), Pace(1, 9))
    assert planned == [move('s', 'a', 'b', 1, 1), move('t', 'a', 'c', 2, 2)]


@pytest.mark.parametrize(
    'moves',
    [
        # They wait for each other.
        [move('s', 'a', 'b', 3), move('t', 'b', 'a', 2)],
        # Half of the moves is no plan.
        [move('t', 'b', 'c', 2), move('s', 'a', 'b', 5)],
    ],
)
def test_waves_plan_nothing_without_an_order_of_all_moves(moves):
    ledger = Ledger(SNAPSHOT)
    assert schedule_waves(moves, ledger) is None
    for host, free in (('a', 1), ('b', 2), ('c', 4)):
        assert ledger.can_allocate({host: {'VCPU': free}})
    assert not ledger.can_allocate({'a': {'VCPU': 2}})
    assert not ledger.can_allocate({'b': {'VCPU': 3}})
