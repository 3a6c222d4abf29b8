"""Maximum flow against trying every way."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.optimize.max_flow import Flow


def drawn(available, reachable, demands):
    flow = Flow(available, reachable)
    return [flow.draw(user, amount) for user, amount in enumerate(demands)]


def test_a_detour():
    assert drawn([2, 2, 2], [[0, 1], [1, 2], [0]], [2, 2, 2]) == [2, 2, 2]
    assert drawn([3, 2, 9], [[0, 1], [0]], [4, 3]) == [4, 1]
    assert drawn([3], [[]], [4]) == [0]


@st.composite
def networks(draw):
    available = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    sources = st.lists(st.sampled_from(range(len(available))), unique=True)
    reachable = draw(st.lists(sources, min_size=1, max_size=4))
    demands = [draw(st.integers(0, 3)) for _ in reachable]
    return available, reachable, demands


def most(available, reachable, demands):
    """By Hall's theorem: the least cut over all sets of users that are served in full."""
    users = range(len(demands))
    return min(
        sum(demands[user] for user in users if user not in cut)
        + sum(available[source] for source in {s for user in cut for s in reachable[user]})
        for size in range(len(demands) + 1)
        for cut in itertools.combinations(users, size)
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(networks())
def test_it_is_the_most(network):
    available, reachable, demands = network
    flow = Flow(available, reachable)
    got = [flow.draw(user, amount) for user, amount in enumerate(demands)]
    for user in range(1, len(demands) + 1):
        assert sum(got[:user]) == most(available, reachable[:user], demands[:user])
    for source, users in enumerate(flow.drawn):
        assert sum(users.values()) + flow.free[source] == available[source]
        assert all(source in reachable[user] and amount > 0 for user, amount in users.items())
    assert [sum(users.get(user, 0) for users in flow.drawn) for user in range(len(got))] == got
