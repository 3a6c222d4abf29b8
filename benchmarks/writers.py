# SPDX-License-Identifier: Apache-2.0
"""Fifty programs write to the same ten providers: whatever they say is done is there at the end.

    python -m benchmarks.writers

The service is real: MariaDB (Debian's mariadb-server, started as an unprivileged user) under uWSGI
with four workers. Each program is a process of its own that runs ``placement batch``: on each
provider it adds a trait and an aggregate, amends the inventory by a class, and allocates for a
consumer. The names are its own; what the generation of a provider guards is the same for all.

Exit status 1, if a command that ended with 0 left nothing behind, or something that was there
before is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pwd
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import stage
from benchmarks.paired import environment
from tests import databases

PROVIDERS, WORKERS = 10, 4
RP = 'resource provider'
OWNER = '--project-id p --user-id u --consumer-type INSTANCE'
#: What uWSGI logs of a request.
REQUEST = re.compile(r'(GET|PUT|POST|DELETE) (\S+) => .*\(HTTP/1.1 (\d+)\)')


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('-n', type=int, default=50, help='how many write; default=50')
    number: int = parser.parse_args().n
    placement = stage.ours() / 'placement'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with service(folder) as url:
            cloud = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)
            run(placement, cloud, [*setup(number)])
            began, started = requests(folder).total(), time.perf_counter()
            outcomes = write(placement, cloud, folder, number)
            seconds = time.perf_counter() - started
            counted = requests(folder)
            run(placement, cloud, [f'{RP} snapshot save {folder}/end.json'])
        state = json.loads((folder / 'end.json').read_text())
    return report(outcomes, state, counted, counted.total() - began, seconds)


@contextlib.contextmanager
def service(folder: Path) -> Iterator[str]:
    """The URL of an empty Placement on MariaDB under uWSGI."""
    programs = stage._environment('uwsgi', 'openstack-placement', 'PyMySQL', 'uwsgi')
    data = folder / 'mariadb'
    data.mkdir()
    if os.geteuid() == 0:
        os.chown(data, pwd.getpwnam('mysql').pw_uid, -1)
        folder.chmod(0o711)
    with databases.mariadb(data) as connection:
        (folder / 'placement.conf').write_text(
            f'[placement_database]\nconnection = {connection}\n[api]\nauth_strategy = noauth2\n'
        )
        variables = {**os.environ, 'OS_PLACEMENT_CONFIG_DIR': str(folder)}
        subprocess.run(
            [programs / 'placement-manage', '--config-dir', folder, 'db', 'sync'], check=True
        )
        port = databases.free_port()
        command: list[str | Path] = [
            programs / 'uwsgi', '--master', '--die-on-term', '--processes', str(WORKERS),
            '--http-socket', f'127.0.0.1:{port}', '--listen', '100', '--buffer-size', '65535',
            '--wsgi-file', Path(__file__).with_name('trusting.py'), '--virtualenv', programs.parent,
            # It answers one request a connection, and may answer before it has read the body.
            '--add-header', 'Connection: close', '--post-buffering', '65535',
        ]  # fmt: skip
        with open(folder / 'uwsgi.log', 'wb') as log:
            process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
            try:
                url = f'http://127.0.0.1:{port}'
                stage._wait(url, process)
                yield url
            finally:
                process.terminate()
                process.wait()


def requests(folder: Path) -> Counter[tuple[str, int]]:
    """How many requests were answered, by what kind of thing they are about and by status."""
    counts: Counter[tuple[str, int]] = Counter()
    for method, path, status in REQUEST.findall((folder / 'uwsgi.log').read_text()):
        what = path.partition('?')[0].split('/')
        kind = what[3] if len(what) > 3 else what[1]
        counts[f'{method} {kind}', int(status)] += 1
    return counts


def host(number: int) -> str:
    return f'host{number}'


def setup(writers: int) -> Iterator[str]:
    """The commands that make ten providers, and the names that the writers use."""
    for number in range(PROVIDERS):
        yield f'{RP} create {host(number)}'
        yield f'{RP} inventory set {host(number)} --resource VCPU={writers * 2}'
    for writer in range(writers):
        yield f'trait create CUSTOM_T{writer}'
        yield f'resource class create CUSTOM_C{writer}'


def lines(writer: int) -> list[str]:
    """What a writer does, on each provider once, in an order of its own."""
    return random.Random(writer).sample(
        [line for number in range(PROVIDERS) for line in at(writer, number)], 4 * PROVIDERS
    )


def at(writer: int, number: int) -> tuple[str, ...]:
    """What a writer does to a provider."""
    name, consumer = host(number), stage.uuid(1000 + writer, number)
    return (
        f'{RP} trait add {name} CUSTOM_T{writer}',
        f'{RP} aggregate add {name} {stage.uuid(1, writer)}',
        f'{RP} inventory set {name} --amend --resource CUSTOM_C{writer}={writer + 1}',
        f'{RP} allocation set {consumer} --allocation rp={name},VCPU=1 {OWNER}',
    )


def is_done(state: dict[str, Any], writer: int, line: str) -> bool:
    """Whether what a line does is there."""
    words = line.split()
    if words[2] == 'allocation':
        allocated = state['consumers'].get(words[4], {}).get('allocations', {})
        return [resources.get('VCPU') for resources in allocated.values()] == [1]
    [provider] = [live for live in state['providers'] if live['name'] == words[4]]
    if words[2] == 'inventory':
        return bool(provider['inventories'].get(f'CUSTOM_C{writer}', {}).get('total') == writer + 1)
    return words[5] in provider[f'{words[2]}s']


def run(placement: Path, cloud: dict[str, str], commands: list[str]) -> None:
    subprocess.run(
        [placement, 'batch', '-'], env=cloud, input='\n'.join(commands).encode(), check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def write(
    placement: Path, cloud: dict[str, str], folder: Path, number: int
) -> list[list[dict[str, Any]]]:
    """Let so many write at the same time; for each, how its lines ended."""
    processes = []
    for writer in range(number):
        file = folder / f'{writer}.commands'
        file.write_text('\n'.join(lines(writer)))
        with open(folder / f'{writer}.out', 'wb') as out:
            words: list[str | Path] = ['batch', '--keep-going', '--json-lines', file]
            processes.append(
                subprocess.Popen([placement, *words], env=cloud, stdout=out, stderr=sys.stderr)
            )
    for process in processes:
        process.wait()
    return [
        [json.loads(line) for line in (folder / f'{writer}.out').read_text().splitlines()]
        for writer in range(number)
    ]


def report(
    outcomes: list[list[dict[str, Any]]],
    state: dict[str, Any],
    counted: Counter[tuple[str, int]],
    sent: int,
    seconds: float,
) -> int:
    """Print the figures and what is wrong; the exit status."""
    failed = [line for results in outcomes for line in results if line['status']]
    lost = [
        line['command']
        for writer, results in enumerate(outcomes)
        for line in results
        if not line['status'] and not is_done(state, writer, line['command'])
    ]
    missing = len(outcomes) * 4 * PROVIDERS - sum(map(len, outcomes))
    lost += [live['name'] for live in state['providers'] if 'VCPU' not in live['inventories']]
    number = sum(map(len, outcomes))
    print(f'{len(outcomes)} writers, {PROVIDERS} providers, {number} commands, {seconds:.0f} s')
    print(f'{sent} requests, {sent / number:.1f} a command, {number / seconds:.0f} commands/s')
    for (kind, status), times in sorted(counted.items()):
        if kind.split()[0] != 'GET':
            print(f'  {kind:<20} {status} {times:>6}')
    print(f'ended with another status than 0: {len(failed)}; not run: {missing}')
    for line in failed[:10]:
        print(f'  {line["command"]}: {line["stderr"].strip()}')
    print(f'said to be done, and not there: {len(lost)}')
    for command in lost[:10]:
        print(f'  {command}')
    return 1 if lost or missing else 0


if __name__ == '__main__':
    sys.exit(main())
