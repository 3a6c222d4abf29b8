# SPDX-License-Identifier: Apache-2.0
"""Move a whole cloud from one database to another by a snapshot; say how long each step takes.

The source is SQLite. The restore is killed after ``--kill`` seconds, and goes on:

    python -m benchmarks.change_database --hosts 10000 --servers 10 --to sqlite:////tmp/new.sqlite
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keystoneauth1.session import Session

from placementclient.client import http, microversion
from placementclient.embedded import Direct
from tests.functional import clouds, databases
from tests.functional.bulk import Database

_PROGRAM = (sys.executable, '-m', 'placementclient', 'resource', 'provider', 'snapshot')


def run(url: str, *words: str, kill_after: float | None = None) -> str:
    """Run a command on a database, and print how long it took; return its standard error.

    :param kill_after: seconds, after which it is killed
    """
    environment = {**os.environ, 'OS_AUTH_TYPE': 'placement_direct', 'OS_PLACEMENT_DATABASE': url}
    began = time.monotonic()
    process = subprocess.Popen(
        [*_PROGRAM, *words], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(kill_after)
    process.kill()
    stderr = process.communicate()[1].decode()
    seconds = time.monotonic() - began
    print(f'{" ".join(words)}: {seconds:.0f} s, status {process.returncode}', flush=True)
    return stderr


def main() -> None:
    """Fill, save, restore, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    parser.add_argument('--servers', type=int, default=10, help='consumers on each host')
    parser.add_argument('--to', help='the URL of the new database, which is emptied')
    parser.add_argument('--kill', type=float, default=60, help='seconds; 0: do not kill')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, file = f'sqlite:///{folder}/old.sqlite', str(Path(folder, 'cloud.json.gz'))
        new = arguments.to or f'sqlite:///{folder}/new.sqlite'
        for url in (old, new):
            databases.emptied(url)
        with Direct(placement_database=old) as direct:
            content = clouds.cloud(arguments.hosts, arguments.servers)
            Database(http.Client(Session(auth=direct), microversion.HIGHEST)).fill(content)
        run(old, 'save', file)
        if arguments.kill:
            run(new, 'restore', file, kill_after=arguments.kill)
        print(run(new, 'restore', file, '--missing'))
        print(run(new, 'diff', file, 'live'))


if __name__ == '__main__':
    main()
