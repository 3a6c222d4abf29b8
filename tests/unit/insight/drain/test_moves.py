"""Waves of moves, and the check of a plan against Placement's rules."""

from placementclient.insight.drain.moves import Ledger, ServerMove, waves
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.insight.drain import oracle

SNAPSHOT = cloud(
    [provider('a', VCPU=4), provider('b', VCPU=4), provider('c', VCPU=Inventory(4, step_size=2))],
    [
        consumer('s', a={'VCPU': 3}),
        consumer('t', b={'VCPU': 2}),
    ],
)


def move(server, source, target, amount, wave=0):
    return ServerMove(
        server, source, target, {source: {'VCPU': amount}}, {target: {'VCPU': amount}}, wave
    )


def test_a_move_waits_for_the_room_that_another_one_leaves():
    found = waves([move('s', 'a', 'b', 3), move('t', 'b', 'c', 2)], Ledger(SNAPSHOT))
    assert found == [move('t', 'b', 'c', 2, 1), move('s', 'a', 'b', 3, 2)]


def test_servers_that_wait_for_each_other_never_move():
    ledger = Ledger(SNAPSHOT)
    found = waves([move('s', 'a', 'b', 3), move('t', 'b', 'a', 2)], ledger)
    assert found is None
    # Nothing of it is left.
    assert ledger.refusal({'a': {'VCPU': 1}}) is None
    assert ledger.refusal({'a': {'VCPU': 2}}) == 'a has no room for VCPU=2'


def test_half_of_the_moves_is_no_plan():
    ledger = Ledger(SNAPSHOT)
    assert waves([move('t', 'b', 'c', 2), move('s', 'a', 'b', 5)], ledger) is None
    assert ledger.refusal({'c': {'VCPU': 4}}) is None
    assert ledger.refusal({'b': {'VCPU': 3}}) == 'b has no room for VCPU=3'


def test_what_would_be_refused_is_found():
    for moves, said in (
        ([move('t', 'b', 'a', 2, 1)], 't: a has no room for VCPU=2'),
        ([move('s', 'a', 'c', 3, 1)], 's: c does not grant VCPU=3'),
        ([move('s', 'a', 'b', 3, 1), move('t', 'b', 'c', 2, 1)], 's: b has no room for VCPU=3'),
        ([move('s', 'b', 'c', 2, 1)], 's does not hold what it is said to hold'),
    ):
        assert list(oracle.refusals(SNAPSHOT, moves)) == [said]
    right = [move('t', 'b', 'c', 2, 1), move('s', 'a', 'b', 3, 2)]
    assert list(oracle.refusals(SNAPSHOT, right)) == []
    assert list(oracle.refusals(SNAPSHOT, [*right, move('t', 'c', 'a', 2, 3)])) == []
