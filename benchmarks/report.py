# SPDX-License-Identifier: Apache-2.0
"""Write the report of a whole cloud, open it in Chromium, and say what that costs.

Each host has two children and four consumers; every hundredth host is fuller than it may be, so
that the audit finds something. With --plan the cloud is flat, and the plan makes the children of
every host:

    python -m benchmarks.report --hosts 10000
    python -m benchmarks.report --hosts 10000 --plan

Seconds until something is painted, until the lists are drawn and until all is loaded are what the
browser notes, from the start of the navigation to the file on; the median and the most of several
runs, each in a browser of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from selenium import webdriver

from placementclient.files import disk, specifications
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.plans import Plan
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from placementclient.runs import storage

CHILDREN, CONSUMERS = 2, 4
SERVER = {'VCPU': 4, 'MEMORY_MB': 16384}
#: What the browser notes of a page: in milliseconds since the navigation began.
NOTED = """
const [navigation] = performance.getEntriesByType('navigation');
const [paint] = performance.getEntriesByName('first-contentful-paint');
const [drawn] = performance.getEntriesByName('drawn');
return {painted: paint && paint.startTime, drawn: drawn.startTime,
        loaded: navigation.loadEventEnd, rows: document.querySelectorAll('tbody tr').length}
"""


def cloud(hosts: int, *, flat: bool) -> Snapshot:
    """Hosts with four servers each, which hold one VGPU: on the host, or on one of its children."""
    providers, consumers = [], []
    for host in range(hosts):
        root, name = _uuid(1, host), f'compute-{host:05}.example.org'
        children = [_uuid(2, host * CHILDREN + number) for number in range(CHILDREN)]
        memory = 32768 if host % 100 == 7 else 65536 * (1 + host % 5)
        inventories = {'VCPU': Inventory(64, allocation_ratio=4.0), 'MEMORY_MB': Inventory(memory)}
        used = {'VCPU': 4 * CONSUMERS, 'MEMORY_MB': 16384 * CONSUMERS}
        if flat:
            inventories['VGPU'] = Inventory(CONSUMERS, max_unit=CONSUMERS)
            used['VGPU'] = CONSUMERS
        traits = frozenset({'COMPUTE_NODE', 'HW_CPU_X86_AVX2', 'OWNER_NOVA'})
        providers.append(
            ProviderState(Provider(root, name, 9, None, root), inventories, traits, usages=used)
        )
        share = CONSUMERS // CHILDREN
        providers += [
            ProviderState(
                Provider(child, f'{name}_pci_0000_8{number}_00_0', 2, root, root),
                {'VGPU': Inventory(share, max_unit=share)},
                frozenset({'OWNER_NOVA'}),
                usages={'VGPU': share},
            )
            for number, child in enumerate(() if flat else children)
        ]
        for number in range(CONSUMERS):
            place = root if flat else children[number % CHILDREN]
            allocated = {root: SERVER, place: {**(SERVER if flat else {}), 'VGPU': 1}}
            consumers.append(
                Consumer(
                    _uuid(3, host * CONSUMERS + number),
                    allocated,
                    _uuid(4, host % 300),
                    _uuid(5, 0),
                    1,
                    'INSTANCE',
                )
            )
    return Snapshot(providers, consumers)


def _uuid(kind: int, number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(int=kind), str(number)))


def planned(snapshot: Snapshot) -> Plan:
    """Two children for each host."""
    names = [f'{{root}}_pci_0000_8{number}_00_0' for number in range(CHILDREN)]
    document = {
        'trees': {'class': ['VGPU']},
        'providers': [{'name': name, 'traits': ['OWNER_NOVA']} for name in names],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': name,
                'moved_resources': {'VGPU': CONSUMERS // CHILDREN},
            }
            for name in names
        ],
    }
    spec = specifications.convert_specification(document, 'benchmark')
    return planner.plan_reshape(snapshot, spec, allow_inferred=True)


def opened(page: Path) -> dict[str, Any]:
    """What a browser of its own notes of a page."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which('chromium'))
    for argument in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage'):
        options.add_argument(argument)
    driver = webdriver.ChromeService(str(shutil.which('chromedriver')))
    with webdriver.Chrome(options, driver) as browser:
        browser.get(page.as_uri())
        noted: dict[str, Any] = browser.execute_script(NOTED)
        return noted


def main() -> None:
    """Make it, open it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    parser.add_argument('--plan', action='store_true')
    parser.add_argument('--runs', type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = cloud(arguments.hosts, flat=arguments.plan)
        disk.write_snapshot(str(folder / 'cloud.json'), snapshot)
        options = ['--snapshot', str(folder / 'cloud.json')]
        if arguments.plan:
            storage.write_plan(str(folder / 'plan.json'), planned(snapshot))
            options += ['--plan', str(folder / 'plan.json')]
        page = folder / 'report.html'
        command = ['resource', 'provider', 'report', *options, '-o', str(page)]
        began = time.perf_counter()
        subprocess.run([sys.executable, '-m', 'placementclient', *command], check=True)
        made = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        runs = [opened(page) for _ in range(arguments.runs)]
        facts = {
            'hosts': arguments.hosts,
            'providers': len(snapshot.providers),
            'consumers': len(snapshot.consumers),
            'made in seconds': round(made, 1),
            'peak in megabytes': peak // 1024,
            'page in megabytes': round(page.stat().st_size / 1e6, 1),
            'rows drawn': runs[0]['rows'],
            'runs': arguments.runs,
            **{
                f'{what} after seconds': [
                    round(statistics.median(run[what] for run in runs) / 1000, 2),
                    round(max(run[what] for run in runs) / 1000, 2),
                ]
                for what in ('painted', 'drawn', 'loaded')
            },
        }
    print(json.dumps(facts, indent=2))


if __name__ == '__main__':
    main()
