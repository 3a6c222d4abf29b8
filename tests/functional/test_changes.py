"""Each operation of a diff is one that the real service accepts, in the order of the diff."""

from __future__ import annotations

from random import Random

import pytest

from placementclient.changes.applier import Applier, generations_of
from placementclient.changes.diff import diff
from placementclient.client import http
from placementclient.model.snapshots import Snapshot
from placementclient.reading.capture import capture
from tests.numbers import numbers
from tests.snapshot_pairs import content, pair, with_types_of


def write(client: http.Client, there: Snapshot, wanted: Snapshot) -> None:
    Applier(client, generations_of(there)).run(diff(there, wanted))


@pytest.mark.parametrize('seed', numbers(0, 30, quick=2))
def test_every_step_of_a_diff_is_legal(client: http.Client, seed: int) -> None:
    before, after = pair(Random(seed))
    write(client, Snapshot((), ()), before)
    there = capture(client)
    assert content(there) == content(before)
    write(client, there, after)
    there = capture(client)
    assert content(there) == content(after)
    back = with_types_of(there, before)
    write(client, there, back)
    assert content(capture(client)) == content(back)
