# SPDX-License-Identifier: Apache-2.0
"""A Placement over HTTP of its own, which goes away and comes back."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from placementclient.client import http, microversion


def free_port():
    """A port that nobody listens at."""
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


class Service:
    """A process that answers at the same URL, from the same database, whenever it runs."""

    def __init__(self, folder):
        port = free_port()
        self.url = f'http://127.0.0.1:{port}'
        script = Path(__file__).with_name('service.py')
        self._command = [sys.executable, str(script), str(port), str(folder / 'service.sqlite')]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def variables(self):
        """The environment of a program that asks it."""
        return {'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': self.url, 'OS_TOKEN': 'admin'}

    @property
    def client(self):
        """A client that asks it."""
        session = Session(auth=Token(self.url, 'admin'))
        return http.Client(session, microversion.HIGHEST, endpoint_override=self.url)

    def start(self):
        """Answer, from when this returns on."""
        self._process = subprocess.Popen(self._command)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError('the service does not start')

    @contextmanager
    def hanging(self):
        """Take requests, and answer none of them meanwhile."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self):
        """Be away."""
        if self._process:
            self._process.kill()
            self._process.wait()
