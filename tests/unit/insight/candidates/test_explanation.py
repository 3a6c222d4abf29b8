# SPDX-License-Identifier: Apache-2.0
"""Which trees are said to be nearest."""

from itertools import combinations
from random import Random

from placementclient.insight.candidates.explanation import explain_request
from placementclient.insight.candidates.matching import TreeMatcher, index_snapshot
from placementclient.insight.candidates.relaxations import MOST_DROPPED
from placementclient.insight.candidates.requirements import list_requirements, restrict_request
from placementclient.insight.candidates.service_faults import list_service_faults
from placementclient.model.requests import CandidateRequest, Filter
from tests.functional.hosts import uneven_cloud
from tests.functional.test_explanation import random_request
from tests.unit.insight.clouds import cloud, consumer, host, pool, provider


def test_the_nearest_tree_has_candidates_after_the_relaxation():
    """Of many that lack the same, the one with most left comes first, whatever its name."""
    names = [f'host{number:02}' for number in range(60)]
    states = [provider(name, VGPU=8) for name in [*names, 'last']]
    consumers = [consumer(f's-{name}', **{name: {'VGPU': 8}}) for name in names]
    consumers.append(consumer('s-last', last={'VGPU': 5}))
    request = CandidateRequest(Filter({'VGPU': 4}))
    explained = explain_request(request, index_snapshot(cloud(states, consumers)), most_trees=1)
    [enough] = explained.relaxations
    assert [amount for _, amount in enough.lowered] == [3]
    [host] = explained.nearest
    assert (host.name, [shortage.amount for shortage in host.shortages]) == ('last', [3])


def test_the_nearest_of_trees_with_equal_shortages_has_most_free():
    left = {'a': 10, 'b': 50, 'c': 80, 'd': 49, 'e': 20, 'f': 79}
    index = index_snapshot(
        cloud(
            [provider(name, VCPU=100) for name in left],
            [consumer(f's-{name}', **{name: {'VCPU': 100 - n}}) for name, n in left.items()],
        )
    )
    for hosts, nearest in ((6, 'cfbdea'), (3, 'cfb'), (1, 'c')):
        explained = explain_request(CandidateRequest(Filter({'VCPU': 95})), index, most_trees=hosts)
        assert [host.name for host in explained.nearest] == list(nearest)


def test_relaxations_drop_no_requirement_that_can_be_met():
    """By Placement's rule: a trait of the common group is on a provider that gives something."""
    index, judged = index_snapshot(uneven_cloud()), 0
    for seed in range(300):
        request = random_request(Random(seed))
        explained = explain_request(request, index)
        matcher = TreeMatcher(index, list_requirements(request))
        everything = frozenset(matcher.requirements)
        for relaxation in explained.relaxations:
            dropped = frozenset(relaxation.dropped)
            if relaxation.lowered or len(dropped) > MOST_DROPPED:
                continue
            judged += 1
            assert matcher.is_met(everything - dropped), (seed, relaxation)
            for size in range(len(dropped)):
                for fewer in combinations(sorted(dropped, key=str), size):
                    retained = everything - frozenset(fewer)
                    if restrict_request(request, sorted(retained, key=str)):
                        assert not matcher.is_met(retained), (seed, fewer, relaxation)
    assert judged > 100


def test_explanation_names_known_faults_of_placement():
    grouped = CandidateRequest(Filter({'VCPU': 1}), {'_1': Filter({'DISK_GB': 1})}, 'none')
    hosts = [host('a', aggregates=['shared'], VCPU=4), pool('ceph', DISK_GB=9)]
    (sentence,) = list_service_faults(cloud(hosts), grouped)
    assert 'openstack-placement 16.0.0 may find no candidates for a group' in sentence
    assert [*list_service_faults(cloud(hosts), CandidateRequest(Filter({'VCPU': 1})))] == []
    assert [*list_service_faults(cloud(hosts[:1]), grouped)] == []
    nested = provider('b', 'a', 'a', traits=pool('b').traits, DISK_GB=9)
    (sentence,) = list_service_faults(cloud([*hosts, nested]), grouped)
    assert sentence.endswith('HTTP 500 where a provider shares its inventory inside a tree, as b')
