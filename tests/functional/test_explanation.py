# SPDX-License-Identifier: Apache-2.0
"""Explanations of random requests, against the real service, asked for any part of them."""

import random
from dataclasses import replace
from itertools import combinations, product

import pytest

from placementclient.insight.candidates.explanation import explain_request
from placementclient.insight.candidates.matching import index_snapshot
from placementclient.insight.candidates.requirements import (
    Requirement,
    list_requirements,
    restrict_request,
)
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.producers import inquiry
from tests.functional import clouds
from tests.functional.hosts import RACK, STORAGE, uneven_cloud

RESOURCES = [('VCPU', 2), ('VCPU', 20), ('MEMORY_MB', 512), ('DISK_GB', 10), ('VGPU', 1)]
RESOURCES += [('VGPU', 2), ('PCPU', 2), ('SRIOV_NET_VF', 2)]
TRAITS = ['CUSTOM_A40', 'CUSTOM_T4', 'HW_NUMA_ROOT', 'CUSTOM_NET', 'COMPUTE_NODE']


def _group(chance):
    traits = chance.sample(TRAITS, chance.choice([0, 0, 1, 2]))
    forbidden = chance.choice([0, 0, 0, 1]) if traits else 0
    return Filter(
        dict(chance.sample(RESOURCES, chance.choice([1, 1, 2]))),
        tuple(traits[forbidden:]),
        tuple(traits[:forbidden]),
        tuple(chance.sample([RACK, STORAGE], chance.choice([0, 0, 0, 1]))),
    )


def random_request(chance):
    groups = {f'_{number}': _group(chance) for number in range(chance.choice([0, 1, 2]))}
    common = _group(chance) if not groups or chance.random() < 0.5 else Filter()
    same = (tuple(groups),) if len(groups) == 2 and chance.random() < 0.3 else ()
    policy = chance.choice(['none', 'isolate']) if groups else None
    return CandidateRequest(common, groups, policy, same)


class Judge:
    """The service, asked for any part of a request."""

    def __init__(self, client, request):
        self._client, self._request = client, request
        self.all = list_requirements(request)
        self._trees = dict[frozenset[Requirement], int]()

    def trees(self, parts):
        """Return the number of trees with candidates; ``None`` if this is no request."""
        retained = frozenset(parts)
        requested = restrict_request(self._request, sorted(retained, key=str))
        if requested is not None and retained not in self._trees:
            offer = inquiry.make_live_tree_counter(self._client)(requested)
            assert offer is not None
            self._trees[retained] = offer.tree_count
        return self._trees.get(retained)

    def is_conflict(self, parts):
        """Return True if no part of the request that has these can be met.

        Nor can it with less of the other resources.
        """
        choices = [
            (None, item, replace(item, amount=1))
            if item.is_resource and not item.group
            else (None, item)
            for item in self.all
            if item not in parts
        ]
        return not any(self.trees(parts.union(filter(None, more))) for more in product(*choices))


UNCOVERED = CandidateRequest(Filter({'VCPU': 1, 'VGPU': 1}, ('CUSTOM_NET',)))
#: The trait is on the GPU, of which less would be enough.
TOO_MANY = CandidateRequest(Filter({'VCPU': 1, 'VGPU': 4}, ('CUSTOM_A40',)))


def _unmet():
    yield UNCOVERED
    yield TOO_MANY
    # Sets of five, beside a smaller one.
    gpus = {f'_{n}': Filter({'VGPU': 2}, ('CUSTOM_T4',)) for n in range(3)}
    yield CandidateRequest(Filter({'VCPU': 99}), gpus, 'isolate')
    for seed in range(50):
        request = random_request(random.Random(seed))
        # Placement names one host alone where a common group is on shared storage and nothing else.
        is_anchored = not (request.groups and 'DISK_GB' in request.common.resources)
        if is_anchored and len(list_requirements(request)) <= 6:
            yield request


@pytest.mark.slow
def test_every_set_of_an_explanation_is_true_of_the_service(client):
    clouds.load(client, uneven_cloud())
    index, unmet = index_snapshot(clouds.captured(client)), 0
    for request in _unmet():
        explained, judge = explain_request(request, index), Judge(client, request)
        if explained.has_candidates:
            continue
        unmet += 1
        for relaxation in explained.relaxations:
            lowered = dict(relaxation.lowered)
            retained = [item for item in judge.all if item not in {*relaxation.dropped, *lowered}]
            retained += [replace(item, amount=amount) for item, amount in lowered.items()]
            assert judge.trees(retained), (request, relaxation)
        if len(judge.all) > 6:
            continue
        assert not explained.has_more_conflicts
        for conflict in explained.conflicts:
            assert judge.is_conflict(conflict), (request, conflict)
            # A part that is no request is judged by providers alone.
            assert not any(
                judge.trees(conflict - {item}) is not None and judge.is_conflict(conflict - {item})
                for item in conflict
            ), (request, conflict)
        for size in range(1, len(judge.all)):
            for parts in map(frozenset, combinations(judge.all, size)):
                if judge.trees(parts) is not None and judge.is_conflict(parts):
                    assert any(item <= parts for item in explained.conflicts), (request, parts)
    assert unmet > 10
