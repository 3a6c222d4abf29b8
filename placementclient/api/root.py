"""The service itself: ``GET /``."""

from __future__ import annotations

from placementclient.client.http import Client
from placementclient.client.microversion import Microversion


def show(client: Client) -> tuple[Microversion, Microversion]:
    """The lowest and the highest microversion that the service knows."""
    return client.supported()
