# SPDX-License-Identifier: Apache-2.0
"""The requests of Nova's own code: from the API's checks to the calls of its Placement client."""

import contextlib
import itertools
import re
import types
from unittest import mock

import nova.conf
import oslo_messaging
from nova import context, exception, objects
from nova.accelerator import cyborg
from nova.compute import api
from nova.db.api import api as api_database
from nova.db.api import models
from nova.network import constants, neutron
from nova.pci import request as pci_request
from nova.scheduler import manager, request_filter
from nova.scheduler.client import report
from nova.virt import hardware

from tests.nova.random_servers import NODES, uuid

CONF = nova.conf.CONF
#: The section of each option.
_SECTIONS = {
    'alias': 'pci',
    'pci_in_placement': 'filter_scheduler',
    'disable_fallback_pcpu_query': 'workarounds',
    'default_schedule_zone': None,
}


#: The UUID of a request for devices, but for its number.
_ALIASES = '00000000-0000-0000-0000-00000000'


class Refused(Exception):
    """Nova does not ask Placement for the server."""


def requests(document):
    """Return the paths and queries that Nova sends for a server.

    :raises Refused: if Nova refuses it
    """
    with _cloud(document) as sent:
        try:
            spec = _specification(document)
            _schedule(spec)
        except Exception as reason:
            if not sent:
                raise Refused(repr(reason)) from None
    return [canonical(url) for url in sent]


def canonical(url):
    """Return a request with predictable suffixes of the groups of devices, and sorted by them."""
    named = re.sub(rf'{_ALIASES}9(\d\d\d)-', lambda match: f'pci_request_{int(match[1])}-', url)
    path, _, query = named.partition('?')
    return f'{path}?{"&".join(sorted(query.split("&")))}' if 'pci_request_' in named else url


@contextlib.contextmanager
def _cloud(document):
    """Put a cloud around Nova's code."""
    sent: list[str] = []
    segments = document['segments']
    ports = {port['id']: port for port in document['ports']}
    numbers = itertools.count(9000)
    extended = any('request_groups' in (p['resource_request'] or {}) for p in ports.values())

    def get(self, url, **_):
        if url.startswith('/resource_providers/'):
            aggregates = segments[url.split('/')[2]]
            body = {'aggregates': aggregates, 'resource_provider_generation': 1}
        else:
            sent.append(url)
            body = {'allocation_requests': [], 'provider_summaries': {}}
        return types.SimpleNamespace(status_code=200, json=lambda: body)

    client = mock.Mock()
    client.show_port = lambda port_id, **_: {'port': ports[port_id]}
    client.show_network = lambda *_, **__: {'network': {}}
    # A segment has the UUID of its only subnet here.
    client.list_subnets = lambda network_id, **_: {
        'subnets': [{'segment_id': uuid(int(network_id[-12:]) + 10)}]
    }
    client.show_subnet = lambda subnet_id: {'subnet': {'segment_id': subnet_id}}

    def extensions(self, name, *_, **__):
        return {constants.SEGMENT: True, constants.RESOURCE_REQUEST_GROUPS: extended}.get(
            name, False
        )

    def profiles(self, name):
        groups = document['profiles'].get(name)
        return [{'groups': groups}] if groups is not None else []

    with contextlib.ExitStack() as stack:
        for name, value in document['settings'].items():
            CONF.set_override(name, value, _SECTIONS.get(name, 'scheduler'))
            stack.callback(CONF.clear_override, name, _SECTIONS.get(name, 'scheduler'))
        pci_request.get_alias_from_config.cache_clear()
        for target, attribute, replacement in (
            (report.SchedulerReportClient, 'get', get),
            (report, 'report_client_singleton', _report_client),
            (neutron, 'get_client', lambda *_, **__: client),
            (neutron.API, '_has_extension', extensions),
            (cyborg, 'get_client', lambda _: object.__new__(cyborg._CyborgClient)),
            (cyborg._CyborgClient, '_get_device_profile_list', profiles),
            (pci_request.uuidutils, 'generate_uuid', lambda: f'{_ALIASES}{next(numbers):04}'),
            (
                request_filter.objects.service,
                'get_minimum_version_all_cells',
                lambda *_: request_filter.MIN_COMPUTE_VERSION_OWNER_TRAIT - (not document['owned']),
            ),
        ):
            stack.enter_context(mock.patch.object(target, attribute, replacement))
        _write_aggregates(document['aggregates'])
        yield sent


def _report_client():
    return object.__new__(report.SchedulerReportClient)


class _Hosts:
    """The host manager of the scheduler, as far as it is asked."""

    def get_compute_nodes_by_host_or_node(self, _, host, node, cell=None):
        return [
            types.SimpleNamespace(host=name, hypervisor_hostname=hypervisor, uuid=uuid)
            for name, hypervisor, uuid in NODES
            if host in (None, '', name) and node in (None, '', hypervisor)
        ]


@api_database.context_manager.writer
def _insert(admin, aggregates):
    for model in (models.AggregateMetadata, models.Aggregate):
        admin.session.query(model).delete()
    for number, aggregate in enumerate(aggregates, 1):
        admin.session.add(
            models.Aggregate(id=number, uuid=aggregate['uuid'], name=aggregate['uuid'])
        )
        for key, value in aggregate['metadata'].items():
            row = models.AggregateMetadata(key=key, value=value, aggregate_id=number)
            admin.session.add(row)


def _write_aggregates(aggregates):
    _insert(context.get_admin_context(), aggregates)


def _specification(document):
    """Return the specification of a server, as ``nova.compute.api`` makes it."""
    user = context.RequestContext('u', document['project'], roles=['admin', 'member', 'reader'])
    fields, image = document['flavor'], document['image']
    flavor = objects.Flavor(
        id=1,
        flavorid='1',
        name='m',
        vcpus=fields['vcpus'],
        memory_mb=fields['ram'],
        root_gb=fields['disk'],
        ephemeral_gb=fields['ephemeral'],
        swap=fields['swap'],
        extra_specs=fields['extra_specs'],
    )
    boot = {**image, 'id': uuid(1), 'name': 'i', 'properties': dict(image['properties'])}
    volume = None
    if document['volume']:
        volume = objects.BlockDeviceMapping(destination_type='volume', volume_size=None)
    api.API._validate_flavor_image_nostatus(user, boot, flavor, volume)
    meta = api._get_image_meta_obj(boot)
    topology = hardware.numa_get_constraints(flavor, meta)
    policy = hardware.get_pci_numa_policy_constraint(flavor, meta)
    devices = pci_request.get_pci_requests_from_flavor(flavor, affinity_policy=policy)
    networks = objects.NetworkRequestList(
        objects=[objects.NetworkRequest(port_id=port['id']) for port in document['ports']]
    )
    _, groups, level = neutron.API().create_resource_requests(
        user, networks, devices, affinity_policy=policy
    )
    profile = flavor.extra_specs.get('accel:device_profile')
    profiles = cyborg.get_device_profile_request_groups(user, profile) if profile else []
    zone, host, node = api.API.parse_availability_zone(user, document['zone'])
    properties = {'scheduler_hints': {name: ['x'] for name in document['hints']}}
    if host:
        properties['force_hosts'] = [host]
    if node:
        properties['force_nodes'] = [node]
    spec = objects.RequestSpec.from_components(
        user, uuid(2), boot, flavor, topology, devices, properties, None, zone,
        port_resource_requests=groups, request_level_params=level,
    )  # fmt: skip
    spec.is_bfv = document['volume']
    if document['host']:
        spec.requested_destination = objects.Destination(host=document['host'], node=None)
    if profiles:
        spec.requested_resources.extend(profiles)
    # The conductor adds them.
    spec.requested_networks = networks
    return spec


def _schedule(spec):
    scheduler = object.__new__(manager.SchedulerManager)
    scheduler.host_manager = _Hosts()
    try:
        scheduler.select_destinations(
            context.get_admin_context(), spec_obj=spec, instance_uuids=[spec.instance_uuid]
        )
    except oslo_messaging.ExpectedException as wrapped:
        reason = wrapped.exc_info[1]
        # Nothing is found; other reasons are given before Placement is asked.
        if str(reason) != str(exception.NoValidHost(reason='')):
            raise reason from None
