"""What OpenStackClient asks of a plugin; the program ``placement`` asks the same."""

from __future__ import annotations

import argparse
import os
from typing import Any

from placementclient import microversion
from placementclient.cli import coexistence
from placementclient.http import Client

API_NAME = 'placement'
API_VERSION_OPTION = 'os_placement_api_version'
API_VERSIONS = microversion.CHOICES
#: Of the user that the embedded service sees.
ROLES = 'admin,service'
DEFAULT_API_VERSION = microversion.NEGOTIATE

if coexistence.is_needed():
    coexistence.take_precedence()


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the option that all commands of the plugin share."""
    # OpenStackClient refuses a way to authenticate for which nothing is set, but placement_direct
    # needs no setting. Of two options with one dest the first one's default counts, and
    # OpenStackClient adds --os-placement-roles after this.
    parser.add_argument(
        '--os-placement-default-roles',
        dest='placement_roles',
        default=os.environ.get('OS_PLACEMENT_ROLES', ROLES),
        help=argparse.SUPPRESS,
    )
    if coexistence.is_loaded():
        coexistence.notify()
        return parser
    parser.add_argument(
        '--os-placement-api-version',
        metavar='<placement-api-version>',
        default=os.environ.get('OS_PLACEMENT_API_VERSION') or DEFAULT_API_VERSION,
        help='Microversion of the Placement API: 1 for the highest that this client and the '
        f'service both know, or one of {microversion.LOWEST} to {microversion.HIGHEST}; '
        f'default={DEFAULT_API_VERSION} (Env: OS_PLACEMENT_API_VERSION)',
    )
    return parser


def make_client(instance: Any) -> Client:
    """The client of a session.

    :param instance: OpenStackClient's ClientManager, or
        :class:`placementclient.cli.connection.Connection`
    :raises errors.UnsupportedVersion: if the operator asked for a version that does not exist
    """
    if not hasattr(instance, 'session'):
        # OpenStackClient has authenticated nobody, as the command can do without.
        instance._auth_required = True
        instance.setup_auth()
    session = instance.session
    return Client(
        session,
        microversion.requested(instance._api_version[API_NAME]),
        endpoint_override=_endpoint_override(instance),
        interface=instance.interface,
        region_name=instance.region_name,
    )


def _endpoint_override(instance: Any) -> str | None:
    """The URL that ``placement_endpoint_override`` of ``clouds.yaml`` gives."""
    if hasattr(instance, 'endpoint_override'):
        override: str | None = instance.endpoint_override
    else:
        override = instance.get_configuration().get('placement_endpoint_override')
    return override
