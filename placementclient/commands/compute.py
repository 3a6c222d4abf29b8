"""What the compute service says: its own answer, or a file of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placementclient.commands.base import _Placement
    from placementclient.http import Client

#: Stands for the compute service, where a file is expected.
NOVA = 'nova'
SERVICE = 'the compute service'


def document(
    command: _Placement, source: str, ask: Callable[[Client], list[Any]]
) -> tuple[Any, str]:
    """A list, and what it is called in errors.

    :param source: the path of a file, or ``nova``
    :param ask: asks the compute service for it
    :raises service.NoCompute: if there is nobody to ask
    """
    from placementclient import files

    if source == NOVA:
        return ask(command.client), SERVICE
    return files.read_document(source), source
