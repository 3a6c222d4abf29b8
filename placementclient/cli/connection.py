"""How the program ``placement`` authenticates, and what selects the service.

The options of authentication are those of keystoneauth, or those of the SDK where a cloud of
``clouds.yaml`` is used. Both load slowly, the SDK above all. So they are loaded only where a
command asks for the service, or where the command line has such an option.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from placementclient import errors, plugin

if TYPE_CHECKING:
    import requests

    from placementclient import http

#: What the options begin with that only keystoneauth or the SDK knows.
FOREIGN = ('--os-', '--tls-', '--collect-timing')
DEFAULT_WAY = 'password'
#: How long Keystone is waited for where nothing is said, in seconds.
TIMEOUT = 60.0
HINT = (
    'set the OS_* variables of your cloud, or use --os-cloud with a clouds.yaml, or '
    '--os-auth-type placement_direct for a Placement without a server'
)


class Connection:
    """What OpenStackClient's ClientManager is for a plugin: a session and what selects the service.

    Nobody is authenticated before a command asks for it.

    :param options: what the command line said, by options that :func:`add_options` added
    :param argv: the command line
    :param session: a session to use instead of one that the command line describes
    """

    def __init__(
        self, options: argparse.Namespace, argv: Sequence[str] = (), session: Any = None
    ) -> None:
        self._options, self._argv, self._session = options, list(argv), session
        self._clients: dict[str, http.Client] = {}
        self._api_version = {plugin.API_NAME: options.os_placement_api_version}
        self._is_timed: bool = options.timing
        self._retries = getattr(options, plugin.RETRIES_OPTION)
        self._timeout = getattr(options, plugin.TIMEOUT_OPTION)
        self.interface: Any = options.os_interface
        self.region_name: Any = options.os_region_name
        self.endpoint_override: Any = os.environ.get('OS_PLACEMENT_ENDPOINT_OVERRIDE')

    @property
    def session(self) -> Any:
        """An authenticated ``keystoneauth1.session.Session``."""
        if self._session is None:
            self._session = self._way.connect(self)
            self._session._collect_timing = self._is_timed
            _look_for_proxies_once(self._session.session)
            # A cloud may say how long; else this is for what is asked of Keystone.
            self._timeout = self._timeout or self._session.timeout
            self._session.timeout = self._session.timeout or TIMEOUT
        return self._session

    def get_configuration(self) -> dict[str, Any]:
        """The settings that the client of the service is made of, by OpenStackClient's names."""
        return {
            'placement_endpoint_override': self.endpoint_override,
            'placement_retries': self._retries,
            'placement_seconds': self._timeout,
        }

    @property
    def placement(self) -> http.Client:
        """The client of the Placement service, for the microversion in use."""
        version = self._api_version[plugin.API_NAME]
        if version not in self._clients:
            self._clients[version] = plugin.make_client(self)
        return self._clients[version]

    def use(self, version: str, *, timed: bool = False) -> None:
        """Begin another command at a microversion, knowing what is known of the service.

        :param timed: whether :meth:`timings` is going to be asked
        """
        self._is_timed = timed
        if self._session is not None:
            self._session._collect_timing = timed
        self._api_version = {plugin.API_NAME: version}
        if version in self._clients:
            self._clients[version] = self._clients[version].renewed()

    def is_settled(self, version: str) -> bool:
        """Whether a command at a microversion finds out nothing that others need too."""
        return version in self._clients and self._clients[version].is_settled

    def beside(self, version: str) -> Connection:
        """The same connection for a command that runs beside others, at a microversion."""
        other = copy.copy(self)
        other._clients = self._clients.copy()
        other.use(version)
        return other

    def timings(self) -> list[Any]:
        """What was asked since this was called, and how long each answer took."""
        if self._session is None:
            return []
        timings = list(self._session.get_timings())
        self._session.reset_timings()
        return timings

    def help(self) -> str:
        """The options of the way to authenticate that the command line names."""
        return self._way.parser.format_help()

    def without_authentication(self, words: Sequence[str]) -> list[str]:
        """A command line without the options that say how to authenticate."""
        if self._session is None and any(word.startswith(FOREIGN) for word in words):
            return self._way.parser.parse_known_args(list(words))[1]
        return list(words)

    @functools.cached_property
    def _way(self) -> _Options | _Cloud:
        is_direct = _is_direct(self._options, self._argv)
        return (_Cloud if self._options.os_cloud and not is_direct else _Options)(self._argv)


def _look_for_proxies_once(session: requests.Session) -> None:
    """Have a session look for the proxies of a host in the environment once.

    It does so for every request, which takes as long as half of all else that it does.
    """
    settings = session.merge_environment_settings

    @functools.cache
    def of_host(host: str, *given: Any) -> dict[str, Any]:
        return settings(host, {}, *given)

    def merged(url: str, proxies: dict[str, str], *given: Any) -> dict[str, Any]:
        host = '/'.join(url.split('/', 3)[:3])
        return settings(url, proxies, *given) if proxies else dict(of_host(host, *given))

    session.merge_environment_settings = merged  # type: ignore[method-assign,assignment]


def _is_direct(options: argparse.Namespace, argv: Sequence[str]) -> bool:
    """Whether the embedded Placement is asked for, and not a cloud.

    What the command line says wins over the environment.

    :raises errors.UsageError: if the command line, or the environment, asks for both
    """
    if (options.os_auth_type or os.environ.get('OS_AUTH_TYPE')) != plugin.DIRECT:
        return False
    plugin.check_direct(argv)
    return True


class _Options:
    """The session that the options of keystoneauth and the variables that they stand for describe.

    :raises errors.UsageError: if there is no such way to authenticate
    """

    def __init__(self, argv: list[str]) -> None:
        with _without('netaddr'):
            from keystoneauth1 import exceptions, loading

        self._argv, self.parser = argv, _parser()
        loading.register_session_argparse_arguments(self.parser)
        self.parser.set_defaults(timeout=None)
        try:
            loading.register_auth_argparse_arguments(self.parser, argv, default=DEFAULT_WAY)
        except exceptions.NoMatchingPlugin as unknown:
            raise errors.UsageError(str(unknown)) from None

    def connect(self, connection: Connection) -> Any:
        """The session.

        :raises errors.PlacementError: if something is missing
        """
        from keystoneauth1 import exceptions, loading

        given = self.parser.parse_known_args(self._argv)[0]
        try:
            auth = loading.load_auth_from_argparse_arguments(given)
        except exceptions.MissingRequiredOptions as missing:
            names = ' and '.join(f'--os-{option.name}' for option in missing.options)
            raise errors.PlacementError(f'No authentication without {names}: {HINT}') from None
        return loading.load_session_from_argparse_arguments(given, auth=auth)


class _Cloud:
    """The session that a cloud of ``clouds.yaml`` describes."""

    def __init__(self, argv: list[str]) -> None:
        from openstack import config, exceptions

        self._argv, self.parser = argv, _parser()
        self._unusable = exceptions.ConfigException
        try:
            self._clouds = config.OpenStackConfig()
            self._clouds.register_argparse_arguments(self.parser, argv)
        except self._unusable as unusable:
            raise errors.PlacementError(str(unusable)) from None

    def connect(self, connection: Connection) -> Any:
        """The session; the cloud says what selects the service too.

        :raises errors.PlacementError: if there is no such cloud, or not enough said of it
        """
        given = self.parser.parse_known_args(self._argv)[0]
        try:
            region = self._clouds.get_one(argparse=given)
            session = region.get_session()
        except self._unusable as unusable:
            raise errors.PlacementError(str(unusable)) from None
        connection.interface = region.get_interface(plugin.API_NAME) or connection.interface
        connection.region_name = region.get_region_name(plugin.API_NAME)
        connection.endpoint_override = region.get_endpoint(plugin.API_NAME)
        return session


@contextlib.contextmanager
def _without(package: str) -> Iterator[None]:
    """Have a package that others can do without count as not installed while they are loaded.

    keystoneauth logs addresses of netaddr where there are some, which there never are; the package
    takes as long to load as all of ours.
    """
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[package]


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every way to authenticate; :class:`Connection` finds those of one."""
    group = parser.add_argument_group(
        'connection options',
        'Each way to authenticate has options of its own, and variables that stand for them, such '
        'as --os-auth-url and OS_AUTH_URL. --help beside --os-auth-type prints them.',
    )
    _add_options_that_select(group)
    for option, help in (
        ('--os-cacert', 'A file of certificate authorities (Env: OS_CACERT)'),
        ('--os-cert', 'A file with the certificate of the client (Env: OS_CERT)'),
        ('--os-key', 'A file with its private key (Env: OS_KEY)'),
    ):
        group.add_argument(option, metavar='<file>', help=help)
    group.add_argument('--insecure', action='store_true', help='Do not verify certificates')
    group.add_argument(
        '--retries',
        dest=plugin.RETRIES_OPTION,
        metavar='<number>',
        type=plugin.retries,
        default=argparse.SUPPRESS,
        help='The same as --os-placement-retries',
    )
    group.add_argument(
        '--timeout',
        dest=plugin.TIMEOUT_OPTION,
        metavar='<seconds>',
        type=plugin.seconds,
        default=argparse.SUPPRESS,
        help='The same as --os-placement-timeout, and what Keystone may take',
    )


def _add_options_that_select(group: argparse._ArgumentGroup) -> None:
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
        f'placement_direct, …; default={DEFAULT_WAY} (Env: OS_AUTH_TYPE)',
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
        default=os.environ.get('OS_INTERFACE') or 'public',
        help='public, internal or admin (Env: OS_INTERFACE)',
    )
