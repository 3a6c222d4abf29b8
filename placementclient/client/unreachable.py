"""The reason for a missing connection, in a sentence for operators."""

from __future__ import annotations

import re
import ssl
import urllib.parse

import urllib3
from keystoneauth1.exceptions import CatalogException
from requests import exceptions

from placementclient.client import errors
from placementclient.client.wording import without_credentials

#: How many characters of a reason are shown: text that is no HTTP may be of any length.
_LONGEST = 200


def sentence(failure: Exception) -> str:
    """Return the sentence for a connection that failed.

    :param failure: what keystoneauth has raised over it; if there was none, it says itself
    """
    if isinstance(failure, CatalogException):
        return (
            f'{failure} With auth type none give --os-endpoint, with Keystone look at '
            '"openstack catalog show placement"'
        )
    cause, url = _cause(failure), _url(failure)
    if cause is None or url is None:
        return without_credentials(str(failure))
    if _is_unusable(cause):
        return (
            f'{without_credentials(url)} cannot be asked: the URL of a service begins with '
            'https:// or http://, and a host follows'
        )
    parts = urllib.parse.urlsplit(url)
    where = f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}'
    if isinstance(cause, exceptions.ConnectTimeout):
        return f'No answer from {where}: no connection in time'
    if isinstance(cause, exceptions.Timeout):
        return f'No answer from {where} in time'
    if cause.request is None:
        return f'The answer from {where} {_fault_of_answer(cause)}'
    reason = _reason(_chain(cause)[-1])
    if isinstance(cause, exceptions.SSLError):
        return f'No secure connection to {where}: {reason}'
    if isinstance(cause, exceptions.ProxyError):
        return f'No connection to {where} through the proxy: {reason}'
    return f'No answer from {where}: {reason}'


def _fault_of_answer(cause: exceptions.RequestException) -> str:
    """Return the fault of an answer whose headers were read."""
    if isinstance(cause, exceptions.ContentDecodingError):
        return 'cannot be decompressed'
    first = _chain(cause)[-1]
    if isinstance(first, urllib3.exceptions.IncompleteRead):
        return f'broke off after {first.partial} of {first.partial + first.expected} bytes'
    return f'broke off: {_reason(first)}' if isinstance(first, OSError) else 'broke off'


def kind(failure: Exception) -> type[errors.NoAnswer]:
    """Return the kind of error for a connection that failed.

    :param failure: what keystoneauth has raised over it
    """
    cause = _cause(failure)
    # Of the adapter alone: an exception may have been raised while another one was handled.
    reason = getattr(cause.args[0], 'reason', None) if cause and cause.args else None
    if isinstance(reason, urllib3.exceptions.ConnectTimeoutError):
        return errors.NoConnection
    return errors.UnusableURL if cause and _is_unusable(cause) else errors.Unreachable


def _cause(failure: Exception) -> exceptions.RequestException | None:
    """Return the exception of requests that keystoneauth has raised another one over."""
    found = (each for each in _chain(failure) if isinstance(each, exceptions.RequestException))
    return next(found, None)


def _url(failure: Exception) -> str | None:
    """Return the URL of a request that failed."""
    cause = _cause(failure)
    if cause is not None and cause.request is not None:
        return str(cause.request.url)
    # Its URL was none, or it was sent and its answer is being read.
    has_none = cause is not None and (
        _is_unusable(cause)
        or any(isinstance(each, urllib3.exceptions.HTTPError) for each in cause.args)
    )
    said = has_none and re.match(r'Un[\w ]+ (?:for|to) (.+?): ', str(failure))
    return said[1] if said else None


def _is_unusable(cause: exceptions.RequestException) -> bool:
    kinds = exceptions.InvalidSchema | exceptions.InvalidURL | exceptions.MissingSchema
    return isinstance(cause, kinds)


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
