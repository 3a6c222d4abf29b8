"""The reshaper, as it is."""

from __future__ import annotations

import argparse

from placementclient import api
from placementclient.client import endpoints
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option
from placementclient.model.providers import normalized_body


class SubmitReshape(base.Command):
    """Send a reshape as it is: replace inventories and allocations in one transaction.

    The file has the body of POST /reshaper for the API version in use, as JSON or YAML. Placement
    replaces all that the body names, and does not check for losses. "resource provider reshape
    plan" and "apply" do.

    Example:

      openstack resource provider reshape submit --file body.json
    """

    endpoint = endpoints.RESHAPE
    options = (Option('--file', required=True, help='The file; - for standard input'),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from placementclient import files

        body = normalized_body(files.read_document(parsed_args.file))
        # Its generations guard it: where it was carried out, it is refused the second time.
        self.retried(lambda: api.reshaper.submit(self.client, body), given=body)
