"""Searches that would take too much memory."""

from __future__ import annotations

import pytest

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Rules, Use, most


def test_too_many_ways_to_have_the_traits():
    labels = [f'CUSTOM_{number}' for number in range(12)]
    sorts = [frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 1})]
    choices = {
        label: [Choice(str(n), (Use((str(n), label)),), traits) for n, traits in enumerate(sorts)]
        for label in labels
    }
    stock = {(str(n), label): 64 for n in range(4) for label in labels}
    with pytest.raises(errors.PlacementError, match='more than 100,000 ways'):
        most([(64, choices)], stock, Rules(covering=tuple(labels), traits=2))
