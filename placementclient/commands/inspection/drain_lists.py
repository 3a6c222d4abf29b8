# SPDX-License-Identifier: Apache-2.0
"""The lists of Nova for the plan of a drain, and the commands that make them."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from placementclient.basis import errors
from placementclient.commands.framework.option import Option
from placementclient.model.catalog import NOVA

if TYPE_CHECKING:
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.insight.drain.absences import RepairChoice

REQUESTS = Option(
    '--requests <file>|nova...',
    help='Read what the servers request (flavor, zone, server group): nova asks Nova, a file has '
    'the answer of GET /servers/detail. It, or more files, may also have the answers of '
    'GET /os-aggregates, /os-server-groups and /os-migrations; may be repeated',
)
#: The commands that make the lists of Nova for an audit, by the option with their file.
_MAKE_LISTS = {
    '--servers servers.json': 'openstack server list --all-projects --long -f json > servers.json',
    '--migrations migrations.json': 'openstack --os-compute-api-version 2.59 server migration list '
    '-f json > migrations.json',
}


class NovaLists(NamedTuple):
    """The lists that ``--requests`` names.

    :ivar document: each list by its name, such as ``servers``; ``None`` without the option
    :ivar source: the files, or the word for Nova, for errors
    :ivar paths: the file of each list, by the name of the list; empty if Nova was asked
    """

    document: object
    source: str
    paths: Mapping[str, str]


def read_lists(command: PlacementCommand) -> NovaLists:
    """Return the lists that ``--requests`` names, from Nova or from files.

    :raises UsageError: if Nova and a file are named
    :raises BadFile: if two files have the same list, or a file has none
    """
    sources = command.args.requests
    if sources == [NOVA]:
        return NovaLists(_ask_nova_for_lists(command), NOVA, {})
    if NOVA in sources:
        raise errors.UsageError(f'--requests takes {NOVA} or files, not both')
    if not sources:
        return NovaLists(None, '', {})
    return _read_list_files(sources)


def _read_list_files(paths: Iterable[str]) -> NovaLists:
    """Return the lists of all files; a list without a name is of migrations or of servers."""
    from placementclient.files import disk, kinds

    lists: dict[str, object] = {}
    places: dict[str, str] = {}
    for path in paths:
        document = disk.read_document(path, kinds.REQUESTS, *kinds.LISTS.values())
        if not isinstance(document, Mapping):
            is_migrations = disk.is_file_of_kind(path, kinds.LISTS['migrations'])
            document = {'migrations' if is_migrations else 'servers': document}
        for key in document.keys() & places.keys():
            raise errors.BadFile(path, f'has a list of {key}, and so has {places[key]}. Give one')
        lists |= document
        places |= dict.fromkeys(document, path)
    return NovaLists(lists, ', '.join(paths), places)


def _ask_nova_for_lists(command: PlacementCommand) -> dict[str, object]:
    """Return the servers, and the other lists that a plan uses, by the name of the list."""
    from placementclient.nova import service

    client = command.client
    try:
        return {
            'aggregates': service.aggregates(client),
            'server_groups': service.read_server_groups(client),
            'migrations': service.migrations(client),
            'servers': service.servers_with_zones(client),
        }
    except service.ServiceError as failure:
        failure.next_steps = ('Give a file with the lists instead: --requests FILE',)
        raise


def format_audit_command(command: PlacementCommand, lists: NovaLists) -> str:
    """Return the command that audits the same cloud, with the files of ``--requests`` too."""
    from placementclient.nova import service

    audit, snapshot = f'{command.program} resource provider audit', command.args.snapshot
    if snapshot is None and service.has_nova(command.client):
        return audit
    options = [f'--snapshot {shlex.quote(snapshot)}'] if snapshot else []
    for default in _MAKE_LISTS:
        option, _, path = default.partition(' ')
        options.append(f'{option} {shlex.quote(lists.paths.get(option[2:], path))}')
    return ' '.join([audit, *options])


def make_repair_choice(command: PlacementCommand, lists: NovaLists) -> RepairChoice:
    """Return the function that chooses the command to repair a finding, or the reason for none."""
    from placementclient.render.repairs import Invocation, choose_command_or_reason

    files = [
        (f'--{key}', lists.paths[key]) for key in ('servers', 'migrations') if key in lists.paths
    ]
    invocation = Invocation(command.program, heal=files, is_assumed=bool(command.args.assume))
    return functools.partial(choose_command_or_reason, invocation=invocation)


def list_commands_for_lists(next_steps: Iterable[str]) -> Iterator[str]:
    """Yield the command that makes each list which next steps name and whose file is missing."""
    steps = ' '.join(next_steps)
    for option, make in _MAKE_LISTS.items():
        # A file that is there may have a better list.
        if option in steps and not os.path.exists(option.split()[1]):
            yield make
