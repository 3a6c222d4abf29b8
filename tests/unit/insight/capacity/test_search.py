"""Searches that would take too much memory."""

import pytest

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Rules, ShapeDemand, Use, most


def test_too_many_ways_to_have_the_traits():
    labels = [f'CUSTOM_{number}' for number in range(12)]
    sorts = [frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 1})]
    choices = tuple(
        tuple(Choice(n, (Use((n, label)),), traits) for n, traits in enumerate(sorts))
        for label in labels
    )
    amounts = {(n, label): 64 for n in range(4) for label in labels}
    with pytest.raises(errors.PlacementError, match='more than 100,000 ways'):
        most([ShapeDemand(64, choices, amounts)], {}, Rules(covering=tuple(range(12)), traits=2))
