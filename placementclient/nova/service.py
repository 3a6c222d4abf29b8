"""Lists of the other services in the catalog."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from placementclient.client import errors, refusals, strict_json
from placementclient.client.http import USER_AGENT, Client
from placementclient.client.keystone import caller, translated

#: From here on migrations have UUIDs, and are listed in pages.
_MICROVERSION = '2.59'
#: From here on flavors have their extra specs.
_EXTRA_SPECS = '2.61'
#: From here on server groups have rules.
_GROUP_RULES = '2.64'
#: How long an answer is waited for where nothing is said, in seconds.
TIMEOUT = 60.0
#: How many pages a list may have; a page of Nova has 1,000 records.
MOST_PAGES = 10_000
#: What to do about a refusal.
_ADVICE = {
    401: f': {refusals.NOT_ACCEPTED}',
    403: '; this needs the role admin',
}
#: What the ID of a project or a server may be made of.
_ID = re.compile(r'[\w-]+')


class _CatalogService(NamedTuple):
    """A service of the catalog.

    :param name: its name, as people say it
    :param kind: what it is, with an article
    :param type: its type in the catalog
    :param major: the version of its API; empty where the catalog names that
    :param microversion: empty where it has none
    """

    name: str
    kind: str
    type: str
    major: str = ''
    microversion: str = ''

    @property
    def endpoint_filter(self) -> dict[str, str]:
        if not self.major:
            return {'service_type': self.type}
        versions = {'min_version': self.major, 'max_version': f'{self.major}.latest'}
        return {'service_type': self.type, **versions}


_NOVA = _CatalogService('Nova', 'a compute', 'compute', microversion=_MICROVERSION)
_KEYSTONE = _CatalogService('Keystone', 'an identity', 'identity', '3')
# Which release has retired nodes is not asked for: what is read is the same in all of them.
_IRONIC = _CatalogService('Ironic', 'a bare metal', 'baremetal', '1', 'latest')
_NEUTRON = _CatalogService('Neutron', 'a network', 'network', '2')
_GLANCE = _CatalogService('Glance', 'an image', 'image', '2')
_CYBORG = _CatalogService('Cyborg', 'an accelerator', 'accelerator', '2')
#: What is read of a port.
_OF_PORT = (
    'id', 'device_id', 'device_owner', 'binding:host_id', 'binding:profile', 'resource_request'
)  # fmt: skip


class NoCompute(errors.PlacementError):
    """The session reaches no such service, or the service does not answer correctly."""


class NoCatalog(NoCompute):
    """The session has no catalog, so it cannot reach another service."""


class ServiceRefusal(NoCompute):
    """The service refuses this request."""


class ServiceSilence(NoCompute):
    """The service in the catalog does not answer."""


class _Unknown(ServiceRefusal):
    """The service does not know what it was asked for."""


@dataclass(frozen=True, slots=True)
class ServiceList:
    """A list of a service, read when it is called."""

    path: str
    key: str
    service: _CatalogService = _NOVA

    def __call__(self, client: Client) -> list[Any]:
        """Return the records of all pages, as the service has them.

        :raises NoCompute: if the session has no catalog
        """
        return _pages(client, self.path, self.key, self.service)


#: Those too that are deleted but can be restored for a while: they keep what they hold.
servers = ServiceList('/servers/detail?all_tenants=1&soft_deleted=1', 'servers')
#: From compute API 2.59.
migrations = ServiceList('/os-migrations', 'migrations')
aggregates = ServiceList('/os-aggregates', 'aggregates')
#: The nova-compute of all hosts.
compute_services = ServiceList('/os-services?binary=nova-compute', 'services')
#: All compute nodes, as they are below compute API 2.88.
hypervisors = ServiceList('/os-hypervisors/detail', 'hypervisors')
#: Those of single projects too.
flavors = ServiceList(
    '/flavors/detail?is_public=None', 'flavors', _NOVA._replace(microversion=_EXTRA_SPECS)
)
projects = ServiceList('/projects', 'projects', _KEYSTONE)
#: The limits of all regions.
registered_limits = ServiceList('/registered_limits', 'registered_limits', _KEYSTONE)
nodes = ServiceList('/nodes/detail', 'nodes', _IRONIC)
ports = ServiceList(f'/ports?{"&".join(f"fields={name}" for name in _OF_PORT)}', 'ports', _NEUTRON)


agents = ServiceList('/agents', 'agents', _NEUTRON)
subnets = ServiceList('/subnets', 'subnets', _NEUTRON)
device_profiles = ServiceList('/device_profiles', 'device_profiles', _CYBORG)


def ports_of(server_uuid: str) -> ServiceList:
    """Return the ports of a server."""
    return ServiceList(f'/ports?device_id={quote(server_uuid)}', 'ports', _NEUTRON)


def image(client: Client, uuid: str) -> Any:
    """Return an image: ``GET /v2/images/{uuid}``.

    :raises NoCompute: if the session has no catalog, or there is no such image
    """
    _need_catalog(client, _GLANCE)
    return _page(client, f'/images/{quote(uuid)}', _GLANCE)


def server(client: Client, uuid: str, *, is_whole: bool = False) -> list[Any]:
    """Return a server: ``GET /servers/{uuid}``; ``None`` if it does not exist.

    :param is_whole: at the newest microversion of the service

    :raises NoCompute: if the session has no catalog
    """
    if not _ID.fullmatch(uuid):
        return []
    try:
        # The newest has what the server was asked for: its zone, its hints and its image.
        latest = _NOVA._replace(microversion='latest')
        return _pages(client, f'/servers/{uuid}', 'server', latest if is_whole else _NOVA)
    except _Unknown:
        return []


def server_groups(client: Client) -> list[Any]:
    """Return the server groups of all projects: ``GET /os-server-groups``.

    :raises NoCompute: if the session has no catalog
    """
    records: list[Any] = []
    # The only list without a link to its next page.
    for _ in range(MOST_PAGES):
        path = f'/os-server-groups?all_projects=True&offset={len(records)}'
        rules = _NOVA._replace(microversion=_GROUP_RULES)
        found = _pages(client, path, 'server_groups', rules)
        if not found:
            return records
        if found == records[-len(found) :]:
            break
        records += found
    raise NoCompute('The list of server_groups does not end')


def quotas(client: Client, project_ids: Iterable[str]) -> list[Any]:
    """Return the quotas of some projects, one by one: ``GET /os-quota-sets/{project}``.

    A project that does not exist any more is passed over.

    :raises NoCompute: if the session has no catalog
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


def _pages(client: Client, path: str, key: str, service: _CatalogService = _NOVA) -> list[Any]:
    _need_catalog(client, service)
    records: list[Any] = []
    page, asked, last = path, set[str](), None
    while page not in asked and len(asked) < MOST_PAGES:
        asked.add(page)
        body = _page(client, page, service)
        try:
            found = [body[key]] if isinstance(body[key], dict) else body[key]
            records += found
            following = _following(body, key)
            if following is None:
                return records
            # No more of the link than its query: no other service is sent the token.
            page = f'{urlsplit(path).path}?{urlsplit(following).query}'
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoCompute(_other(service)) from None
        if not found or found == last:
            break
        last = found
    raise NoCompute(f'The list of {key} does not end: none of {len(asked)} pages is the last')


def _need_catalog(client: Client, service: _CatalogService) -> None:
    if not hasattr(client.session.auth, 'get_access'):
        # Without Keystone there is no catalog: one URL stands for every service.
        raise NoCatalog(
            f'{service.name} cannot be asked: there is no service catalog '
            '(auth type none or placement_direct)'
        )


def _following(body: Any, key: str) -> str | None:
    """The link to the next page, as Nova and Neutron, Keystone, or Ironic write it."""
    for link in body.get(f'{key}_links', ()):
        if link['rel'] == 'next':
            return str(link['href'])
    following = body.get('links', {}).get('next') or body.get('next')
    return str(following) if following else None


def _page(client: Client, page: str, service: _CatalogService) -> Any:
    try:
        with translated(client.session):
            response = client.session.get(
                page,
                endpoint_filter={**client.endpoint_filter, **service.endpoint_filter},
                microversion=service.microversion or None,
                microversion_service_type=service.type if service.microversion else None,
                user_agent=USER_AGENT,
                raise_exc=False,
                connect_retries=client.max_retries,
                status_code_retries=client.max_retries,
                retriable_status_codes=[429, 500, 502, 503, 504],
                timeout=client.timeout or TIMEOUT,
            )
    except errors.NoEndpoint:
        raise NoCompute(f'The service catalog has no {service.name} that answers') from None
    except errors.NoAnswer as failure:
        raise ServiceSilence(f'{service.name} cannot be asked: {failure}') from None
    except errors.PlacementError as failure:
        raise NoCompute(f'{service.name} cannot be asked: {failure}') from None
    if response.status_code != 200:
        refused = _Unknown if response.status_code in (400, 404) else ServiceRefusal
        advice = _ADVICE.get(response.status_code, '')
        if response.status_code == 403 and (who := caller(client.session)):
            advice += f', and you are {who}'
        answer = f'{response.reason} (HTTP {response.status_code})'
        raise refused(f'{service.name} refuses: {answer}{advice}')
    try:
        return strict_json.decoded(response.content)
    except strict_json.InvalidJSON as fault:
        raise NoCompute(f'{_other(service)}: {fault}') from None


def _other(service: _CatalogService) -> str:
    return f'The service that answers is not {service.kind} service'
