# SPDX-License-Identifier: Apache-2.0
"""The folder of the cloud, the addresses of its services, and its accounts."""

import contextlib
import functools
import json
import os
import random
import socket
from pathlib import Path

#: The variable that names another folder than the one in the user's cache.
VARIABLE = 'PLACEMENT_TEST_CLOUD'
#: The variable that says after how many seconds no further test begins.
LIMIT = 'PLACEMENT_TEST_CLOUD_SECONDS'
REGION = 'RegionOne'
PASSWORD = 'secret'
#: A region of which only the APIs are its own, and the tokens are short-lived: they can be stopped
#: while others go on.
SHORT_REGION, SHORT = 'RegionShort', '-short'
#: A region whose Placement does not run.
DOWN_REGION, DOWN_URL = 'RegionDown', 'http://127.0.0.1:9'
#: The services with a port of their own.
SERVICES = (
    'mariadb',
    'rabbitmq',
    'rabbitmq-nodes',
    'epmd',
    'keystone',
    'keystone-short',
    'placement',
    'placement-short',
    'glance',
    'neutron',
    'nova',
    'nova-short',
)
HOSTS = ('compute1', 'compute2', 'compute3')


@functools.cache
def folder():
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    cache = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(cache) / 'placementclient-cloud'


def environment():
    return folder() / 'venv'


def program(name):
    return str(environment() / 'bin' / name)


def site_packages():
    return next((environment() / 'lib').glob('python3.*/site-packages'))


def state():
    """The folder of the databases, settings, logs and process IDs: ``down`` removes it."""
    return folder() / 'state'


def left_out():
    """The names of the tests for which there was no time in the last run of all."""
    path = folder() / 'left-out'
    return path.read_text().splitlines() if path.exists() else []


@functools.cache
def ports():
    """The ports on the loopback by service, chosen when the cloud starts first."""
    path = state() / 'ports.json'
    if not path.exists():
        state().mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dict(zip(SERVICES, _free_ports(), strict=False))))
    return dict(json.loads(path.read_text()))


def _free_ports():
    """Yield ports that nothing listens on.

    The kernel gives none of them to whoever asks for any port, so that a service that was stopped
    can start again.
    """
    for port in random.sample(range(20000, 32000), 1000):
        with contextlib.suppress(OSError), socket.create_server(('127.0.0.1', port)):
            yield port


def url(service):
    return f'http://127.0.0.1:{ports()[service]}'


#: The services of :data:`SHORT_REGION`: their names, types and paths.
SHORT_CATALOG = (
    ('keystone', 'identity', '/v3'),
    ('placement', 'placement', ''),
    ('nova', 'compute', '/v2.1'),
)
#: What the catalog says of each service: its type, and the path of its endpoint.
CATALOG = {
    'placement': ('placement', ''),
    'nova': ('compute', '/v2.1'),
    'glance': ('image', ''),
    'neutron': ('network', ''),
}
