# SPDX-License-Identifier: Apache-2.0
"""The cells of hosts, as ``nova-manage cell_v2 list_hosts`` prints them. Pure."""

from placementclient.basis import errors
from placementclient.files import kinds
from placementclient.model.providers import is_uuid

_COLUMNS = 3


def parse_host_cells(text: str, path: str) -> dict[str, str]:
    """Return the cell of each host: the name of the cell, or its UUID if the name is not unique.

    :raises errors.BadFile: if the text is no such table, or has a host twice
    """
    cell_of_host: dict[str, str] = {}
    cells_by_name: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip().startswith('|'):
            continue
        columns = [column.strip() for column in line.strip().strip('|').split('|')]
        if len(columns) != _COLUMNS:
            raise errors.BadFile(path, f'{len(columns)} columns, not {_COLUMNS}', number)
        name, uuid, host = columns
        if not is_uuid(uuid):
            if cell_of_host:
                raise errors.BadFile(path, f'{uuid!r} is not the UUID of a cell', number)
            continue  # the heading
        if host in cell_of_host:
            raise errors.BadFile(path, f'{host} appears twice', number)
        cell_of_host[host] = uuid
        cells_by_name.setdefault(name, set()).add(uuid)
    if not cell_of_host:
        raise errors.WrongFile(path, kinds.UNKNOWN, kinds.HOST_CELLS)
    unique = {
        uuids.pop(): name for name, uuids in cells_by_name.items() if name and len(uuids) == 1
    }
    return {host: unique.get(uuid, uuid) for host, uuid in cell_of_host.items()}
