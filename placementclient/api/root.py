"""The service itself: ``GET /``."""

from placementclient.client.http import Client
from placementclient.client.microversion import Microversion


def show(client: Client) -> tuple[Microversion, Microversion]:
    """Return the lowest and the highest microversion of the service."""
    return client.read_version_range()
