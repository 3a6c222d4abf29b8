# SPDX-License-Identifier: Apache-2.0
"""The cells of hosts, as ``nova-manage cell_v2 list_hosts`` prints them. Pure."""

from placementclient.basis import errors
from placementclient.model.providers import is_uuid

_COLUMNS = 3


def parse_host_cells(text: str, path: str) -> dict[str, str]:
    """Return the name of the cell of each host; of cells without a name of their own the UUID.

    :raises errors.BadFile: if the text is no such table, or has a host twice
    """
    uuids: dict[str, str] = {}
    names: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip().startswith('|'):
            continue
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if len(cells) != _COLUMNS:
            raise errors.BadFile(path, f'{len(cells)} columns, not {_COLUMNS}', number)
        name, uuid, host = cells
        if not is_uuid(uuid):
            if uuids:
                raise errors.BadFile(path, f'{uuid!r} is not the UUID of a cell', number)
            continue  # the heading
        if host in uuids:
            raise errors.BadFile(path, f'{host} appears twice', number)
        uuids[host] = uuid
        names.setdefault(name, set()).add(uuid)
    if not uuids:
        raise errors.BadFile(path, 'no table of nova-manage cell_v2 list_hosts')
    unique = {next(iter(of)): name for name, of in names.items() if name and len(of) == 1}
    return {host: unique.get(uuid, uuid) for host, uuid in uuids.items()}
