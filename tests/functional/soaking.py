"""Reshape and rollback again and again, beside a writer that claims and frees, and a watcher."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from placementclient.client import errors
from placementclient.model.consumers import Resources
from placementclient.model.outcomes import Outcome, State
from placementclient.model.plans import Plan
from placementclient.model.snapshots import Snapshot
from placementclient.reading import capture
from placementclient.reshape import engines, journal
from tests.functional import clouds
from tests.functional.applying import client_of
from tests.functional.stopping import start

#: What each host of :func:`clouds.cloud` has.
VGPUS = 8
#: What a consumer of the writer may hold.
CLAIMED = ({'VCPU': 1}, {'VCPU': 1, 'VGPU': 1})
WORKERS = 4


@dataclass
class Figures:
    """What was done and seen, and what was wrong.

    :ivar ended: how often trees ended so, in all rounds
    :ivar unstable: snapshots that came to no end, as others wrote all the time
    """

    rounds: int = 0
    snapshots: int = 0
    unstable: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    claimed: int = 0
    wrong: list[str] = field(default_factory=list)


def soak(url: str, folder: Path, hosts: int, seconds: float) -> Figures:
    """Let them all work for a time, and compare at the end.

    :param url: of an empty service
    """
    client, figures = client_of(url), Figures()
    before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
    roots = [root.uuid for root in before.roots()]
    writer = start('writing', url, '1', *roots)
    assert writer.stdout is not None
    assert writer.stdout.readline() == 'writing\n'
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(url, before, figures, ended))
    watcher.start()
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends and not figures.wrong:
            _one_round(url, folder / f'plan{figures.rounds}', figures)
        plan, path = _planned(url, folder / 'last', figures)
        _count(figures, engines.apply(client, plan, path, workers=WORKERS))
    finally:
        ended.set()
        watcher.join()
    knows = json.loads(writer.communicate('\n')[0])
    figures.claimed = len(knows['held'])
    after = clouds.captured(client)
    figures.wrong += _against_the_journal(url, plan, path, after)
    if _held(after) != _held(before) | knows['held']:
        figures.wrong.append('at the end somebody holds something else than is known')
    return figures


def _captured(url: str, figures: Figures) -> Snapshot:
    """What is there; read again where the writer does not let it come to an end."""
    while True:
        try:
            return capture.capture(client_of(url))
        except capture.UnstableRead:
            figures.unstable += 1


def _planned(url: str, path: Path, figures: Figures) -> tuple[Plan, str]:
    plan = clouds.plan_of(_captured(url, figures), 1, moved_trait=True)
    return plan, f'{path}.journal'


def _one_round(url: str, path: Path, figures: Figures) -> None:
    """There and back; where the writer comes between, the way back is tried again."""
    client = client_of(url)
    plan, journal_path = _planned(url, path, figures)
    _count(figures, engines.apply(client, plan, journal_path, workers=WORKERS))
    figures.wrong += _against_the_journal(url, plan, journal_path, _captured(url, figures))
    for _ in range(5):
        outcome = engines.rollback(client, plan, journal_path, workers=WORKERS)
        _count(figures, outcome)
        if outcome.exit_status is errors.ExitStatus.DONE:
            break
    else:
        figures.wrong.append(f'not rolled back: {outcome.trees}')
    figures.rounds += 1


def _count(figures: Figures, outcome: Outcome) -> None:
    figures.ended.update(str(tree.state) for tree in outcome.trees)
    figures.wrong += [
        f'{tree.root_provider_name}: {tree.state}: {tree.reason}'
        for tree in outcome.of(State.FAILED)
    ]
    if outcome.stopped:
        figures.wrong.append(f'stopped: {outcome.stopped}')


def _watch(url: str, before: Snapshot, figures: Figures, ended: threading.Event) -> None:
    client = client_of(url)
    while not ended.is_set():
        try:
            seen = clouds.captured(client)
        except capture.UnstableRead:
            figures.unstable += 1
            continue
        figures.snapshots += 1
        figures.wrong += _faults(before, seen)


def _faults(before: Snapshot, seen: Snapshot) -> Iterable[str]:
    """Who holds what nobody gave it, and what is more or less than there is."""
    held, known = _held(seen), _held(before)
    for consumer in held.keys() | known.keys():
        may_hold = [known[consumer]] if consumer in known else CLAIMED
        if held.get(consumer) not in may_hold:
            yield f'{consumer} holds {held.get(consumer)}, not {may_hold}'
    yield from _crowded(seen)
    for root in seen.roots():
        items = [state.inventories.get('VGPU') for state in seen.tree(root.uuid)]
        total = sum(item.total for item in items if item)
        if total != VGPUS:
            yield f'{root.name} has {total} VGPU'


def _crowded(seen: Snapshot) -> Iterable[str]:
    """Which providers give more than they have."""
    used: Counter[tuple[str, str]] = Counter()
    for each in seen.consumers.values():
        for provider, resources in each.allocations.items():
            for name, amount in resources.items():
                used[provider, name] += amount
    for state in seen.providers.values():
        for name, item in state.inventories.items():
            if used[state.uuid, name] > item.capacity:
                yield f'{state.name} gives {used[state.uuid, name]} {name}'


def _held(snapshot: Snapshot) -> dict[str, Resources]:
    """What each consumer holds in all."""
    return {
        uuid: dict(sum(map(Counter, consumer.allocations.values()), Counter[str]()))
        for uuid, consumer in snapshot.consumers.items()
    }


def _against_the_journal(url: str, plan: Plan, path: str, seen: Snapshot) -> Iterable[str]:
    """Which trees are not what the journal says."""
    records = journal.read(path, plan)
    applied = []
    for tree in plan.trees:
        record = records.get(tree.root_provider_uuid)
        says = record.ended if record else None
        at_root = 'VGPU' in seen.providers[tree.root_provider_uuid].inventories
        if says == 'applied':
            applied.append(tree.root_provider_name)
        if at_root is (says == 'applied'):
            yield f'{tree.root_provider_name}: the journal says {says}'
    if applied:
        deviations = engines.verify(client_of(url), plan, applied, journal_path=path)
        yield from (str(each) for each in deviations if each.is_damage)
