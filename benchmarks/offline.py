# SPDX-License-Identifier: Apache-2.0
"""Commands on the snapshot of a whole cloud: seconds, and memory, from start to end.

    python -m benchmarks.offline --hosts 10000

Each host has two children and four servers; the flavors ask for all sorts of things. On a machine
with other work the seconds of processors say more than those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import cloud
from placementclient.files import disk

FLAVORS = 30
#: How many megabytes each may take.
MEMORY = 400
#: The commands after ``placement``, and how many seconds each may take; {} is the snapshot.
COMMANDS = {
    'resource capacity show --snapshot {}': 1.6,
    'resource capacity show --snapshot {} --flavors flavors.json --by class': 5.0,
    'resource capacity show --snapshot {} --flavors flavors.json -f json': 5.0,
    'resource provider tree export --snapshot {} -o trees.json': 3.0,
    'resource provider tree export --snapshot {} -o trees.yaml': 3.0,
    'allocation candidate explain --snapshot {} --resource VGPU=9': 1.3,
    'resource provider audit --snapshot {}': 2.3,
    'resource provider snapshot diff {} {}': 2.2,
    'resource provider report --snapshot {} -o report.html': 3.0,
}


def flavors(count: int) -> list[dict[str, object]]:
    """Flavors of several sizes, some with a trait, some with a VGPU."""
    extra = [{}, {'trait:HW_CPU_X86_AVX2': 'required'}, {'resources:VGPU': '1'}]
    return [
        {
            'id': str(number),
            'name': f'flavor{number}',
            'vcpus': 1 + number % 8,
            'ram': 1024 * (1 + number),
            'disk': 0,
            'extra_specs': extra[number % len(extra)],
        }
        for number in range(count)
    ]


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    arguments = parser.parse_args()
    # Unbuffered, each part of a JSON document would be a system call of its own.
    environment = {name: v for name, v in os.environ.items() if name != 'PYTHONUNBUFFERED'}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk.write_snapshot(str(folder / 'cloud.json'), cloud(arguments.hosts, flat=False))
        (folder / 'flavors.json').write_text(json.dumps(flavors(FLAVORS)))
        for command, most in COMMANDS.items():
            words = command.format('cloud.json', 'cloud.json').split()
            began = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, '-m', 'placementclient', *words],
                cwd=folder,
                env=environment | {'PYTHONPATH': os.getcwd()},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            _, ended, used = os.wait4(process.pid, 0)
            if (status := os.waitstatus_to_exitcode(ended)) in (1, 2):
                raise SystemExit(f'{command} failed: exit {status}')
            wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
            print(
                f'{command.replace("--snapshot {} ", ""):<61} {wall:>6.1f} s, of CPU {cpu:>5.2f} s '
                f'(at most {most})  {used.ru_maxrss // 1024:>4} MB (at most {MEMORY})',
                flush=True,
            )


if __name__ == '__main__':
    main()
