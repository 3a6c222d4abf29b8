# SPDX-License-Identifier: Apache-2.0
"""Authentication of the program ``placement``, and the selection of the service."""

from __future__ import annotations

import argparse
import copy
import functools
import os
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.cli import plugin

if TYPE_CHECKING:
    import requests
    from keystoneauth1.session import Session

    from placementclient.cli import authentication
    from placementclient.client import http

#: The beginnings of the options that only keystoneauth or the SDK knows.
FOREIGN_OPTIONS = ('--os-', '--tls-', '--collect-timing')
#: The default timeout for answers of Keystone, in seconds.
KEYSTONE_TIMEOUT = 60.0


class Connection:
    """The ClientManager that a plugin expects; it authenticates with its first request.

    :param options: the options of the program
    :param argv: the command line, which may have more options for authentication
    :param session: used instead of one that the command line describes
    :ivar interface: the interface of the service in the catalog, and ``region_name`` its region; a
        cloud of ``clouds.yaml`` sets both, and ``settings``, as soon as :attr:`session` is read
    :ivar settings: the settings of the plugin for this service alone, by name
    """

    def __init__(
        self, options: argparse.Namespace, argv: Sequence[str] = (), session: Session | None = None
    ) -> None:
        self._options, self._argv, self._session = options, list(argv), session
        self._clients: dict[str, http.Client] = {}
        self._version: str = options.os_placement_api_version
        #: The latest requests of the command: method, URL, duration in seconds.
        self.timings: deque[tuple[str, str, float]] = deque(maxlen=100_000)
        self._timeout = getattr(options, plugin.TIMEOUT_OPTION)
        # In this order, as OpenStackClient has it.
        self.interface: str | None = os.environ.get('OS_ENDPOINT_TYPE') or options.os_interface
        self.region_name: str | None = options.os_region_name
        self.settings: dict[str, str | None] = {
            name: os.environ.get(f'OS_{name.upper()}') for name in plugin.SETTINGS
        }

    @property
    def session(self) -> Session:
        """The session of all requests, which authenticates with the first of them."""
        if self._session is None:
            self._session, selection = self._authentication.connect()
            # None: options and variables alone select the service.
            if selection is not None:
                self.interface = selection.interface
                self.region_name = selection.region_name
                self.settings = selection.settings
            self._session.session.hooks['response'].append(self._record_timing)
            _read_environment_once(self._session)
            # A cloud may have a timeout; this is the default for requests to Keystone.
            self._timeout = self._timeout or self._session.timeout
            self._session.timeout = self._session.timeout or KEYSTONE_TIMEOUT
        return self._session

    def close(self) -> None:
        """Close the embedded Placement, if it was started: a process can have only one."""
        auth = self._session.auth if self._session is not None else None
        # Only that of the embedded Placement has it.
        if close := getattr(auth, 'close', None):
            close()

    def get_configuration(self) -> dict[str, object]:
        """Return the settings of the client, under the names of OpenStackClient."""
        return {
            **self.settings,
            'placement_api_version': self._version,
            'placement_retries': self._options.os_placement_retries,
            'placement_seconds': self._timeout,
            'placement_answer_limit': self._options.os_placement_answer_limit,
            'placement_list_limit': self._options.os_placement_list_limit,
            'placement_list_seconds': getattr(self._options, plugin.LIST_TIMEOUT_OPTION),
        }

    @property
    def placement(self) -> http.Client:
        """The client of the Placement service at the selected microversion."""
        if self._version not in self._clients:
            self._clients[self._version] = plugin.make_client(self)
        return self._clients[self._version]

    def prepare_next_command(self, version: str) -> None:
        """Forget the timings and the last change; use a microversion for the next command."""
        self._version = version
        self.timings.clear()
        if version in self._clients:
            self._clients[version] = self._clients[version].copy_without_history()

    def has_negotiated(self, version: str) -> bool:
        """Return whether a client has negotiated a microversion with the service already."""
        return version in self._clients and self._clients[version].is_microversion_settled

    def copy_for_version(self, version: str) -> Connection:
        """Return a copy of this connection, for a command that runs beside others."""
        other = copy.copy(self)
        other._clients, other.timings = self._clients.copy(), self.timings.copy()
        other.prepare_next_command(version)
        return other

    def _record_timing(self, answer: requests.Response, **_: object) -> None:
        request = answer.request
        seconds = answer.elapsed.total_seconds()
        self.timings.append((str(request.method), str(request.url), seconds))

    def format_authentication_help(self) -> str:
        """Return the help on the options of the selected way to authenticate."""
        return self._authentication.parser.format_help()

    def remove_authentication_options(self, words: Sequence[str]) -> list[str]:
        """Return a command line without the options for authentication."""
        if self._session is None and any(word.startswith(FOREIGN_OPTIONS) for word in words):
            return self._authentication.parser.parse_known_args(list(words))[1]
        return list(words)

    @functools.cached_property
    def _authentication(self) -> authentication.Authentication:
        """The way to authenticate that the options and variables select."""
        from placementclient.cli import authentication

        if (self._options.os_auth_type or os.environ.get('OS_AUTH_TYPE')) == plugin.DIRECT:
            plugin.refuse_cloud_beside_embedded_service(self._argv)
        elif authentication.is_cloud_selected(self._options, self._argv):
            return authentication.AuthenticationByCloud(self._argv)
        return authentication.AuthenticationByOptions(self._argv)


def _read_environment_once(session: Session) -> None:
    """Read proxies and certificates of the environment now, not at each request."""
    # At each request, the look would take a tenth of all that the client does.
    from urllib import request

    if session.verify is True:
        bundles = map(os.environ.get, ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'))
        session.verify = next(filter(None, bundles), True)
    files = map(os.path.expanduser, (os.environ.get('NETRC', '~/.netrc'), '~/_netrc'))
    session.session.trust_env = bool(request.getproxies()) or any(map(os.path.exists, files))


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options of a connection that all auth types have."""
    group = parser.add_argument_group(
        'connection options',
        'Each way to authenticate has options and variables of its own, such as --os-auth-url and '
        'OS_AUTH_URL. --help beside --os-auth-type prints them.',
    )
    group.add_argument(
        '--os-cloud',
        metavar='<cloud>',
        default=os.environ.get('OS_CLOUD') or None,
        help='A cloud of clouds.yaml (Env: OS_CLOUD)',
    )
    group.add_argument(
        '--os-auth-type',
        '--os-auth-plugin',
        metavar='<name>',
        help='How to authenticate: password, token, v3applicationcredential, none, '
        'placement_direct, …; default=password (Env: OS_AUTH_TYPE)',
    )
    group.add_argument(
        '--os-region-name',
        metavar='<region>',
        default=os.environ.get('OS_REGION_NAME'),
        help='The region of the service (Env: OS_REGION_NAME)',
    )
    group.add_argument(
        '--os-interface',
        metavar='<interface>',
        choices=('admin', 'public', 'internal'),
        default=os.environ.get('OS_INTERFACE') or 'public',
        help='public, internal or admin (Env: OS_INTERFACE); where no cloud is named, '
        'OS_ENDPOINT_TYPE wins over both, as in OpenStackClient',
    )
    for option, help in (
        ('--os-cacert', 'A file of certificate authorities (Env: OS_CACERT)'),
        ('--os-cert', 'A file with the certificate of the client (Env: OS_CERT)'),
        ('--os-key', 'A file with its private key (Env: OS_KEY)'),
    ):
        group.add_argument(option, metavar='<file>', help=help)
    group.add_argument('--insecure', action='store_true', help='Do not verify certificates')
    group.add_argument('--verify', action='store_true', help='Verify certificates (default)')
    group.add_argument(
        '--retries',
        dest=plugin.RETRIES_OPTION,
        metavar='<number>',
        type=plugin.parse_retries,
        default=argparse.SUPPRESS,
        help='The same as --os-placement-retries',
    )
    group.add_argument(
        '--timeout',
        dest=plugin.TIMEOUT_OPTION,
        metavar='<seconds>',
        type=plugin.parse_seconds,
        default=argparse.SUPPRESS,
        help='The same as --os-placement-timeout, and the same for Keystone',
    )
