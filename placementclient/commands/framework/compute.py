"""What the compute service says, or the identity service: its own answer, or a file of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import _Placement

#: Stand for the compute service and the identity service, where a file is expected.
NOVA, KEYSTONE = 'nova', 'keystone'
_NAMES = {NOVA: 'the compute service', KEYSTONE: 'the identity service'}


def document(
    command: _Placement, source: str, ask: Callable[[Client], list[Any]], service: str = NOVA
) -> tuple[Any, str]:
    """A list, and what it is called in errors.

    :param source: the path of a file, or what stands for the service
    :param ask: asks the service for it
    :param service: what stands for it
    :raises service.NoCompute: if there is nobody to ask
    """
    from placementclient import files

    if source == service:
        return ask(command.client), _NAMES[service]
    return files.read_document(source), source
