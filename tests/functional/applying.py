# SPDX-License-Identifier: Apache-2.0
"""Applies a plan, to be killed: ``applying.py URL PLAN TREE``."""

import sys

from keystoneauth1 import noauth
from keystoneauth1.session import Session

from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.runs import engines, storage


def client_of(url):
    """A client of a service that trusts everybody."""
    return Client(Session(auth=noauth.NoAuth(endpoint=url)), HIGHEST)


if __name__ == '__main__':
    service_url, path, tree = sys.argv[1:]
    outcome = engines.apply(
        client_of(service_url), storage.read_plan(path), f'{path}.journal', trees=[tree]
    )
    sys.exit(outcome.exit_status)
