# SPDX-License-Identifier: Apache-2.0
"""A real Placement service over HTTP, without Keystone: ``service.py PORT SQLITE_FILE``."""

import sys
import threading
from pathlib import Path

import waitress
from oslo_config import cfg
from placement import conf, db_api, deploy
from placement.db.sqlalchemy import migration


def application(database):
    """The service on a database, which is created; whoever asks is admin and service."""
    file = database.with_suffix('.conf')
    file.write_text(
        f'[placement_database]\nconnection = sqlite:///{database}\n[api]\nauth_strategy = noauth2\n'
    )
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options([], default_config_files=[str(file)], default_config_dirs=[])
    db_api.configure(options)
    migration.upgrade('head')
    service = deploy.loadapp(options)
    # SQLite refuses one of two transactions that read first and then both write.
    writing = threading.Lock()

    def trusting(environ, start_response):
        # A token such as ``secret:admin`` has roles of its own.
        _, _, roles = environ.get('HTTP_X_AUTH_TOKEN', '').partition(':')
        # Older releases take the roles from the token alone.
        environ['HTTP_X_AUTH_TOKEN'] = 'admin'
        environ.setdefault('HTTP_X_ROLES', roles or 'admin,service')
        if environ['REQUEST_METHOD'] == 'GET':
            return service(environ, start_response)
        with writing:
            return service(environ, start_response)

    return trusting


if __name__ == '__main__':
    port, path = sys.argv[1:]
    waitress.serve(application(Path(path)), host='127.0.0.1', port=int(port), threads=8)
