# SPDX-License-Identifier: Apache-2.0
"""The ways to authenticate: the options of keystoneauth, or a cloud of ``clouds.yaml``.

Both load slowly, the SDK above all. So this module is loaded only where a command asks for the
service, or where the command line has an option of authentication.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from placementclient.basis import errors
from placementclient.basis.wording import suggestion
from placementclient.cli import plugin

if TYPE_CHECKING:
    from keystoneauth1.session import Session

#: The auth types with a default domain in OpenStackClient, where OS_IDENTITY_API_VERSION is 3.
_WAYS_WITH_DOMAINS = ('password', 'v3password', 'v3totp')
#: The variables that only select a cloud.
_SELECTORS = {
    'OS_CLOUD',
    'OS_REGION_NAME',
    'OS_CLIENT_CONFIG_FILE',
    'OS_CLIENT_SECURE_FILE',
    'OS_CLOUD_NAME',
}
HINT = (
    'set OS_CLOUD to a cloud of your clouds.yaml, or OS_AUTH_URL and the other variables of your '
    'openrc; or use --os-auth-type placement_direct for a Placement without a server'
)


class ServiceSelection(NamedTuple):
    """The selection of the service that a cloud of ``clouds.yaml`` has.

    :param settings: the settings of the plugin, by name
    """

    interface: str | None
    region_name: str | None
    settings: dict[str, str | None]


class AuthenticationByOptions:
    """Authentication with keystoneauth's options and environment variables."""

    #: The selection of the service by a cloud of ``clouds.yaml``; none here.
    selection: ServiceSelection | None = None

    def __init__(self, argv: list[str]) -> None:
        from keystoneauth1 import exceptions, loading

        self._argv, self.parser = argv, _make_parser()
        try:
            way = 'password' if _list_cloud_variables() else _choose_auth_type(argv)
            loading.register_auth_argparse_arguments(self.parser, argv, default=way)
        except exceptions.NoMatchingPlugin as unknown:
            raise _make_unknown_type_error(unknown.name) from None

    def connect(self) -> Session:
        """Return a session that authenticates with the first request."""
        from keystoneauth1 import exceptions, loading

        values = self.parser.parse_known_args(self._argv)[0]
        _add_default_domain(values)
        try:
            auth = loading.load_auth_from_argparse_arguments(values)
        except exceptions.MissingRequiredOptions as missing:
            raise _make_missing_options_error(option.name for option in missing.options) from None
        return loading.load_session_from_argparse_arguments(values, auth=auth)


class AuthenticationByCloud:
    """Authentication with a cloud of ``clouds.yaml``; options and ``OS_*`` variables win."""

    def __init__(self, argv: list[str]) -> None:
        from openstack import exceptions
        from openstack.config import loader
        from osc_lib.api import auth
        from osc_lib.cli import client_config

        self._argv, self.parser = argv, _make_parser()
        self._unusable = (exceptions.ConfigException,)
        self.parser.add_argument('--verify', action='store_true', default=None)
        self.parser.add_argument('--os-auth-plugin', dest='auth_type', default=argparse.SUPPRESS)
        for name in ('cloud', 'region_name', 'interface'):
            default = os.environ.get(f'OS_{name.upper()}')
            self.parser.add_argument(f'--os-{name.replace("_", "-")}', dest=name, default=default)
        # None, so that the settings of the cloud count where there is no option.
        self.parser.set_defaults(insecure=None)
        auth.build_auth_plugins_option_parser(self.parser)
        defaults = {'interface': 'public', 'auth_type': _choose_auth_type(argv)}
        _refuse_unreadable_clouds('OS_CLIENT_CONFIG_FILE', loader.CONFIG_FILES)
        _refuse_unreadable_clouds('OS_CLIENT_SECURE_FILE', loader.SECURE_FILES)
        try:
            self._clouds = client_config.OSC_Config(override_defaults=defaults)
        except self._unusable as unusable:
            raise errors.PlacementError(str(unusable)) from None

    def connect(self) -> Session:
        """Return a session that authenticates with the first request."""
        from keystoneauth1.exceptions import NoMatchingPlugin

        values = self.parser.parse_known_args(self._argv)[0]
        # The SDK's name of it; without this, it takes the option for one of its own.
        values.api_timeout, values.timeout = values.timeout, None
        try:
            region = self._clouds.get_one(cloud=values.cloud, argparse=values)
            session = region.get_session()
        except NoMatchingPlugin as unknown:
            raise _make_unknown_type_error(unknown.name) from None
        except self._unusable as unusable:
            missing = re.findall(r'Missing value (\S+) required', str(unusable))
            if missing:
                raise _make_missing_options_error(missing) from None
            # Without a file the SDK names the cloud of its defaults.
            names = sorted(self._clouds.get_cloud_names() if self._clouds.config_filename else ())
            hint = '.'
            if values.cloud not in names:
                hint = suggestion(values.cloud or '', names) or f'. {_describe_clouds(names)}'
            raise errors.PlacementError(f'{str(unusable).rstrip(".")}{hint}') from None
        #: The selection of the service.
        self.selection = ServiceSelection(
            region.config.get('interface'),
            region.region_name,
            {name: region.config.get(name) for name in plugin.SETTINGS},
        )
        return session


def _refuse_unreadable_clouds(variable: str, paths: Sequence[str]) -> None:
    """Raise an error if the file of clouds cannot be read: the SDK would take another one."""
    import yaml

    candidates = filter(None, (os.environ.get(variable), *paths))
    path = next(filter(os.path.exists, candidates), None)
    if path is None:
        return
    try:
        with open(path, encoding='utf-8') as file:
            yaml.safe_load(file)
    except yaml.MarkedYAMLError as reason:
        from placementclient.files.cursors import describe_problem

        problem, mark = describe_problem(reason)
        raise errors.BadFile(path, problem, mark.line + 1 if mark else None) from None
    except (OSError, ValueError, yaml.YAMLError) as reason:
        message = getattr(reason, 'strerror', None) or ' '.join(str(reason).split())
        raise errors.BadFile(path, message) from None


def _describe_clouds(names: Sequence[str]) -> str:
    """Return the names of the clouds, or where ``clouds.yaml`` may be, in a sentence."""
    from openstack.config.loader import CONFIG_FILES

    if names:
        return f'clouds.yaml has {", ".join(names)}'
    folders = dict.fromkeys(os.path.dirname(path) for path in CONFIG_FILES)
    return (
        f'There is no clouds.yaml in {", ".join(folders)}; OS_CLIENT_CONFIG_FILE can name another '
        'file'
    )


def _make_unknown_type_error(name: str) -> errors.UsageError:
    from keystoneauth1 import loading

    names = sorted(loading.get_available_plugin_names())
    near = suggestion(name, names)
    return errors.UsageError(f'Unknown auth type {name}. Choose from {", ".join(names)}{near}')


def _make_missing_options_error(names: Iterable[str]) -> errors.PlacementError:
    needed = ' and '.join(f'--os-{name}' for name in names)
    return errors.PlacementError(f'No authentication without {needed}: {HINT}')


def is_cloud_selected(options: argparse.Namespace, argv: Sequence[str]) -> bool:
    """Return whether the user selects a cloud; the only one of a file need not be named."""
    if options.os_cloud:
        return True
    is_typed = any(word.startswith(('--os-auth', '--os-endpoint')) for word in argv)
    return not is_typed and not _list_cloud_variables()


def _list_cloud_variables() -> set[str]:
    """Return the variables that describe a cloud to OpenStackClient."""
    return {name for name in os.environ if name.startswith('OS_')} - _SELECTORS


def _choose_auth_type(argv: Sequence[str]) -> str:
    """Return the default auth type."""
    words = {word.partition('=')[0] for word in argv}
    has_both = all(
        f'--os-{name}' in words or os.environ.get(f'OS_{name.upper()}')
        for name in ('endpoint', 'token')
    )
    return 'admin_token' if has_both else 'password'


def _add_default_domain(values: argparse.Namespace) -> None:
    """Give a user and a project without a domain the default one, as OpenStackClient does."""
    if values.identity_api_version != '3' or values.os_auth_type not in _WAYS_WITH_DOMAINS:
        return
    for owner in ('user', 'project'):
        names = (f'os_{owner}_domain_id', f'os_{owner}_domain_name')
        if not any(getattr(values, name, None) for name in names):
            setattr(values, names[0], values.default_domain)


def _make_parser() -> argparse.ArgumentParser:
    """Return a parser with the options of each way: those of a session, and of domains."""
    from keystoneauth1 import loading

    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False)
    for name, otherwise in (('identity_api_version', None), ('default_domain', 'default')):
        default = os.environ.get(f'OS_{name.upper()}') or otherwise
        parser.add_argument(f'--os-{name.replace("_", "-")}', dest=name, default=default)
    loading.register_session_argparse_arguments(parser)
    parser.set_defaults(timeout=None)
    return parser
