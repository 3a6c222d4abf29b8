"""Searches that would take too much memory."""

import pytest

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Rules, Site, Use, most


def test_too_many_ways_to_have_the_traits():
    labels = [f'CUSTOM_{number}' for number in range(12)]
    sorts = [frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 1})]
    choices = tuple(
        tuple(Choice((Use((n, label)),), traits) for n, traits in enumerate(sorts))
        for label in labels
    )
    amounts = tuple(((n, label), 64) for n in range(4) for label in labels)
    site = Site((), (), True, choices, amounts)
    with pytest.raises(errors.PlacementError, match='more than 100,000 ways'):
        most([(site, 64)], {}, Rules(covering=tuple(range(12)), traits=2))
