"""The reason for a missing connection, in a sentence for operators."""

from __future__ import annotations

import ssl
import urllib.parse

from keystoneauth1.exceptions import CatalogException
from requests import exceptions

from placementclient.client.wording import without_credentials

#: How many characters of a reason are shown: text that is no HTTP may be of any length.
_LONGEST = 200


def sentence(failure: Exception) -> str:
    """Return the sentence for a connection that failed.

    :param failure: what keystoneauth has raised over it; if there was none, it says itself
    """
    kinds = exceptions.ConnectionError | exceptions.Timeout
    cause = next((each for each in _chain(failure) if isinstance(each, kinds)), None)
    if isinstance(failure, CatalogException):
        return (
            f'{failure} With auth type none give --os-endpoint, with Keystone look at '
            '"openstack catalog show placement"'
        )
    if not isinstance(cause, exceptions.RequestException) or cause.request is None:
        return without_credentials(str(failure))
    url = urllib.parse.urlsplit(str(cause.request.url))
    where = f'{url.scheme}://{url.netloc.rpartition("@")[2]}'
    if isinstance(cause, exceptions.ConnectTimeout):
        return f'No answer from {where}: no connection in time'
    if isinstance(cause, exceptions.Timeout):
        return f'No answer from {where} in time'
    reason = _reason(_chain(cause)[-1])
    if isinstance(cause, exceptions.SSLError):
        return f'No secure connection to {where}: {reason}'
    if isinstance(cause, exceptions.ProxyError):
        return f'No connection to {where} through the proxy: {reason}'
    return f'No answer from {where}: {reason}'


def _chain(failure: BaseException) -> list[BaseException]:
    """An exception, and what it was raised over, down to the first."""
    found = [failure]
    while (before := found[-1].__cause__ or found[-1].__context__) and before not in found:
        found.append(before)
    return found


def _reason(first: BaseException) -> str:
    """Return the system's own reason."""
    if isinstance(first, ssl.SSLCertVerificationError):
        return first.verify_message
    if isinstance(first, ssl.SSLError) and first.reason:
        return first.reason.replace('_', ' ').lower()
    said = first.strerror if isinstance(first, OSError) else None
    return (said or str(first))[:_LONGEST]
