# SPDX-License-Identifier: Apache-2.0
"""The reshaper: ``POST /reshaper``, from 1.30."""

from collections.abc import Mapping

from placementclient.api.attempts import retry_conflicts
from placementclient.client import errors
from placementclient.client.endpoints import RESHAPE
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion


def submit(
    client: Client, body: Mapping[str, object], *, version: Microversion | None = None
) -> None:
    """Replace inventories of providers and allocations of consumers, in one transaction.

    Everything that the body names is replaced as a whole, and the service does not check that
    nothing is lost.

    :param body: ``{'inventories': …, 'allocations': …}`` as the API has it
    :param version: the microversion of the request; default: the one in use
    :raises errors.ConcurrentUpdate: if a provider or consumer has another generation; then nothing
        was changed
    :raises errors.Forbidden: if the role is missing
    """
    client.send(RESHAPE, body=body, version=version)


def is_allowed(client: Client) -> bool:
    """Return whether the policy lets this user reshape; nothing is changed.

    The service looks at the policy before it looks at the body, so that an empty one is answered
    with 403 or with 400.
    """
    try:
        # The answer that is expected is no error of the run.
        probe = client.copy_without_history()
        retry_conflicts(probe, lambda: probe.send(RESHAPE, body={}, version=RESHAPE.since))
    except errors.Forbidden:
        return False
    except errors.BadRequest:
        return True
    raise errors.InvalidAnswer('The reshaper accepted an empty request')


def check_allowed(client: Client) -> None:
    """Raise an error if the service has no reshaper or the policy denies it to this user.

    :raises errors.UnsupportedVersion: if the service is older
    :raises errors.Forbidden: if the policy does not allow it
    """
    client.require_feature('', RESHAPE.since)
    if not is_allowed(client):
        raise errors.Forbidden(
            403, f'The policy does not let you reshape: you need the role {RESHAPE.roles!r}'
        )
