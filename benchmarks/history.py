"""Save a year of daily snapshots of a cloud in a history, and read it.

    python -m benchmarks.history --hosts 10000 --days 365

Each host has two children and four servers. Every day a tenth of the servers is deleted and as many
are made, one in fifty moves to another host, one in a hundred is resized, and one host in a hundred
changes its inventory or traits; generations move with all that. The commands run in processes of
their own.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.report import cloud
from placementclient.insight.capacity import totals
from placementclient.model.consumers import Consumer
from placementclient.model.origin import Origin
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.snapshot import history

BEGUN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NEW, MOVED, RESIZED, EDITED = 0.1, 0.02, 0.01, 0.01


def days(hosts: int, number: int, chance: random.Random) -> Iterator[Snapshot]:
    """The snapshots of so many days."""
    first = cloud(hosts, flat=False)
    states, consumers = dict(first.providers), dict(first.consumers)
    roots = [state.uuid for state in first.roots()]
    children = {root: [state.uuid for state in first.children(root)] for root in roots}
    for day in range(number):
        moment = (BEGUN + datetime.timedelta(day)).isoformat(timespec='seconds')
        origin = Origin(moment, 'http://127.0.0.1/placement', 'benchmark')
        yield Snapshot(states.values(), consumers.values(), origin)
        touched: set[str] = set()
        for old in chance.sample(sorted(consumers), int(NEW * len(consumers))):
            gone = consumers.pop(old)
            touched |= gone.allocations.keys()
            new = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            consumers[new] = _placed(replace(gone, uuid=new), chance.choice(roots), children)
            touched |= consumers[new].allocations.keys()
        for which in chance.sample(sorted(consumers), int(MOVED * len(consumers))):
            touched |= consumers[which].allocations.keys()
            consumers[which] = _placed(consumers[which], chance.choice(roots), children)
            touched |= consumers[which].allocations.keys()
        for which in chance.sample(sorted(consumers), int(RESIZED * len(consumers))):
            held = consumers[which].allocations
            grown = {
                on: {name: 2 * amount if name != 'VGPU' else 1 for name, amount in what.items()}
                for on, what in held.items()
            }
            consumers[which] = replace(consumers[which], allocations=grown)
            touched |= held.keys()
        for root in chance.sample(roots, int(EDITED * len(roots))):
            vcpus = replace(states[root].inventories['VCPU'], reserved=day % 9)
            states[root] = replace(
                states[root],
                inventories={**states[root].inventories, 'VCPU': vcpus},
                traits=states[root].traits ^ {'CUSTOM_MAINTENANCE'},
            )
            touched.add(root)
        _count(states, consumers, touched)


def _placed(consumer: Consumer, root: str, children: dict[str, list[str]]) -> Consumer:
    """A consumer on another host."""
    host, card = ({}, {})
    for resources in consumer.allocations.values():
        for name, amount in resources.items():
            (card if name == 'VGPU' else host)[name] = amount
    return replace(
        consumer,
        allocations={root: host, children[root][0]: card},
        generation=(consumer.generation or 0) + 1,
    )


def _count(
    states: dict[str, ProviderState], consumers: dict[str, Consumer], touched: set[str]
) -> None:
    """Set the usages of providers whose consumers have changed, and their generations."""
    used: dict[str, dict[str, int]] = {each: {} for each in touched}
    for consumer in consumers.values():
        for on in consumer.allocations.keys() & touched:
            for name, amount in consumer.allocations[on].items():
                used[on][name] = used[on].get(name, 0) + amount
    for each in touched:
        provider = states[each].provider
        states[each] = replace(
            states[each],
            provider=provider._replace(generation=provider.generation + 3),
            usages=used[each],
        )


def timed(*arguments: str) -> float:
    """The seconds that a command takes, from its start to its end."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, '-m', 'placementclient', 'resource', *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return round(time.perf_counter() - began, 2)


def main() -> None:
    """Make it, read it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    parser.add_argument('--days', type=int, default=365)
    parser.add_argument('--folder', help='keep the history here')
    arguments = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or str(Path(scratch, 'daily'))
        saving, followed, last = [], '', None
        for last in days(arguments.hosts, arguments.days, chance):
            followed = followed if followed in last.consumers else min(last.consumers)
            began = time.perf_counter()
            numbers = {
                line.resource_class: (line.amounts.capacity, line.amounts.used)
                for line in totals.by_class(last)
            }
            history.append(folder, last, numbers, print)
            saving.append(time.perf_counter() - began)
        assert last is not None
        sizes = [path.stat().st_size for path in Path(folder).iterdir()]
        name = last.roots()[0].name
        facts = {
            'hosts': arguments.hosts,
            'days': arguments.days,
            'consumers': len(last.consumers),
            'megabytes': round(sum(sizes) / 1e6, 1),
            'a difference in megabytes': round(sorted(sizes)[len(sizes) // 2] / 1e6, 2),
            'most seconds of saving one': round(max(saving), 2),
            'seconds of the list': timed('provider', 'snapshot', 'history', folder),
            'seconds of the story of a consumer': timed(
                'provider', 'snapshot', 'history', folder, '--consumer', followed
            ),
            'seconds of the story of a provider': timed(
                'provider', 'snapshot', 'history', folder, '--provider', name
            ),
            'seconds of the forecast': timed('capacity', 'forecast', folder),
            'megabytes of memory of these': resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            // 1024,
        }
        restored = history.at(folder, None, print)
        assert restored.providers == last.providers
        assert restored.consumers == last.consumers
    print(json.dumps(facts, indent=2))


if __name__ == '__main__':
    main()
