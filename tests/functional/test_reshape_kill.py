"""Killed at any point, apply run again completes what it had begun."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.reshape import engines, journal
from tests.functional import clouds
from tests.functional.lifecycles import Killed, killed_at


def reshapes(path: Path, root_uuid: str) -> int:
    """How often a journal says that a tree's reshape was sent."""
    entries = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{')]
    return sum(
        entry.get('tree') == root_uuid and entry.get('intent', {}).get('operation') == 'reshape'
        for entry in entries
    )


def test_killed_at_every_write(client: Client, tmp_path: Path) -> None:
    # The writes of a tree: whether it is allowed, a trait, a child, its traits, the reshape, the
    # trait that goes.
    points = [(write, is_done) for write in range(6) for is_done in (False, True)]
    before = clouds.loaded(client, clouds.cloud(hosts=len(points), servers=1))
    plan, path = clouds.plan_of(before, children=1, moved_trait=True), tmp_path / 'plan.journal'
    for (write, is_done), tree in zip(points, plan.trees, strict=True):
        only = [tree.root_provider_name]
        with suppress(Killed), killed_at(client, write, is_done=is_done):
            engines.apply(client, plan, str(path), trees=only)
        outcome = engines.apply(client, plan, str(path), trees=only)
        assert outcome.exit_status is ExitStatus.DONE, (write, is_done, outcome)
        # Once more only where the first may not have arrived.
        assert 1 <= reshapes(path, tree.root_provider_uuid) <= 2
    assert engines.verify(client, plan) == []


@pytest.mark.parametrize('write', [1, 3])
def test_killed_while_rolling_back(client: Client, tmp_path: Path, write: int) -> None:
    before = clouds.loaded(client, clouds.cloud(hosts=1))
    plan = clouds.plan_of(before, moved_trait=True)
    path = str(tmp_path / 'plan.journal')
    engines.apply(client, plan, path)
    with pytest.raises(Killed), killed_at(client, write):
        engines.rollback(client, plan, path)
    assert engines.rollback(client, plan, path).exit_status is ExitStatus.DONE
    assert clouds.content(clouds.captured(client)) == clouds.content(before)


@pytest.mark.slow
def test_killed_at_any_byte_of_the_journal(client: Client, tmp_path: Path) -> None:
    """Whatever prefix of the journal is on the disk, the service knows what was done."""
    before = clouds.loaded(client, clouds.cloud(hosts=1))
    plan = clouds.plan_of(before, moved_trait=True)
    path = tmp_path / 'plan.journal'
    engines.apply(client, plan, str(path))
    whole = path.read_bytes()
    for length in range(0, len(whole), 151):
        path.write_bytes(whole[:length])
        outcome = engines.apply(client, plan, str(path))
        assert outcome.exit_status is ExitStatus.DONE, (length, outcome)
        with journal.opened(str(path), plan) as opened:
            assert opened.of(plan.trees[0].root_provider_uuid).ended == 'applied'
    assert engines.verify(client, plan) == []
