"""Lists of other services: what each answers itself, or a file of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import PlacementCommand

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
