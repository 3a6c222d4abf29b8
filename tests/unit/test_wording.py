"""Parts of sentences."""

from __future__ import annotations

from placementclient.wording import first, listed


def test_the_first_of_many() -> None:
    assert first([1, 2, 3]) == '1; 2; 3'
    assert first(['a', 'b', 'c', 'd', 'e']) == 'a; b; c; and 2 more'
    assert first(['a', 'b', 'c'], 1) == 'a; and 2 more'
    assert listed('abc', 3) == 'a, b, c'
    assert listed(['a', 'b', 'c'], 2, 'others') == 'a, b and 1 other'
