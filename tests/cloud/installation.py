# SPDX-License-Identifier: Apache-2.0
"""Debian's packages and the virtual environment with the services."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cloud import layout

PACKAGES = (
    'nova==34.0.0',
    'keystone==30.0.0',
    'openstack-placement==16.0.0',
    'glance==33.0.0',
    'python-novaclient',
    'SQLAlchemy<2.1',
    'PyMySQL',
    'waitress',
)
#: A program of each package of Debian, and the package.
PROGRAMS = {
    '/usr/sbin/mariadbd': 'mariadb-server',
    '/usr/lib/rabbitmq/bin/rabbitmq-server': 'rabbitmq-server',
}


class NotInstallable(Exception):
    """The packages are not to be had here."""


def install():
    """Install what is missing.

    :raises NotInstallable: if something cannot be installed
    """
    _debian()
    _environment()


def _debian():
    lacking = [package for program, package in PROGRAMS.items() if not Path(program).exists()]
    if not lacking:
        return
    if os.geteuid():
        raise NotInstallable(f'install {" and ".join(lacking)} as root')
    # A package that starts its own server has no say here: the cloud starts servers of its own.
    variables = {**os.environ, 'DEBIAN_FRONTEND': 'noninteractive', 'RUNLEVEL': '1'}
    _run(['apt-get', 'update', '-q'], variables)
    _run(['apt-get', 'install', '-y', '-q', '--no-install-recommends', *lacking], variables)


def _environment():
    home, mark = layout.environment(), layout.environment() / 'installed'
    required = '\n'.join(PACKAGES)
    if not mark.exists() or mark.read_text() != required:
        shutil.rmtree(home, ignore_errors=True)
        home.parent.mkdir(parents=True, exist_ok=True)
        uv, python = [sys.executable, '-m', 'uv'], layout.program('python')
        _run([*uv, 'venv', '--quiet', '--python', sys.executable, str(home)])
        _run([*uv, 'pip', 'install', '--quiet', '--python', python, *PACKAGES])
        mark.write_text(required)
    # Nova takes drivers of its own package only.
    driver = Path(__file__).with_name('inside') / 'driver.py'
    shutil.copy(driver, layout.site_packages() / 'nova/virt/placementclient_driver.py')


def _run(command, environment=None):
    done = subprocess.run(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise NotInstallable(f'{" ".join(command)}:\n{done.stdout[-2000:]}')
