# SPDX-License-Identifier: Apache-2.0
"""Clients of a service at a URL."""

from keystoneauth1 import noauth
from keystoneauth1.session import Session

from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST


def client_of(url):
    """A client of a service that trusts everybody."""
    return Client(Session(auth=noauth.NoAuth(endpoint=url)), HIGHEST)
