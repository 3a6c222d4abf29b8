"""The options for Nova's request for a server, in addition to the flavor."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from placementclient.client import errors
from placementclient.commands.framework import base, compute
from placementclient.commands.framework.compute import CYBORG, NEUTRON, NOVA
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.model.images import Image
    from placementclient.model.services import Port
    from placementclient.nova.server_request import Scheduling

_ID = re.compile(r'[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')

NOVA_CONF = Option(
    '--nova-conf <file>...',
    help="Take the options of Nova's scheduler and of nova-api from this nova.conf, such as "
    "[pci] alias; default: Nova's defaults. May be repeated; the last value counts",
)
PROFILES = Option(
    '--device-profiles',
    metavar=f'<file>|{CYBORG}',
    help='The device profiles, as GET /v2/device_profiles of Cyborg answers, or cyborg: ask it',
)
AGGREGATES = Option(
    '--aggregates',
    metavar=f'<file>|{NOVA}',
    help='The host aggregates, for zones, projects and isolated aggregates: the answer of GET '
    '/os-aggregates, or nova: ask Nova',
)
#: Of a command that takes flavors.
CLOUD = (NOVA_CONF, AGGREGATES, PROFILES)
#: Of a command that takes flavors for servers that are to come.
SERVER = (
    Option(
        '--image',
        metavar='<file>|<id>',
        help='The image of the server: a file with the answer of GET /v2/images/ID, or an ID: '
        'ask Glance',
    ),
    Flag('--from-volume', help='The root disk of the server is a volume'),
    Option('--zone <zone>', help='The availability zone of the server'),
    Option('--project <id>', help='The project of the server, by its ID'),
)
#: Of a command that takes one server.
ONE = (
    Option(
        '--ports',
        metavar=f'<file>|{NEUTRON}',
        help='The ports of the server: a file with the answer of GET /v2.0/ports; with --server '
        'neutron: ask Neutron',
    ),
    Option(
        '--segments <file>',
        help='The subnets of routed networks: the answer of GET /v2.0/subnets, with the aggregates '
        'of each segment in Placement as "aggregates"',
    ),
    Option(
        '--hypervisors',
        metavar=f'<file>|{NOVA}',
        help='The list of all hypervisors with details, for --host; nova: ask Nova',
    ),
    Option('--host <name>', help='The host that is chosen for the server'),
    Option(
        '--hint <key>=<value>...',
        help="A hint for Nova's scheduler, such as group=UUID; may be repeated",
    ),
)


def scheduling(command: base.PlacementCommand, parsed_args: argparse.Namespace) -> Scheduling:
    """Return the values of the options; a command may have only some of them.

    :raises errors.PlacementError: if a list cannot be had
    """
    from placementclient.files import disk
    from placementclient.nova.server_parts import Sources
    from placementclient.nova.server_request import Scheduling
    from placementclient.nova.settings import settings

    # An option of this name may be another one in a command that has not all of a group.
    names = {option.dest for options in (CLOUD, SERVER, ONE) for option in options}
    groups = {
        option.dest
        for options, mark in ((SERVER, 'from_volume'), (ONE, 'hint'))
        for option in options
        if mark not in vars(parsed_args)
    }
    given = {name: getattr(parsed_args, name, None) for name in names - groups}
    is_chosen = given.get('host') or ':' in (given.get('zone') or '')
    sources = Sources(
        aggregates=compute.records(command, 'aggregates', given['aggregates']),
        profiles=compute.records(command, 'device_profiles', given['device_profiles']),
        segments=compute.records(command, 'segments', given.get('segments')),
        hypervisors=compute.records(
            command, 'hypervisors', given.get('hypervisors') if is_chosen else None
        ),
    )
    server = getattr(parsed_args, 'server', None)
    parts: dict[str, Any] = {
        'image': _image(command, given.get('image')),
        'zone': given.get('zone'),
        'project': given.get('project'),
        'ports': _ports(command, given.get('ports'), server),
        'from_volume': bool(given.get('from_volume')),
        'hints': frozenset(hint.partition('=')[0] for hint in given.get('hint') or ()),
        'host': given.get('host'),
    }
    files = [(path, disk.read_text(path)) for path in given['nova_conf'] or ()]
    return Scheduling(settings(files), sources, parts)


def _image(command: base.PlacementCommand, given: str | None) -> Image | None:
    """Return the image of a file, or of Glance: no file has the name of an ID."""
    from placementclient.files import disk
    from placementclient.nova import records, service

    if given is None:
        return None
    is_id = _ID.fullmatch(given) is not None
    document = service.image(command.client, given) if is_id else disk.read_document(given)
    return records.image(document, given)


def _ports(
    command: base.PlacementCommand, source: str | None, server: str | None
) -> tuple[Port, ...]:
    """Return the ports of a server; without its UUID all of a file."""
    from placementclient.nova import host_records, service

    if not source:
        return ()
    if source == NEUTRON and not server:
        raise errors.UsageError('--ports neutron is for --server: give a file of the ports')
    document, path = compute.document(command, source, service.ports_of(server or ''), NEUTRON)
    return tuple(host_records.requested_ports(document, path, server))
