# SPDX-License-Identifier: Apache-2.0
"""Functional tests on a database server: ``python tests/databases.py mariadb [tests]``.

Starts a server of Debian's package on a socket in a scratch folder, as an unprivileged user, runs
the tests of what reads and writes the most on it, and stops it.
"""

import contextlib
import glob
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: What is run on each database.
TESTS = [
    f'tests/functional/test_{name}.py'
    for name in (
        'snapshot_tables',
        'snapshot_capture',
        'snapshot_restore',
        'reshape_apply',
        'reshape_drift',
        'reshape_rollback',
        'bulk',
    )
]
#: How long a server may take to start, in seconds.
TIMEOUT = 60


def run_as(user):
    """What lets a command run as a user without rights, where root is who runs this."""
    return ['setpriv', f'--reuid={user}', '--clear-groups', '--'] if os.geteuid() == 0 else []


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started(command, port, log):
    """A server, from its first answer to the end.

    It is in the folder of its log: where the tests run may be closed to its user.
    """
    with (
        open(log, 'wb') as out,
        subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent) as process,
    ):
        try:
            until = time.monotonic() + TIMEOUT
            while process.poll() is None and time.monotonic() < until:
                with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port)):
                    yield
                    return
                time.sleep(0.2)
            raise SystemExit(f'{command[-1]} does not start:\n{log.read_text()}')
        finally:
            process.terminate()


def _mariadbd():
    return shutil.which('mariadbd', path='/usr/sbin:/usr/local/sbin:/usr/bin')


def _of_postgresql():
    return sorted(glob.glob('/usr/lib/postgresql/*/bin'))


def available():
    """Return the kinds of which there are a server and a driver here."""
    there = {'mariadb': (_mariadbd(), 'pymysql'), 'postgresql': (_of_postgresql(), 'psycopg2')}
    return [
        k for k, (server, driver) in there.items() if server and importlib.util.find_spec(driver)
    ]


@contextlib.contextmanager
def mariadb(folder):
    """A MariaDB; its URL."""
    server = _mariadbd()
    if server is None:
        raise SystemExit('there is no mariadbd: install mariadb-server')
    user, port = run_as('mysql'), free_port()
    common = ['--no-defaults', f'--datadir={folder}/data', f'--socket={folder}/socket']
    install = ['mariadb-install-db', *common[:2], '--auth-root-authentication-method=normal']
    subprocess.run([*user, *install], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    options = [f'--port={port}', '--bind-address=127.0.0.1', f'--pid-file={folder}/pid']
    with started([*user, server, *common, *options], port, folder / 'log'):
        statements = (
            'CREATE DATABASE placement CHARACTER SET utf8mb4;'
            "CREATE USER test@localhost IDENTIFIED BY 'test';"
            'GRANT ALL ON placement.* TO test@localhost;'
        )
        client = ['mariadb', '--no-defaults', f'--socket={folder}/socket', '-u', 'root']
        subprocess.run([*client, '-e', statements], check=True)
        yield f'mysql+pymysql://test:test@localhost/placement?unix_socket={folder}/socket'


@contextlib.contextmanager
def postgresql(folder):
    """A PostgreSQL; its URL."""
    folders = _of_postgresql()
    if not folders:
        raise SystemExit('there is no PostgreSQL: install postgresql')
    programs, user, port = folders[-1], run_as('postgres'), free_port()
    make = [f'{programs}/initdb', '-D', f'{folder}/data', '-U', 'test', '--auth=trust']
    subprocess.run([*user, *make], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    options = ['-p', str(port), '-k', str(folder), '-c', 'listen_addresses=127.0.0.1']
    server = [*user, f'{programs}/postgres', '-D', f'{folder}/data', *options]
    with started(server, port, folder / 'log'):
        yield f'postgresql+psycopg2://test@127.0.0.1:{port}/postgres'


KINDS = {'mariadb': (mariadb, 'mysql'), 'postgresql': (postgresql, 'postgres')}


@contextlib.contextmanager
def served(kind):
    """The URL of a server of a kind, with an empty database."""
    server, owner = KINDS[kind]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)
        with server(folder) as url:
            yield url


def main(kind, *arguments):
    with served(kind) as url:
        print(f'== {kind}: {url}', flush=True)
        command = [sys.executable, '-m', 'pytest', '-q', '-m', '', *(arguments or TESTS)]
        return subprocess.call(command, env={**os.environ, 'PLACEMENT_TEST_DATABASE': url})


if __name__ == '__main__':
    raise SystemExit(main(*sys.argv[1:]))
