# SPDX-License-Identifier: Apache-2.0
"""Checks of Placement as the user of a service, without a write."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from placementclient import api
from placementclient.basis import errors
from placementclient.basis.wording import mask_credentials
from placementclient.client import endpoints, keystone
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion

if TYPE_CHECKING:
    from requests import Response

    from placementclient.nova.service_user import ServiceUser

#: From here on a token may be refused as expired, or as not valid yet.
_LARGEST_SKEW = 60
_UNKNOWN_UUID = '00000000-0000-0000-0000-000000000000'


class NeedRow(NamedTuple):
    """A need of another service, and whether Placement meets it: a row of ``resource api check``.

    :ivar needs: the required value
    :ivar has: the present value
    """

    need: str
    needs: str
    has: str
    is_met: bool


class ServiceChecks:
    """Checks of Placement as the user of another service, such as nova-compute.

    :param user: the credentials and the endpoint in the configuration file of the service
    :param needed: the lowest microversion that the service can use
    """

    def __init__(self, user: ServiceUser, needed: Microversion) -> None:
        self._user, self._needed = user, needed
        self._date: str | None = None
        user.session.session.hooks['response'].append(self._store_answer_date)
        self._client = Client(
            user.session, endpoint_override=user.endpoint_override, **user.selection
        )

    def list_rows(self) -> Iterator[NeedRow]:
        """Run the checks and yield a row for each; end after a missing token or endpoint."""
        selection = self._user.selection
        where = f'{", ".join(selection["interface"])} in {selection["region_name"] or "any region"}'
        steps: tuple[tuple[str, str, Callable[[], tuple[str, bool]]], ...] = (
            ('authentication', 'token', self._check_authentication),
            ('endpoint', where, self._check_endpoint),
            ('version', str(self._needed), self._check_version),
            ('read', 'GET /resource_providers', self._check_reading),
            ('reshape', f'role {endpoints.RESHAPE.roles}', self._check_reshape),
            ('clock', f'less than {_LARGEST_SKEW} s apart', self._check_clock),
        )
        for need, needs, step in steps:
            try:
                has, is_met = step()
            except errors.PlacementError as failure:
                has, is_met = mask_credentials(str(failure)), False
            yield NeedRow(need, needs, has, is_met)
            if not is_met and need in ('authentication', 'endpoint'):
                return

    def _store_answer_date(self, answer: Response, **_: object) -> None:
        self._date = answer.headers.get('Date')

    def _check_authentication(self) -> tuple[str, bool]:
        """Get a token; return the name of its user, and True."""
        session = self._client.session
        with keystone.translate_failures(session):
            session.get_auth_headers()
            return keystone.describe_caller(session) or 'no Keystone', True

    def _check_endpoint(self) -> tuple[str, bool]:
        """Return the URL of Placement for the service, and whether there is one."""
        url = self._client.url
        return mask_credentials(url or 'none'), url is not None

    def _check_version(self) -> tuple[str, bool]:
        """Return the highest microversion, and whether it is high enough."""
        _, highest = api.root.show(self._client)
        return str(highest), highest >= self._needed

    def _check_reading(self) -> tuple[str, bool]:
        """Send a read request; return ``yes`` and True, or raise the error if it is refused."""
        api.resource_provider.list(self._client, uuid=_UNKNOWN_UUID)
        return 'yes', True

    def _check_clock(self) -> tuple[str, bool]:
        """Return the difference of the clocks, and whether it is small enough for tokens."""
        if self._date is None:
            return 'not known: no answer has a date', True
        apart = abs(email.utils.parsedate_to_datetime(self._date).timestamp() - time.time())
        return f'{apart:.0f} s', apart < _LARGEST_SKEW

    def _check_reshape(self) -> tuple[str, bool]:
        """Return the role with which the user may reshape, else ``no``; and whether they may."""
        is_allowed = api.reshaper.is_allowed(self._client)
        return f'role {endpoints.RESHAPE.roles}' if is_allowed else 'no', is_allowed
