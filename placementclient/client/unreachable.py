# SPDX-License-Identifier: Apache-2.0
"""The reason for a failed connection, in words for operators."""

import itertools
import re
import ssl
import urllib.parse
from collections.abc import Iterable, Mapping

import urllib3
from requests import exceptions

from placementclient.basis.errors import PlacementError
from placementclient.basis.printable import cut_text
from placementclient.basis.wording import mask_credentials
from placementclient.client import errors

#: How many characters of a reason are shown: text that is no HTTP may be of any length.
_LONGEST = 200
_UNSENT = urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError
_UNUSABLE = exceptions.InvalidSchema | exceptions.InvalidURL | exceptions.MissingSchema


def make_connection_error(failure: Exception) -> errors.NoAnswer:
    """Return the error for a failed connection.

    :param failure: the exception of keystoneauth
    """
    cause = _find_requests_exception(failure)
    if any(isinstance(reason, _UNSENT) for reason in _list_causes(failure)):
        kind: type[errors.NoAnswer] = errors.NoConnection
    elif isinstance(cause, _UNUSABLE):
        kind = errors.NotSent
    else:
        # A retry does not make a certificate valid.
        kind = errors.NoAnswer if isinstance(cause, exceptions.SSLError) else errors.Unreachable
    unanswered = kind(describe_failure(failure))
    unanswered.url = find_request_url(failure)
    return unanswered


def describe_failure(failure: Exception) -> str:
    """Return a sentence about a failed connection; for any other failure, its text."""
    cause = _find_requests_exception(failure)
    if isinstance(cause, _UNUSABLE):
        url = find_request_url(failure)
        if url and not has_scheme(url):
            return f'{url} has no http:// or https:// before it'
        return (
            f'{mask_credentials(str(cause))}: the URL of a service begins with https:// or '
            'http://, and a host follows'
        )
    if cause is None or cause.request is None:
        return mask_credentials(str(failure))
    parts = urllib.parse.urlsplit(str(cause.request.url))
    where = f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}'
    if cause.response is not None:
        return f'The answer from {where} is damaged or not complete'
    if isinstance(cause, exceptions.Timeout):
        return f'No answer from {where} in time'
    reason = _describe_root_cause(_list_causes(cause)[-1])
    if isinstance(cause, exceptions.SSLError):
        return f'No secure connection to {where}: {reason}'
    if isinstance(cause, exceptions.ProxyError):
        return f'No connection to {where} through the proxy: {reason}'
    return f'No answer from {where}: {reason}'


def find_request_url(failure: Exception) -> str | None:
    """Return the URL of the request that failed to connect, if it is known."""
    cause = _find_requests_exception(failure)
    if isinstance(cause, exceptions.InvalidSchema | exceptions.MissingSchema):
        url = ''.join(re.findall("'(.+?)'", str(cause))[:1])
        return mask_credentials(url if '://' in url else url.rpartition('@')[2])
    return str(cause.request.url) if cause and cause.request else None


def has_scheme(url: str) -> bool:
    """Return whether a URL begins with ``http://`` or the like, however mistyped."""
    return re.match('[a-z]+:/', url) is not None


def make_missing_scheme_error(url: str) -> errors.NotSent:
    """Return the error for a URL that lacks ``http://`` or ``https://``."""
    error = errors.NotSent(f'{url} has no http:// or https:// before it')
    error.url = url
    return error


def describe_url_source(service_url: str, argv: Iterable[str], variables: Mapping[str, str]) -> str:
    """Return the option, the environment variable or the file that gives the URL of a service."""
    scheme, separator, rest = service_url.rpartition('://')
    origin = f'{scheme}{separator}{rest.partition("/")[0]}'
    words = list(argv)
    for option, value in itertools.pairwise([*words, '']):
        name, equals, text = option.partition('=')
        if name.startswith('--os-') and origin in (text if equals else value):
            return name
    for name, value in variables.items():
        if name.startswith('OS_') and origin in value:
            return name
    file = variables.get('OS_CLIENT_CONFIG_FILE') or 'clouds.yaml'
    is_named = '--os-cloud' in words or variables.get('OS_CLOUD')
    return f'{file} or the service catalog' if is_named else 'the service catalog'


def _find_requests_exception(failure: Exception) -> exceptions.RequestException | None:
    causes = (one for one in _list_causes(failure) if isinstance(one, exceptions.RequestException))
    return next(causes, None)


def _list_causes(failure: BaseException) -> list[BaseException]:
    """Return an exception and its causes; the last one is the first that was raised."""
    chain = [failure]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        if isinstance(cause, PlacementError):
            # An error of an earlier request, which was handled when this one was sent.
            break
        chain.append(cause)
    return chain


def _describe_root_cause(root_cause: BaseException) -> str:
    """Return the reason for a failure in the words of the operating system or of OpenSSL."""
    if isinstance(root_cause, ssl.SSLCertVerificationError):
        return root_cause.verify_message
    if isinstance(root_cause, ssl.SSLError) and root_cause.reason:
        return root_cause.reason.replace('_', ' ').lower()
    message = root_cause.strerror if isinstance(root_cause, OSError) else None
    return cut_text((message or str(root_cause)).strip(), _LONGEST)
