# SPDX-License-Identifier: Apache-2.0
"""Findings for a Nova that does not have all its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.model.findings import Finding

#: The reason in the finding of a host.
_CELL_DOWN = 'its cell does not answer Nova: its servers are in no list'


def report_cells_down(command: PlacementCommand) -> list[Finding]:
    """Return a finding for each host whose cell does not answer Nova, and warn of these hosts.

    If Nova cannot be asked, the only finding is that its cells are unknown.
    """
    from placementclient.model.findings import Finding
    from placementclient.model.services import find_hosts_of_cells_down
    from placementclient.nova import compute_hosts, service
    from placementclient.render import findings

    try:
        hosts = find_hosts_of_cells_down(compute_hosts.read_compute_services(command.client))
    except service.ServiceError as failure:
        command.log.warning(f'It is unknown if all cells of Nova answer: {failure}')
        return [Finding('not known', 'the cells of Nova', reason=str(failure))]
    command.warn(findings.describe_cells_down(hosts))
    return [Finding('not known', host, reason=_CELL_DOWN) for host in hosts]
