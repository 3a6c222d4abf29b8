# SPDX-License-Identifier: Apache-2.0
"""What benchmarks need: virtual environments of their own, and a real Placement over HTTP.

All is made in ``build/benchmarks`` of the checkout, once; ours is installed anew each time. Not in
a temporary folder: below /tmp stevedore keeps no cache, which would burden OpenStackClient.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
FOLDER = TOP / 'build' / 'benchmarks'
PEER = 'osc-placement==4.9.1'
SERVICE = 'tests.functional.service'
#: The same for writers, who cannot share a SQLite file.
SERIAL = 'benchmarks.serve'


def ours() -> Path:
    """The programs of this checkout, beside OpenStackClient."""
    programs = _environment('ours', f'{TOP}[osc]')
    subprocess.run(
        [programs / 'pip', 'install', '-q', '--force-reinstall', '--no-deps', TOP], check=True
    )
    return programs


def peer() -> Path:
    """The programs of osc-placement, beside OpenStackClient."""
    return _environment('peer', PEER, 'python-openstackclient')


def _environment(name: str, *packages: str) -> Path:
    programs = FOLDER / name / 'bin'
    if not programs.exists():
        print(f'creating {FOLDER / name}', file=sys.stderr)
        venv.create(FOLDER / name, with_pip=True)
        subprocess.run([programs / 'pip', 'install', '-q', *packages], check=True)
    return programs


@contextlib.contextmanager
def service(module: str = SERVICE, database: Path | None = None) -> Iterator[str]:
    """The URL of an empty Placement, in a process and on a processor of its own.

    What a client computes takes no time from a service on another machine. So here the service has
    the first processor, where there are several, and all that asks it has the others.

    :param module: the module that serves
    :param database: the SQLite file that it makes, where somebody else wants it too
    """
    programs = _environment('service', 'openstack-placement', 'waitress')
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = database or Path(folder, 'placement.sqlite')
        process = subprocess.Popen(
            [programs / 'python', '-m', module, str(port), file],
            cwd=TOP,
            stderr=subprocess.DEVNULL,
        )
        processors = os.sched_getaffinity(0)
        first, others = {min(processors)}, processors - {min(processors)}
        try:
            url = f'http://127.0.0.1:{port}'
            if others:
                # Before it has threads: these are where their process was when they began.
                os.sched_setaffinity(process.pid, first)
                os.sched_setaffinity(0, others)
            _wait(url, process)
            yield url
        finally:
            process.terminate()
            process.wait()
            os.sched_setaffinity(0, processors)


@contextlib.contextmanager
def other_disk() -> Iterator[str]:
    """A folder for the database of a service, in memory where the system has such a place.

    Else the journal of a client and the database would wait for each other at the same disk.
    """
    memory = '/dev/shm'
    with tempfile.TemporaryDirectory(dir=memory if os.path.isdir(memory) else None) as folder:
        yield folder


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url).close()
            return
        time.sleep(0.1)
    raise SystemExit('the service has ended')


def send(url: str, method: str, path: str, body: Any) -> None:
    """One request to a service, outside of all that is measured."""
    request = urllib.request.Request(
        f'{url}{path}',
        json.dumps(body).encode(),
        {'Content-Type': 'application/json', 'OpenStack-API-Version': 'placement 1.37'},
        method=method,
    )
    urllib.request.urlopen(request).close()


def uuid(kind: int, number: int) -> str:
    """The UUID of the n-th thing of a kind, the same each time."""
    return f'{kind:08x}-0000-4000-8000-{number:012x}'


def populate(
    url: str, providers: int, consumers: int = 0, more: Mapping[str, int] | None = None
) -> None:
    """Add root providers with an inventory, and so many consumers on each.

    :param more: resources of which each consumer has so many, and the providers no more than that
    """
    more = more or {}
    full = {name: {'total': consumers * amount} for name, amount in more.items()}
    for number in range(providers):
        host = uuid(1, number)
        send(url, 'POST', '/resource_providers', {'name': f'compute{number}', 'uuid': host})
        inventories = {'VCPU': {'total': 64}, 'MEMORY_MB': {'total': 262144}, **full}
        body = {'resource_provider_generation': 0, 'inventories': inventories}
        send(url, 'PUT', f'/resource_providers/{host}/inventories', body)
        for instance in range(consumers):
            _allocate(url, host, uuid(2, number * consumers + instance), more)


def _allocate(url: str, host: str, consumer: str, more: Mapping[str, int]) -> None:
    body = {
        'allocations': {host: {'resources': {'VCPU': 1, 'MEMORY_MB': 1024, **more}}},
        'project_id': uuid(3, 0),
        'user_id': uuid(4, 0),
        'consumer_generation': None,
    }
    send(url, 'PUT', f'/allocations/{consumer}', body)
