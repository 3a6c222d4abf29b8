# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova, Glance and Placement, and waiting for what they do."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keystoneauth1.exceptions.http import HttpError, NotFound
from keystoneauth1.session import Session

from tests.cloud import accounts, control

#: How long Nova may take for one thing with a server, in seconds.
TIMEOUT = 240
#: The seconds between two looks into a database.
PAUSE = 0.05


class Compute:
    """An administrator at Nova."""

    def __init__(self, session: Session | None = None) -> None:
        self.session = session or accounts.session(project='demo')
        self._images: dict[str, str] = {}

    def call(self, method: str, path: str, body: object = None, *, service: str = 'compute') -> Any:
        """Send a request; the body of the answer."""
        version = {'compute': 'compute 2.100', 'placement': 'placement 1.39'}.get(service)
        try:
            answer = self.session.request(
                path,
                method,
                json=body,
                headers={'OpenStack-API-Version': version} if version else {},
                endpoint_filter={'service_type': service},
                # The tests that run beside these start Nova again.
                connect_retries=5,
            )
        except HttpError as refusal:
            refusal.add_note(refusal.response.text if refusal.response is not None else '')
            raise
        return answer.json() if answer.content else {}

    def discard(self, path: str, *, service: str = 'compute') -> None:
        """Delete a thing that may be gone already."""
        with contextlib.suppress(NotFound):
            self.call('DELETE', path, service=service)

    def make_aggregate(
        self, name: str, *hosts: str, zone: str | None = None, **properties: str
    ) -> dict[str, Any]:
        for aggregate in self.call('GET', '/os-aggregates')['aggregates']:
            if aggregate['name'] == name:
                self.remove_aggregate(aggregate['id'])
        body = {'aggregate': {'name': name, 'availability_zone': zone}}
        aggregate = self.call('POST', '/os-aggregates', body)['aggregate']
        path = f'/os-aggregates/{aggregate["id"]}/action'
        for host in hosts:
            self.call('POST', path, {'add_host': {'host': host}})
        if properties:
            self.call('POST', path, {'set_metadata': {'metadata': properties}})
        return dict(aggregate)

    def remove_aggregate(self, aggregate: int) -> None:
        path = f'/os-aggregates/{aggregate}'
        for host in self.call('GET', path)['aggregate']['hosts']:
            self.call('POST', f'{path}/action', {'remove_host': {'host': host}})
        self.call('DELETE', path)

    def make_image(self, name: str, properties: Mapping[str, str] = {}) -> str:
        """Return the ID of an image of a few bytes."""
        if name not in self._images:
            self._images[name] = self._make_image(name, properties)
        return self._images[name]

    def _make_image(self, name: str, properties: Mapping[str, str]) -> str:
        images = self.call('GET', f'/v2/images?name={name}', service='image')['images']
        if images:
            return str(images[0]['id'])
        values = {
            'name': name,
            'disk_format': 'raw',
            'container_format': 'bare',
            'visibility': 'public',
            **properties,
        }
        image = self.call('POST', '/v2/images', values, service='image')['id']
        self.session.put(
            f'/v2/images/{image}/file',
            data=b'\0' * 512,
            headers={'Content-Type': 'application/octet-stream'},
            endpoint_filter={'service_type': 'image'},
        )
        return str(image)

    def make_flavor(
        self,
        name: str,
        vcpus: int,
        ram: int,
        disk: int,
        specs: Mapping[str, str] = {},
        *,
        ephemeral: int = 0,
        swap: int = 0,
    ) -> str:
        """Return the ID of a flavor, which is its name; memory and swap in MiB, disks in GiB."""
        values = {'name': name, 'vcpus': vcpus, 'ram': ram, 'disk': disk, 'swap': swap}
        values['OS-FLV-EXT-DATA:ephemeral'] = ephemeral
        with contextlib.suppress(NotFound):
            flavor = self.call('GET', f'/flavors/{name}')['flavor']
            if flavor['extra_specs'] == specs and flavor.items() >= values.items():
                return name
            self.call('DELETE', f'/flavors/{name}')
        self.call('POST', '/flavors', {'flavor': {**values, 'id': name}})
        if specs:
            self.call('POST', f'/flavors/{name}/os-extra_specs', {'extra_specs': dict(specs)})
        return name

    def mapped_hosts(self) -> set[str]:
        """Return the hosts that the scheduler knows."""
        hypervisors = self.call('GET', '/os-hypervisors')['hypervisors']
        return {host['hypervisor_hostname'] for host in hypervisors if host['state'] == 'up'}

    def node(self, host: str) -> str | None:
        """Return the UUID of the node of a host, which its provider has too."""
        nodes = self.call('GET', '/os-hypervisors')['hypervisors']
        return next((str(n['id']) for n in nodes if n['hypervisor_hostname'] == host), None)

    def create(
        self, name: str, flavor: str = 'small', hints: Mapping[str, Any] = {}, **more: Any
    ) -> str:
        """Start a server, and return its UUID without waiting.

        :param hints: for the scheduler
        """
        image = self.make_image('cirros')
        server = {'name': name, 'flavorRef': flavor, 'imageRef': image, 'networks': 'none', **more}
        body = {'server': server, 'os:scheduler_hints': hints}
        return str(self.call('POST', '/servers', body)['server']['id'])

    def boot(self, name: str, flavor: str = 'small', **more: Any) -> str:
        """Start a server, and return its UUID once it is active."""
        (uuid,) = self.boot_all({'name': name, 'flavor': flavor, **more})
        return uuid

    def boot_all(self, *servers: Mapping[str, Any], **common: Any) -> list[str]:
        """Start servers at the same time, and return their UUIDs once all are active.

        :param each: the arguments of :meth:`create` for each of them
        """
        uuids = [self.create(**{**common, **one}) for one in servers]
        for uuid in uuids:
            self.wait(uuid, 'ACTIVE')
        return uuids

    def server(self, uuid: str) -> dict[str, Any]:
        return dict(self.call('GET', f'/servers/{uuid}')['server'])

    def servers(self) -> list[dict[str, Any]]:
        return list(self.call('GET', '/servers/detail?all_tenants=1')['servers'])

    def act(self, uuid: str, action: str, argument: Any = None, state: str = '') -> None:
        """Do something with a server, and wait for a state."""
        self.call('POST', f'/servers/{uuid}/action', {action: argument})
        if state:
            self.wait(uuid, state)

    def wait(self, uuid: str, *states: str) -> dict[str, Any]:
        """Wait until a server is in one of some states, and nothing is done with it."""
        server: dict[str, Any] = {}
        seen: object = None

        def is_reached() -> bool:
            nonlocal seen
            records = _records(uuid)
            is_busy = any(task for _, task, *_ in records)
            # Nova has no news of a server whose record has not changed.
            if is_busy or records == seen:
                return False
            seen = records
            server.update(self.server(uuid))
            task = server['OS-EXT-STS:task_state']
            if server['status'] == 'ERROR' and 'ERROR' not in states:
                raise AssertionError(f'server {server["name"]}: {server.get("fault")}')
            return server['status'] in states and task is None

        until(is_reached, f'{uuid} is not {states}', pause=PAUSE)
        return server

    def delete(self, *uuids: str) -> None:
        """Delete servers, and wait until they are gone."""
        for uuid in uuids:
            self.discard(f'/servers/{uuid}')
        gone = set(uuids)
        until(lambda: not any(map(_records, uuids)), f'{gone} stay', pause=PAUSE)
        until(lambda: not gone & {server['id'] for server in self.servers()}, f'{gone} stay')

    def host(self, uuid: str) -> str:
        return str(self.server(uuid)['OS-EXT-SRV-ATTR:host'])

    def services(self, query: str = '') -> list[dict[str, Any]]:
        return list(self.call('GET', f'/os-services?binary=nova-compute{query}')['services'])

    def service(self, host: str) -> dict[str, Any] | None:
        return next(iter(self.services(f'&host={host}')), None)

    def update_service(self, host: str, **values: Any) -> None:
        """Change the service of a host: ``forced_down``, ``status``."""
        (service,) = self.services(f'&host={host}')
        self.call('PUT', f'/os-services/{service["id"]}', values)

    def allocations(self, consumer: str) -> dict[str, dict[str, int]]:
        """Return what a consumer has by the UUID of the provider."""
        body = self.call('GET', f'/allocations/{consumer}', service='placement')
        return {uuid: provider['resources'] for uuid, provider in body['allocations'].items()}

    def consumers(self) -> set[str]:
        paths = (f'/resource_providers/{p["uuid"]}/allocations' for p in self.providers())
        bodies = [self.call('GET', path, service='placement') for path in paths]
        return {consumer for body in bodies for consumer in body['allocations']}

    def provider(self, name: str) -> str | None:
        return next((str(p['uuid']) for p in self.providers() if p['name'] == name), None)

    def providers(self, query: str = '') -> list[dict[str, Any]]:
        body = self.call('GET', f'/resource_providers{query}', service='placement')
        return list(body['resource_providers'])

    def migrations(self, **query: str) -> Sequence[dict[str, Any]]:
        parameters = '&'.join(f'{key}={value}' for key, value in query.items())
        return list(self.call('GET', f'/os-migrations?{parameters}')['migrations'])


def _records(server: str) -> list[tuple[object, ...]]:
    """Return the records of a server in the databases of Nova."""
    found = 'SELECT vm_state, task_state, host, updated_at FROM {}.instances'
    found += ' WHERE uuid = %s AND deleted = 0'
    requests = "SELECT 'building', 'scheduling' FROM nova_api.build_requests"
    requests += ' WHERE instance_uuid = %s'
    statements = (found.format('nova'), found.format('nova_cell0'), requests)
    return [row for statement in statements for row in control.rows(statement, server)]


def until(
    is_reached: Callable[[], object], failure: str, seconds: float = TIMEOUT, pause: float = 0.2
) -> None:
    """Wait until something is true, or fail.

    :param pause: the first seconds between two questions: to ask Nova costs as much as the things
        that are waited for
    """
    began = time.monotonic()
    while not is_reached():
        passed = time.monotonic() - began
        assert passed < seconds, f'{failure} after {seconds} s'
        time.sleep(min(1, max(pause, passed / 10)))
