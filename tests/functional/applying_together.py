"""Applies a plan in two processes, to be killed: ``applying_together.py DATABASE PLAN``."""

from __future__ import annotations

import sys

from keystoneauth1.session import Session

from placementclient import files
from placementclient.direct import Direct
from placementclient.http import Client
from placementclient.microversion import HIGHEST
from placementclient.reshape import executor, multiprocess


def client_of(database: str) -> Client:
    """A client of the embedded service, on SQLite too, where the processes wait for each other."""
    multiprocess.check = lambda _: None
    return Client(Session(auth=Direct(database)), HIGHEST)


if __name__ == '__main__':
    database_url, path = sys.argv[1:]
    outcome = executor.apply(
        client_of(database_url), files.read_plan(path), f'{path}.journal', processes=2
    )
    sys.exit(outcome.exit_status)
