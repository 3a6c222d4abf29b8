"""Killed at any point, apply run again completes what it had begun."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.model.plans import Plan
from placementclient.reshape import engines, journal
from tests.functional import clouds
from tests.numbers import few_quick


class Killed(BaseException):
    """Nobody catches this, as nobody catches SIGKILL."""


@contextmanager
def killed_at(client: Client, number: int, *, answered: bool) -> Iterator[list[str]]:
    """End with the request of that number: it is sent, or not; its answer never arrives."""
    session = client.session
    send, sent = session.request, []

    def request(url: str, method: str, **kwargs: Any) -> Any:
        sent.append(f'{method} {url}')
        if len(sent) < number:
            return send(url, method, **kwargs)
        if answered and len(sent) == number:
            send(url, method, **kwargs)
        raise Killed

    session.request = request
    try:
        yield sent
    except Killed:
        pass
    finally:
        del session.request


def reshapes(path: Path, root_uuid: str) -> int:
    """How often a journal says that a tree's reshape was sent."""
    entries = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{')]
    return sum(
        entry.get('tree') == root_uuid and entry.get('intent', {}).get('operation') == 'reshape'
        for entry in entries
    )


def requests_of_a_tree(client: Client, plan: Plan, path: Path) -> int:
    with clouds.watched(client) as requests:
        engines.apply(client, plan, str(path), trees=[plan.trees[0].root_provider_uuid])
    return len(requests)


@pytest.mark.parametrize('step', few_quick([3, 1], quick=1))
def test_killed_at_every_request(client: Client, tmp_path: Path, step: int) -> None:
    before = clouds.loaded(client, clouds.cloud(hosts=30 // step, servers=1))
    plan = clouds.plan_of(before, children=1, moved_trait=True)
    path = tmp_path / 'plan.journal'
    count = requests_of_a_tree(client, plan, path)
    points = [(number, answered) for number in range(1, count + 1) for answered in (False, True)]
    points = points[::step]
    assert len(points) < len(plan.trees)
    for (number, answered), tree in zip(points, plan.trees[1:], strict=False):
        only = [tree.root_provider_name]
        with killed_at(client, number, answered=answered):
            engines.apply(client, plan, str(path), trees=only)
        outcome = engines.apply(client, plan, str(path), trees=only)
        assert outcome.exit_status is ExitStatus.DONE, (number, answered, outcome)
        # Once more only where the first may not have arrived.
        assert 1 <= reshapes(path, tree.root_provider_uuid) <= 2
    assert engines.apply(client, plan, str(path)).exit_status is ExitStatus.DONE
    assert engines.verify(client, plan) == []


@pytest.mark.parametrize('number', [7, 10, 13])
def test_killed_while_rolling_back(client: Client, tmp_path: Path, number: int) -> None:
    before = clouds.loaded(client, clouds.cloud(hosts=1))
    plan = clouds.plan_of(before, moved_trait=True)
    path = str(tmp_path / 'plan.journal')
    engines.apply(client, plan, path)
    with killed_at(client, number, answered=True):
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
