# SPDX-License-Identifier: Apache-2.0
"""Accounts, the catalog, an image, flavors: what an administrator makes in an empty cloud."""

import contextlib

from keystoneauth1.exceptions.http import Conflict
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.cloud import layout

INTERFACES = ('public', 'internal', 'admin')
#: The accounts of people, each with one role in the project ``demo``.
PEOPLE = {
    'alice': 'member',
    'rita': 'reader',
    'amos': 'admin',
    'sam': 'service',
    'metra': 'admin',
}
#: vCPUs, MiB of memory, GiB of disk.
FLAVORS = {'small': (1, 512, 1), 'medium': (2, 1024, 2), 'large': (4, 4096, 10)}


class RegionSession(Session):
    """A session that asks the services of the region where everything is."""

    def request(self, url, method, **options):
        if 'endpoint_filter' in options:
            options['endpoint_filter'] = {
                'region_name': layout.REGION,
                **options['endpoint_filter'],
            }
        return super().request(url, method, **options)


def session(user='admin', project='admin', keystone='keystone', **scope):
    """A session of an account, whose password is that of all."""
    if project is not None:
        scope |= {'project_name': project, 'project_domain_name': 'Default'}
    auth = v3.Password(
        layout.url(keystone) + '/v3',
        username=user,
        password=layout.PASSWORD,
        user_domain_name='Default',
        **scope,
    )
    return RegionSession(auth=auth)


class Identity:
    """Makes things of Keystone that are not there yet."""

    def __init__(self):
        self._session = session()

    def make(self, kind, name, **values):
        """Return the ID of a thing of a kind: ``users``, ``projects``, ``services``, ..."""
        records = self._call('GET', f'/{kind}?name={name}')[kind]
        if records:
            return str(records[0]['id'])
        one = kind.rstrip('s')
        return str(self._call('POST', f'/{kind}', {one: {'name': name, **values}})[one]['id'])

    def user(self, name, project, *roles):
        """Return the ID of a user, who has roles in a project."""
        user = self.make('users', name, password=layout.PASSWORD, domain_id='default')
        owner = self.make('projects', project, domain_id='default')
        for role in roles:
            path = f'/projects/{owner}/users/{user}/roles/{self.make("roles", role)}'
            self._call('PUT', path)
        return user

    def renew_role(self, user, project, role):
        """Take a role from a user and give it back, which revokes the tokens of the user."""
        owner, who = self.make('projects', project), self.make('users', user)
        path = f'/projects/{owner}/users/{who}/roles/{self.make("roles", role)}'
        self._call('DELETE', path)
        self._call('PUT', path)

    def endpoint(self, service, interface, region, url):
        query = f'/endpoints?service_id={service}&interface={interface}&region_id={region}'
        if not self._call('GET', query)['endpoints']:
            values = {'service_id': service, 'interface': interface, 'region_id': region}
            self._call('POST', '/endpoints', {'endpoint': {**values, 'url': url}})

    def endpoints(self, service):
        owner = self.make('services', service)
        records = self._call('GET', f'/endpoints?service_id={owner}')['endpoints']
        return [str(endpoint['id']) for endpoint in records]

    def limit_catalog(self, project, service):
        """Let the catalog of a project have the endpoints of one service alone."""
        owner = self.make('projects', project, domain_id='default')
        for endpoint in self.endpoints(service):
            self._call('PUT', f'/OS-EP-FILTER/projects/{owner}/endpoints/{endpoint}')

    def region(self, region):
        with contextlib.suppress(Conflict):
            self._call('POST', '/regions', {'region': {'id': region}})

    def _call(self, method, path, body=None):
        answer = self._session.request(
            path, method, json=body, endpoint_filter={'service_type': 'identity'}
        )
        return answer.json() if answer.content else {}


def create():
    identity = Identity()
    for name, (kind, path) in layout.CATALOG.items():
        identity.user(name, 'service', 'admin', 'service')
        service = identity.make('services', name, type=kind)
        for interface in INTERFACES:
            identity.endpoint(service, interface, layout.REGION, layout.url(name) + path)
    identity.region(layout.DOWN_REGION)
    placement = identity.make('services', 'placement')
    identity.endpoint(placement, 'public', layout.DOWN_REGION, layout.DOWN_URL)
    identity.region(layout.SHORT_REGION)
    for name, kind, path in layout.SHORT_CATALOG:
        service, url = identity.make('services', name, type=kind), layout.url(name + layout.SHORT)
        for interface in ('public', 'internal'):
            identity.endpoint(service, interface, layout.SHORT_REGION, url + path)
    identity.limit_catalog('bare', 'keystone')
    identity.user('amos', 'bare', 'admin')
    for name, role in PEOPLE.items():
        identity.user(name, 'demo', role)
    # What an operator needs who also reshapes.
    identity.user('admin', 'demo', 'admin', 'service')


def complete():
    from tests.cloud import hosts
    from tests.cloud.compute import Compute

    compute = Compute()
    compute.make_image('cirros')
    for name, (vcpus, ram, disk) in FLAVORS.items():
        compute.make_flavor(name, vcpus, ram, disk)
    hosts.settle(compute)
