# SPDX-License-Identifier: Apache-2.0
"""Plan drains of large clouds, and say what they cost; no service is needed:

python -m benchmarks.drain --hosts 1000 --emptied 20
python -m benchmarks.drain --hosts 10000 --emptied 300
python -m benchmarks.drain --hosts 10000 --rolling
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.plan import decide_drain
from placementclient.insight.drain.rolling import plan_rolling, split_into_batches
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

#: VCPU, MEMORY_MB and DISK_GB of flavors; the last two are not of the common ratio.
FLAVORS = (
    *((1, 2048, 20), (2, 4096, 40), (4, 8192, 80), (8, 16384, 160), (16, 32768, 200)),
    *((4, 32768, 80), (8, 8192, 40)),
)
#: VCPU, MEMORY_MB and DISK_GB of the kinds of hosts.
HOSTS = ((64, 262144, 4000), (96, 393216, 6000))


def cloud(rng: random.Random, hosts: int, least: float, most: float) -> Snapshot:
    """Make hosts of two kinds in four zones, each filled to some part.

    :param least: the least part of the CPUs and of the memory that is used, below 1
    :param most: the largest part
    """
    states, consumers = [], []
    for number in range(hosts):
        name, size = f'compute{number:05}', rng.choice(HOSTS)
        amounts = dict(zip(('VCPU', 'MEMORY_MB', 'DISK_GB'), size, strict=True))
        used = Counter[str]()
        for server, resources in enumerate(_servers(rng, amounts, rng.uniform(least, most))):
            used.update(resources)
            consumers.append(Consumer(f'{name}-{server}', {name: resources}, 'p', 'u', 1, None))
        states.append(
            ProviderState(
                Provider(name, name, 1, None, name),
                {resource: Inventory(total) for resource, total in amounts.items()},
                frozenset({'COMPUTE_NODE', 'HW_CPU_X86_AVX2'}),
                frozenset({f'zone{number % 4}'}),
                dict(used),
            )
        )
    return Snapshot(states, consumers)


def _servers(rng: random.Random, amounts: dict[str, int], part: float) -> Iterator[dict[str, int]]:
    left = {name: amount * part for name, amount in amounts.items()}
    for _ in range(200):
        flavor = dict(zip(amounts, rng.choice(FLAVORS), strict=True))
        if all(left[name] >= amount for name, amount in flavor.items()):
            left = {name: free - flavor[name] for name, free in left.items()}
            yield flavor


def main() -> None:
    """Make a cloud, plan, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=1000)
    parser.add_argument('--emptied', type=int, default=20)
    parser.add_argument('--used', type=float, nargs=2, default=(0.88, 0.96))
    parser.add_argument('--rolling', action='store_true')
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    snapshot = cloud(rng, arguments.hosts, *arguments.used)
    before = time.monotonic()
    scene = DrainCloud(snapshot)
    if arguments.rolling:
        rolling = plan_rolling(scene, split_into_batches(scene, scene.hosts, arguments.batch))
        answer = {
            'verdict': rolling.verdict,
            'batches': len(rolling.order),
            'blocked': len(rolling.blocked),
            'moves': len(rolling.moves),
        }
    else:
        decision = decide_drain(scene, rng.sample(scene.hosts, arguments.emptied))
        answer = {
            'verdict': decision.verdict,
            'servers': decision.strict.server_count,
            'movable': decision.bounds,
            'waves': max((move.wave for move in decision.moves), default=0),
        }
    seconds = round(time.monotonic() - before, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    machine = f'{os.cpu_count()} CPUs, Python {sys.version.split()[0]}'
    size = {'hosts': arguments.hosts, 'consumers': len(snapshot.consumers)}
    print(json.dumps({**size, **answer, 'seconds': seconds, 'MiB': peak, 'machine': machine}))


if __name__ == '__main__':
    main()
