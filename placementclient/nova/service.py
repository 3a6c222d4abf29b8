# SPDX-License-Identifier: Apache-2.0
"""Lists of the other services in the catalog."""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from placementclient.basis import strict_json
from placementclient.basis.errors import PlacementError
from placementclient.client import decoding, errors
from placementclient.client.http import USER_AGENT, Client
from placementclient.client.keystone import describe_caller, translate_failures
from placementclient.model.catalog import COMPUTE_SERVICE
from placementclient.model.servers import Server
from placementclient.nova import records as server_records
from placementclient.nova.paging import PagedReading, UnendingList
from placementclient.nova.schema import find_next_page

#: The default timeout for an answer, in seconds.
TIMEOUT = 60.0
#: The same for answers that are not worth a long wait: Nova may be down in a maintenance window.
WINDOW_TIMEOUT = 10.0
#: More volumes than these are asked for in one list.
_MANY = 100
#: The next step after a refusal, by its status.
_ADVICE = {401: f': {decoding.NOT_ACCEPTED}', 403: '; this needs the role admin'}
#: The ID of a project or a server.
_ID = re.compile(r'[\w-]+')


class _CatalogService(NamedTuple):
    """A service of Keystone's catalog, and the version of its API to ask.

    :param type: by which the catalog names it
    :param major: the version; empty where the catalog has just one
    :param microversion: the one that requests ask for; ``None``: none
    """

    name: str
    type: str
    major: str = ''
    microversion: str | None = None

    @property
    def endpoint_filter(self) -> dict[str, str]:
        """Return the conditions on the endpoint in the service catalog."""
        if not self.major:
            return {'service_type': self.type}
        versions = {'min_version': self.major, 'max_version': f'{self.major}.latest'}
        return {'service_type': self.type, **versions}


#: From 2.59 on migrations have UUIDs, and are listed in pages.
_NOVA = _CatalogService('Nova', 'compute', microversion='2.59')
_KEYSTONE = _CatalogService('Keystone', 'identity', '3')
# Any version will do: the fields that are read are the same in all.
_IRONIC = _CatalogService('Ironic', 'baremetal', '1', 'latest')
_NEUTRON = _CatalogService('Neutron', 'network', '2')
_GLANCE = _CatalogService('Glance', 'image', '2')
_CINDER = _CatalogService('Cinder', 'block-storage', '3')
_CYBORG = _CatalogService('Cyborg', 'accelerator', '2')


class ServiceError(PlacementError):
    """A service other than Placement is not in the catalog, does not answer, or refuses."""


class NoService(ServiceError):
    """The catalog does not have the service."""


class NoCatalog(NoService):
    """The session has no catalog, so it cannot reach another service."""


class ServiceRefusal(ServiceError):
    """The service refuses this request, or its answer cannot be used."""


class ServiceFailure(ServiceRefusal):
    """The service fails at this request, however often it is repeated."""


class UnfilteredList(ServiceRefusal):
    """Nova ignored the filters of a request from this caller: its list may have any servers."""


class ServiceSilence(ServiceError):
    """The service in the catalog does not answer."""


class _BadRequest(ServiceRefusal):
    """The service refuses a request as wrong (HTTP 400); the object may exist or not."""


class _UnknownObject(ServiceRefusal):
    """The service does not have the object."""


#: The statuses of answers after which a request is repeated.
_RETRIED = (429, 500, 502, 503, 504)
_REFUSALS = {400: _BadRequest, 404: _UnknownObject}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A request for a list of a service; call it to read the list."""

    path: str
    key: str
    service: _CatalogService = _NOVA

    def __call__(self, client: Client) -> list[object]:
        """Return the undecoded records of all pages."""
        return _read_pages(client, self.path, self.key, self.service)


#: With soft-deleted servers, which keep their allocations.
servers = ListRequest('/servers/detail?all_tenants=1&soft_deleted=1', 'servers')
#: At the newest microversion: with the zone that each has to stay in (2.96).
servers_with_zones = replace(servers, service=_NOVA._replace(microversion='latest'))
migrations = ListRequest('/os-migrations', 'migrations')
aggregates = ListRequest('/os-aggregates', 'aggregates')
#: The nova-compute of all hosts; from 2.69 on also the hosts of cells that do not answer.
compute_services = ListRequest(
    '/os-services?binary=nova-compute', 'services', _NOVA._replace(microversion='latest')
)
#: All compute nodes, as they are below compute API 2.88.
hypervisors = ListRequest('/os-hypervisors/detail', 'hypervisors')
#: With the flavors of single projects; from 2.61 on they have their extra specs.
flavors = ListRequest(
    '/flavors/detail?is_public=None', 'flavors', _NOVA._replace(microversion='2.61')
)
projects = ListRequest('/projects', 'projects', _KEYSTONE)
users = ListRequest('/users', 'users', _KEYSTONE)
#: The limits of all regions.
registered_limits = ListRequest('/registered_limits', 'registered_limits', _KEYSTONE)
nodes = ListRequest('/nodes/detail', 'nodes', _IRONIC)
ports = ListRequest(
    '/ports?fields=id&fields=device_id&fields=device_owner&fields=binding:host_id'
    '&fields=binding:profile&fields=resource_request',
    'ports',
    _NEUTRON,
)
agents = ListRequest('/agents', 'agents', _NEUTRON)
subnets = ListRequest('/subnets', 'subnets', _NEUTRON)
device_profiles = ListRequest('/device_profiles', 'device_profiles', _CYBORG)


def make_project_request(project_id: str) -> ListRequest:
    """Return the request for a list of one project: ``GET /v3/projects/{id}``."""
    return ListRequest(f'/projects/{quote(project_id, safe="")}', 'project', _KEYSTONE)


def make_ports_request(server_uuid: str) -> ListRequest:
    """Return the request for the list of the ports of a server: ``GET /v2.0/ports``."""
    return ListRequest(f'/ports?device_id={quote(server_uuid)}', 'ports', _NEUTRON)


def read_image(client: Client, uuid: str) -> object:
    """Return an image: ``GET /v2/images/{uuid}``."""
    return _read_page(client, f'/images/{quote(uuid)}', _GLANCE)


def read_images(client: Client, servers: Iterable[Server]) -> list[object]:
    """Return the images of servers that Glance has: ``GET /v2/images/{uuid}`` of each."""
    uuids = {server.image.id for server in servers if server.image and server.image.id}
    return _read_objects(client, [f'/images/{quote(uuid)}' for uuid in sorted(uuids)], _GLANCE)


def read_volumes(client: Client, servers: Iterable[Server]) -> list[object]:
    """Return the volumes of servers that boot from one: ``GET /v3/…/volumes/{uuid}`` of each.

    If there are many, the list of all volumes of the cloud is read and returned instead.
    """
    booted = [server for server in servers if server.boots_from_volume]
    uuids = {volume.id for server in booted for volume in server.volumes}
    if len(uuids) > _MANY:
        return _read_pages(client, '/volumes/detail?all_tenants=1', 'volumes', _CINDER)
    paths = [f'/volumes/{quote(uuid)}' for uuid in sorted(uuids)]
    return [body['volume'] for body in _read_objects(client, paths, _CINDER)]


def _read_objects(client: Client, paths: Iterable[str], service: _CatalogService) -> list[Any]:
    """Return the objects at some paths; those that the service does not have (404) are left out."""
    found = []
    for path in paths:
        with contextlib.suppress(_UnknownObject):
            found.append(_read_page(client, path, service))
    return found


def read_server(client: Client, uuid: str, *, is_whole: bool = False) -> list[Any]:
    """Return a list of one server: ``GET /servers/{uuid}``; an empty list if it does not exist.

    :param is_whole: ask at the newest microversion, for its zone, its hints and its image
    """
    if not _ID.fullmatch(uuid):
        return []
    try:
        latest = _NOVA._replace(microversion='latest')
        return _read_pages(client, f'/servers/{uuid}', 'server', latest if is_whole else _NOVA)
    except _UnknownObject:
        return []


def read_server_record(client: Client, uuid: str) -> Server | None:
    """Return the record of a server, also of a deleted one; ``None`` if Nova has none.

    Only a record of its deletion says that a server is gone: Nova answers 404 also for servers of
    other projects, cells and regions.

    :raises UnfilteredList: if Nova lists other servers than the one that was asked for
    """
    if not _ID.fullmatch(uuid):
        return None
    path = f'/servers/detail?all_tenants=1&deleted=True&uuid={uuid}'
    listed = server_records.decode_servers(_read_pages(client, path, 'servers'), COMPUTE_SERVICE)
    if listed.keys() - {uuid.lower()}:
        raise UnfilteredList(
            'Nova cannot be asked for deleted servers: its policy '
            'os_compute_api:servers:allow_all_filters does not let you filter'
        )
    alive = server_records.decode_servers(read_server(client, uuid), COMPUTE_SERVICE)
    if alive:
        # Nova shows no deleted server by its UUID: whatever this one is, it is not gone.
        found = alive.get(uuid.lower())
        if found is None or found.is_deleted:
            raise ServiceError(_describe_other_service(_NOVA))
        return found
    deleted = listed.get(uuid.lower())
    return deleted if deleted and deleted.is_deleted else None


def copy_for_one_try(client: Client) -> Client:
    """Return a copy of a client that sends a request once, and waits a few seconds."""
    impatient = client.copy_without_history()
    impatient.max_retries, impatient.timeout = 0, client.timeout or WINDOW_TIMEOUT
    return impatient


def has_nova(client: Client) -> bool:
    """Return whether there is a catalog, and it has Nova."""
    if not hasattr(client.session.auth, 'get_access'):
        return False
    with translate_failures(client.session):
        endpoint_filter = {**client.endpoint_filter, **_NOVA.endpoint_filter}
        return client.session.get_endpoint(**endpoint_filter) is not None


def read_server_groups(client: Client) -> list[object]:
    """Return the server groups of all projects: ``GET /os-server-groups``."""
    # From 2.64 on they have rules.
    rules = _NOVA._replace(microversion='2.64')
    records: list[object] = []
    # The only list without a link to its next page.
    reading = PagedReading(client.list_limit, client.list_timeout)
    while True:
        path = f'/os-server-groups?all_projects=True&offset={len(records)}'
        page = _read_pages(client, path, 'server_groups', rules, reading)
        if not page:
            return records
        if page == records[-len(page) :]:
            raise ServiceRefusal('The list of server_groups does not end: a page comes again')
        records += page


def read_quotas(client: Client, project_ids: Iterable[str]) -> list[object]:
    """Return the quotas of some projects that exist: ``GET /os-quota-sets/{project}`` of each."""
    records: list[object] = []
    unknown: ServiceRefusal | None = None
    # IDs in Placement may be any text, and must not lead to another URL.
    for project_id in filter(_ID.fullmatch, project_ids):
        try:
            records += _read_pages(client, f'/os-quota-sets/{project_id}', 'quota_set')
        except (_UnknownObject, _BadRequest) as reason:
            # Nova asks Keystone for the project, and answers 400 if that has none.
            unknown = reason
    if unknown is not None and not records:
        raise unknown
    return records


def _read_pages(
    client: Client,
    path: str,
    key: str,
    service: _CatalogService = _NOVA,
    reading: PagedReading | None = None,
) -> list[Any]:
    """Return the records of all pages of a list.

    :param reading: watches the pages of several lists; ``None``: only those of this one
    :raises ServiceRefusal: if the list does not end, or another service answers
    """
    records: list[Any] = []
    reading = reading or PagedReading(client.list_limit, client.list_timeout)
    page, last = path, None
    while True:
        try:
            reading.note_link(page)
            body = _read_page(client, page, service, reading)
        except UnendingList as reason:
            raise ServiceRefusal(f'The list of {key} {reason}') from None
        try:
            listed = [body[key]] if isinstance(body[key], dict) else body[key]
            records += listed
            following = find_next_page(body, key)
            if following is None:
                return records
            # No more of the link than its query: no other service is sent the token.
            page = f'{urlsplit(path).path}?{urlsplit(following).query}'
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ServiceRefusal(_describe_other_service(service)) from None
        if listed == last:
            raise ServiceRefusal(f'The list of {key} does not end: a page comes again')
        last = listed


def _read_page(
    client: Client, page: str, service: _CatalogService, reading: PagedReading | None = None
) -> Any:
    """Return the JSON of one page of a list.

    :param reading: counts the bytes of the page; ``None``: nothing does
    :raises ServiceError: if the service cannot be asked, or refuses
    """
    if not hasattr(client.session.auth, 'get_access'):
        # Without Keystone there is no catalog: all services would have one URL.
        raise NoCatalog(
            f'{service.name} cannot be asked: there is no service catalog '
            '(auth type none or placement_direct)'
        )
    try:
        with translate_failures(client.session):
            response = client.session.get(
                page,
                endpoint_filter={**client.endpoint_filter, **service.endpoint_filter},
                microversion=service.microversion,
                microversion_service_type=service.type if service.microversion else None,
                user_agent=USER_AGENT,
                raise_exc=False,
                connect_retries=client.max_retries,
                status_code_retries=client.max_retries,
                retriable_status_codes=list(_RETRIED),
                timeout=client.timeout or TIMEOUT,
            )
    except errors.NoEndpoint:
        raise NoService(f'The service catalog has no {service.name} that answers') from None
    except errors.NoAnswer as failure:
        raise ServiceSilence(f'{service.name} cannot be asked: {failure}') from None
    except PlacementError as failure:
        raise ServiceError(f'{service.name} cannot be asked: {failure}') from None
    if response.status_code != 200:
        raise _make_refusal(client, service, response.status_code, response.reason)
    if reading is not None:
        reading.count_page(response.content)
    try:
        return strict_json.decode_json(response.content)
    except strict_json.InvalidJSON as fault:
        raise ServiceRefusal(f'{_describe_other_service(service)}: {fault}') from None


def _make_refusal(
    client: Client, service: _CatalogService, status: int, reason: str
) -> ServiceRefusal:
    """Return the error for an answer with another status than 200, with the next step."""
    advice = _ADVICE.get(status, '')
    if status == 403 and (who := describe_caller(client.session)):
        advice += f', and you are {who}'
    refused = _REFUSALS.get(status, ServiceFailure if status in _RETRIED else ServiceRefusal)
    return refused(f'{service.name} refuses: {reason} (HTTP {status}){advice}')


def _describe_other_service(service: _CatalogService) -> str:
    """Return the message that another service answers in the place of this one."""
    return f'{service.name} cannot be asked: another service answers'
