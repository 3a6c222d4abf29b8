# SPDX-License-Identifier: Apache-2.0
"""The hooks that OpenStackClient calls; the program ``placement`` calls them too."""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from placementclient import DISTRIBUTION
from placementclient.basis import errors
from placementclient.basis.wording import mask_credentials
from placementclient.cli import factories
from placementclient.client import endpoints, microversion

if TYPE_CHECKING:
    from keystoneauth1.session import Session

    from placementclient.client.http import Client

LOG = logging.getLogger(__name__)

T = TypeVar('T')
D = TypeVar('D')


class ClientManager(Protocol):
    """The session and the settings of a program: OpenStackClient's ClientManager, or our own."""

    @property
    def session(self) -> Session: ...

    interface: str | None
    region_name: str | None

    def get_configuration(self) -> Mapping[str, Any]: ...


API_NAME = 'placement'
#: The package whose place this one takes, and its module that OpenStackClient imports.
PEER = 'osc-placement'
PEER_PLUGIN = 'osc_placement.plugin'
API_VERSION_OPTION = 'os_placement_api_version'
RETRIES_OPTION = 'os_placement_retries'
#: The SDK takes every setting whose name ends with timeout for one of its own.
TIMEOUT_OPTION, LIST_TIMEOUT_OPTION = 'os_placement_seconds', 'os_placement_list_seconds'
#: The settings of a cloud or the environment for this service alone.
SETTINGS = ('placement_endpoint_override', 'placement_interface', 'placement_region_name')
API_VERSIONS = microversion.CHOICES
#: The roles of the user of the embedded service.
ROLES = 'admin,service'
DEFAULT_API_VERSION = microversion.NEGOTIATE
#: The longest timeout, in seconds: a year. Sockets refuse more than some centuries.
LONGEST_TIMEOUT = 365 * 86400
DIRECT = 'placement_direct'
#: The loggers of osc-lib that log all options, also secret ones with unknown names; and the
#: logger of requests.
_LOGGERS = (
    'osc_lib.shell',
    'osc_lib.cli.client_config',
    'osc_lib.clientmanager',
    'keystoneauth.session',
)
#: The URL of a database in a log line.
_DATABASE = re.compile(r"""(placement[-_]database'?(?:=|: ?| ))("[^"]*"|'[^']*'|\S+)""")


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that all commands of the plugin share; OpenStackClient calls it."""
    is_beside_peer = PEER_PLUGIN in sys.modules
    if is_beside_peer:
        _replace_osc_placement_client()
    # Of osc-placement's options, this one has the default that ours has.
    return add_shared_options(parser, has_api_version=is_beside_peer)


def _replace_osc_placement_client() -> None:
    """Let OpenStackClient give commands the client of this package, not osc-placement's.

    The commands that both have are also entry points of ``openstack.extension``, the group that
    OpenStackClient loads last: of two commands with one name, the last counts.
    """
    from osc_lib import clientmanager

    cache = clientmanager.ClientCache(_make_client_beside_osc_placement)
    setattr(clientmanager.ClientManager, API_NAME, cache)


def _make_client_beside_osc_placement(instance: ClientManager) -> Client:
    """Return the client of a session, and warn that osc-placement is installed too."""
    LOG.warning('%s is installed too: this is the command of %s', PEER, DISTRIBUTION)
    return make_client(instance)


def add_shared_options(
    parser: argparse.ArgumentParser, *, has_api_version: bool = False
) -> argparse.ArgumentParser:
    """Add the options that all commands share.

    :param has_api_version: True if the parser has ``--os-placement-api-version``
    """
    # OpenStackClient refuses a way to authenticate for which nothing is set, but placement_direct
    # needs no setting. Of two options with one dest the first one's default counts, and
    # OpenStackClient adds --os-placement-roles after this.
    parser.add_argument(
        '--os-placement-default-roles',
        dest='placement_roles',
        default=os.environ.get('OS_PLACEMENT_ROLES', ROLES),
        help=argparse.SUPPRESS,
    )
    parser.add_argument(
        '--os-placement-retries',
        metavar='<number>',
        type=parse_retries,
        default=os.environ.get('OS_PLACEMENT_RETRIES') or str(endpoints.MAX_RETRIES),
        help='Retries for read requests without an answer; '
        f'default={endpoints.MAX_RETRIES} (Env: OS_PLACEMENT_RETRIES)',
    )
    parser.add_argument(
        '--os-placement-timeout',
        dest=TIMEOUT_OPTION,
        metavar='<seconds>',
        type=parse_seconds,
        default=os.environ.get('OS_PLACEMENT_TIMEOUT') or None,
        help='How long to wait for a connection, and then for each next part of an answer; '
        'the whole answer may take ten times as long; default='
        f'{endpoints.LIST_PROVIDERS.timeout}, for a reshape {endpoints.RESHAPE.timeout} '
        '(Env: OS_PLACEMENT_TIMEOUT)',
    )
    parser.add_argument(
        '--os-placement-answer-limit',
        metavar='<MiB>',
        type=parse_mebibytes,
        default=os.environ.get('OS_PLACEMENT_ANSWER_LIMIT') or str(endpoints.ANSWER_LIMIT >> 20),
        help='Maximum response size, in MiB; '
        f'default={endpoints.ANSWER_LIMIT >> 20} (Env: OS_PLACEMENT_ANSWER_LIMIT)',
    )
    parser.add_argument(
        '--os-placement-list-limit',
        metavar='<MiB>',
        type=parse_mebibytes,
        default=os.environ.get('OS_PLACEMENT_LIST_LIMIT') or str(endpoints.LIST_LIMIT >> 20),
        help='The largest list of another service, such as the servers of Nova, in all its pages; '
        f'default={endpoints.LIST_LIMIT >> 20} (Env: OS_PLACEMENT_LIST_LIMIT)',
    )
    parser.add_argument(
        '--os-placement-list-timeout',
        dest=LIST_TIMEOUT_OPTION,
        metavar='<seconds>',
        type=parse_seconds,
        default=os.environ.get('OS_PLACEMENT_LIST_TIMEOUT') or str(endpoints.LIST_TIMEOUT),
        help='How long such a list may take, in all its pages; '
        f'default={endpoints.LIST_TIMEOUT:g} (Env: OS_PLACEMENT_LIST_TIMEOUT)',
    )
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hide_secrets)
    logging.getLogger('cliff.commandmanager').addFilter(_is_no_duplicate_warning)
    if not has_api_version:
        parser.add_argument(
            '--os-placement-api-version',
            metavar='<placement-api-version>',
            default=os.environ.get('OS_PLACEMENT_API_VERSION') or DEFAULT_API_VERSION,
            help='Microversion of the Placement API: 1 for the highest that this client and the '
            f'service both know, or one of {microversion.LOWEST} to {microversion.HIGHEST}; '
            f'default={DEFAULT_API_VERSION} (Env: OS_PLACEMENT_API_VERSION)',
        )
    return parser


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Replace credentials in a log record with ``***``; return True, so that a filter keeps it."""
    message = mask_credentials(record.getMessage())
    record.msg, record.args = _DATABASE.sub(r'\1***', message), None
    return True


def _is_no_duplicate_warning(record: logging.LogRecord) -> bool:
    """Return False for the warning of cliff that it has found a command of this package twice."""
    message = record.getMessage()
    return not ('duplicate' in message and f' {factories.__name__}:' in message)


def refuse_cloud_beside_embedded_service(argv: Sequence[str]) -> None:
    """Raise UsageError if a cloud is named by options or variables beside the embedded service."""
    words = {word.partition('=')[0] for word in argv}
    others: list[str] = [name for name in ('--os-cloud', '--os-auth-url') if name in words]
    source = '--os-auth-type'
    if source not in words:
        source = 'OS_AUTH_TYPE'
        if os.environ.get(source) != DIRECT:
            return
        others += [name for name in ('OS_CLOUD', 'OS_AUTH_URL') if os.environ.get(name)]
    if others:
        typed, remedy = f'{source} {DIRECT}', 'Leave one of the two out'
        if source == 'OS_AUTH_TYPE':
            names = [name for name in (source, 'OS_PLACEMENT_DATABASE') if name in os.environ]
            typed, remedy = f'{source}={DIRECT} is still set and', f'Type: unset {" ".join(names)}'
        raise errors.UsageError(
            f'{typed} would win over {others[0]}, as it needs no cloud: every command would work '
            f'on a database of this host. {remedy}'
        )


def parse_number(text: str, least: int = 1, most: int = 2**31 - 1) -> int:
    """Return a number from ``least`` to ``most``; raise ArgumentTypeError for any other text."""
    if not re.fullmatch('[0-9]{1,10}', text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(
            f'{text[:40]!r} is not a whole number from {least} to {most}'
        )
    return int(text)


parse_retries = functools.partial(parse_number, least=0, most=999)
parse_mebibytes = functools.partial(parse_number, most=9_999_999)


def parse_seconds(text: str) -> float:
    """Return a positive number of seconds; raise ArgumentTypeError for any other text."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) <= LONGEST_TIMEOUT:
            return number
    raise argparse.ArgumentTypeError(f'{text!r} is not a number of seconds')


def make_client(instance: ClientManager) -> Client:
    """Return the client of a session.

    :param instance: OpenStackClient's ClientManager, or
        :class:`placementclient.cli.connection.Connection`
    """
    from placementclient.client.http import Client

    session = instance.session
    if getattr(instance, 'auth_plugin_name', None) == DIRECT:
        refuse_cloud_beside_embedded_service(sys.argv[1:])
    settings = instance.get_configuration()
    limit, list_limit = endpoints.ANSWER_LIMIT >> 20, endpoints.LIST_LIMIT >> 20
    list_timeout = endpoints.LIST_TIMEOUT
    return Client(
        session,
        microversion.parse_version_option(
            str(settings.get('placement_api_version', DEFAULT_API_VERSION))
        ),
        endpoint_override=settings.get('placement_endpoint_override'),
        max_retries=_parse_setting(
            settings, 'placement_retries', parse_retries, endpoints.MAX_RETRIES
        ),
        timeout=_parse_setting(settings, 'placement_seconds', parse_seconds, None),
        answer_limit=_parse_setting(settings, 'placement_answer_limit', parse_mebibytes, limit)
        << 20,
        list_limit=_parse_setting(settings, 'placement_list_limit', parse_mebibytes, list_limit)
        << 20,
        list_timeout=_parse_setting(
            settings, 'placement_list_seconds', parse_seconds, list_timeout
        ),
        interface=settings.get('placement_interface') or instance.interface,
        region_name=settings.get('placement_region_name') or instance.region_name,
    )


def _parse_setting(
    settings: Mapping[str, object], name: str, parse: Callable[[str], T], default: D
) -> T | D:
    """Return the parsed value of a setting, or the default; raise UsageError if it is malformed."""
    value = settings.get(name)
    try:
        return default if value is None else parse(str(value))
    except argparse.ArgumentTypeError as unreadable:
        raise errors.UsageError(f'{name}: {unreadable}') from None
