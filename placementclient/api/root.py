"""The service itself: ``GET /``."""

from __future__ import annotations

from placementclient.http import Client
from placementclient.microversion import Microversion


def show(client: Client) -> tuple[Microversion, Microversion]:
    """The lowest and the highest microversion that the service knows."""
    return client.supported()
