"""Trees that share targets; that they are planned as by trying, see test_oracle."""

from __future__ import annotations

from placementclient.planner import shared_targets


def test_groups() -> None:
    shared = {'a': {'s'}, 'b': {'t'}, 'c': {'u'}, 'd': {'s', 'u'}, 'e': {'t'}}
    found = shared_targets.groups({root: frozenset(own) for root, own in shared.items()})
    assert list(found) == [['a', 'c', 'd'], ['b', 'e']]
