# SPDX-License-Identifier: Apache-2.0
"""The ways to authenticate: the options of keystoneauth, or a cloud of ``clouds.yaml``.

Both load slowly, the SDK above all. So this module is loaded only where a command asks for the
service, or where the command line has an option of authentication.
"""

from __future__ import annotations

import abc
import argparse
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.cli import plugin

if TYPE_CHECKING:
    from keystoneauth1.session import Session

#: The auth types with a default domain in OpenStackClient, where OS_IDENTITY_API_VERSION is 3.
_TYPES_WITH_DOMAINS = ('password', 'v3password', 'v3totp')
#: The variables that only select a cloud.
_SELECTORS = {
    'OS_CLOUD',
    'OS_REGION_NAME',
    'OS_CLIENT_CONFIG_FILE',
    'OS_CLIENT_SECURE_FILE',
    'OS_CLOUD_NAME',
}
#: An option of an auth type that the SDK misses, in its message.
_MISSING_VALUE = re.compile(r'Missing value (\S+) required')
#: The next step where the options of an auth type are missing.
_HINT = (
    'set OS_CLOUD to a cloud of your clouds.yaml, or OS_AUTH_URL and the other variables of your '
    'openrc; or use --os-auth-type placement_direct for a Placement without a server'
)


class ServiceSelection(NamedTuple):
    """The interface, region and Placement settings that a cloud selects; ``None``: not set."""

    interface: str | None
    region_name: str | None
    settings: dict[str, str | None]


class Authentication(abc.ABC):
    """A way to authenticate, with the options of the command line that belong to it.

    :ivar parser: the parser of these options
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv, self.parser = list(argv), _make_session_parser()

    def parse_options(self) -> argparse.Namespace:
        """Return the values of the options for authentication on the command line."""
        return self.parser.parse_known_args(self._argv)[0]

    @abc.abstractmethod
    def connect(self) -> tuple[Session, ServiceSelection | None]:
        """Return a session that authenticates with the first request.

        :return: the session, and the service that the cloud selects; None: there is no cloud, so
            options and variables of the program select it
        """


class AuthenticationByOptions(Authentication):
    """Authentication with keystoneauth's options and environment variables."""

    def __init__(self, argv: Sequence[str]) -> None:
        from keystoneauth1 import exceptions, loading

        super().__init__(argv)
        # OpenStackClient takes variables for a cloud with a password, OS_TOKEN and OS_ENDPOINT too.
        auth_type = 'password' if _list_authentication_variables() else _choose_auth_type(argv)
        try:
            loading.register_auth_argparse_arguments(self.parser, self._argv, default=auth_type)
        except exceptions.NoMatchingPlugin as unknown:
            raise _make_unknown_auth_type_error(unknown.name) from None

    def connect(self) -> tuple[Session, None]:
        """Return a session of the options and variables, and no service, as there is no cloud."""
        from keystoneauth1 import exceptions, loading

        values = self.parse_options()
        _add_default_domain(values)
        fields = vars(values)
        # keystoneauth would send a user without a password.
        if fields.get('os_username') and fields.get('os_password', '') is None:
            raise _make_missing_options_error(['password'])
        try:
            auth = loading.load_auth_from_argparse_arguments(values)
        except exceptions.MissingRequiredOptions as missing:
            raise _make_missing_options_error(option.name for option in missing.options) from None
        return loading.load_session_from_argparse_arguments(values, auth=auth), None


class AuthenticationByCloud(Authentication):
    """Authentication with a cloud of ``clouds.yaml``; options and ``OS_*`` variables win."""

    def __init__(self, argv: Sequence[str]) -> None:
        from openstack import exceptions
        from openstack.config import loader
        from osc_lib.api import auth
        from osc_lib.cli import client_config

        super().__init__(argv)
        self.parser.add_argument('--verify', action='store_true', default=None)
        self.parser.add_argument('--os-auth-plugin', dest='auth_type', default=argparse.SUPPRESS)
        for name in ('cloud', 'region_name', 'interface'):
            default = os.environ.get(f'OS_{name.upper()}')
            self.parser.add_argument(f'--os-{name.replace("_", "-")}', dest=name, default=default)
        # None, so that the settings of the cloud count where there is no option.
        self.parser.set_defaults(insecure=None)
        auth.build_auth_plugins_option_parser(self.parser)
        defaults = {'interface': 'public', 'auth_type': _choose_auth_type(argv)}
        _refuse_unreadable_clouds_file('OS_CLIENT_CONFIG_FILE', loader.CONFIG_FILES)
        _refuse_unreadable_clouds_file('OS_CLIENT_SECURE_FILE', loader.SECURE_FILES)
        try:
            self._clouds = client_config.OSC_Config(override_defaults=defaults)
        except exceptions.ConfigException as unusable:
            raise errors.PlacementError(str(unusable)) from None

    def connect(self) -> tuple[Session, ServiceSelection]:
        """Return a session of the cloud, and the service that the cloud selects."""
        from keystoneauth1.exceptions import NoMatchingPlugin
        from openstack.exceptions import ConfigException

        values = self.parse_options()
        # The SDK's name of it; without this, it takes the option for one of its own.
        values.api_timeout, values.timeout = values.timeout, None
        try:
            region = self._clouds.get_one(cloud=values.cloud, argparse=values)
            session = region.get_session()
        except NoMatchingPlugin as unknown:
            raise _make_unknown_auth_type_error(unknown.name) from None
        except ConfigException as unusable:
            raise self._make_unusable_cloud_error(values.cloud, str(unusable)) from None
        settings = {name: region.config.get(name) for name in plugin.SETTINGS}
        interface = region.config.get('interface')
        return session, ServiceSelection(interface, region.region_name, settings)

    def _make_unusable_cloud_error(self, cloud: str | None, reason: str) -> errors.PlacementError:
        """Return an error with the SDK's reason, and the known clouds if none has the name."""
        if missing := _MISSING_VALUE.findall(reason):
            return _make_missing_options_error(missing)
        # Without a file the SDK names the cloud of its defaults.
        names = sorted(self._clouds.get_cloud_names() if self._clouds.config_filename else ())
        hint = '.'
        if cloud not in names:
            hint = suggest_similar(cloud or '', names) or f'. {_describe_clouds(names)}'
        return errors.PlacementError(f'{reason.rstrip(".")}{hint}')


def _refuse_unreadable_clouds_file(variable: str, paths: Sequence[str]) -> None:
    """Raise an error if a file of clouds cannot be read: the SDK would take another one.

    :param variable: the environment variable with the path of the file
    :param paths: the usual paths of the file, of which the first that exists counts
    """
    import yaml

    candidates = filter(None, (os.environ.get(variable), *paths))
    path = next(filter(os.path.exists, candidates), None)
    if path is None:
        return
    try:
        with open(path, encoding='utf-8') as file:
            yaml.safe_load(file)
    except yaml.MarkedYAMLError as reason:
        from placementclient.files.yaml_problems import describe_yaml_error

        problem, mark = describe_yaml_error(reason)
        raise errors.BadFile(path, problem, mark.line + 1 if mark else None) from None
    except (OSError, ValueError, yaml.YAMLError) as reason:
        message = getattr(reason, 'strerror', None) or ' '.join(str(reason).split())
        raise errors.BadFile(path, message) from None


def _describe_clouds(names: Sequence[str]) -> str:
    """Return a sentence with the clouds; without any, on where ``clouds.yaml`` may be."""
    from openstack.config.loader import CONFIG_FILES

    if names:
        return f'clouds.yaml has {", ".join(names)}'
    folders = dict.fromkeys(os.path.dirname(path) for path in CONFIG_FILES)
    return (
        f'There is no clouds.yaml in {", ".join(folders)}; OS_CLIENT_CONFIG_FILE can name another '
        'file'
    )


def _make_unknown_auth_type_error(name: str) -> errors.UsageError:
    from keystoneauth1 import loading

    names = sorted(loading.get_available_plugin_names())
    near = suggest_similar(name, names)
    choice = f'{near or "."} Choose from {", ".join(names)}'
    return errors.UsageError(f'Unknown auth type {name}{choice}')


def _make_missing_options_error(names: Iterable[str]) -> errors.PlacementError:
    variables = {name: f'OS_{name.replace("-", "_").upper()}' for name in names}
    needed = ' and '.join(f'--os-{name} ({variable})' for name, variable in variables.items())
    return errors.PlacementError(f'No authentication without {needed}: {_HINT}')


def is_cloud_selected(options: argparse.Namespace, argv: Sequence[str]) -> bool:
    """Return whether to use a cloud of ``clouds.yaml``: it is named, or nothing else is given."""
    if options.os_cloud:
        return True
    is_typed = any(word.startswith(('--os-auth', '--os-endpoint')) for word in argv)
    return not is_typed and not _list_authentication_variables()


def _list_authentication_variables() -> set[str]:
    """Return the names of those set ``OS_*`` variables that do more than select a cloud."""
    return {name for name in os.environ if name.startswith('OS_')} - _SELECTORS


def _choose_auth_type(argv: Sequence[str]) -> str:
    """Return ``admin_token`` where a token and an endpoint are given, else ``password``."""
    words = {word.partition('=')[0] for word in argv}
    has_both = all(
        f'--os-{name}' in words or os.environ.get(f'OS_{name.upper()}')
        for name in ('endpoint', 'token')
    )
    return 'admin_token' if has_both else 'password'


def _add_default_domain(values: argparse.Namespace) -> None:
    """Give a user and a project without a domain the default one, as OpenStackClient does."""
    if values.identity_api_version != '3' or values.os_auth_type not in _TYPES_WITH_DOMAINS:
        return
    for owner in ('user', 'project'):
        names = (f'os_{owner}_domain_id', f'os_{owner}_domain_name')
        if not any(getattr(values, name, None) for name in names):
            setattr(values, names[0], values.default_domain)


def _make_session_parser() -> argparse.ArgumentParser:
    """Return a parser of keystoneauth's options for a session and for the default domain."""
    from keystoneauth1 import loading

    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False)
    for name, otherwise in (('identity_api_version', None), ('default_domain', 'default')):
        default = os.environ.get(f'OS_{name.upper()}') or otherwise
        parser.add_argument(f'--os-{name.replace("_", "-")}', dest=name, default=default)
    loading.register_session_argparse_arguments(parser)
    parser.set_defaults(timeout=None)
    return parser
