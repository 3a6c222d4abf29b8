"""The exceptions of keystoneauth as errors of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from placementclient.client import errors


@contextmanager
def translated(session: Any = None) -> Iterator[None]:
    """Turn keystoneauth's exceptions in this block into errors of this package.

    The request must not raise for what the service itself answers (``raise_exc=False``).

    :param session: of keystoneauth; its URL, user and project are in a refusal of Keystone
    :raises errors.NoAnswer: if the connection is not to be trusted
    :raises errors.NotSent: if there is no connection
    :raises errors.Unreachable: if the connection breaks, or Keystone gives no answer
    :raises errors.AuthenticationFailed: if Keystone refuses
    :raises errors.NoEndpoint: if the catalog does not have the service
    """
    from keystoneauth1 import exceptions

    from placementclient.client import identity, refusals, unreachable

    try:
        yield
    except exceptions.SSLError as failure:
        raise errors.NoAnswer(unreachable.sentence(failure)) from failure
    except exceptions.ConnectionError as failure:
        error = unreachable.kind(failure)(unreachable.sentence(failure))
        error.url = unreachable.url(failure)
        raise error from failure
    except (exceptions.HttpServerError, exceptions.RequestTimeout) as failure:
        # Of Keystone: the service's own answers raise nothing.
        raise errors.Unreachable(f'No token: {unreachable.sentence(failure)}') from failure
    except exceptions.CatalogException as failure:
        raise errors.NoEndpoint(
            f'{failure} With auth type none give --os-endpoint, with Keystone look at '
            '"openstack catalog show placement"'
        ) from failure
    except exceptions.HttpError as failure:
        keystone, who = identity.credentials(session.auth if session else None)
        sentence = f'{keystone} refuses to authenticate{who}: {unreachable.sentence(failure)}'
        if isinstance(failure, exceptions.NotFound) and 'token' in str(failure):
            # Keystone's answer to a token that it does not know is no 401.
            sentence = f'Keystone does not accept the token: {refusals.REMEDY}'
        raise errors.AuthenticationFailed(sentence) from failure
    except exceptions.ClientException as failure:
        refusal = errors.AuthenticationFailed(unreachable.sentence(failure))
        refusal.url = unreachable.url(failure)
        raise refusal from failure
