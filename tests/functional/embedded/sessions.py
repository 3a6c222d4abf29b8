# SPDX-License-Identifier: Apache-2.0
"""Sessions with the service in this process, and programs that have one of their own."""

import sqlite3
import subprocess
import sys
import textwrap
import weakref
from typing import Any

from keystoneauth1 import adapter, session

#: References to the services that are open: a process runs one at a time.
OPEN: list[Any] = []


def connect(auth):
    """Return a client of one service, and close the others."""
    while OPEN:
        if service := OPEN.pop()():
            service.close()
    OPEN.append(weakref.ref(auth))
    return client(auth)


def client(auth):
    options = {'default_microversion': '1.39', 'raise_exc': False}
    return adapter.Adapter(session.Session(auth=auth), service_type='placement', **options)


def create(service, *names):
    for name in names:
        answer = service.post('/resource_providers', json={'name': name})
        assert answer.status_code == 200, answer.text


def names(service):
    answer = service.get('/resource_providers')
    assert answer.status_code == 200, answer.text
    return {provider['name'] for provider in answer.json()['resource_providers']}


def execute(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def run(program, *argv):
    """Run a program in Python; return what it prints."""
    words = [sys.executable, '-c', textwrap.dedent(program), *map(str, argv)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


#: The server's configuration with the database that a program is given.
CONFIGURED = """
    import sys
    from oslo_config import cfg
    from placement import conf, db_api
    config = cfg.ConfigOpts()
    conf.register_opts(config)
    config.set_override('connection', f'sqlite:///{sys.argv[1]}', 'placement_database')
    config([], default_config_files=[])
    db_api.configure(config)
"""
#: A session that asks the embedded service for its providers.
ASKING = """
    import logging, sys
    from keystoneauth1 import session
    from placementclient import embedded as direct
    from placementclient.basis import errors
    def ask(auth):
        filter = {'service_type': 'placement'}
        return session.Session(auth=auth).get('/resource_providers', endpoint_filter=filter)
"""
