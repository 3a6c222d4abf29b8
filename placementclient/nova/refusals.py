"""The refusal of a server by Nova."""

from __future__ import annotations

from placementclient.client import errors


class Refusal(errors.PlacementError):
    """Nova refuses a server, before its scheduler asks Placement or instead of that."""
