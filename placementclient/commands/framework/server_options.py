# SPDX-License-Identifier: Apache-2.0
"""Options from which Nova's request for a server is made: flavors, images, ports, aggregates."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from placementclient.basis import errors
from placementclient.basis.wording import join_names, suggest_similar
from placementclient.commands.framework import base, service_lists
from placementclient.commands.framework.aggregate_names import AggregateNames
from placementclient.commands.framework.option import Flag, Option, group_options
from placementclient.commands.framework.service_lists import ListSource
from placementclient.model.catalog import GLANCE, NEUTRON

if TYPE_CHECKING:
    from placementclient.model.network import Port
    from placementclient.model.servers import Flavor, Image, Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova.images import Images
    from placementclient.nova.server_parts import ServerRequest
    from placementclient.nova.server_request import NovaRequest, RequestBuilder

T = TypeVar('T')

_IMAGE_ID = re.compile(r'[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')

#: The heading of the options for lists of other services.
LISTS_HEADING = 'lists of other services'
FLAVORS = Option(
    '--flavors <file>',
    help='Show how many servers of each flavor still fit: the answer of GET /flavors/detail or of '
    'openstack flavor list --all --long -f json, or nova: ask Nova',
)
NOVA_CONF, AGGREGATES, PROFILES = CLOUD_OPTIONS = group_options(
    LISTS_HEADING,
    Option(
        '--nova-conf <file>...',
        help="Take Nova's options from this nova.conf, such as [pci] alias; the last value counts",
    ),
    Option(
        '--aggregates <file>|nova',
        help='The answer of GET /os-aggregates, for zones and projects, or nova: ask Nova',
    ),
    Option(
        '--device-profiles <file>|cyborg',
        help='The answer of GET /v2/device_profiles, or cyborg: ask Cyborg',
    ),
)
[IMAGES] = group_options(
    LISTS_HEADING,
    Option(
        '--images <file>|glance',
        help='The properties of images: the answer of GET /v2/images, perhaps with the volumes of '
        'GET /v3/volumes/detail beside them, or glance: ask Glance, and Cinder for root volumes',
    ),
)
SERVER_OPTIONS = (
    IMAGES,
    *group_options(
        'server',
        Option(
            '--image <file>|<id>',
            help='The image of the server: the answer of GET /v2/images/ID, or an ID: look into '
            '--images, or ask Glance',
        ),
        Flag('--from-volume', help='The root disk of the server is a volume'),
        Option('--zone <zone>', help='The availability zone of the server'),
        Option('--project <id>', help='The project of the server, by its ID'),
    ),
)
SINGLE_SERVER_OPTIONS = group_options(
    'server',
    Option(
        '--ports <file>|neutron',
        help='The answer of GET /v2.0/ports for the server, or with --server neutron: ask Neutron',
    ),
    Option(
        '--segments <file>',
        help='The answer of GET /v2.0/subnets, with the "aggregates" of segments in Placement',
    ),
    Option('--hypervisors <file>|nova', help='All hypervisors, for --host; or nova: ask Nova'),
    Option('--host <name>', help='The host that is chosen for the server'),
    Option('--hint <key>=<value>...', help="A hint for Nova's scheduler, such as group=UUID"),
)


def read_scheduling_options(
    command: base.PlacementCommand, server: ServerRequest | None = None
) -> RequestBuilder:
    """Return the builder of Nova's requests, with the settings and the lists that options give.

    :param server: a server of Nova, for which the services of the catalog are asked for lists that
        it needs and no option names
    """
    from placementclient.files import disk, kinds
    from placementclient.nova import service
    from placementclient.nova.features import PROFILE_SPEC
    from placementclient.nova.server_parts import Sources
    from placementclient.nova.server_request import RequestBuilder
    from placementclient.nova.settings import parse_settings

    args = vars(command.args)
    values = _list_server_options(command)
    unknown: list[str] = []

    def read_list(
        name: str, source: ListSource[T], value: str | None, *, is_needed: bool = False
    ) -> T | None:
        """Return the records of a list; None, and a note in ``unknown``, if its service fails.

        :param name: the name of the list in the note
        :param value: the value of its option
        :param is_needed: whether the service is asked without the option
        """
        try:
            return source.read_option(command, value or (source.service if is_needed else None))
        except service.ServiceError as failure:
            if value:
                raise
            unknown.append(f'{name} ({failure})')
            return None

    lists = service_lists.get_sources()
    has_profile = server is not None and PROFILE_SPEC in server.flavor.extra_specs
    is_host_chosen = bool(values.get('host')) or ':' in (values.get('zone') or '')
    sources = Sources(
        aggregates=read_list(
            'aggregates', lists.aggregates, args.get('aggregates'), is_needed=server is not None
        ),
        profiles=read_list(
            'device profiles',
            lists.device_profiles,
            args.get('device_profiles'),
            is_needed=has_profile,
        ),
        segments=_read_segments(values.get('segments')),
        hypervisors=read_list('hypervisors', lists.hypervisors, values.get('hypervisors'))
        if is_host_chosen
        else None,
    )
    ports = read_list(
        'ports',
        _make_port_source(values.get('ports'), args.get('server')),
        values.get('ports'),
        is_needed=server is not None,
    )
    parts = {
        'image': _read_image(command, values.get('image'), args.get('images')),
        'ports': tuple(ports or ()),
        'from_volume': bool(values.get('from_volume')),
        'hints': frozenset(hint.partition('=')[0] for hint in values.get('hint') or ()),
        **{name: values.get(name) for name in ('zone', 'project', 'host')},
    }
    if unknown and server is not None:
        parts['unknown'] = (*server.unknown, *unknown)
    files = [
        (path, disk.read_text(path, kinds.CONFIGURATION)) for path in args.get('nova_conf') or ()
    ]
    return RequestBuilder(parse_settings(files), sources, parts)


def _read_segments(path: str | None) -> Mapping[str, Sequence[Sequence[str]]] | None:
    """Return the aggregates of each segment by the ID of a subnet or network; None: no file."""
    from placementclient.files import disk, kinds
    from placementclient.nova import host_records

    return (
        host_records.decode_segments(disk.read_document(path, kinds.LISTS['subnets']), path)
        if path
        else None
    )


def _list_server_options(command: base.PlacementCommand) -> dict[str, Any]:
    """Return the values of a command's options that describe a server, by their names.

    Another option with such a name does not count: ``--ports`` of all ports, for example.
    """
    options = (*SERVER_OPTIONS, *SINGLE_SERVER_OPTIONS)
    return {o.dest: getattr(command.args, o.dest) for o in options if o in command.options}


def _make_port_source(value: str | None, server_uuid: str | None) -> ListSource[Sequence[Port]]:
    """Return the source of those ports of a server that request resources.

    :param value: the value of ``--ports``
    :param server_uuid: the UUID of the server; None: all ports of a file are its ports
    :raises errors.UsageError: if Neutron is to be asked and there is no server
    """
    from placementclient.model.network import Port
    from placementclient.nova import host_records, service

    if value == NEUTRON and not server_uuid:
        raise errors.UsageError('--ports neutron is for --server: give a file of the ports')
    parse = functools.partial(host_records.decode_server_ports, server=server_uuid)
    return ListSource(NEUTRON, service.make_ports_request(server_uuid or ''), parse, Port)


def _read_image(
    command: base.PlacementCommand, image: str | None, source: str | None
) -> Image | None:
    """Return the image of a server, or None without the option.

    :param image: an ID, or a file with the answer of Glance
    :param source: a file with all images, or ``glance``
    """
    from placementclient.files import disk, kinds
    from placementclient.nova import images, service

    if image is None:
        return None
    if _IMAGE_ID.fullmatch(image) is None:
        return images.decode_image(disk.read_document(image, kinds.IMAGE), image)
    if source in (None, GLANCE):
        return images.decode_image(service.read_image(command.client, image), image)
    by_id = images.decode_images(disk.read_document(source, kinds.LISTS['images']), source).by_id
    if image.lower() not in by_id:
        raise errors.BadArgument(f'{source} has no image {image}')
    return by_id[image.lower()]


def read_images(
    command: base.PlacementCommand, source: str | None, servers: Collection[Server]
) -> Images:
    """Return the images of servers from a file, or from Glance and Cinder.

    :param source: a file, or ``glance``; ``None``: ask Glance, and accept that it does not answer
    """
    from placementclient.files import disk, kinds
    from placementclient.nova import images, service

    if source not in (None, GLANCE):
        return images.decode_images(
            disk.read_document(source, kinds.LISTS['images']), source, servers
        )
    lists: dict[str, list[object]] = {'images': [], 'volumes': []}
    reasons = {'images': 'Glance does not have it', 'volumes': 'Cinder does not have it'}
    for name, ask in (('images', service.read_images), ('volumes', service.read_volumes)):
        try:
            lists[name] = ask(command.client, servers)
        except service.ServiceError as failure:
            if source and name == 'images':
                raise
            reasons[name] = str(failure)
    known = images.decode_images(lists, source or GLANCE, servers)
    return replace(known, reason=reasons['images'], volume_reason=reasons['volumes'])


def read_flavors(command: base.PlacementCommand, source: str | None) -> Sequence[Flavor]:
    """Return the flavors of a file or of Nova; none without ``--flavors``."""
    return service_lists.get_sources().flavors.read_option(command, source) or ()


def read_flavor(command: base.PlacementCommand, source: str, name: str) -> Flavor:
    """Return a flavor of a file or of Nova by its name or ID; raise BadArgument without one."""
    flavors = read_flavors(command, source)
    for flavor in flavors:
        if name in (flavor.name, flavor.id):
            return flavor
    near = suggest_similar(name, [flavor.name for flavor in flavors])
    raise errors.BadArgument(f'No flavor is called {name!r}: see openstack flavor list --all{near}')


def make_flavor_requests(
    command: base.PlacementCommand,
    snapshot: Snapshot,
    flavors: Sequence[Flavor],
    warn: Callable[[str], None],
) -> Iterator[tuple[Flavor, NovaRequest]]:
    """Yield each flavor with Nova's request for a server of it.

    Flavors that Nova or Placement refuses, or that ask for nothing, are left out with a warning.
    """
    from placementclient.insight import owners, unknown_names
    from placementclient.nova.server_parts import Refusal

    scheduling = read_scheduling_options(command)
    aggregate_names = AggregateNames(
        command, scheduling.sources.aggregates, scheduling.parts['project']
    )
    names = unknown_names.ReportedNames.from_snapshot(snapshot)
    is_owned = owners.is_owner_trait_needed(snapshot)
    if flavors and (unowned := [host.name for host in owners.find_unowned_hosts(snapshot)]):
        warn(
            'Not counted, as Nova 34 and later requires the trait OWNER_NOVA, which other hosts '
            f'have: {join_names(unowned, 3)}. Nova does not require it before every '
            f'nova-compute is of release 34. The command that adds it: {command.program} '
            'resource provider audit --id owner-missing'
        )
    for flavor in flavors:
        subject = f'flavor {flavor.name}:'
        try:
            request = scheduling.build_request(flavor, has_owner_trait=is_owned)
        except Refusal as reason:
            warn(f'{subject} Nova refuses it: {aggregate_names.insert_names(str(reason))}')
            continue
        if request.placement_refusal:
            warn(f'{subject} Placement refuses it: {request.placement_refusal}')
            continue
        if request.undecided_parts:
            uncounted = ', '.join(request.undecided_parts)
            warn(f'{subject} the number may be lower, as it leaves out {uncounted}')
        for absent in unknown_names.find_absent_names(names, request.first):
            sentence = unknown_names.describe_absent_name(absent)
            warn(f'{subject} {aggregate_names.insert_names(sentence)}')
        if request.first.common.resources or request.first.groups:
            yield flavor, request
        else:
            warn(f'{subject} asks for nothing')
