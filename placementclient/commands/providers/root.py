"""The service itself."""

from __future__ import annotations

import argparse

from placementclient import api
from placementclient.client import endpoints
from placementclient.commands.framework import base


class ShowApi(base.ShowOne):
    """Show the service: its URL, its microversions, and whether it lets you reshape.

    Example:

      openstack resource api show
    """

    endpoint = endpoints.SHOW_API

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        lowest, highest = api.root.show(self.client)
        version = self.client.microversion
        fields = {
            'endpoint': self.client.url,
            'min_version': str(lowest),
            'max_version': str(highest),
            'version': str(version),
            'reshaper_allowed': highest >= endpoints.RESHAPE.since
            and api.reshaper.allowed(self.client),
        }
        return tuple(fields), tuple(fields.values())
