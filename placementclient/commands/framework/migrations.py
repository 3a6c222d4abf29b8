"""The option for the migrations of servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.commands.framework import base, compute
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.model.servers import ServerMigration


def option(purpose: str) -> Option:
    """The option that says which migrations there are.

    :param purpose: a clause
    """
    return Option(
        '--migrations',
        metavar=f'<file>|{compute.NOVA}',
        help=f'The migrations of servers, {purpose}: a list as JSON, or {compute.NOVA}: ask Nova',
    )


def given(command: base.PlacementCommand, source: str | None) -> Sequence[ServerMigration] | None:
    """The migrations of a file or of the compute service; ``None`` if neither was named."""
    if source is None:
        return None
    from placementclient.nova import records, service

    return records.migrations(*compute.document(command, source, service.migrations))
