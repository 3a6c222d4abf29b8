"""Lists of other services: what each answers itself, or a file of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.model.servers import ServerMigration

#: Stand for a service of the catalog, where a file is expected.
NOVA, KEYSTONE, IRONIC, NEUTRON = 'nova', 'keystone', 'ironic', 'neutron'
_NAMES = {
    NOVA: 'the compute service',
    KEYSTONE: 'the identity service',
    IRONIC: 'the bare metal service',
    NEUTRON: 'the network service',
}


def document(
    command: PlacementCommand, source: str, ask: Callable[[Client], list[Any]], service: str = NOVA
) -> tuple[Any, str]:
    """A list, and what it is called in errors.

    :param source: the path of a file, or what stands for the service
    :param ask: asks the service for it
    :param service: what stands for it
    :raises service.NoCompute: if the session has no catalog
    """
    from placementclient import files

    if source == service:
        return ask(command.client), _NAMES[service]
    return files.read_document(source), source


def migrations_option(purpose: str) -> Option:
    """The option that says which migrations there are.

    :param purpose: a clause
    """
    return Option(
        '--migrations',
        metavar=f'<file>|{NOVA}',
        help=f'The migrations of servers, {purpose}: a list as JSON, or {NOVA}: ask Nova',
    )


def migrations(command: PlacementCommand, source: str | None) -> Sequence[ServerMigration] | None:
    """The migrations of a file or of the compute service; ``None`` if neither was named."""
    if source is None:
        return None
    from placementclient.nova import records, service

    return records.migrations(*document(command, source, service.migrations))
