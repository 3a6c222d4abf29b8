# SPDX-License-Identifier: Apache-2.0
"""Changes with which hosts can be emptied after all."""

import pytest

from placementclient.insight.drain import enough
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, host


def sentences(states, consumers, *emptied):
    scene = DrainCloud(cloud(states, consumers))
    decision = decide_drain(scene, emptied)
    assert decision.verdict is DrainVerdict.NO
    return enough.find_remedies(scene, emptied, decision.strict)


def test_enough_counts_empty_hosts_that_have_to_be_added():
    servers = [consumer(f's{number}', old={'CUSTOM_X': 2}) for number in range(5)]
    states = [host('old', CUSTOM_X=4), host('new', CUSTOM_X=2)]
    states[0] = host('old', CUSTOM_X=Inventory(4, allocation_ratio=3.0))
    assert sentences(states, servers, 'old') == ['1 empty host like old']
    states[0] = host('old', CUSTOM_X=Inventory(4, max_unit=2))
    assert sentences(states, servers, 'old') == ['2 empty hosts like old']


def test_enough_prefers_the_kind_of_host_of_which_fewest_are_needed():
    states = [host('a', 'CUSTOM_A', CUSTOM_X=2), host('b', 'CUSTOM_B', CUSTOM_X=2), host('c')]
    servers = [consumer('s', a={'CUSTOM_X': 2}), consumer('t', b={'CUSTOM_X': 1})]
    assert sentences(states, servers, 'a', 'b')[:1] == ['1 empty host like a and 1 like b']


@pytest.mark.parametrize(('used', 'ratio'), [(1, 1.3), (3, 1.8), (5, 2.3)])
def test_enough_names_a_ratio_that_would_do(used, ratio):
    wide = host('wide', VCPU=Inventory(1, allocation_ratio=4.0))
    states = [host('old', VCPU=8), host('new', VCPU=4, MEMORY_MB=9), wide]
    servers = [consumer('s', old={'VCPU': 4}), consumer('t', new={'VCPU': used})]
    servers.append(consumer('u', old={'VCPU': 4}))
    assert sentences(states, servers, 'old') == [
        '1 empty host like old',
        f'VCPU ratio {ratio} on the other hosts',
    ]


def test_enough_names_a_disabled_host_that_would_do():
    states = [host('old', VCPU=4), host('off', 'COMPUTE_STATUS_DISABLED', VCPU=4)]
    assert sentences(states, [consumer('s', old={'VCPU': 4})], 'old') == [
        '1 empty host like old',
        'off, which is disabled, as a target (openstack compute service set --enable)',
    ]


def test_enough_names_a_host_that_could_stay():
    states = [host('a', CUSTOM_X=4), host('b', CUSTOM_X=4), host('c', CUSTOM_X=4)]
    servers = [consumer('s', a={'CUSTOM_X': 2}), consumer('t', b={'CUSTOM_X': 4})]
    assert sentences(states, servers, 'a', 'b')[1:] == ['leave a out']


def test_enough_names_no_change_where_none_would_do():
    # More than a host has, since its inventory was cut.
    states = [host('old', CUSTOM_X=2), host('new', CUSTOM_X=2)]
    assert sentences(states, [consumer('s', old={'CUSTOM_X': 3})], 'old') == []


@pytest.mark.parametrize('numbers', [range(1, 2), range(3, 40), range(11, 64)])
def test_enough_names_the_smallest_number(numbers):
    for least in range(70):
        expected = max(least, numbers[0]) if least <= numbers[-1] else None
        assert (
            enough._find_least_number(lambda number, least=least: number >= least, numbers)
            == expected
        )
