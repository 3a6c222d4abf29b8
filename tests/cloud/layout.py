"""The folder of the cloud, the addresses of its services, and its accounts."""

from __future__ import annotations

import functools
import json
import os
import socket
from pathlib import Path

#: The variable that names another folder than the one in the user's cache.
VARIABLE = 'PLACEMENT_TEST_CLOUD'
REGION = 'RegionOne'
PASSWORD = 'secret'
#: The services with a port of their own. ``keystone-short`` issues tokens of a short life.
SERVICES = (
    'mariadb',
    'rabbitmq',
    'rabbitmq-nodes',
    'epmd',
    'keystone',
    'keystone-short',
    'placement',
    'glance',
    'neutron',
    'nova',
)
HOSTS = ('compute1', 'compute2', 'compute3')


@functools.cache
def folder() -> Path:
    """The folder that holds everything of the cloud."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    cache = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(cache) / 'placementclient-cloud'


def environment() -> Path:
    """The virtual environment with the services."""
    return folder() / 'venv'


def program(name: str) -> str:
    return str(environment() / 'bin' / name)


def site_packages() -> Path:
    return next((environment() / 'lib').glob('python3.*/site-packages'))


def state() -> Path:
    """The folder of the databases, settings, logs and process IDs: ``down`` removes it."""
    return folder() / 'state'


@functools.cache
def ports() -> dict[str, int]:
    """The ports on the loopback by service, chosen when the cloud starts first."""
    path = state() / 'ports.json'
    if not path.exists():
        state().mkdir(parents=True, exist_ok=True)
        probes = [socket.create_server(('127.0.0.1', 0)) for _ in SERVICES]
        chosen = {
            name: probe.getsockname()[1] for name, probe in zip(SERVICES, probes, strict=True)
        }
        for probe in probes:
            probe.close()
        path.write_text(json.dumps(chosen))
    return dict(json.loads(path.read_text()))


def url(service: str) -> str:
    return f'http://127.0.0.1:{ports()[service]}'


#: What the catalog says of each service: its type, and the path of its endpoint.
CATALOG = {
    'placement': ('placement', ''),
    'nova': ('compute', '/v2.1'),
    'glance': ('image', ''),
    'neutron': ('network', ''),
}
