"""The reshaper as a command."""

from __future__ import annotations

from typing import Any

from placementclient import api
from placementclient.client import endpoints
from placementclient.commands.allocations.allocation import ReplaceAllocation


class SubmitReshape(ReplaceAllocation):
    """Send the body of a reshape: replace inventories and allocations in one transaction.

    The file has the body of POST /reshaper for the API version in use, as JSON or YAML. Placement
    replaces all that the body names, and does not check for losses. "resource provider reshape
    plan" and "apply" do.

    Example:

      openstack resource provider reshape submit --file body.json
    """

    endpoint = endpoints.RESHAPE

    def send(self, body: Any) -> None:
        api.reshaper.submit(self.client, body)
