# SPDX-License-Identifier: Apache-2.0
"""Maximum flow against trying every way."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.optimize.max_flow import compute_max_flow

A, B, C = map(frozenset, 'abc')


def test_flow_is_rerouted_where_a_pool_runs_out():
    assert [*compute_max_flow({'a': 2, 'b': 2, 'c': 2}, {A | B: 2, B | C: 2, A: 2}).values()] == [
        2,
        2,
        2,
    ]
    assert [*compute_max_flow({'a': 3, 'b': 2, 'c': 9}, {A | B: 4, A: 3}).values()] == [4, 1]
    assert compute_max_flow({'a': 3}, {frozenset(): 4}) == {frozenset(): 0}


def most(available, demands):
    """By Hall's theorem: the least cut over all sets of users that are served in full."""
    return min(
        sum(amount for user, amount in demands.items() if user not in cut)
        + sum(available[source] for source in frozenset().union(*cut))
        for size in range(len(demands) + 1)
        for cut in itertools.combinations(demands, size)
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.fixed_dictionaries({source: st.integers(0, 3) for source in 'abc'}),
    st.dictionaries(st.frozensets(st.sampled_from('abc')), st.integers(0, 3), max_size=5),
)
def test_flow_is_the_maximum(available, demands):
    granted = compute_max_flow(available, demands)
    for number in range(1, len(demands) + 1):
        first = dict(itertools.islice(demands.items(), number))
        assert sum(granted[user] for user in first) == most(available, first)
    assert all(0 <= granted[user] <= amount for user, amount in demands.items())
