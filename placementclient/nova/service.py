"""What the compute service of the catalog says of servers, and the identity one of projects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from placementclient.client import errors
from placementclient.client.http import USER_AGENT, Client, translated

#: From here on migrations have UUIDs, and are listed in pages.
_MICROVERSION = '2.59'
#: From here on flavors have their extra specs.
_EXTRA_SPECS = '2.61'
#: From here on server groups have rules.
_GROUP_RULES = '2.64'
#: How long an answer is waited for where nothing is said, in seconds.
TIMEOUT = 60.0
#: How many bytes a page may have, and how many pages a list; a page of Nova has 1,000 records.
LARGEST_PAGE = 1 << 28
MOST_PAGES = 10_000
#: What the ID of a project or a server may be made of.
_ID = re.compile(r'[\w-]+')
_COMPUTE = {'service_type': 'compute'}
_IDENTITY = {'service_type': 'identity', 'min_version': '3', 'max_version': '3.latest'}


class NoCompute(errors.PlacementError):
    """The session reaches no such service, or that does not answer as it should."""


class _Unknown(NoCompute):
    """The service does not know what it was asked for."""


def servers(client: Client) -> list[Any]:
    """All servers of all projects, as ``GET /servers/detail`` has them.

    Those too that are deleted but can be restored for a while: they keep what they hold.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/servers/detail?all_tenants=1&soft_deleted=1', 'servers')


def server(client: Client, uuid: str) -> list[Any]:
    """One server, as ``GET /servers/{uuid}`` has it; none if there is no such server.

    :raises NoCompute: if there is nobody to ask
    """
    if not _ID.fullmatch(uuid):
        return []
    try:
        return _pages(client, f'/servers/{uuid}', 'server')
    except _Unknown:
        return []


def migrations(client: Client) -> list[Any]:
    """All migrations, as ``GET /os-migrations`` has them; from compute API 2.59.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/os-migrations', 'migrations')


def aggregates(client: Client) -> list[Any]:
    """All host aggregates, as ``GET /os-aggregates`` has them.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/os-aggregates', 'aggregates')


def server_groups(client: Client) -> list[Any]:
    """All server groups of all projects, as ``GET /os-server-groups`` has them.

    :raises NoCompute: if there is nobody to ask
    """
    records: list[Any] = []
    # The only list without a link to its next page.
    for _ in range(MOST_PAGES):
        path = f'/os-server-groups?all_projects=True&offset={len(records)}'
        found = _pages(client, path, 'server_groups', _GROUP_RULES)
        if not found:
            return records
        if found == records[-len(found) :]:
            break
        records += found
    raise NoCompute('The list of server_groups does not end')


def compute_services(client: Client) -> list[Any]:
    """The nova-compute of all hosts, as ``GET /os-services`` has them.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/os-services?binary=nova-compute', 'services')


def flavors(client: Client) -> list[Any]:
    """All flavors, those of single projects too, as ``GET /flavors/detail`` has them.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/flavors/detail?is_public=None', 'flavors', _EXTRA_SPECS)


def quotas(client: Client, project_ids: Iterable[str]) -> list[Any]:
    """The quotas of some projects, as ``GET /os-quota-sets/{project}`` has them, one by one.

    A project that does not exist any more is passed over.

    :raises NoCompute: if there is nobody to ask
    """
    found: list[Any] = []
    unknown: _Unknown | None = None
    # What Placement has may be anything, and must not lead to another URL.
    for project_id in filter(_ID.fullmatch, project_ids):
        try:
            found += _pages(client, f'/os-quota-sets/{project_id}', 'quota_set')
        except _Unknown as reason:
            unknown = reason
    if unknown is not None and not found:
        raise unknown
    return found


def projects(client: Client) -> list[Any]:
    """All projects, as ``GET /v3/projects`` of the identity service has them.

    :raises NoCompute: if there is nobody to ask
    """
    return _pages(client, '/projects', 'projects', None)


def _pages(
    client: Client, path: str, key: str, microversion: str | None = _MICROVERSION
) -> list[Any]:
    """The records of all pages.

    :param microversion: of the compute service; ``None`` asks the identity service, which has none
    """
    if not hasattr(client.session.auth, 'get_access'):
        # Without Keystone there is no catalog: one URL stands for every service.
        who = 'Nova' if microversion else 'Keystone'
        raise NoCompute(f'{who} cannot be asked: the session has no catalog')
    records: list[Any] = []
    page, asked, last = path, set[str](), None
    while page not in asked and len(asked) < MOST_PAGES:
        asked.add(page)
        body = _page(client, page, microversion)
        try:
            found = [body[key]] if isinstance(body[key], dict) else body[key]
            records += found
            links = body.get(f'{key}_links', ())
            following = [link['href'] for link in links if link['rel'] == 'next']
            if not following:
                return records
            # No more of the link than its query: nobody else is sent the token.
            page = f'{urlsplit(path).path}?{urlsplit(following[0]).query}'
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoCompute(_other(microversion)) from None
        if not found or found == last:
            break
        last = found
    raise NoCompute(f'The list of {key} does not end: none of {len(asked)} pages is the last')


def _page(client: Client, page: str, microversion: str | None) -> Any:
    service = _COMPUTE if microversion else _IDENTITY
    try:
        with translated():
            response = client.session.get(
                page,
                endpoint_filter={**client.endpoint_filter, **service},
                microversion=microversion,
                microversion_service_type='compute' if microversion else None,
                user_agent=USER_AGENT,
                raise_exc=False,
                connect_retries=client.max_retries,
                status_code_retries=client.max_retries,
                retriable_status_codes=[429, 500, 502, 503, 504],
                timeout=client.timeout or TIMEOUT,
            )
    except errors.PlacementError as failure:
        raise NoCompute(str(failure)) from None
    if response.status_code != 200:
        refused = _Unknown if response.status_code in (400, 404) else NoCompute
        raise refused(f'{response.reason} (HTTP {response.status_code})')
    if len(response.content) > LARGEST_PAGE:
        raise NoCompute(f'An answer has more than {LARGEST_PAGE} bytes')
    try:
        return msgspec.json.decode(response.content)
    except (ValueError, RecursionError):
        raise NoCompute(_other(microversion)) from None


def _other(microversion: str | None) -> str:
    return f'What answers is not {"a compute" if microversion else "an identity"} service'
