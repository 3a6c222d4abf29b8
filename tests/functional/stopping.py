# SPDX-License-Identifier: Apache-2.0
"""The service of :mod:`.unreliable` in a process of its own, and when it is to stop."""

import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parents[2]


class Service:
    """A Placement in a process of its own that stops where it is told to."""

    def __init__(self, folder):
        with socket.create_server(('127.0.0.1', 0)) as probe:
            port = probe.getsockname()[1]
        self.folder, self.url = folder, f'http://127.0.0.1:{port}'
        self.process = start('unreliable', str(port), str(folder / 'db.sqlite'), str(folder))

    def stop_at(self, number, when):
        for name in ('reached', 'go'):
            (self.folder / name).unlink(missing_ok=True)
        part = self.folder / 'stop.new'
        part.write_text(f'{number} {when} {uuid.uuid4()}')
        part.rename(self.folder / 'stop')

    def wait_until_reached(self, process):
        while process.poll() is None:
            if (self.folder / 'reached').exists():
                return True
            time.sleep(0.005)
        return (self.folder / 'reached').exists()

    def go_on(self):
        (self.folder / 'stop').unlink()
        (self.folder / 'go').touch()


def start(module, *arguments):
    """A module of these tests as a process."""
    return subprocess.Popen(
        [sys.executable, '-m', f'tests.functional.{module}', *arguments],
        cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def running(folder):
    """Such a service, as long as it is needed."""
    service = Service(folder)
    try:
        for _ in range(300):
            assert service.process.poll() is None, 'the service has ended'
            try:
                port = int(service.url.rpartition(':')[2])
                socket.create_connection(('127.0.0.1', port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield service
    finally:
        service.process.kill()
        service.process.wait()
