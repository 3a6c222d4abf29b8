"""Servers and migrations, asked of the compute service that the session's catalog names."""

from __future__ import annotations

from typing import Any

from placementclient import errors
from placementclient.http import USER_AGENT, Client

#: From here on migrations have UUIDs, and are listed in pages.
_MICROVERSION = '2.59'


class NoCompute(errors.PlacementError):
    """The session reaches no compute service, or that does not answer as it should."""


def servers(client: Client) -> list[Any]:
    """All servers of all projects, as ``GET /servers/detail`` has them.

    Those too that are deleted but can be restored for a while: they keep what they hold.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/servers/detail?all_tenants=1&soft_deleted=1', 'servers')


def migrations(client: Client) -> list[Any]:
    """All migrations, as ``GET /os-migrations`` has them; from compute API 2.59.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/os-migrations', 'migrations')


def _pages(client: Client, path: str, key: str) -> list[Any]:
    from keystoneauth1 import exceptions

    if not hasattr(client.session.auth, 'get_access'):
        # Without Keystone there is no catalog: one URL stands for every service.
        raise NoCompute('The session has no catalog')
    where = {**client.endpoint_filter, 'service_type': 'compute'}
    records: list[Any] = []
    page: str | None = path
    try:
        while page:
            body = client.session.get(
                page,
                endpoint_filter=where if page is path else None,
                microversion=_MICROVERSION,
                microversion_service_type='compute',
                user_agent=USER_AGENT,
            ).json()
            records += body[key]
            links = body.get(f'{key}_links', ())
            page = next((link['href'] for link in links if link['rel'] == 'next'), None)
    except exceptions.ClientException as refusal:
        raise NoCompute(str(refusal)) from None
    except (KeyError, TypeError, ValueError):
        raise NoCompute('What answers is not a compute service') from None
    return records
