# SPDX-License-Identifier: Apache-2.0
"""Small clouds in a scratch Placement, and plans for them that are made without the planner."""

import contextlib
import itertools
import json
import sqlite3
import threading
import uuid

import requests
from keystoneauth1 import exceptions
from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client.http import Client
from placementclient.files import specifications
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from placementclient.producers import restore
from placementclient.reading import capture
from tests import documents
from tests.functional import databases

#: All UUIDs of these clouds come from here, so that a failure can be repeated.
_NAMESPACE = uuid.UUID('3c1b6b0e-2f0f-4f39-a8a9-6e0c1f2f3a10')


def uuid_of(name):
    """The UUID of something that has a name in a test."""
    return str(uuid.uuid5(_NAMESPACE, name))


def host(name, vgpus=8):
    """A compute node with flat VGPU inventory."""
    return ProviderState(
        Provider(uuid_of(name), name, 0, None, uuid_of(name)),
        {
            'VCPU': Inventory(32, allocation_ratio=16.0),
            'MEMORY_MB': Inventory(65536, reserved=512),
            'VGPU': Inventory(vgpus, max_unit=vgpus),
        },
        frozenset({'COMPUTE_NODE', 'HW_CPU_X86_AMD_SEV'}),
        frozenset({uuid_of('aggregate')}),
    )


def server(name, on, vgpus=1, kind='INSTANCE'):
    """An instance on a host."""
    resources = {'VCPU': 2, 'MEMORY_MB': 2048} | ({'VGPU': vgpus} if vgpus else {})
    return Consumer(
        uuid_of(name), {uuid_of(on): resources}, uuid_of('project'), uuid_of('user'), None, kind
    )


def cloud(hosts=1, servers=4):
    """Hosts of 8 VGPU each; every second server has no type, every host one without VGPU."""
    return Snapshot(
        [host(f'compute{n}') for n in range(hosts)],
        [
            server(f'server{n}.{m}', f'compute{n}', kind='INSTANCE' if m % 2 else None)
            for n in range(hosts)
            for m in range(servers)
        ]
        + [server(f'plain{n}', f'compute{n}', 0) for n in range(hosts)],
    )


def used(snapshot):
    """A cloud as it would be once it has been made: with what its consumers use."""
    sums = sum_gains(({}, consumer.allocations) for consumer in snapshot.consumers.values())
    return Snapshot(
        [replace(s, usages=dict(sums[s.uuid])) for s in snapshot.providers.values()],
        [replace(consumer, generation=1) for consumer in snapshot.consumers.values()],
    )


#: Databases of clouds that were built in this process, by what was there before and the cloud.
_BUILT: dict[str, bytes] = {}


def build_once(client, cloud, build):
    """Build a cloud; one that was built before is copied into an empty SQLite database.

    :param cloud: what tells it from others
    """
    path = databases.sqlite_file(client.session)
    if path is None:
        build()
        return
    with contextlib.closing(sqlite3.connect(path)) as database:
        before = databases.content(database)
        key = json.dumps([before, cloud])
        if key in _BUILT:
            with contextlib.closing(sqlite3.connect(':memory:')) as copy:
                copy.deserialize(_BUILT[key])
                copy.backup(database)
            return
        build()
        if not before['resource_providers']:
            _BUILT[key] = database.serialize()


def load(client, snapshot):
    """Build the cloud of a snapshot."""
    cloud = json.dumps(documents.document(snapshot))
    build_once(client, cloud, lambda: restore.load_snapshot(client, snapshot))


def captured(client):
    """Read all there is; of an embedded service the tables, which takes no requests."""
    snapshot = capture.capture(Client(client.session, client.microversion))
    snapshot.origin = capture.make_origin(client)
    return snapshot


def loaded(client, snapshot):
    """A cloud as it is once it has been made."""
    load(client, snapshot)
    return captured(client)


def emptied(client):
    """Take away what another test has left."""
    if path := databases.sqlite_file(client.session):
        databases.clear(path)
        return
    snapshot = captured(client)
    for consumer_uuid in snapshot.consumers:
        allocation.delete(client, consumer_uuid)
    for root in snapshot.roots():
        for state in reversed(list(snapshot.tree(root.uuid))):
            resource_provider.delete(client, state.uuid)


def plan_of(
    snapshot,
    children=2,
    *,
    moved_trait=False,
    aggregates=False,
    allow_inferred=False,
    is_mapped=True,
    first=0,
    stated=(),
):
    """A plan that moves the VGPU of each host to so many children.

    :param is_mapped: whether it is mapped which server is where: those that there are, in turn
    :param first: the child that the first of them is on
    :param stated: further fields of the inventories of children, as pairs
    """
    names = [f'{{root}}_gpu{n}' for n in range(children)]
    share = 8 // children
    document = {
        'trees': {'class': ['VGPU']},
        'providers': [
            {
                'name': name,
                'inventories': {'VGPU': {'total': share, 'max_unit': share, **dict(stated)}},
                'traits': ['CUSTOM_GPU', 'HW_GPU_API_VULKAN'],
                'aggregates': [uuid_of('aggregate')] if aggregates else [],
            }
            for name in names
        ],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': name,
                'moved_resources': {'VGPU': share},
                'moved_traits': ['HW_CPU_X86_AMD_SEV'] if moved_trait and name == names[0] else [],
            }
            for name in names
        ],
    }
    rows = [
        AssignmentRow(
            consumer.uuid,
            'VGPU',
            None,
            names[(first + number) % children].format(root=root.name),
            'test',
        )
        for root in snapshot.roots()
        for number, consumer in enumerate(holders(snapshot, root.uuid))
    ]
    return planner.plan_reshape(
        snapshot,
        specifications.convert_specification(document, 'spec.yaml'),
        rows if is_mapped else (),
        allow_inferred=allow_inferred,
    )


def holders(snapshot, provider_uuid, resource_class='VGPU'):
    """The consumers that hold a class on a provider."""
    return [
        consumer
        for consumer in snapshot.consumers_on(provider_uuid)
        if resource_class in consumer.allocations[provider_uuid]
    ]


@contextlib.contextmanager
def watched(client):
    """Every request that a client sends meanwhile: method and path."""
    requests: list[tuple[str, str]] = []
    session, lock = client.session, threading.Lock()
    send = session.request

    def request(url, method, **kwargs):
        with lock:
            requests.append((method, url))
        return send(url, method, **kwargs)

    session.request = request
    try:
        yield requests
    finally:
        del session.request


@contextlib.contextmanager
def disturbed(
    client, method, part, disturb=lambda: None, times=1, *, number=1, lost='', reply=None
):
    """Let something happen at the requests of a method and a part of a path.

    :param disturb: called just before each of them
    :param times: how many are concerned
    :param number: the first of them, from 1
    :param lost: ``unsent`` or ``sent``, where there is no answer
    :param reply: the answer, where the service gets nothing of it
    """
    session, seen = client.session, itertools.count(1)
    send = session.request

    def request(url, verb, **kwargs):
        if verb != method or part not in url or next(seen) not in range(number, number + times):
            return send(url, verb, **kwargs)
        disturb()
        if reply is not None:
            answer = requests.Response()
            answer.status_code, answer._content = reply.status, json.dumps(reply.body).encode()
            return answer
        if lost == 'unsent':
            raise exceptions.ConnectFailure('the connection was reset')
        answer = send(url, verb, **kwargs)
        if lost:
            raise exceptions.ConnectFailure('the connection was reset')
        return answer

    session.request = request
    try:
        yield
    finally:
        session.request = send


def content(snapshot):
    """A snapshot without what moves by itself: generations."""
    document = documents.document(snapshot)
    for record in document['providers']:
        del record['generation']
        if not record['inventories']:
            record['usages'] = {}
    for record in document['consumers'].values():
        del record['generation']
    return document


def names(results):
    """Results of a run, for comparisons."""
    return [(tree.root_provider_name, tree.state.value) for tree in results]
