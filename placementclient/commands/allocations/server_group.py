# SPDX-License-Identifier: Apache-2.0
"""The server group of a server that is scheduled, from Nova or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placementclient.basis.errors import BadArgument
from placementclient.commands.framework.option import Option
from placementclient.model.catalog import COMPUTE_SERVICE, NOVA

if TYPE_CHECKING:
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.insight.candidates.group_hosts import GroupRestriction

OPTION = Option(
    '--servers <file>|nova',
    help='The members of the server group: the answer of GET /servers/detail, with the '
    'server_groups of GET /os-server-groups beside it; nova: ask Nova. Default: Nova, but not with '
    '--snapshot',
)


def read_group_hosts(
    command: PlacementCommand, group_uuid: str, server_uuid: str | None
) -> GroupRestriction | None:
    """Return the hosts that a server group requires or excludes for one more server.

    ``None`` is no restriction.

    :param group_uuid: the UUID of the server group
    :param server_uuid: the UUID of the server, which may be a member already
    :raises BadArgument: if Nova, or the file, does not have the group
    """
    from placementclient.files import disk, kinds
    from placementclient.insight.candidates.group_hosts import restrict_new_member
    from placementclient.nova import records, service

    source = command.args.servers or NOVA
    is_live = source == NOVA
    path = COMPUTE_SERVICE if is_live else source
    document: object = (
        service.read_server_groups(command.client)
        if is_live
        else disk.read_document(source, kinds.REQUESTS, *kinds.LISTS.values())
    )
    groups = {group.uuid: group for group in records.decode_server_groups(document, path)}
    if group_uuid not in groups:
        raise BadArgument(f'{path} has no server group {group_uuid}')
    members = {uuid for uuid in groups[group_uuid].members if uuid != server_uuid}
    if is_live:
        document = [
            record
            for uuid in sorted(members)
            for record in service.read_server(command.client, uuid)
        ]
    servers = records.decode_servers(document, path)
    return restrict_new_member(
        groups[group_uuid], [s for uuid, s in servers.items() if uuid in members]
    )
