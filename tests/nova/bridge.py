# SPDX-License-Identifier: Apache-2.0
"""A socket for the Placement of Nova's fixtures, and this program as a process that uses it."""

import json
import os

import eventlet
import eventlet.wsgi
from eventlet.green import subprocess
from placement import deploy

#: How long a command may take, in seconds; the service answers from the same process.
TIMEOUT = 120


class Bridge:
    """Serves a Placement on loopback while commands are run against it.

    :param conf: the configuration of the fixture's Placement
    :param folder: where the files of the commands are
    """

    def __init__(self, conf, folder):
        self._folder = folder
        app = deploy.loadapp(conf)

        def as_service(environ, start_response):
            # Without Keystone a header says who is asking; the reshaper wants the role service.
            return app({**environ, 'HTTP_X_ROLES': 'admin,service'}, start_response)

        listener = eventlet.listen(('127.0.0.1', 0))
        self.url = f'http://127.0.0.1:{listener.getsockname()[1]}'
        self._server = eventlet.spawn(eventlet.wsgi.server, listener, as_service, log_output=False)

    def close(self):
        """Serve no longer."""
        self._server.kill()

    def run(self, *arguments, status=0):
        """Run a command; what it prints, as data.

        :param status: how it has to end
        """
        environment = {
            'PATH': os.environ['PATH'],
            'HOME': str(self._folder),
            'OS_AUTH_TYPE': 'admin_token',
            'OS_ENDPOINT': self.url,
            'OS_TOKEN': 'admin',
        }
        process = subprocess.Popen(
            [os.environ['PLACEMENT_PROGRAM'], *arguments, '-f', 'json'],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env=environment,
        )
        stdout, stderr = process.communicate(timeout=TIMEOUT)
        if process.returncode != status:
            raise AssertionError(f'{arguments} ended with {process.returncode}: {stderr}{stdout}')
        return json.loads(stdout) if stdout else None

    def write(self, name, text):
        """Put a file where the commands find it by its name."""
        (self._folder / name).write_text(text)
        return name
