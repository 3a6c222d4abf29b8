"""What OpenStackClient asks of a plugin; the program ``placement`` asks the same."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from placementclient import endpoints, microversion
from placementclient.cli import coexistence

if TYPE_CHECKING:
    from placementclient.http import Client

API_NAME = 'placement'
API_VERSION_OPTION = 'os_placement_api_version'
RETRIES_OPTION = 'os_placement_retries'
#: The SDK takes every setting whose name ends with timeout for one of its own.
TIMEOUT_OPTION = 'os_placement_seconds'
API_VERSIONS = microversion.CHOICES
#: Of the user that the embedded service sees.
ROLES = 'admin,service'
DEFAULT_API_VERSION = microversion.NEGOTIATE
#: The longest that can be waited, in seconds: a year. Sockets take no more than some centuries.
LONGEST_TIMEOUT = 365 * 86400


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that all commands of the plugin share."""
    # OpenStackClient refuses a way to authenticate for which nothing is set, but placement_direct
    # needs no setting. Of two options with one dest the first one's default counts, and
    # OpenStackClient adds --os-placement-roles after this.
    parser.add_argument(
        '--os-placement-default-roles',
        dest='placement_roles',
        default=os.environ.get('OS_PLACEMENT_ROLES', ROLES),
        help=argparse.SUPPRESS,
    )
    _add_options_of_requests(parser)
    if coexistence.is_needed():
        coexistence.take_precedence()
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


def _add_options_of_requests(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--os-placement-retries',
        metavar='<number>',
        type=retries,
        default=os.environ.get('OS_PLACEMENT_RETRIES') or str(endpoints.MAX_RETRIES),
        help='How often what only reads is asked again where no answer comes; '
        f'default={endpoints.MAX_RETRIES} (Env: OS_PLACEMENT_RETRIES)',
    )
    parser.add_argument(
        '--os-placement-timeout',
        dest=TIMEOUT_OPTION,
        metavar='<seconds>',
        type=seconds,
        default=os.environ.get('OS_PLACEMENT_TIMEOUT') or None,
        help='How long to wait for a connection, and then for an answer; default='
        f'{endpoints.LIST_PROVIDERS.timeout}, for a reshape {endpoints.RESHAPE.timeout} '
        '(Env: OS_PLACEMENT_TIMEOUT)',
    )


def retries(text: str) -> int:
    """How often something is repeated, as the type of an option."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number')
    return int(text)


def seconds(text: str) -> float:
    """How long something is waited for, as the type of an option."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= LONGEST_TIMEOUT:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of seconds')
    return number


def make_client(instance: Any) -> Client:
    """The client of a session.

    :param instance: OpenStackClient's ClientManager, or
        :class:`placementclient.cli.connection.Connection`
    :raises errors.UnsupportedVersion: if the operator asked for a version that does not exist
    """
    from placementclient.http import Client

    if not hasattr(instance, 'session'):
        # OpenStackClient has authenticated nobody, as the command can do without.
        instance._auth_required = True
        instance.setup_auth()
    session = instance.session
    settings = instance.get_configuration()
    return Client(
        session,
        microversion.requested(instance._api_version[API_NAME]),
        endpoint_override=settings.get('placement_endpoint_override'),
        max_retries=settings.get('placement_retries', endpoints.MAX_RETRIES),
        timeout=settings.get('placement_seconds'),
        interface=instance.interface,
        region_name=instance.region_name,
    )
