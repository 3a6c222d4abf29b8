"""How the program ``placement`` authenticates, and what selects the service.

The options are those of keystoneauth, or those of the SDK where a cloud of ``clouds.yaml`` is used:
only then it is loaded, as that takes longer than all the rest.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from keystoneauth1 import exceptions, loading

from placementclient import errors, http, plugin


class Connection:
    """What OpenStackClient's ClientManager is for a plugin: a session and what selects the service.

    Nobody is authenticated before a command asks for it.

    :param options: what the command line said, by options that :func:`add_options` added
    :param session: a session to use instead of one that the options describe
    """

    def __init__(self, options: argparse.Namespace, session: Any = None) -> None:
        self._options, self._session = options, session
        self._api_version = {plugin.API_NAME: options.os_placement_api_version}
        self._client: http.Client | None = None
        self.interface: str | None = options.os_interface
        self.region_name: str | None = options.os_region_name
        self.endpoint_override = os.environ.get('OS_PLACEMENT_ENDPOINT_OVERRIDE')

    @property
    def session(self) -> Any:
        """An authenticated ``keystoneauth1.session.Session``."""
        if self._session is None:
            from_cloud = self._options.os_cloud is not None
            self._session = self._from_cloud() if from_cloud else self._from_options()
        return self._session

    @property
    def placement(self) -> http.Client:
        """The client of the Placement service."""
        if self._client is None:
            self._client = plugin.make_client(self)
        return self._client

    def timings(self) -> list[Any]:
        """What was asked, and how long each answer took."""
        return list(self._session.get_timings()) if self._session else []

    def _from_options(self) -> Any:
        return loading.load_session_from_argparse_arguments(
            self._options,
            auth=loading.load_auth_from_argparse_arguments(self._options),
            collect_timing=self._options.timing,
        )

    def _from_cloud(self) -> Any:
        region = self._options.clouds.get_one(argparse=self._options)
        self.interface = region.get_interface(plugin.API_NAME) or self.interface
        self.region_name = region.get_region_name(plugin.API_NAME)
        self.endpoint_override = region.get_endpoint(plugin.API_NAME)
        session = region.get_session()
        session._collect_timing = self._options.timing
        return session


def add_options(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Add the options that say how to authenticate.

    :param argv: the arguments: they say which way it is, and so which options there are
    :raises errors.UsageError: if there is no such way
    :raises errors.PlacementError: if there is no such cloud
    """
    ahead = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    ahead.add_argument('--os-cloud', default=os.environ.get('OS_CLOUD'))
    if ahead.parse_known_args(list(argv))[0].os_cloud:
        _add_options_of_cloud(parser, argv)
        return
    parser.add_argument('--os-cloud', help='A cloud of clouds.yaml (Env: OS_CLOUD)')
    parser.add_argument(
        '--os-region-name',
        default=os.environ.get('OS_REGION_NAME'),
        help='The region of the service (Env: OS_REGION_NAME)',
    )
    parser.add_argument(
        '--os-interface',
        default=os.environ.get('OS_INTERFACE', 'public'),
        help='public, internal or admin (Env: OS_INTERFACE)',
    )
    loading.register_session_argparse_arguments(parser)
    try:
        loading.register_auth_argparse_arguments(parser, list(argv), default='password')
    except exceptions.NoMatchingPlugin as unknown:
        raise errors.UsageError(str(unknown)) from None


def _add_options_of_cloud(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    from openstack import config, exceptions

    try:
        clouds = config.OpenStackConfig()
        clouds.register_argparse_arguments(parser, list(argv))
    except exceptions.ConfigException as unusable:
        raise errors.PlacementError(str(unusable)) from None
    parser.set_defaults(clouds=clouds)
